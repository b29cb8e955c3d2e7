"""Ragged operations: products and scaled ones as in JAX, with their derivatives, and exchanges between examples."""

from typing import Any

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad import use_backend as backend_setting
from tests.primitives.support import BACKENDS, agree_everywhere, assert_same, draw

jax = pytest.importorskip("jax")

SIZES = onp.array([2, 0, 3], onp.int32)  # of five rows of six
ROWS = draw("float32", 6, 4), draw("float32", 3, 4, 2, seed=1), SIZES
# name -> shapes of both factors, sizes of groups, dimension numbers
MODES = {
    "rows": ((6, 4), (3, 4, 2), SIZES, ((((1,), (1,)), ((), ())), (0,), (0,))),
    "rows of batches": ((2, 6, 4), (3, 2, 4, 5), SIZES, ((((2,), (2,)), ((0,), (1,))), (1,), (0,))),
    "rows of each batch": (
        (2, 6, 4),
        (3, 2, 4, 5),
        onp.array([[1, 2, 3], [6, 0, 0]], onp.int32),
        ((((2,), (2,)), ((0,), (1,))), (1,), (0,)),
    ),
    "sums": ((4, 6), (6, 5), SIZES, ((((1,), (0,)), ((), ())), (1,), ())),
    "sums of batches": ((2, 4, 6), (2, 6, 5), SIZES, ((((2,), (1,)), ((0,), (0,))), (2,), ())),
    "pairs": ((6, 2, 4), (6, 4, 3), SIZES, ((((2,), (1,)), ((0,), (0,))), (0,), ())),
}


def numbers_of(library, numbers):
    return library.lax.RaggedDotDimensionNumbers(*numbers)


@pytest.mark.parametrize("mode", MODES)
def test_values_agree_with_jax(mode):
    left, right, sizes, numbers = MODES[mode]
    x, y = draw("float32", *left), draw("float32", *right, seed=1)
    expected = jax.lax.ragged_dot_general(x, y, sizes, numbers_of(jax, numbers))
    agree_everywhere(lambda *args: lax.ragged_dot_general(*args, numbers_of(tangrad, numbers)), expected, x, y, sizes)


@pytest.mark.parametrize("dtype", ["int32", "bfloat16", "complex64"])
def test_dtypes_agree_with_jax(dtype):
    x, y = draw(dtype, 6, 4), draw(dtype, 3, 4, 2, seed=1)
    agree_everywhere(lambda *args: lax.ragged_dot(*args), jax.lax.ragged_dot(x, y, SIZES), x, y, SIZES)


def test_a_wider_result_agrees_with_jax():
    x, y = draw("bfloat16", 6, 4), draw("bfloat16", 3, 4, 2, seed=1)
    expected = jax.lax.ragged_dot(x, y, SIZES, preferred_element_type="float32")
    agree_everywhere(lambda *args: lax.ragged_dot(*args, None, "float32"), expected, x, y, SIZES, tolerance=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_agree_with_jax(backend):
    x, y, sizes = ROWS
    expected = jax.grad(lambda x, y: (jax.lax.ragged_dot(x, y, sizes) ** 2).sum(), (0, 1))(x, y)
    with backend_setting(backend):
        found = tangrad.jit(tangrad.grad(lambda x, y: (lax.ragged_dot(x, y, sizes) ** 2).sum(), (0, 1)))(x, y)
    assert_same(found, expected)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "rows"])
