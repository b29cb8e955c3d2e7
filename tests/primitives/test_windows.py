"""Convolutions and reductions over windows: values, derivatives and mapping, against their definition and JAX."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tangrad
from tangrad import lax
from tangrad import use_backend as backend_setting
from tests.primitives import reference
from tests.primitives.support import agree_everywhere, assert_same, check_batching, check_derivative, draw

jax = pytest.importorskip("jax")

IMAGES = ("NHWC", "HWIO", "NHWC")


# --- convolutions against their definition -------------------------------------------------------------------------


def defined(lhs, rhs, strides, pads, lhs_dilation, rhs_dilation, numbers, feature_groups=1, batch_groups=1):
    """A convolution, window by window."""
    x, w = lhs.transpose(numbers.lhs_spec), rhs.transpose(numbers.rhs_spec)
    x, w = dilated(x, (1, 1, *lhs_dilation)), dilated(w, (1, 1, *rhs_dilation))
    x = padded(x, ((0, 0), (0, 0), *pads))
    sizes = [max(0, (full - k) // s + 1) for full, k, s in zip(x.shape[2:], w.shape[2:], strides)]
    groups = max(feature_groups, batch_groups)
    kernels = np.split(w, groups)
    batches = np.split(x, batch_groups) if batch_groups > 1 else np.split(x, feature_groups, 1)
    parts = []
    for part, kernel in zip(batches, kernels):
        out = np.zeros((part.shape[0], kernel.shape[0], *sizes), x.dtype)
        for place in np.ndindex(*sizes):
            cut = tuple([slice(i * s, i * s + k) for i, s, k in zip(place, strides, w.shape[2:])])
            out[(..., *place)] = np.tensordot(part[(..., *cut)], kernel, (range(1, x.ndim), range(1, x.ndim)))
        parts.append(out)
    return np.concatenate(parts, 1).transpose(np.argsort(numbers.out_spec))


def dilated(x, steps, hole=0):
    out = np.full([max(0, (size - 1) * step + 1) for size, step in zip(x.shape, steps)], hole, x.dtype)
    out[tuple([slice(None, None, step) for step in steps])] = x
    return out


def padded(x, pads, value=0):
    x = np.pad(x, [(max(low, 0), max(high, 0)) for low, high in pads], constant_values=value)
    return x[tuple([slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(x.shape, pads)])]


@st.composite
def convolutions(draw_from):
    """Arrays and parameters of a convolution, in any layout."""
    rank = draw_from(st.integers(0, 2))
    few, some = st.integers(1, 2), st.integers(1, 3)
    feature_groups, batch_groups = draw_from(st.sampled_from([(1, 1), (2, 1), (1, 2), (3, 1)]))
    features, out = draw_from(some), draw_from(some) * max(feature_groups, batch_groups)
    window = [draw_from(some) for _ in range(rank)]
    spread = [draw_from(few) for _ in range(rank)]
    holes = [draw_from(st.integers(1, 3)) for _ in range(rank)]
    pads = [(draw_from(st.integers(-1, 2)), draw_from(st.integers(-1, 2))) for _ in range(rank)]
    sizes = [draw_from(st.integers(4, 6)) for _ in range(rank)]
    strides = [draw_from(st.integers(1, 3)) for _ in range(rank)]
    shapes = (draw_from(some) * batch_groups, features * feature_groups, *sizes), (out, features, *window)
    specs = [tuple(draw_from(st.permutations(range(rank + 2)))) for _ in range(3)]
    numbers = lax.ConvDimensionNumbers(*specs)
    rng = np.random.default_rng(draw_from(st.integers(0, 99)))
    arrays = [rng.normal(size=[shape[spec.index(d)] for d in range(rank + 2)]) for shape, spec in zip(shapes, specs)]
    lhs, rhs = [array.astype(np.float32) for array in arrays]
    return lhs, rhs, strides, pads, holes, spread, numbers, feature_groups, batch_groups


@settings(max_examples=150)
@given(convolutions())
def test_convolutions_are_what_their_definition_says(case):
    lhs, rhs, *params = case
    with backend_setting("numpy"):
        found = lax.conv_general_dilated(lhs, rhs, *params)
        expected = defined(lhs.astype(np.float64), rhs.astype(np.float64), *params)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        reference.check_dot_product(lambda x, w: lax.conv_general_dilated(x, w, *params), (lhs, rhs))


@settings(max_examples=25)
@given(convolutions())
def test_mapped_convolutions(case):
    lhs, rhs, *params = case

    def convolve(x, w):
        return lax.conv_general_dilated(x, w, *params)

    with backend_setting("numpy"):
        for axes in ((0, None), (None, -1), (1, 0)):
            stacks = [
                array if axis is None else np.stack([array, array[::-1], 2 * array], axis)
                for array, axis in zip((lhs, rhs), axes)
            ]
            rows = [
                [array if axis is None else np.take(array, i, axis) for array, axis in zip(stacks, axes)]
                for i in range(3)
            ]
            found = tangrad.vmap(convolve, axes)(*stacks)
            np.testing.assert_allclose(found, np.stack([convolve(*row) for row in rows]), rtol=1e-4, atol=1e-4)


# --- convolutions against JAX --------------------------------------------------------------------------------------

CONVOLUTIONS = {
    "same": lambda api, x, w: api.lax.conv(x, w, (1, 1), "SAME"),
    "strided": lambda api, x, w: api.lax.conv(x, w, (2, 3), "SAME_LOWER"),
    "padded": lambda api, x, w: api.lax.conv(x, w, (2, 1), ((1, -1), (0, 2))),
    "dilated": lambda api, x, w: api.lax.conv_with_general_padding(x, w, (1, 2), ((2, 1), (1, 1)), (2, 3), (1, 2)),
    "images": lambda api, x, w: api.lax.conv_general_dilated(
        x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), (1, 2), "SAME", dimension_numbers=IMAGES
    ),
    "transposed": lambda api, x, w: api.lax.conv_transpose(
        x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), (2, 3), "SAME", precision="highest"
    ),
    "transposed kernel": lambda api, x, w: api.lax.conv_transpose(
        x.transpose(0, 2, 3, 1),
        w.transpose(2, 3, 0, 1),
        (2, 3),
        ((1, 0), (2, 1)),
        rhs_dilation=(1, 2),
        transpose_kernel=True,
        use_consistent_padding=True,
    ),
    "groups of features": lambda api, x, w: api.lax.conv_general_dilated(
        api.lax.concatenate([x, x], 1), w, (1, 1), "SAME", feature_group_count=2
    ),
    "groups of the batch": lambda api, x, w: api.lax.conv_general_dilated(x, w, (1, 1), "VALID", batch_group_count=2),
    "patches": lambda api, x, w: api.lax.conv_general_dilated_patches(
        x, (2, 3), (1, 2), "SAME", dimension_numbers=("NCHW", "HOIW", "NHWC")
    ),
    "local": lambda api, x, w: api.lax.conv_general_dilated_local(
        x, api.lax.broadcast_in_dim(w.reshape(4, 18), (4, 18, 8, 6), (0, 1)), (1, 1), "VALID", (2, 3)
    ),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_agree_with_jax(name):
    """Value, tangent and cotangents."""
    args = draw("float32", 2, 3, 9, 8), draw("float32", 4, 3, 2, 3, seed=1)

    def function(api):
        return lambda x, w: CONVOLUTIONS[name](api, x, w)

    reference.check_derivatives(function, args, slack=5)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "complex64"])
def test_dtypes_of_convolutions(dtype):
    x, w = draw(dtype, 2, 3, 8), draw(dtype, 4, 3, 3, seed=1)

    def function(api):
        return lambda x, w: api.lax.conv(x, w, (1,), "SAME")

    agree_everywhere(function(tangrad), jax.jit(function(jax))(x, w), x, w)


@pytest.mark.parametrize(("dtype", "preferred"), [("int8", "int32"), ("bfloat16", "float32"), ("int8", "float32")])
def test_preferred_element_type(dtype, preferred):
    x, w = draw(dtype, 2, 3, 8), draw(dtype, 4, 3, 3, seed=1)

    def function(api):
        return lambda x, w: api.lax.conv(x, w, (1,), "SAME", preferred_element_type=preferred)

    agree_everywhere(function(tangrad), jax.jit(function(jax))(x, w), x, w)
    with pytest.raises(TypeError, match="preferred_element_type"):
        lax.conv(x, w, (1,), "SAME", preferred_element_type="uint16" if dtype == "int8" else "int32")


def test_derivatives_of_convolutions():
    """First and second, against finite differences."""
    x, w = draw("float32", 2, 5, 2), draw("float32", 3, 2, 3, seed=1)
    numbers = ("NWC", "WIO", "NWC")
    check_derivative(lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME", None, (2,), numbers), x, w)


def test_nothing_to_convolve():
    def function(api):
        return lambda x, w: api.lax.conv(x, w, (1,), "VALID")

    for x, w in (((0, 3, 5), (4, 3, 2)), ((2, 3, 1), (4, 3, 2)), ((2, 0, 5), (4, 0, 2))):
        args = draw("float32", *x), draw("float32", *w)
        expected = np.zeros((x[0], w[0], max(0, x[2] - w[2] + 1)), np.float32)
        agree_everywhere(function(tangrad), expected, *args)
    args = draw("float32", 2, 3, 1), draw("float32", 4, 3, 2)
    gradient = tangrad.grad(lambda w: lax.reduce_sum(function(tangrad)(args[0], w), (0, 1, 2)))(args[1])
    assert_same(gradient, np.zeros((4, 3, 2), np.float32))
    empty = tangrad.vmap(function(tangrad))(np.zeros((0, 2, 3, 5), np.float32), np.zeros((0, 4, 3, 2), np.float32))
    assert empty.shape == (0, 2, 4, 4)


# --- reductions over windows ---------------------------------------------------------------------------------------

POOLS = {
    "plain": ((1, 2, 2), (1, 2, 2), "VALID", None, None),
    "cut": ((1, 2, 3), (1, 2, 3), "VALID", None, None),
    "overlapping": ((1, 3, 2), (1, 2, 1), "SAME", None, None),
    "line": ((1, 1, 3), (1, 1, 2), "SAME", None, None),
    "rows": ((1, 3, 2), (1, 2, 1), "VALID", None, None),
    "padded": ((2, 2, 3), (1, 2, 1), ((1, 0), (1, 2), (0, 1)), None, None),
    "holes": ((1, 2, 3), None, ((0, 0), (1, 2), (2, 1)), (1, 2, 1), (1, 1, 2)),
    "wide": ((1, 1, 9), None, ((0, 0), (0, 0), (8, 0)), None, None),
}
OPERATIONS = {"add": 0.0, "max": -np.inf, "min": np.inf}


def pooling(name, operation):
    window, strides, padding, base_dilation, window_dilation = POOLS[name]

    def function(api):
        def pool(x):
            computation = getattr(api.lax, operation)
            init = OPERATIONS.get(operation, 1.0)
            return api.lax.reduce_window(x, init, computation, window, strides, padding, base_dilation, window_dilation)

        return pool

    return function


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", [name for name in POOLS if name not in ("line", "rows")])
def test_pools_agree_with_jax(name, operation):
    function = pooling(name, operation)
    if name == "holes" and operation != "add":  # not differentiable in reverse mode
        agree_everywhere(function(tangrad), jax.jit(function(jax))(draw("float32", 2, 5, 9)), draw("float32", 2, 5, 9))
        with pytest.raises(NotImplementedError, match="window_dilation"):
            tangrad.vjp(function(tangrad), draw("float32", 2, 5, 9))[1](function(tangrad)(draw("float32", 2, 5, 9)))
    else:
        reference.check_derivatives(function, (draw("float32", 2, 5, 9),))
    check_batching(function(tangrad), draw("float32", 2, 5, 9))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_negative_padding_cuts(operation):
    """JAX's gradient of the greatest element does not take it."""
    x, cotangent = draw("float32", 7, 9), draw("float32", 3, 4, seed=1)

    def pool(x, padding):
        return lax.reduce_window(x, OPERATIONS[operation], getattr(lax, operation), (2, 2), (2, 2), padding)

    expected = np.zeros((7, 9), np.float32)
    expected[:-1, 1:] = tangrad.vjp(lambda x: pool(x, "VALID"), x[:-1, 1:])[1](cotangent)[0]
    agree_everywhere(lambda x: pool(x, ((0, -1), (-1, 0))), pool(x[:-1, 1:], "VALID"), x)
    agree_everywhere(lambda x: tangrad.vjp(lambda x: pool(x, ((0, -1), (-1, 0))), x)[1](cotangent), (expected,), x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("operation", ["max", "min"])
@pytest.mark.parametrize(
    ("shape", "window", "steps", "padding"),
    [
        ((2, 16, 18, 16), (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        ((2, 17, 19, 16), (1, 2, 2, 1), (1, 2, 2, 1), "SAME"),
        ((2, 17, 18, 16), (1, 3, 2, 1), (1, 2, 1, 1), "SAME"),
        ((2, 17, 18, 16), (1, 2, 3, 1), (1, 3, 4, 1), "VALID"),
        ((2, 16, 17, 18), (1, 1, 3, 2), (1, 1, 1, 3), ((0, 0), (0, 0), (1, 1), (-1, 2))),
        ((10_000,), (5,), (2,), "VALID"),
    ],
)
def test_gradients_of_large_pools(shape, window, steps, padding, operation, dtype):
    """On XLA by shifted comparisons: the same bits, signs of zeros included, as what JAX has compiled."""
    x = np.round(draw("float32", *shape) * 2)
    x.flat[::97], x.flat[5::91] = np.nan, -np.inf

    start = jax.numpy.dtype(dtype).type(OPERATIONS[operation])

    def program(api):
        def run(x, weights):
            pool = lambda x: api.lax.reduce_window(x, start, getattr(api.lax, operation), window, steps, padding)
            return api.vjp(pool, x)[1](weights)[0]

        return run

    size = jax.eval_shape(lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, window, steps, padding), x).shape
    weights = draw("float32", *size, seed=3)
    weights.flat[::7], weights.flat[3::101] = -0.0, np.nan
    given = [jax.numpy.asarray(each, dtype) for each in (x, weights)]
    expected = np.asarray(jax.jit(program(jax))(*given)).astype("float32")
    with backend_setting("xla"):
        found = tangrad.jit(program(tangrad))(*[tangrad.numpy.asarray(np.asarray(each)) for each in given])
    found = np.asarray(found).astype("float32")
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(expected)[expected == 0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("operation", ["max", "min"])
def test_pools_of_equal_and_undefined_elements(operation, seed):
    """Which element is selected decides where the cotangent goes.

    For tangents XLA goes through padded windows by columns, and through others by rows: so those have one row.
    """
    padded, plain, line = [pooling(name, operation) for name in ("overlapping", "rows", "line")]
    x, tangent = np.round(draw("float32", 2, 5, 9, seed=seed)), draw("float32", 2, 5, 9, seed=5)
    x[0, seed, 2:5], x[1, :, 3] = np.nan, -np.inf
    cotangent = draw("float32", *padded(tangrad)(x).shape, seed=9)

    def program(api):
        def run(x):
            tangents = [api.jvp(f(api), (x,), (tangent,))[1] for f in (line, plain)]
            return tangents, api.vjp(padded(api), x)[1](cotangent)

        return run

    agree_everywhere(program(tangrad), jax.jit(program(jax))(x), x)


@pytest.mark.parametrize("operation", ["add", "max", "min"])
@pytest.mark.parametrize("dtype", ["int8", "uint32", "float16", "bfloat16", "complex64"])
def test_dtypes_of_pools(operation, dtype):
    x = draw(dtype, 2, 5, 9)
    least, greatest = limits(dtype)
    init = np.asarray({"add": 0, "max": least, "min": greatest}[operation], x.dtype)

    def function(api):
        return lambda x: api.lax.reduce_window(
            x, init, getattr(api.lax, operation), (1, 2, 2), (1, 2, 2), ((0, 0), (1, 0), (0, 1))
        )

    agree_everywhere(function(tangrad), jax.jit(function(jax))(x), x)


def limits(dtype):
    """The least and the greatest number of a dtype."""
    dtype = reference.as_dtype(dtype)
    return (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-np.inf, np.inf)


@pytest.mark.parametrize("name", ["cut", "overlapping", "padded", "holes", "wide"])
def test_windows_reduced_by_any_operation(name):
    function = pooling(name, "mul")
    x = draw("float32", 2, 5, 9)
    agree_everywhere(function(tangrad), jax.jit(function(jax))(x), x, tolerance=1e-4)
    tangent = draw("float32", 2, 5, 9, seed=1)
    expected = jax.jit(lambda x: jax.jvp(function(jax), (x,), (tangent,)))(x)
    with backend_setting("numpy"):
        assert_same(tangrad.jvp(function(tangrad), (x,), (tangent,)), expected, 1e-4)
        reference.check_dot_product(function(tangrad), (x,))
        check_batching(function(tangrad), x)


def test_several_operands_together():
    """The greatest element of a window, and where it is."""
    x = draw("float32", 3, 8)
    places = np.broadcast_to(np.arange(8, dtype=np.int32), (3, 8))

    def function(api):
        def later(one, other):
            wins = api.lax.ge(one["x"], other["x"])
            return {name: api.lax.select(wins, one[name], other[name]) for name in one}

        def pool(x, places):
            start = {"x": -np.inf, "i": np.int32(-1)}
            return api.lax.reduce_window({"x": x, "i": places}, start, later, (1, 3), (1, 2))

        return pool

    agree_everywhere(function(tangrad), jax.jit(function(jax))(x, places), x, places)


def test_operations_with_values_from_outside():
    """A computation may use values that are traced themselves, and initial values may be mapped."""

    def weighted(x, weight):
        return lax.reduce_window(x, 0.0, lambda a, b: a + weight * b, (2,))

    x = draw("float32", 5)
    with backend_setting("numpy"):
        found = tangrad.grad(lambda weight: lax.reduce_sum(weighted(x, weight), (0,)))(np.float32(1.0))
    assert np.isfinite(found)

    def started(x, start):
        return lax.reduce_window(x, start, lambda a, b: a * b, (2,))

    starts = np.float32([1, 2])
    with backend_setting("numpy"):
        found = tangrad.vmap(started, (None, 0))(x, starts)
    assert_same(found, np.stack([started(x, start) for start in starts]))


# --- sizes and messages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("padding", ["VALID", "SAME", "SAME_LOWER", "same"])
def test_sizes_agree_with_jax(padding):
    for size, window, stride in [(28, 3, 1), (7, 2, 3), (1, 4, 2), (0, 2, 1), (9, 9, 9)]:
        args = ((size, 5), (window, 2), (stride, 2), padding)
        assert lax.padtype_to_pads(*args) == [tuple(map(int, pair)) for pair in jax.lax.padtype_to_pads(*args)]
    for name in ("conv_general_shape_tuple", "conv_transpose_shape_tuple"):
        args = ((8, 14, 13, 3), (3, 2, 3, 16), (2, 3), "SAME" if padding == "same" else padding, IMAGES)
        if padding == "SAME_LOWER" and "transpose" in name:
            continue
        assert getattr(lax, name)(*args) == tuple(map(int, getattr(jax.lax, name)(*args)))
    window = ((28, 27), (3, 2), (2, 1), ((0, 1), (-1, 2)), (1, 2), (2, 1))
    assert lax.reduce_window_shape_tuple(*window) == jax.lax.reduce_window_shape_tuple(*window)


def test_dimension_numbers():
    found = lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), ("HNWC", "OWHI", "CWNH"))
    theirs = jax.lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), ("HNWC", "OWHI", "CWNH"))
    assert tuple(found) == tuple(theirs)
    assert lax.conv_general_permutations(IMAGES) == jax.lax.conv_general_permutations(IMAGES)
    for numbers, message in [
        ("NCHW", "must be None, three strings"),
        (("NCHW", "OIHW"), "must be None, three strings"),
        (("NCH", "OIHW", "NCHW"), "must have a letter for each of the 4 dimensions"),
        (("NCHH", "OIHW", "NCHW"), "all different"),
        (("NCHW", "ABHW", "NCHW"), "must have the letters O and I"),
        (("NCHD", "OIHW", "NCHW"), "same spatial letters"),
        (lax.ConvDimensionNumbers((0, 1, 2, 2), (0, 1, 2, 3), (0, 1, 2, 3)), "lhs_spec must name each"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), numbers)


