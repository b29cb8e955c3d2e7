"""Ragged and scaled contractions: values and derivatives as in JAX, mapping, and the messages for bad input."""

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad import use_backend as backend_setting
from tests.primitives.support import BACKENDS, agree_everywhere, assert_same, draw

jax = pytest.importorskip("jax")

SIZES = np.array([2, 0, 3], np.int32)  # of five rows of six
ROWS = draw("float32", 6, 4), draw("float32", 3, 4, 2, seed=1), SIZES
# name -> shapes of both factors, sizes of groups, dimension numbers
MODES = {
    "rows": ((6, 4), (3, 4, 2), SIZES, ((((1,), (1,)), ((), ())), (0,), (0,))),
    "rows of batches": ((2, 6, 4), (3, 2, 4, 5), SIZES, ((((2,), (2,)), ((0,), (1,))), (1,), (0,))),
    "rows of each batch": (
        (2, 6, 4),
        (3, 2, 4, 5),
        np.array([[1, 2, 3], [6, 0, 0]], np.int32),
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
        np.testing.assert_allclose((np.asarray(gradient) * direction).sum(), slope, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("in_axes", [(0, None, None), (None, 1, None), (1, 0, None), (None, None, 0), (0, 1, 0)])
def test_mapped_products_stay_ragged(in_axes):
    sizes = np.array([[2, 0, 3], [1, 5, 0]], np.int32)
    args = [
        draw("float32", *np.insert(shape, 0 if axis is None else axis, 2)[axis is None :], seed=seed)
        for seed, (axis, shape) in enumerate(zip(in_axes, ((6, 4), (3, 4, 2))))
    ]
    args.append(sizes if in_axes[2] == 0 else sizes[0])
    mapped = tangrad.vmap(lax.ragged_dot, in_axes)
    rows = [
        lax.ragged_dot(*[arg if axis is None else np.take(arg, i, axis) for arg, axis in zip(args, in_axes)])
        for i in range(2)
    ]
    assert_same(mapped(*args), np.stack(rows))
    assert "ragged_dot_general" in str(tangrad.make_jaxpr(mapped)(*args))


def test_infinities_of_one_group_do_not_reach_another():
    x, y = np.ones((2, 1), np.float32), np.array([[[np.inf]], [[2.0]]], np.float32)
    expected = np.array([[np.inf], [2.0]], np.float32)
    agree_everywhere(lax.ragged_dot, expected, x, y, np.array([1, 1], np.int32))


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"sizes": np.array([1.0, 2.0, 3.0])}, TypeError, "group_sizes must be integers"),
        ({"sizes": np.array([1, 2], np.int32)}, ValueError, "a part for each group"),
        ({"sizes": np.array([[1, 2, 3]], np.int32)}, ValueError, "group_sizes"),
        ({"y": draw("float32", 4, 2)}, ValueError, r"rhs \(g, k, n\)"),
        ({"y": draw("float32", 3, 5, 2)}, ValueError, "contracting"),
        ({"offset": np.array([1])}, NotImplementedError, "group_offset"),
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
    expected = np.einsum("bmk,bnk->bmn", x * of_x.repeat(4, 2), y * of_y.repeat(2, 2)).astype(np.float32)
    agree_everywhere(tangrad.nn.scaled_matmul, expected, x, y, of_x, of_y)
    with pytest.raises(ValueError, match="rhs_scales"):
        tangrad.nn.scaled_matmul(x, y, of_x, of_x)
