"""Eight devices of the processor: what it costs to shard arrays and to call what runs on several, and collectives."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from . import models

FLOATS = 800_000
WIDTH, HEADS, HIDDEN, LAYERS = 32, 4, 64, 2
# The dimension of a parameter that is cut along the model's axis.
CUT = {"query": 1, "key": 1, "value": 1, "out": 0, "wide": 1, "wide_bias": 0, "narrow": 0}
Maker = Callable[[Any, Any], tuple[Callable[..., Any], tuple[Any, ...]]]


def mesh_of_eight(api: Any) -> Any:
    """A mesh of 2 x 4 devices, along x and y."""
    devices = numpy.array(api.devices()).reshape(2, 4)
    return api.sharding.Mesh(devices, ("x", "y"))


def cut(api: Any, mesh: Any, *spec: Any) -> Any:
    """A sharding of the mesh."""
    return api.sharding.NamedSharding(mesh, api.sharding.PartitionSpec(*spec))


def tiny(api: Any, mesh: Any) -> Any:
    """A compiled addition to 8 floats, one on each device."""
    return api.jit(lambda x: x + 1), (api.device_put(numpy.ones(8, "float32"), cut(api, mesh, ("x", "y"))),)


def tiny_pmap(api: Any, mesh: Any) -> Any:
    """The same by `pmap`, on what it has returned."""
    function = api.pmap(lambda x: x + 1)
    return function, (function(numpy.ones(8, "float32")),)


def put(api: Any, mesh: Any) -> Any:
    """A NumPy array of 256 x 256 floats, in 2 x 4 parts."""
    parts = cut(api, mesh, "x", "y")
    return (lambda array: api.device_put(array, parts)), (numpy.ones((256, 256), "float32"),)


def matrix_product(api: Any, mesh: Any) -> Any:
    """Of 1024 x 1024 floats: rows along x, columns along y, no communication."""
    draw = models.draws().normal(size=(1024, 1024)).astype("float32")
    rows, columns = cut(api, mesh, "x", None), cut(api, mesh, None, "y")
    return api.jit(api.numpy.matmul), (api.device_put(draw, rows), api.device_put(draw, columns))


def sum_over_devices(api: Any, mesh: Any) -> Any:
    """Each device has 100,000 floats; all get their sum."""
    spec = api.sharding.PartitionSpec(("x", "y"))
    total = api.shard_map(
        lambda part: api.lax.psum(part, ("x", "y")), mesh=mesh, in_specs=spec, out_specs=api.sharding.PartitionSpec()
    )
    return api.jit(total), (api.device_put(numpy.ones(FLOATS, "float32"), cut(api, mesh, ("x", "y"))),)


def small_shard_map(api: Any, mesh: Any) -> Any:
    """Rows less their mean over devices, called as it is."""
    spec = api.sharding.PartitionSpec(("x", "y"))
    centred = api.shard_map(
        lambda part: part - api.lax.pmean(part, ("x", "y")), mesh=mesh, in_specs=spec, out_specs=spec
    )
    return centred, (api.device_put(numpy.ones((8, 8), "float32"), cut(api, mesh, ("x", "y"))),)


def small_shard_map_jitted(api: Any, mesh: Any) -> Any:
    """The same, compiled."""
    function, arguments = small_shard_map(api, mesh)
    return api.jit(function), arguments


def call_case(maker: Maker, side: Side) -> Case:
    """Call what the maker made, and wait for it: with many runs under way devices wait for one another."""
    api = side.api()
    function, arguments = maker(api, mesh_of_eight(api))
    return Case(lambda: function(*arguments).block_until_ready())


def transformer_step(api: Any) -> Callable[..., Any]:
    """A step of gradient descent on blocks in a row, whose outputs are to be the inputs."""

    def loss(layers: Any, x: Any) -> Any:
        y = x
        for p in layers:
            y = models.transformer_block(api, p, y)
        return api.numpy.mean(api.numpy.square(y - x))

    def step(layers: Any, x: Any) -> Any:
        value, gradients = api.value_and_grad(loss)(layers, x)
        return api.tree.map(lambda p, g: p - 0.1 * g, layers, gradients), value

    return step


def lowering_case(side: Side) -> Case:
    """Trace and lower the step of a fresh function, parameters cut along y and examples along x."""
    api = side.api()
    mesh = mesh_of_eight(api)
    layers = models.to_api(api, [models.transformer_parameters(WIDTH, HEADS, HIDDEN)] * LAYERS)
    inputs = api.numpy.asarray(models.draws(1).normal(size=(8, 16, WIDTH)).astype("float32"))
    shardings = [
        {name: cut(api, mesh, *[None] * CUT[name], "y") if name in CUT else cut(api, mesh) for name in p}
        for p in layers
    ]
    options = {"in_shardings": (shardings, cut(api, mesh, "x")), "out_shardings": (shardings, cut(api, mesh))}
    return Case(
        lambda function: api.jit(function, **options).lower(layers, inputs).compiler_ir(),
        fresh=lambda: transformer_step(api),
    )


CALLS: dict[str, Maker] = {
    "dispatch": tiny,
    "pmap dispatch": tiny_pmap,
    "device_put to 2 x 4": put,
    "matmul 1024": matrix_product,
    "psum of 800,000": sum_over_devices,
    "shard_map, eager": small_shard_map,
    "shard_map, jitted": small_shard_map_jitted,
}
PROGRAMS = {f"8 devices: {name}": lambda side, maker=maker: call_case(maker, side) for name, maker in CALLS.items()}
PROGRAMS["8 devices: trace + StableHLO of a step"] = lowering_case


def within_mesh(side: Side) -> tuple[Any, Callable[..., Any]]:
    """The api of a side and its `xmap`; from now on the process is within a mesh of 2 x 4 devices."""
    api = side.api()
    mesh_of_eight(api).__enter__()
    return api, importlib.import_module(f"{side.module}.experimental.maps").xmap


def centred(api: Any, xmap: Callable[..., Any]) -> Callable[..., Any]:
    """Rows less their mean, over all devices."""
    return xmap(
        lambda row: row - api.lax.pmean(row, "i"),
        in_axes={0: "i"},
        out_axes={0: "i"},
        axis_resources={"i": ("x", "y")},
    )


def xmap_case(side: Side) -> Case:
    """Call a small mapped function on what it has returned, and wait for it."""
    api, xmap = within_mesh(side)
    function = centred(api, xmap)
    rows = function(numpy.ones((8, 8), "float32"))
    return Case(lambda: function(rows).block_until_ready())


def product_case(side: Side) -> Case:
    """A product of 256 x 256 floats, rows along x and columns along y."""
    api, xmap = within_mesh(side)
    function = xmap(
        api.numpy.dot,
        in_axes=({0: "rows"}, {1: "columns"}),
        out_axes={0: "rows", 1: "columns"},
        axis_resources={"rows": "x", "columns": "y"},
    )
    draw = numpy.random.default_rng(0).normal(size=(256, 256)).astype("float32")
    return Case(lambda: function(draw, draw).block_until_ready())


def xmap_lowering_case(side: Side) -> Case:
    """Trace and lower a fresh mapped function."""
    api, xmap = within_mesh(side)
    rows = api.numpy.ones((8, 8), "float32")
    return Case(lambda function: function.lower(rows), fresh=lambda: centred(api, xmap))


PROGRAMS |= {
    "xmap: dispatch": xmap_case,
    "xmap: product 256 from the host": product_case,
    "xmap: trace + lower": xmap_lowering_case,
}
