"""One program, the same numbers: by `vmap`, by xmap with any resources and lowering, by shard_map, by pmap, and by jit.

Hypothesis draws the program, where its axes are in the arguments, meshes, resources, specs and what is done by devices.
"""

import math
import os
import re
from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as onp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._sharding.xmap.axes import manual_lowering, spmd_lowering
from tangrad.experimental.maps import SerialLoop, xmap
from tangrad.sharding import NamedSharding
from tangrad.sharding import PartitionSpec as P

ON_XLA = tangrad.default_backend() == "xla"
EXAMPLES = int(os.environ.get("XMAP_EXAMPLES", 10 if ON_XLA else 100))
SIZES = {"i": 4, "j": 2}  # so that there is a device for each example
RNG = onp.random.default_rng(0)
A = RNG.normal(size=(4, 3, 2)).astype(onp.float32)
B = RNG.normal(size=(3, 2)).astype(onp.float32)
RING = [(k, (k + 1) % 4) for k in range(4)]

# Steps (value varying along i and j of shape (3,), value varying along j of shape (3,)) -> the same.
LOCAL: dict[str, Any] = {
    "sin": lambda a, b: (np.sin(a) + b, b),
    "matmul": lambda a, b: (np.outer(a, b) @ b, b * 2),
    "scan": lambda a, b: (lax.scan(lambda c, x: (c * 0.5 + x, c), a[0], a + b)[1], b),
    "cond": lambda a, b: (lax.cond(a[0] > 0, lambda v: v * 2, lambda v: v - 1, a), b),
    "index": lambda a, b: (a + lax.axis_index("i") - lax.axis_index(("j", "i")) / 4, b + lax.axis_index("j")),
    "jit": lambda a, b: (tangrad.jit(lambda v: v * lax.axis_index("i"))(a), b),
    "grad": lambda a, b: (tangrad.grad(lambda v: np.sum(np.tanh(v * b)))(a), b),
    "checkpoint": lambda a, b: (tangrad.checkpoint(lambda v: np.cos(np.sin(v)))(a), b),
}
ALONG_I: dict[str, Any] = {
    "psum": lambda a, b: (a - lax.psum(a, "i") / 4, b),
    "pmax": lambda a, b: (a * 0.5 + lax.pmax(a, "i"), b),
    "gather": lambda a, b: (a + np.cumsum(lax.all_gather(a, "i"), axis=0)[3], b),
    "ring": lambda a, b: (lax.ppermute(a, "i", RING), b),
    "scatter": lambda a, b: (a + lax.psum_scatter(np.ones((4, 3)) * a, "i"), b),
    "mean": lambda a, b: (a - np.mean(a, axis="i"), b + np.mean(a, axis=(0, "i"))),
    "loop": lambda a, b: (lax.fori_loop(0, 2, lambda k, c: c * 0.5 + lax.pmean(c, "i"), a), b),
}
ALONG_J: dict[str, Any] = {
    "psum j": lambda a, b: (a + lax.psum(b, "j"), b),
    "both": lambda a, b: (a - lax.pmean(a, ("i", "j")), b),
    "softmax": lambda a, b: (tangrad.nn.softmax(a, axis=("j", 0)), b),
    "einsum": lambda a, b: (a + np.einsum("{j}a,{j}a->a{}", b, b), b),
}
STEPS = {**LOCAL, **ALONG_I, **ALONG_J}
NEEDS = {"i": {*ALONG_I, "both"}, "j": {*ALONG_J}}


@st.composite
def resources(draw: Any, names: list[str]) -> Any:
    """A mesh of 1 to 8 devices, and what each axis is sharded over."""
    x = draw(st.sampled_from([1, 2, 4]))
    y = draw(st.sampled_from([size for size in (1, 2, 4) if x * size <= 8]))
    left, found = ["x", "y"], {}
    for axis in draw(st.permutations(["i", "j"])):
        mine = draw(st.lists(st.sampled_from(left), unique=True)) if left else []
        parts = math.prod([{"x": x, "y": y}[name] for name in mine])
        if SIZES[axis] % parts:
            continue
        left = [name for name in left if name not in mine]
        loops = [n for n in (1, 2, 4) if SIZES[axis] % (parts * n) == 0] if not NEEDS[axis].intersection(names) else []
        loop = draw(st.sampled_from([0, *loops]))
        if mine or loop:
            found[axis] = (*mine, SerialLoop(loop)) if loop else tuple(mine)
    return (x, y), found