X, W = np.ones((2, 3, 8), np.float32), np.ones((4, 3, 3), np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "equal rank", lambda: lax.conv(X, W[0], (1,), "SAME")),
        (TypeError, "one dtype", lambda: lax.conv(X, W.astype(np.float16), (1,), "SAME")),
        (ValueError, "the features of lhs, 3, divided by", lambda: lax.conv(X, W[:, :2], (1,), "SAME")),
        (ValueError, "window_strides must have an entry", lambda: lax.conv(X, W, (1, 1), "VALID")),
        (ValueError, "window_strides must be at least 1", lambda: lax.conv(X, W, (0,), "VALID")),
        (TypeError, "window_strides must be a sequence", lambda: lax.conv(X, W, 1, "VALID")),
        (TypeError, "padding must be 'VALID'", lambda: lax.conv(X, W, (1,), [1])),
        (ValueError, "padding must be one of VALID", lambda: lax.conv(X, W, (1,), "FULL")),
        (ValueError, "takes more away than there is", lambda: lax.conv(X, W, (1,), [(-9, 0)])),
        (
            ValueError,
            "where the input is dilated",
            lambda: lax.conv_with_general_padding(X, W, (1,), "SAME", (2,), None),
        ),
        (
            ValueError,
            "feature_group_count 2 must divide the features",
            lambda: lax.conv_general_dilated(X, W, (1,), "SAME", feature_group_count=2),
        ),
        (
            ValueError,
            "must not both be greater than 1",
            lambda: lax.conv_general_dilated(X, W, (1,), "SAME", feature_group_count=2, batch_group_count=2),
        ),
        (
            ValueError,
            "batch_group_count 3 must divide",
            lambda: lax.conv_general_dilated(X, W, (1,), "SAME", batch_group_count=3),
        ),
        (ValueError, "window_dimensions must have an entry", lambda: lax.reduce_window(X, 0.0, lax.add, (2, 2))),
        (ValueError, "padding must have an entry", lambda: lax.reduce_window(X, 0.0, lax.add, (1, 1, 2), padding=[])),
        (TypeError, "one structure", lambda: lax.reduce_window((X, X), 0.0, lax.add, (1, 1, 2))),
        (TypeError, "must return scalars", lambda: lax.reduce_window(X, 1.0, lambda x, y: x > y, (1, 1, 2))),
        (ValueError, "must be a scalar", lambda: lax.reduce_window(X, X, lambda x, y: x * y, (1, 1, 2))),
        (TypeError, "does not accept dtype bool", lambda: lax.reduce_window(X > 0, False, lax.add, (1, 1, 2))),
    ],
)
def test_messages(error, message, call):
    with pytest.raises(error, match=message):
        call()
