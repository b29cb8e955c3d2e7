"""Results at the limits: of dtypes, of sizes, and of numbers. The references are NumPy and jax."""

import itertools

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.experimental.ode import odeint

INF, NAN = onp.inf, onp.nan


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    pytest.importorskip(f"tangrad._backend_{request.param}.backend")
    with tangrad.use_backend(request.param):
        yield request.param


# --- integers beside 2^63 ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(
    "numbers",
    [
        [2**64 - 1, 1],
        [2**53 + 1, 2**63],
        [[2**64 - 1, 1], [0, 3]],
        [onp.uint64(2**64 - 1), 1],
        [onp.uint64(2**64 - 1), onp.array(3)],
        [2**53 + 1, 1.5],
        [True, 2**64 - 1],
    ],
)
def test_lists_of_integers_do_not_go_through_floats(numbers):
    with tangrad.enable_x64(True):
        made = np.asarray(numbers, "uint64")
        assert made.dtype == "uint64"
        assert made.tolist() == onp.array(numbers, "uint64").tolist()


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("numbers", [[2**64, 1], [-1, 2**63], [onp.uint64(2**63), -1], [1e30, 2**63], [NAN, 2**63]])
def test_integers_that_do_not_fit_are_refused(numbers):
    with tangrad.enable_x64(True), pytest.raises((OverflowError, ValueError), match="does not fit"):
        np.asarray(numbers, "uint64")


# --- NaN and infinity ----------------------------------------------------------------------------------------------