def specs(mesh: dict[str, int], shape: tuple[int, ...]) -> Any:
    """Partition specs of arrays of a shape: no mesh axis twice, and every dimension divides."""

    def fits(entries: tuple[tuple[str, ...], ...]) -> bool:
        used = [name for entry in entries for name in entry]
        counts = [math.prod([mesh[name] for name in entry]) for entry in entries]
        return len(used) == len(set(used)) and not any([n % count for n, count in zip(shape, counts, strict=True)])

    entry = st.sampled_from([(), ("x",), ("y",), ("x", "y"), ("y", "x")])
    return st.tuples(*[entry] * len(shape)).filter(fits).map(lambda entries: P(*entries))


@st.composite
def of_xmap(draw: Any, names: list[str]) -> Any:
    """(place of the axes in the first argument, mesh, resources, lowering)."""
    mesh, spread = draw(resources(names))
    place = draw(st.sampled_from([(0, 2), (2, 0), (1, 2), (0, 1)]))
    return place, mesh, spread, draw(st.sampled_from(["spmd", "manual", "replicated"]))


@st.composite
def of_jit(draw: Any) -> Any:
    """(mesh, specs of two arguments and of two results)."""
    x, y = draw(st.sampled_from([(1, 2), (2, 1), (2, 2), (4, 2), (2, 4), (4, 1)]))
    shapes = (A.shape, B.shape, (4, 2, 3), (4, 2, 3))
    return (x, y), [draw(specs({"x": x, "y": y}, shape)) for shape in shapes]


@st.composite
def of_shard_map(draw: Any) -> Any:
    """(what is done by devices, the rest being done by vmap; whether what leaves is checked)."""
    return draw(st.sampled_from(["i", "j", "ij"])), draw(st.booleans())


@st.composite
def of_pmap(draw: Any) -> Any:
    """What is done by whom, from the outside."""
    return draw(st.sampled_from([("pmap", "vmap"), ("pmap", "pmap"), ("vmap", "pmap")]))


FORMS = {"jit": lambda names: of_jit(), "shard_map": lambda names: of_shard_map(), "pmap": lambda names: of_pmap()}


@st.composite
def cases(draw: Any) -> Any:
    """(names of the steps, whether to differentiate, how by xmap, another form, how by it)."""
    names = draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3))
    form = draw(st.sampled_from(sorted(FORMS)))
    return tuple(names), draw(st.booleans()), draw(of_xmap(names)), form, draw(FORMS[form](names))


def program(names: tuple[str, ...]) -> Any:
    def run(a: Any, b: Any) -> Any:
        for name in names:
            a, b = STEPS[name](a, b)
        return a, b

    return run


def order_for(place: tuple[int, int]) -> list[int]:
    """The transposition that puts i, which is in front, and j, which is last, at other dimensions."""
    order = [1, 1, 1]
    order[place[0]], order[place[1]] = 0, 2
    return order


def nested(function: Any, outer: Any = tangrad.vmap, inner: Any = tangrad.vmap) -> Any:
    """Along j within i, by maps like `vmap`."""
    along_j = inner(function, in_axes=(1, 1), out_axes=0, axis_name="j")
    return outer(along_j, in_axes=(0, None), out_axes=0, axis_name="i")


def of_one_device(function: Any, in_axes: Any, out_axes: int, axis_name: str) -> Any:
    """In the manner of `vmap`, of an axis of which a device has one example."""

    def run(*args: Any) -> Any:
        parts = [arg if axis is None else np.squeeze(arg, axis) for arg, axis in zip(args, in_axes, strict=True)]
        return tangrad.tree.map(lambda out: np.expand_dims(out, out_axes), function(*parts))

    return run


def by_xmap(function: Any, how: Any) -> Any:
    place, _, spread, _ = how
    axes = ({place[0]: "i", place[1]: "j"}, {1: "j"})
    mapped = xmap(function, in_axes=axes, out_axes=(["i", "j", ...], ["i", "j", ...]), axis_resources=spread)
    return lambda a, b: mapped(np.transpose(a, order_for(place)), b)