def test_gradients_are_those_of_the_dense_products(mode):
    """JAX has them for the first mode alone; the definition, as a sum over groups, has them all."""
    left, right, sizes, numbers = MODES[mode]
    x, y = draw("float32", *left), draw("float32", *right, seed=1)
    numbers = numbers_of(tangrad, numbers)
    weights = draw("float32", *lax.ragged_dot_general(x, y, sizes, numbers).shape, seed=2)

    def total(x, y):
        return (lax.ragged_dot_general(x, y, sizes, numbers) * weights).sum()

    from_rules = tangrad.grad(total, (0, 1))(x, y)
    step = 1e-2
    for position, (value, gradient) in enumerate(zip((x, y), from_rules)):
        direction = draw("float32", *value.shape, seed=3)
        moved = [(x, y)[:position] + (value + sign * step * direction,) + (x, y)[position + 1 :] for sign in (1, -1)]
        slope = (total(*moved[0]) - total(*moved[1])) / (2 * step)
        onp.testing.assert_allclose((onp.asarray(gradient) * direction).sum(), slope, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("in_axes", [(0, None, None), (None, 1, None), (1, 0, None), (None, None, 0), (0, 1, 0)])
def test_mapped_products_stay_ragged(in_axes):
    sizes = onp.array([[2, 0, 3], [1, 5, 0]], onp.int32)
    args = [
        draw("float32", *onp.insert(shape, 0 if axis is None else axis, 2)[axis is None :], seed=seed)
        for seed, (axis, shape) in enumerate(zip(in_axes, ((6, 4), (3, 4, 2))))
    ]
    args.append(sizes if in_axes[2] == 0 else sizes[0])
    mapped = tangrad.vmap(lax.ragged_dot, in_axes)
    rows = [
        lax.ragged_dot(*[arg if axis is None else onp.take(arg, i, axis) for arg, axis in zip(args, in_axes)])
        for i in range(2)
    ]
    assert_same(mapped(*args), onp.stack(rows))
    assert "ragged_dot_general" in str(tangrad.make_jaxpr(mapped)(*args))


def test_infinities_of_one_group_do_not_reach_another():
    x, y = onp.ones((2, 1), onp.float32), onp.array([[[onp.inf]], [[2.0]]], onp.float32)
    expected = onp.array([[onp.inf], [2.0]], onp.float32)
    agree_everywhere(lax.ragged_dot, expected, x, y, onp.array([1, 1], onp.int32))


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"sizes": onp.array([1.0, 2.0, 3.0])}, TypeError, "group_sizes must be integers"),
        ({"sizes": onp.array([1, 2], onp.int32)}, ValueError, "a part for each group"),
        ({"sizes": onp.array([[1, 2, 3]], onp.int32)}, ValueError, "group_sizes"),
        ({"y": draw("float32", 4, 2)}, ValueError, r"rhs \(g, k, n\)"),
        ({"y": draw("float32", 3, 5, 2)}, ValueError, "contracting"),
        ({"offset": onp.array([1])}, NotImplementedError, "group_offset"),
    ],
)
def test_bad_input(change, error, message):
    given = {"x": ROWS[0], "y": ROWS[1], "sizes": SIZES, "offset": None} | change
    with pytest.raises(error, match=message):
        lax.ragged_dot(given["x"], given["y"], given["sizes"], group_offset=given["offset"])


@pytest.mark.parametrize(
    "ragged, group, message", [((), (0,), "one ragged"), ((0,), (), "must have 1"), ((1,), (0,), "must have 0")]
)
def test_bad_dimension_numbers(ragged, group, message):
    numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), ragged, group)
    with pytest.raises(ValueError, match=message):
        lax.ragged_dot_general(*ROWS, numbers)
    with pytest.raises(TypeError, match="RaggedDotDimensionNumbers"):
        lax.ragged_dot_general(*ROWS, "rows")


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_have_the_given_sharding(backend):
    x, y, sizes = ROWS
    with backend_setting(backend):
        sharding = tangrad.NamedSharding(tangrad.make_mesh((1,), ("rows",)), tangrad.P("rows"))
        for function in (
            lambda x, y: lax.ragged_dot(x, y, sizes, out_sharding=sharding),
            lambda x, y: lax.dot(x, y[0], out_sharding=sharding),
            lambda x, y: lax.dot_general(x, y[0], (((1,), (0,)), ((), ())), out_sharding=sharding),
        ):
            assert "sharding_constraint" in str(tangrad.make_jaxpr(function)(x, y))
            assert function(x, y).shape == (6, 2)


# --- scales --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scaled", [(), ("lhs_scale", "rhs_scale")])
def test_scaled_products_agree_with_jax(scaled):
    x, y = draw("bfloat16", 2, 3, 8), draw("bfloat16", 2, 8, 5, seed=1)
    scales = {"lhs_scale": draw("bfloat16", 2, 3, 2, seed=2), "rhs_scale": draw("bfloat16", 2, 4, 5, seed=3)}
    given = {name: scales[name] for name in scaled}
    agree_everywhere(lambda x, y: lax.scaled_dot(x, y, **given), jax.lax.scaled_dot(x, y, **given), x, y)


def test_scales_must_fit():
    x = draw("float32", 3, 8)
    with pytest.raises(ValueError, match="lhs_scale must have the shape"):
        lax.scaled_dot(x, x.T, lhs_scale=draw("float32", 3, 3))
    with pytest.raises(TypeError, match="bfloat16 or float32"):
        lax.scaled_dot(x, x.T, preferred_element_type="float16")
    with pytest.raises(ValueError, match="two dimensions or three"):
        lax.scaled_dot(x, x[0])


def test_scaled_matmul_is_the_product_of_scaled_operands():
    x, y = draw("float32", 2, 3, 8), draw("float32", 2, 5, 8, seed=1)
    of_x, of_y = draw("float32", 2, 3, 2, seed=2), draw("float32", 2, 5, 4, seed=3)
    expected = onp.einsum("bmk,bnk->bmn", x * of_x.repeat(4, 2), y * of_y.repeat(2, 2)).astype(onp.float32)
    agree_everywhere(tangrad.nn.scaled_matmul, expected, x, y, of_x, of_y)
    with pytest.raises(ValueError, match="rhs_scales"):
        tangrad.nn.scaled_matmul(x, y, of_x, of_x)


RNG = onp.random.default_rng(0)
SENT, LENGTH = 7, 12