PRODUCTS = {
    "matmul": (lambda x, y: x @ y, (3, 1), (1, 1)),
    "matmul, number first": (lambda x, y: y @ x, (1, 3), (1, 1)),
    "vector and number": (lambda x, y: np.dot(y, x), (1, 3), (1,)),
    "matrix and number": (lambda x, y: np.dot(x, y), (3, 1), (1,)),
    "tensordot": (lambda x, y: np.tensordot(x, y, 1), (3, 1), (1, 1)),
    "vmap": (lambda x, y: tangrad.vmap(lambda row: row @ y)(x), (3, 1), (1, 1)),
    "convolve": (lambda x, y: np.convolve(x, y), (3,), (1,)),
}


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("transformation", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_products_with_a_single_zero_keep_nan_and_infinity(name, transformation):
    product, shape, other = PRODUCTS[name]
    x = np.array([NAN, INF, 1.0]).reshape(shape)
    result = transformation(product)(x, np.zeros(other))
    onp.testing.assert_array_equal(onp.asarray(result).ravel(), [NAN, NAN, 0.0])


@pytest.mark.usefixtures("backend")
def test_debug_nans_sees_them():
    with tangrad.debug_nans(True), pytest.raises(FloatingPointError):
        np.array([[INF], [1.0]]) @ np.zeros((1, 1))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("function", ["convolve", "correlate"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_what_is_beyond_a_vector_is_not_multiplied(function, mode):
    generator = onp.random.default_rng(0)
    for first, second in itertools.product([1, 2, 4, 5], [1, 2, 3, 4]):
        a, v = (generator.normal(size=size).astype("float32") for size in (first, second))
        for special in (False, True):
            if special:
                a[generator.integers(first)], v[generator.integers(second)] = INF, -INF
            with onp.errstate(invalid="ignore"):
                expected = getattr(onp, function)(a, v, mode)
            found = getattr(np, function)(a, v, mode)
            onp.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=f"{a} {v}")


@pytest.mark.usefixtures("backend")
def test_the_convolution_of_infinities():
    found = np.convolve(np.array([0.5, 1.0, -3.0, -1.0]), np.array([-INF, -INF]))
    onp.testing.assert_array_equal(found, [-INF, -INF, NAN, INF, INF])


# --- powers --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
@pytest.mark.parametrize("base", [1.0001, 0.0])
def test_the_derivative_of_a_power_at_the_ends_of_the_exponent(dtype, base):
    limits = onp.iinfo(dtype)
    exponents = onp.array([limits.min, limits.max, 0, 1, 3], dtype)
    jax = pytest.importorskip("jax")
    x = onp.full(5, base, "float32")
    found = tangrad.jvp(lambda x: lax.pow(x, np.asarray(exponents)), (x,), (np.ones(5),))[1]
    expected = jax.jvp(lambda x: jax.lax.pow(x, jax.numpy.asarray(exponents)), (x,), (jax.numpy.ones(5),))[1]
    onp.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.usefixtures("backend")
def test_the_exponent_minus_one_does_not_wrap():
    found = tangrad.grad(lambda x: (x ** np.array([-128], "int8")).sum())(1.5)
    onp.testing.assert_allclose(found, -128 * 1.5**-129, rtol=1e-5)


# --- masks ---------------------------------------------------------------------------------------------------------

MASKED = onp.ma.array([1.0, 2.0], mask=[False, True])


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(
    "use",
    [
        lambda: np.asarray(MASKED),
        lambda: np.array(MASKED),
        lambda: np.array(MASKED, "int32"),
        lambda: np.array([MASKED, MASKED]),
        lambda: np.zeros(2).at[:].set(MASKED),
        lambda: np.zeros(2).at[0].add(MASKED[1:]),
        lambda: np.full(2, MASKED),
        lambda: np.where(True, MASKED, 0.0),
        lambda: np.ones(2) + MASKED,
        lambda: np.concatenate([MASKED, MASKED]),
        lambda: np.zeros(2, int)[MASKED],
        lambda: tangrad.jit(lambda x: x)(MASKED),
    ],
)
def test_no_mask_is_dropped(use):
    with pytest.raises((ValueError, TypeError), match=r"masked arrays|index arrays must be integer"):
        use()


# --- dimensions and dtypes -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(
    ("subscripts", "shapes"), [("aa,a->", [(3, 1), (3,)]), ("aa->a", [(1, 3)]), ("...aa->...", [(2, 3, 1)])]
)
def test_a_diagonal_has_one_size(subscripts, shapes):
    operands = [onp.ones(shape) for shape in shapes]
    with pytest.raises(ValueError):
        onp.einsum(subscripts, *operands)
    with pytest.raises(ValueError, match=r"einsum: dimension 'a' has sizes . and . in one operand"):
        np.einsum(subscripts, *[np.asarray(operand) for operand in operands])


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64"])
@pytest.mark.parametrize("x64", [False, True])
def test_angles_of_integers_have_the_default_float(dtype, x64):
    jax = pytest.importorskip("jax")
    with tangrad.enable_x64(x64), jax.enable_x64(x64):
        for function in ("angle", "unwrap"):
            values = onp.array([0, 1, 0, 1]).astype(dtype)
            expected = getattr(jax.numpy, function)(values)
            found = getattr(np, function)(values)
            assert found.dtype == expected.dtype
            onp.testing.assert_allclose(found, expected)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.parametrize(
    "function",
    [
        np.sort,
        lambda x: np.take_along_axis(x, np.argsort(x, axis=0), axis=0),
        lambda x: np.take_along_axis(x, np.lexsort((x,), axis=0), axis=0),
        lambda x: lax.sort((x, 2 * x), dimension=0)[1],
        lambda x: lax.top_k(x, 0)[0],
        lambda x: lax.top_k(x, x.shape[-1])[0],
    ],
)
def test_derivatives_of_sorting_nothing(function, shape):
    x = np.zeros(shape)
    answer, tangent = tangrad.jvp(function, (x,), (x,))
    assert answer.shape == tangent.shape
    assert tangrad.grad(lambda x: function(x).sum())(x).shape == shape
    assert tangrad.jit(tangrad.vmap(tangrad.grad(lambda x: function(x).sum())))(x[None]).shape == (1, *shape)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("function", [np.median, lambda x, axis: np.quantile(x, 0.5, axis=axis), np.nanmedian])
def test_derivatives_of_no_quantiles(function):
    x = np.zeros((3, 0))
    assert tangrad.jvp(lambda x: function(x, axis=0), (x,), (x,))[1].shape == (0,)
    assert tangrad.grad(lambda x: function(x, axis=0).sum())(x).shape == (3, 0)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_places_beyond_those_of_16_bits(dtype):
    x = np.arange(70_000) // 700
    found = [np.median(x.astype(dtype)), np.nanmedian(x.astype(dtype)), np.quantile(x.astype(dtype), 0.2503)]
    assert [float(each) for each in found] == [49.5, 49.5, 25]
    large = np.asarray(60_000, dtype)
    assert np.median(np.stack([large, large])) == large  # whose sum is no float16


# --- indices that select nothing -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((2,), onp.zeros(0, bool)),
        ((2, 3), onp.zeros((0, 3), bool)),
        ((2, 3), onp.zeros((2, 0), bool)),
        ((2, 3), (slice(None), onp.zeros(0, bool))),
        ((2, 3), (onp.zeros(0, bool), 1)),
    ],
)
def test_a_mask_of_size_zero_fits(shape, index):
    x = onp.ones(shape, "float32")
    assert np.asarray(x)[index].shape == x[index].shape
    onp.testing.assert_array_equal(np.asarray(x).at[index].set(7.0), x)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("shape", [(1,), (0, 2), (3, 0), (0, 0, 0)])
def test_other_masks_of_another_shape_do_not(shape):
    with pytest.raises(IndexError, match="does not fit"):
        np.ones((2, 3))[np.zeros(shape, bool)]


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("index", [onp.zeros(0, int), slice(1, 1), onp.zeros(3, bool), (slice(0), None)])
@pytest.mark.parametrize("method", ["set", "multiply"])
def test_updates_of_nothing_take_values_of_any_shape(index, method):
    x = np.array([1.0, 2.0, 3.0])

    def update(x, values):
        return getattr(x.at[index], method)(values)

    for values in (np.ones(2), np.ones((4, 5)), 7.0):
        onp.testing.assert_array_equal(update(x, values), x)
    of_x, of_values = tangrad.grad(lambda *args: update(*args).sum(), (0, 1))(x, np.ones(2))
    assert of_x.tolist() == [1, 1, 1] and of_values.tolist() == [0, 0]


