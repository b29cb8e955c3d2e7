"""What is seen of sharded values: how they are shown, and calls of the host within every kind of map."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
import tangrad.numpy as tnp
from tangrad import lax
from tangrad.experimental.maps import xmap
from tangrad.sharding import NamedSharding, SingleDeviceSharding
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, by, matrix, mesh

inspect = tangrad.debug.inspect_array_sharding


def test_an_array_is_shown_at_once() -> None:
    seen: list[Any] = []
    inspect({"a": tangrad.device_put(matrix(), by("x", "y")), "b": jnp.ones(2)}, callback=seen.append)
    assert seen == [by("x", "y"), SingleDeviceSharding(tangrad.devices()[0])]


def test_what_the_compiler_decides_is_shown_once_for_each_compilation() -> None:
    seen: list[Any] = []

    @tangrad.jit
    def double(x: Any) -> Any:
        y = 2 * x
        inspect(y, callback=seen.append)
        return jnp.sin(y)

    x = tangrad.device_put(matrix(), by("x", "y"))
    for _ in range(3):
        assert_equal(double(x), jnp.sin(2 * matrix()))
    assert len(seen) == 1
    if ON_XLA:
        (sharding,) = seen
        assert isinstance(sharding, NamedSharding) and sharding.is_equivalent_to(by("x", "y"), 2)
        seen.clear()
        double.lower(tangrad.device_put(matrix(), by(None, "y"))).compile()
        assert len(seen) == 1 and seen[0].is_equivalent_to(by(None, "y"), 2)


def test_constrained_values_and_one_device() -> None:
    seen: list[Any] = []

    @tangrad.jit
    def f(x: Any) -> Any:
        inspect(tangrad.lax.with_sharding_constraint(x + 1, by("y")), callback=seen.append)
        return x

    f(matrix())
    if ON_XLA:
        assert len(seen) == 1 and seen[0].is_equivalent_to(by("y"), 2)
    seen.clear()

    def g(x: Any) -> Any:
        inspect(x, callback=seen.append)
        return x

    tangrad.jit(g)(matrix())
    assert seen == [SingleDeviceSharding(tangrad.devices()[0])]


def test_mapped_and_differentiated() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        inspect(x, callback=seen.append)
        return (x * x).sum()

    x = tangrad.device_put(matrix(), by("x", "y"))
    assert_equal(tangrad.vmap(f)(x), (matrix() ** 2).sum(1))
    assert seen == [by("x", "y")]
    assert_equal(tangrad.grad(f)(x), 2 * matrix())
    assert seen == [by("x", "y")] * 2
    assert_equal(tangrad.jit(tangrad.grad(f))(x), 2 * matrix())
    assert len(seen) == 3


def test_parts_within_a_sharded_map_are_cut_no_further() -> None:
    seen: list[Any] = []

    def part(x: Any) -> Any:
        inspect(x, callback=seen.append)
        return 2 * x

    f = tangrad.jit(tangrad.shard_map(part, mesh=mesh(), in_specs=P("x"), out_specs=P("x")))
    assert_equal(f(matrix()), 2 * matrix())
    assert seen and all([sharding.is_fully_replicated for sharding in seen])


def test_drawn_within_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    @tangrad.jit
    def f(x: Any) -> Any:
        tangrad.debug.visualize_array_sharding(x)
        return x

    f(tangrad.device_put(matrix(), by("x")))
    assert ("CPU 4,5,6,7" if ON_XLA else "CPU 0") in capsys.readouterr().out


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(TypeError, match=r"value\['a'\] must be an array, got 'text'"):
        inspect({"a": "text"}, callback=print)
    with pytest.raises(TypeError, match="callback must be a function"):
        inspect(matrix(), callback=3)


def test_what_the_function_raises_comes_out() -> None:
    def refuse(sharding: Any) -> None:
        raise RuntimeError("not so")

    def f(x: Any) -> Any:
        inspect(x, callback=refuse)
        return x + 1

    with pytest.raises(RuntimeError, match="not so"):
        tangrad.jit(f)(tangrad.device_put(matrix(), by("x")))


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
    "shard_map over one axis": lambda f: tangrad.shard_map(f, mesh=mesh(), axis_names={"x"}, **cut),
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
    if not (call == "io_callback" and name in ("vmap", "xmap", "shard_map over one axis"))
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
    elif name == "shard_map over one axis":  # along the other one the compiler partitions: one call for each part
        assert set(seen) == {X[:4].sum(), X[4:].sum()}
        assert len(seen) == 2 or call == "pure_callback"
    elif name == "no map":
        assert set(seen) == {X.sum()}
    else:
        assert set(seen) <= {*X.tolist(), X.sum(), X[:4].sum(), X[4:].sum()} and seen


def test_a_call_for_its_effects_has_results_where_each_device_has_a_part_of_its_own() -> None:
    mapped = MAPS["shard_map over one axis"](CALLS["io_callback"])
    if not ON_XLA:  # one after another: nothing is partitioned
        assert_equal(mapped(X), X * 2)
        return
    with pytest.raises(NotImplementedError, match=r"io_callback of 'noted'.* within a shard_map over \('x',\) alone"):
        mapped(X)


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
