"""Functions of the host called from programs that are mapped: each kind of call within each map, and what they see."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax
from tangrad.experimental.maps import xmap
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import assert_equal, mesh

X = np.arange(8, dtype=np.float32)
seen: list[float] = []


def note(*values: Any) -> None:
    """What the host sees; it computes, under the settings of its caller, as if nothing were mapped."""
    assert tangrad.config.enable_x64 is False
    with pytest.raises(NameError):
        lax.psum(1.0, "x")
    seen.extend(float(tnp.sum(value)) for value in values)


def noted(value: Any) -> np.ndarray:
    note(value)
    return np.asarray(value) * 2


def same_type(v: Any) -> Any:
    return tangrad.ShapeDtypeStruct(v.shape, v.dtype)


CALLS: dict[str, Callable[[Any], Any]] = {
    "debug.callback": lambda v: (tangrad.debug.callback(note, v), v * 2)[1],
    "debug.print": lambda v: (tangrad.debug.print("{v}", v=v), v * 2)[1],
    "pure_callback": lambda v: tangrad.pure_callback(noted, same_type(v), v, vmap_method="sequential"),
    "io_callback": lambda v: tangrad.experimental.io_callback(noted, same_type(v), v),
}
BOTH = P(("x", "y"))
cut = {"in_specs": P("x"), "out_specs": P("x")}
MAPS: dict[str, Callable[[Any], Any]] = {
    "shard_map": lambda f: tangrad.shard_map(f, mesh=mesh(), **cut),
    "shard_map without checks": lambda f: tangrad.shard_map(f, mesh=mesh(), check_vma=False, **cut),
    "shard_map over both axes": lambda f: tangrad.shard_map(
        f, mesh=mesh(), in_specs=P(("x", "y")), out_specs=P(("x", "y"))
    ),
    "pmap": lambda f: tangrad.pmap(f, axis_name="x"),
    "vmap": lambda f: tangrad.vmap(f, axis_name="x"),
    "xmap": lambda f: xmap(f, in_axes={0: "x"}, out_axes={0: "x"}),
    "no map": lambda f: f,
}
AROUND: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f,
    "jit": tangrad.jit,
    "the value of a gradient": lambda f: lambda x: tangrad.vjp(f, x)[0],
    "remat": lambda f: tangrad.checkpoint(f),
}
# Calls whose results matter have no derivative, and those with effects are not mapped by `vmap`.
CASES = [
    (call, name, around)
    for call in CALLS
    for name in MAPS
    for around in AROUND
    if not (call in ("pure_callback", "io_callback") and around in ("the value of a gradient", "remat"))
    if not (call == "io_callback" and name in ("vmap", "xmap"))
]


@pytest.mark.parametrize(("call", "name", "around"), CASES)
def test_calls_of_the_host(call: str, name: str, around: str, capfd: Any) -> None:
    seen.clear()
    found = AROUND[around](MAPS[name](CALLS[call]))(X)
    assert_equal(found, X * 2)
    tangrad.effects_barrier()
    if call == "debug.print":
        assert len(capfd.readouterr().out.splitlines()) >= 1
    elif name == "shard_map":  # two parts, each on four devices
        assert set(seen) == {X[:4].sum(), X[4:].sum()}
    elif name == "no map":
        assert set(seen) == {X.sum()}
    else:
        assert set(seen) <= {*X.tolist(), X.sum(), X[:4].sum(), X[4:].sum()} and seen


def test_calls_within_a_gradient_that_is_reduced_over_axes() -> None:
    """Its axes are among the overrides of a thread, and are no setting of the host's functions."""

    def loss(w: Any, x: Any) -> Any:
        tangrad.debug.callback(note, x)
        return (w * x).sum()

    seen.clear()
    slope = partial(tangrad.grad(loss, reduce_axes=("x",)), 2.0)
    total = tangrad.shard_map(slope, mesh=mesh(), in_specs=P("x"), out_specs=P(), check_vma=False)
    assert_equal(total(X), X.sum())
    tangrad.effects_barrier()
    assert set(seen) == {X[:4].sum(), X[4:].sum()}