@pytest.mark.usefixtures("backend")
def test_values_must_fit_what_is_written():
    with pytest.raises(ValueError, match="do not broadcast"):
        np.ones(3).at[:2].set(np.ones(3))


@pytest.mark.usefixtures("backend")
def test_a_grid_without_axes():
    assert np.mgrid[()].shape == onp.mgrid[()].shape == (0,)
    assert np.mgrid[()].dtype == "int32" and list(np.ogrid[()]) == []


# --- Positions that no int32 holds, and axes, shapes and states in other sequences than tuples ---


LONG = 2**31 + 30
FAR = 2**31 + 20
INDEXED = {
    "set": lambda x: x.at[FAR].set(5),
    "set from the end": lambda x: x.at[-3].set(5),
    "get": lambda x: x[FAR],
    "slice": lambda x: x[FAR : FAR + 4],
    "set slice": lambda x: x.at[FAR : FAR + 4].set(1),
    "get several": lambda x: x[onp.array([FAR, -1])],
    "add to several": lambda x: x.at[onp.array([FAR, -1])].add(1),
    "apply": lambda x: x.at[onp.array([FAR, FAR])].apply(lambda v: v + 1),
    "new dimension": lambda x: x.at[None, FAR].set(5),
    "take": lambda x: np.take(x, onp.array([FAR])),
    "take along": lambda x: np.take_along_axis(x, onp.array([FAR]), 0),
}


@pytest.mark.parametrize("name", INDEXED)
def test_positions_beyond_int32_are_in_the_program(name):
    """Such an array has two gigabytes: the program is made, and says the position in 64 bits."""
    with tangrad.enable_x64(True):
        program = tangrad.make_jaxpr(INDEXED[name])(tangrad.ShapeDtypeStruct((LONG,), "int8"))
    assert "i64" in str(program) or str(FAR) in str(program)


def test_a_position_beyond_int32_is_written():
    with tangrad.enable_x64(True), tangrad.use_backend("numpy"):
        x = np.zeros((2**31 + 2,), bool).at[2**31].set(True)
        assert [bool(x[place]) for place in (0, 2**31 - 1, 2**31, -1)] == [False, False, True, False]


AXES = [range(2), onp.array([0, 1]), [0, 1], (onp.int32(0), onp.int64(1))]
OVER_AXES = {
    **{name: (lambda x, axes, name=name: getattr(np, name)(x, axis=axes)) for name in ("sum", "max", "flip", "std")},
    "moveaxis": lambda x, axes: np.moveaxis(x, axes, axes),
    "expand_dims": lambda x, axes: np.expand_dims(x, axes),
    "roll": lambda x, axes: np.roll(x, (1, 2), axes),
    "vector_norm": lambda x, axes: np.linalg.vector_norm(x, axis=axes),
    "fftn": lambda x, axes: np.fft.fftn(x, axes=axes),
    "logsumexp": lambda x, axes: tangrad.nn.logsumexp(x, axis=axes),
    "softmax": lambda x, axes: tangrad.nn.softmax(x, axis=axes),
}


@pytest.mark.parametrize("axes", AXES, ids=lambda axes: type(axes).__name__)
@pytest.mark.parametrize("name", OVER_AXES)
def test_axes_in_any_sequence(name, axes):
    x = np.arange(24.0).reshape(2, 3, 4)
    found, expected = [onp.asarray(OVER_AXES[name](x, given)) for given in (axes, (0, 1))]
    onp.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axes", AXES, ids=lambda axes: type(axes).__name__)
def test_dimensions_of_images_in_any_sequence(axes):
    image = np.arange(9.0).reshape(3, 3)
    scaled, expected = [
        tangrad.image.scale_and_translate(image, (2, 4), given, onp.ones(2), onp.zeros(2), "linear")
        for given in (axes, (0, 1))
    ]
    onp.testing.assert_array_equal(onp.asarray(scaled), onp.asarray(expected))


def test_a_permutation_in_an_array_of_numpy():
    assert np.ones((2, 3, 4)).transpose(onp.array([2, 0, 1])).shape == (4, 2, 3)


@pytest.mark.parametrize(("state", "returned"), [(tuple, list), (list, tuple), (list, list)])
def test_a_list_does_for_a_tuple_in_an_equation(state, returned):
    found = odeint(lambda y, t: returned([-y[0], y[0]]), state([1.0, 0.0]), onp.array([0.0, 1.0]))
    assert type(found) is state
    onp.testing.assert_allclose([part[-1] for part in found], [onp.exp(-1), 1 - onp.exp(-1)], rtol=1e-5)
    with pytest.raises(TypeError, match="a tree like y0"):
        odeint(lambda y, t: returned([-y[0]]), state([1.0, 0.0]), onp.array([0.0, 1.0]))