def by_jit(function: Any, how: Any) -> Any:
    shape, (of_a, of_b, *of_results) = how
    mesh = tangrad.make_mesh(shape, ("x", "y"))
    shardings = [NamedSharding(mesh, spec) for spec in (of_a, of_b, *of_results)]
    return tangrad.jit(nested(function), in_shardings=tuple(shardings[:2]), out_shardings=tuple(shardings[2:]))


def by_shard_map(function: Any, how: Any) -> Any:
    by_devices, checked = how
    i, j = [axis if axis in by_devices else None for axis in "ij"]
    mesh = tangrad.make_mesh(tuple([SIZES[axis] for axis in by_devices]), tuple(by_devices))
    ways = [tangrad.vmap if axis is None else of_one_device for axis in (i, j)]
    return tangrad.shard_map(
        nested(function, *ways), mesh=mesh, in_specs=(P(i, None, j), P(None, j)), out_specs=P(i, j), check_vma=checked
    )


def by_pmap(function: Any, how: Any) -> Any:
    return nested(function, *[getattr(tangrad, way) for way in how])


WAYS = {"jit": by_jit, "shard_map": by_shard_map, "pmap": by_pmap}


def evaluated(mapped: Any, differentiated: bool) -> list[onp.ndarray]:
    """The two results, or the gradients of a loss of them."""
    if differentiated:
        mapped = tangrad.grad(lambda a, b, run=mapped: sum([np.sum(np.sin(out)) for out in run(a, b)]), (0, 1))
    return [onp.asarray(out) for out in mapped(A, B)]


@cache
def expected(names: tuple[str, ...], differentiated: bool) -> list[onp.ndarray]:
    return evaluated(nested(program(names)), differentiated)


def assert_close(found: Any, wanted: Any, form: str) -> None:
    for one, other in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3, err_msg=form)


@given(cases())
@settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_one_program_in_every_form(case: Any) -> None:
    names, differentiated, how_by_xmap, form, how = case
    wanted = expected(names, differentiated)
    _, mesh, _, lowering = how_by_xmap
    with ExitStack() as context:
        context.enter_context(spmd_lowering(lowering != "replicated"))
        context.enter_context(manual_lowering(lowering == "manual"))
        context.enter_context(tangrad.make_mesh(mesh, ("x", "y")))
        assert_close(evaluated(by_xmap(program(names), how_by_xmap), differentiated), wanted, "xmap")
    assert_close(evaluated(WAYS[form](program(names), how), differentiated), wanted, form)


# --- Where axes on a mesh end up ---


MESH = tangrad.make_mesh((2, 4), ("x", "y"))
MESH_A = onp.random.default_rng(0).normal(size=(8, 16)).astype(onp.float32)
W = onp.random.default_rng(1).normal(size=(16, 4)).astype(onp.float32)
LOWERINGS = ["spmd", "manual", "replicated"]


def within(lowering: str) -> ExitStack:
    context = ExitStack()
    context.enter_context(spmd_lowering(lowering != "replicated"))
    context.enter_context(manual_lowering(lowering == "manual"))
    context.enter_context(MESH)
    return context


def product() -> Any:
    return xmap(
        lambda a, w: np.einsum("{b,in},{in,o}->{b,o}", a, w),
        in_axes=({0: "b", 1: "in"}, {0: "in", 1: "o"}),
        out_axes={0: "b", 1: "o"},
        axis_resources={"b": "x", "in": "y"},
    )


def centred(**more: Any) -> Any:
    return xmap(
        lambda a: a - lax.pmean(a, "b"), in_axes={0: "b"}, out_axes={1: "b"}, axis_resources={"b": ("x", "y"), **more}
    )


