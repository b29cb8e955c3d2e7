"""Maps over devices within one another: the inner one has no devices of its own, and computes its examples together."""

from functools import partial

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad.experimental.maps import xmap
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import assert_equal

X = np.arange(8, dtype=np.float32).reshape(4, 2)
MESH = tangrad.make_mesh((2,), ("d",))
OTHER = tangrad.make_mesh((2,), ("r",))


def by_total(x):
    return x * x.sum(0)


INNER = tangrad.pmap(lambda v: v * lax.psum(v, "p"), axis_name="p")
JAXPR = tangrad.make_jaxpr(INNER)(X[:2])  # of a map that was traced outside


def by_xmap(resources=None):
    return xmap(lambda v: v * lax.psum(v, "q"), in_axes=["q", ...], out_axes=["q", ...], axis_resources=resources)


def in_a_mesh(function):
    def run(v):
        with OTHER:
            return function(v)

    return run


NESTED = {
    "pmap": INNER,
    "jit of pmap": tangrad.jit(INNER),
    "vmap": tangrad.vmap(lambda v: v * lax.psum(v, "p"), axis_name="p"),
    "xmap": by_xmap(),
    "xmap with resources": in_a_mesh(by_xmap({"q": "r"})),
    "traced before": lambda v: tangrad.core.eval_jaxpr(JAXPR.jaxpr, JAXPR.consts, v)[0],
}
AROUND = {
    "checked shard_map": partial(tangrad.shard_map, mesh=MESH, in_specs=P("d"), out_specs=P("d")),
    "shard_map": partial(tangrad.shard_map, mesh=MESH, in_specs=P("d"), out_specs=P("d"), check_vma=False),
    "shard_map along one axis of two": partial(
        tangrad.shard_map,
        mesh=tangrad.make_mesh((2, 2), ("d", "e")),
        in_specs=P("d"),
        out_specs=P("d"),
        axis_names={"d"},
    ),
    "pmap": lambda f: lambda x: tangrad.pmap(f, axis_name="o")(x.reshape(2, 2, 2)).reshape(4, 2),
    "xmap": lambda f: lambda x: xmap(f, in_axes=["o", ...], out_axes=["o", ...])(x.reshape(2, 2, 2)).reshape(4, 2),
}


@pytest.mark.parametrize("inner", NESTED)
@pytest.mark.parametrize("around", AROUND)
def test_one_map_within_another(around: str, inner: str) -> None:
    if around == "shard_map along one axis of two" and inner in ("traced before", "xmap with resources"):
        with pytest.raises(ValueError, match="one program cannot run on two sets of devices"):
            AROUND[around](NESTED[inner])(X)
        return
    mapped = AROUND[around](NESTED[inner])
    expected = np.concatenate([by_total(X[:2]), by_total(X[2:])])
    assert_equal(mapped(X), expected)
    assert_equal(tangrad.jit(mapped)(X), expected)
    if inner == "traced before":
        return  # its types have nothing of the axes of the map around it
    slope = np.concatenate([2 * np.ones((2, 2)) * X[:2].sum(0), 2 * np.ones((2, 2)) * X[2:].sum(0)])
    assert_equal(tangrad.grad(lambda x: mapped(x).sum())(X), slope)


@pytest.mark.parametrize("around", ["checked shard_map", "shard_map"])
def test_collectives_over_the_axes_of_both(around: str) -> None:
    inner = tangrad.pmap(lambda v: v * lax.psum(v, ("p", "d")), axis_name="p")
    assert_equal(AROUND[around](inner)(X), by_total(X))


def test_loops_of_maps_within_maps() -> None:
    twice = lambda v: lax.scan(lambda c, _: (INNER(c), None), v, None, length=2)[0]
    expected = np.concatenate([by_total(by_total(X[:2])), by_total(by_total(X[2:]))])
    assert_equal(AROUND["checked shard_map"](twice)(X), expected)


def test_a_sharded_map_within_a_pmap_needs_the_mesh_of_the_pmap() -> None:
    inner = tangrad.shard_map(by_total, mesh=MESH, in_specs=P("d"), out_specs=P("d"))
    with pytest.raises(ValueError, match="nested maps need one mesh"):
        AROUND["pmap"](inner)(X)
