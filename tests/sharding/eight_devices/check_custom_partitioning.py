"""Functions that say how they are divided over devices."""

from collections.abc import Callable
from typing import Any

import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad.errors import UnexpectedTracerError
from tangrad.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    custom_partitioning,
)
from tangrad.sharding import NamedSharding
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, by, matrix, mesh


def kept(sharding: NamedSharding, ndim: int) -> NamedSharding:
    """The same, with the last dimension whole."""
    entries = [*sharding.spec, *[None] * ndim][: ndim - 1]
    return NamedSharding(sharding.mesh, P(*entries, None))


def fft_along_rows(**options: Any) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    @custom_partitioning
    def transform(x: Any) -> Any:
        return jnp.fft.fft(x)

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        seen.append((args[0].shape, args[0].sharding))
        sharding = kept(args[0].sharding, len(args[0].shape))
        return mesh, jnp.fft.fft, sharding, (sharding,)

    transform.def_partition(partition, **{"sharding_rule": "... i -> ... i", **options})
    return transform, seen


def test_parts_are_computed_as_the_function_says() -> None:
    transform, seen = fft_along_rows(need_replication_factors=("i",))
    x = tangrad.device_put(matrix().astype("complex64"), by(("x", "y")))
    compiled = tangrad.jit(transform)
    assert_equal(compiled(x), jnp.fft.fft(matrix()))
    if ON_XLA:
        assert len(seen) == 1 and seen[0][0] == (8, 8)
        assert seen[0][1].is_equivalent_to(by(("x", "y")), 2)
        text = compiled.lower(x).compile().as_text()
        assert "all-gather" not in text and "fft(" in text
        assert compiled(x).sharding.is_equivalent_to(by(("x", "y")), 2)
    assert_equal(compiled(tangrad.device_put(matrix().astype("complex64"), by(None, "y"))), jnp.fft.fft(matrix()))


def test_outside_of_programs_and_on_one_device_the_function_runs() -> None:
    transform, seen = fft_along_rows()
    assert_equal(transform(tangrad.device_put(matrix(), by("x"))), jnp.fft.fft(matrix()))
    assert_equal(tangrad.jit(transform)(matrix()), jnp.fft.fft(matrix()))
    assert not seen


def test_collectives_within_the_function_of_a_part() -> None:
    @custom_partitioning
    def total(x: Any, y: Any) -> Any:
        return (x * y).sum(), x + y

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        sharding = args[0].sharding
        used = tuple([axis for axes in sharding.dimension_axes(2) for axis in axes])

        def part(x: Any, y: Any) -> Any:
            return lax.psum((x * y).sum(), used), x + y

        return mesh, part, (NamedSharding(mesh, P()), sharding), (sharding, sharding)

    total.def_partition(partition, sharding_rule="i j, i j -> , i j", reduction_factors=())
    x, y = (tangrad.device_put(matrix(), by("x", "y")) for _ in range(2))
    summed, added = tangrad.jit(total)(x, y)
    assert_equal(summed, (matrix() ** 2).sum(), 1e-4)
    assert_equal(added, 2 * matrix())
    assert tangrad.jit(total)(x, y)[1].sharding.is_equivalent_to(by("x", "y"), 2)