def collectives(mapped: Any, *args: Any) -> dict[str, int]:
    text = mapped.lower(*args).compile().as_text()
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
    return {kind: count for kind in kinds if (count := len(re.findall(rf"{kind}(?:-start)?\(", text)))}


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_results_are_sharded_as_their_axes(lowering: str) -> None:
    with within(lowering):
        found, other = product()(MESH_A, W), centred()(MESH_A)
    onp.testing.assert_allclose(found, MESH_A @ W, rtol=1e-4, atol=1e-4)
    onp.testing.assert_allclose(other, (MESH_A - MESH_A.mean(0)).T, rtol=1e-4, atol=1e-4)
    expected = [P(), P()] if lowering == "replicated" else [P("x", None), P(None, ("x", "y"))]
    for array, spec in zip((found, other), expected, strict=True):
        assert array.sharding.is_equivalent_to(NamedSharding(MESH, spec), 2), array.sharding


@pytest.mark.skipif(not ON_XLA, reason="counted in HLO")
@pytest.mark.parametrize(
    ("lowering", "of_product", "of_centred"),
    [
        ("spmd", {"all-reduce": 1}, {"all-reduce": 1}),  # the contracted axis stays cut: one sum of partial products
        ("manual", {"all-gather": 2}, {"all-reduce": 1}),  # einsum gathers both operands along it
        ("replicated", {"all-gather": 3}, {"all-reduce": 1, "all-gather": 1}),  # and the results
    ],
)
def test_collectives(lowering: str, of_product: Any, of_centred: Any) -> None:
    with within(lowering):
        assert collectives(product(), MESH_A, W) == of_product
        assert collectives(centred(), MESH_A) == of_centred


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_transformed_on_a_mesh(lowering: str) -> None:
    with within(lowering):
        value, grads = tangrad.value_and_grad(lambda a, w: np.sum(np.sin(product()(a, w))), (0, 1))(MESH_A, W)
        batch = tangrad.jit(tangrad.vmap(centred()))(onp.stack([MESH_A, 2 * MESH_A]))
        loops = xmap(
            lambda a: a * 2 + lax.axis_index("b"),
            in_axes={0: "b"},
            out_axes={0: "b"},
            axis_resources={"b": ("x", SerialLoop(2))},
        )
        looped = loops(MESH_A)
    expected, plain = tangrad.value_and_grad(lambda a, w: np.sum(np.sin(a @ w)), (0, 1))(MESH_A, W)
    onp.testing.assert_allclose(value, expected, rtol=1e-4)
    for one, other in zip(grads, plain, strict=True):
        onp.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    onp.testing.assert_allclose(batch[1], 2 * (MESH_A - MESH_A.mean(0)).T, rtol=1e-4, atol=1e-4)
    onp.testing.assert_allclose(looped, MESH_A * 2 + onp.arange(8)[:, None], rtol=1e-5)


def test_nested_maps_on_two_mesh_axes() -> None:
    def row(a: Any) -> Any:
        return xmap(
            lambda v: v * 2 - lax.psum(v, ("b", "k")), in_axes={0: "k"}, out_axes={0: "k"}, axis_resources={"k": "y"}
        )(a)

    with MESH:
        found = xmap(row, in_axes={0: "b"}, out_axes={0: "b"}, axis_resources={"b": "x"})(MESH_A)
    onp.testing.assert_allclose(found, MESH_A * 2 - MESH_A.sum(), rtol=1e-4, atol=1e-4)


def test_arguments_of_another_sharding() -> None:
    with MESH:
        by_rows = tangrad.device_put(MESH_A, NamedSharding(MESH, P(("x", "y"))))
        onp.testing.assert_allclose(centred()(by_rows), (MESH_A - MESH_A.mean(0)).T, rtol=1e-4, atol=1e-4)
        everywhere = tangrad.device_put(MESH_A, NamedSharding(MESH, P()))
        onp.testing.assert_allclose(centred()(everywhere), (MESH_A - MESH_A.mean(0)).T, rtol=1e-4, atol=1e-4)
        by_columns = tangrad.device_put(MESH_A, NamedSharding(MESH, P(None, "x")))
        with pytest.raises(ValueError, match=r"args\[0\] of .* is sharded over devices already, .* move it first"):
            centred()(by_columns)


def test_what_does_not_divide() -> None:
    with (
        MESH,
        pytest.raises(
            ValueError, match="axis 'b' of size 6 does not divide into 8 equal parts, over mesh axis 'x' of size 2"
        ),
    ):
        centred()(MESH_A[:6])
