"""Samples of sharded maps over one device of the backend in use, for the conformance kit."""

from __future__ import annotations

from typing import Any

from tangrad.conformance import Sample, draw
from tangrad.core import find_primitive, get_aval, get_backend, trace_to_closed_jaxpr
from tangrad.shard_mapping.primitives import shard_map_p
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec

BY_IDENTITY = "a mesh is made of devices, which are compared by identity, and belong to their process"


def samples() -> list[Sample]:
    """A product summed over the devices, and one that stays on each."""
    return [_sample(get_backend().name)]


def _wave(x: Any, y: Any) -> Any:
    sin, mul = find_primitive("elementwise.sin"), find_primitive("elementwise.mul")
    product = mul.bind(sin.bind(x), y)
    return (product, find_primitive("collectives.psum").bind(product, axes=("x",), axis_index_groups=None))


def _sample(backend: str) -> Sample:
    mesh = Mesh([get_backend(backend).devices()[0]], ("x",))
    x, y = draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64", seed=1)
    rows, whole = NamedSharding(mesh, PartitionSpec("x")), NamedSharding(mesh, PartitionSpec())
    params = {
        "jaxpr": trace_to_closed_jaxpr(_wave, (get_aval(x), get_aval(y))),
        "mesh": mesh,
        "in_shardings": (rows, whole),
        "out_shardings": (rows, whole),
        "manual_axes": ("x",),
    }
    return Sample(
        shard_map_p, (x, y), params, without={"params": BY_IDENTITY, "pickle": BY_IDENTITY}, backends=(backend,)
    )