def test_derivatives_and_maps_are_those_of_the_function() -> None:
    transform, _ = fft_along_rows()
    x = tangrad.device_put(matrix(), by("x"))

    def loss(transform: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: (jnp.abs(transform(x)) ** 2).sum()

    assert_equal(tangrad.jit(tangrad.grad(loss(transform)))(x), tangrad.grad(loss(jnp.fft.fft))(matrix()), 1e-3)
    assert_equal(tangrad.jit(tangrad.vmap(transform))(x), jnp.fft.fft(matrix()), 1e-4)


def test_static_arguments_and_rules_by_functions() -> None:
    seen: list[Any] = []

    def scaled(x: Any, factor: float) -> Any:
        return factor * x

    def partition(factor: float, mesh: Any, args: Any, result: Any) -> Any:
        seen.append(factor)
        return mesh, lambda x: factor * x, args[0].sharding, (args[0].sharding,)

    def rule(factor: float, mesh: Any, operands: Any, results: Any) -> Any:
        assert [operand.shape for operand in operands] == [result.shape for result in results] == [(8, 8)]
        return "(a b) j -> (a b) j", {"a": 2, "b": 4}

    function = custom_partitioning(scaled, static_argnums=(1,))
    function.def_partition(partition, sharding_rule=rule)
    x = tangrad.device_put(matrix(), by("x"))
    assert_equal(tangrad.jit(lambda x: function(x, factor=3.0))(x), 3 * matrix())
    assert seen == ([3.0] if ON_XLA else [])


def test_within_a_sharded_map_the_function_runs() -> None:
    transform, seen = fft_along_rows()
    f = tangrad.jit(tangrad.shard_map(transform, mesh=mesh(), in_specs=P("x"), out_specs=P("x")))
    assert_equal(f(matrix()), jnp.fft.fft(matrix()))
    assert not seen


def test_traced_values_that_are_no_arguments() -> None:
    def f(x: Any) -> Any:
        return custom_partitioning(lambda y: x * y)(x)

    with pytest.raises(UnexpectedTracerError, match="closes over a value that is traced"):
        tangrad.jit(f)(1.0)
    with pytest.raises(UnexpectedTracerError, match="a static argument is a traced value"):
        tangrad.jit(custom_partitioning(lambda x, y: x, static_argnums=(1,)))(1.0, 2.0)


@pytest.mark.skipif(not ON_XLA, reason="nothing is divided")
def test_what_goes_wrong_in_the_partition_comes_out() -> None:
    x = tangrad.device_put(matrix(), by("x"))

    @custom_partitioning
    def double(x: Any) -> Any:
        return 2 * x

    with pytest.raises(ValueError, match="'double' has no partition; state one"):
        tangrad.jit(lambda x: double(x))(x)
    double.def_partition(lambda mesh, args, result: 3, sharding_rule="i j -> i j")
    with pytest.raises(TypeError, match=r"partition must return \(mesh, function"):
        tangrad.jit(lambda x: double(x))(x)
    whole = lambda mesh, args, result: (mesh, lambda x: x.sum(), result.sharding, (args[0].sharding,))
    double.def_partition(whole, sharding_rule="i j -> i j")
    with pytest.raises(ValueError, match=r"the function of a part returned \['f32\[\]'\]"):
        tangrad.jit(lambda x: double(x))(x)
    double.def_partition(whole)
    with pytest.raises(TypeError, match="must state a sharding_rule"):
        tangrad.jit(lambda x: double(x))(x)
    double.def_partition(whole, sharding_rule="i -> i")
    with pytest.raises(ValueError, match=r"operand 0 has the shape \(8, 8\), and the rule has 'i'"):
        tangrad.jit(lambda x: double(x))(x)


def test_rules_are_read_and_checked() -> None:
    function = custom_partitioning(lambda x: x)
    for rule, options, message in (
        ("i j", {}, "one '->'"),
        ("i (j -> i", {}, "not closed"),
        ("i j) -> i", {}, "closed that is not open"),
        ("((i j)) -> i", {}, "within brackets"),
        ("i + j -> i", {}, "begins with no factor"),
        ("i ... -> i", {}, "stands at the beginning"),
        ("(i) -> i", {}, "at least two"),
        ("(i j) -> (i j)", {"i": 2}, "'j' is nowhere a whole dimension"),
        ("i -> i", {"i": 2}, "leave out its size"),
        ("i -> i", {"k": 2}, "no mapping has that factor"),
        ("i -> i", {"reduction_factors": ("k",)}, "no mapping has that factor"),
        ("i -> i", {"reduction_factors": ("i",), "permutation_factors": ("i",)}, "named twice"),
    ):
        with pytest.raises(ValueError, match=message):
            function.def_partition(lambda *_: None, sharding_rule=rule, **options)
    with pytest.raises(TypeError, match="sharding_rule must be text"):
        function.def_partition(lambda *_: None, sharding_rule=3)
    with pytest.raises(TypeError, match="partition must be a function"):
        function.def_partition(None, sharding_rule="i -> i")


def test_rules_as_objects() -> None:
    rule = SdyShardingRule(
        (ArrayMapping(BATCHING, CompoundFactor("a", "b")),),
        (ArrayMapping(BATCHING, "a", "b"),),
        permutation_factors=("a",),
    )
    assert rule.text([(3, 8)], [(3, 2, 4)]) == "([i, jk])->([i, j, k]) {i=3, j=2, k=4} permutation={j}, custom"
    with pytest.raises(ValueError, match="a dimension of size 8 cannot be made of a=2, b=3"):
        rule.text([(3, 8)], [(3, 2, 3)])
    with pytest.raises(ValueError, match="BATCHING stands for 1 dimensions here, elsewhere for 2"):
        rule.text([(3, 3, 8)], [(3, 2, 4)])