def plan(examples: int, slices: int) -> Any:
    """Offsets and sizes of slices, none of which overlap where they arrive."""
    count = examples * slices
    sizes = RNG.integers(0, 3, (examples, count)).astype(onp.int32)
    begins = RNG.integers(0, SENT - 2, (examples, count)).astype(onp.int32)
    received = sizes.reshape(examples, examples, slices).swapaxes(0, 1).reshape(examples, count)
    arrives = onp.cumsum(received, 1, dtype=onp.int32) - received
    starts = arrives.reshape(examples, examples, slices).swapaxes(0, 1).reshape(examples, count)
    return begins, sizes, onp.ascontiguousarray(starts), onp.ascontiguousarray(received)


def by_hand(rows: Any, output: Any, begins: Any, sizes: Any, starts: Any, _: Any) -> Any:
    found, slices = output.copy(), begins.shape[1] // len(rows)
    for sender, each in enumerate(zip(begins, sizes, starts, strict=True)):
        for number, (begin, size, start) in enumerate(zip(*each, strict=True)):
            found[number // slices, start : start + size] = rows[sender, begin : begin + size]
    return found


def exchanged(*arguments: Any, **options: Any) -> Any:
    return lax.ragged_all_to_all(*arguments, axis_name="i", **options)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize(("examples", "slices"), [(1, 1), (2, 1), (3, 2)])
def test_values_and_gradients(examples: int, slices: int, backend: str) -> None:
    rows = RNG.normal(size=(examples, SENT, 2)).astype(onp.float32)
    output = RNG.normal(size=(examples, examples * slices * 3, 2)).astype(onp.float32)
    rest = plan(examples, slices)
    mapped = tangrad.jit(tangrad.vmap(exchanged, axis_name="i"), backend=backend)
    onp.testing.assert_array_equal(mapped(rows, output, *rest), by_hand(rows, output, *rest))
    weights = RNG.normal(size=output.shape).astype(onp.float32)
    loss = lambda r, o: (tangrad.vmap(exchanged, axis_name="i")(r, o, *rest) * weights).sum()
    slopes = tangrad.jit(tangrad.grad(loss, (0, 1)), backend=backend)(rows, output)
    kept = by_hand(onp.zeros_like(rows), onp.ones_like(output), *rest)
    onp.testing.assert_allclose(slopes[1], weights * kept, rtol=1e-6)
    direction = RNG.normal(size=rows.shape).astype(onp.float32)
    along = (by_hand(direction, onp.zeros_like(output), *rest) * weights).sum()
    onp.testing.assert_allclose((onp.asarray(slopes[0]) * direction).sum(), along, rtol=1e-4, atol=1e-5)


def test_groups_and_devices() -> None:
    rows = RNG.normal(size=(4, SENT)).astype(onp.float32)
    output = onp.zeros((4, LENGTH), onp.float32)
    first, second = plan(2, 2), plan(2, 2)
    rest = [onp.concatenate(pair) for pair in zip(first, second, strict=True)]
    found = tangrad.vmap(lambda *a: exchanged(*a, axis_index_groups=[[0, 1], [2, 3]]), axis_name="i")(
        rows, output, *rest
    )
    onp.testing.assert_array_equal(found[:2], by_hand(rows[:2], output[:2], *first))
    onp.testing.assert_array_equal(found[2:], by_hand(rows[2:], output[2:], *second))
    mesh, split = tangrad.make_mesh((1,), ("i",)), tangrad.P("i")
    one = plan(1, 2)
    alone = tangrad.shard_map(
        lambda *a: exchanged(*[x[0] for x in a])[None], mesh=mesh, in_specs=(split,) * 6, out_specs=split
    )
    onp.testing.assert_array_equal(alone(rows[:1], output[:1], *one), by_hand(rows[:1], output[:1], *one))


GOOD = (np.zeros((2, 3)), np.zeros((2, 4)), *[np.zeros((2, 2), int)] * 4)


@pytest.mark.parametrize(
    ("position", "value", "error", "message"),
    [
        (0, np.zeros((2, 3, 2)), ValueError, "the same dimensions but for the first"),
        (1, np.zeros((2, 4), int), TypeError, "output must have the dtype of operand, float32, got int32"),
        (2, np.zeros((2, 2)), TypeError, "input_offsets must be integers"),
        (3, np.zeros((2, 3), int), ValueError, "send_sizes must have one dimension, of a multiple of the 2 examples"),
        (4, np.zeros((2, 4), int), ValueError, "one number of slices"),
        (5, np.zeros((2,), int), ValueError, "recv_sizes must have one dimension"),
    ],
)
def test_refused(position: int, value: Any, error: type[Exception], message: str) -> None:
    arguments = list(GOOD)
    arguments[position] = value
    with pytest.raises(error, match=message):
        tangrad.vmap(exchanged, axis_name="i")(*arguments)
    with pytest.raises(NameError, match="'i'"):
        exchanged(*[one[0] for one in GOOD])
