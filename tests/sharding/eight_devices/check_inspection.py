"""How values are sharded, as it is shown: outside of programs, within compiled ones, mapped and differentiated."""

from typing import Any

import pytest

import tangrad
import tangrad.numpy as jnp
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
