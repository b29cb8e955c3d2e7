"""Functions that are one operation outside of transformations: NumPy's own function where it has one, the host where
the shape of the result depends on the contents. What they return is what their operations one by one do.
"""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import use_backend
from tangrad._numpy import matrix_factors, nan_reductions, numerical, searching, set_operations
from tangrad._numpy.fusing import Fused, as_one
from tangrad.core import rule_table

UNIVERSAL = (
    "floor_divide", "remainder", "copysign", "fmax", "fmin", "heaviside", "hypot", "logaddexp", "logaddexp2",
)  # fmt: skip
WHOLE = (numerical.interpolation, numerical.convolve, numerical.correlate, searching.unravel_index)
WHOLE += tuple([getattr(tnp, name) for name in ("trunc", *UNIVERSAL)])
WHOLE += (set_operations.isin, nan_reductions.nanmax, nan_reductions.nanmin, matrix_factors.norm)
POINTS = np.float32([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.5, 7.0, np.inf, np.nan])
ORDERED = {
    "increasing": np.float32([0.0, 1.0, 2.0, 4.0, 7.0]),
    "repeated": np.float32([0.0, 1.0, 1.0, 7.0, 7.0]),
    "of one": np.float32([1.0]),
    "with NaN": np.float32([0.0, 1.0, np.nan]),
    "integers": np.int32([0, 1, 2, 4, 7]),
}


def assert_same_arrays(found, expected, tolerance=0.0):
    """Equal structure, types and, within the tolerance, contents."""
    found, expected = [leaves if isinstance(leaves, tuple) else (leaves,) for leaves in (found, expected)]
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one.aval is other.aval
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def both_ways(function, *operands):
    """The function at once, and its operations in a program."""
    operands = [tnp.asarray(operand) for operand in operands]
    with use_backend("numpy"):
        return function(*operands), tangrad.jit(function)(*operands)


@pytest.fixture(autouse=True)
def on_numpy():
    """NumPy's own functions are asked there."""
    with use_backend("numpy"):
        yield


def test_the_numpy_backend_has_rules_for_them():
    """Else all below would compare a function with itself."""
    for function in WHOLE:
        cell = rule_table("lower.numpy").cell(function.fused.primitive)
        assert cell.status == "rule" and cell.plugin.distribution == "tangrad-backend-numpy"


@pytest.mark.parametrize("kind", ORDERED)
@pytest.mark.parametrize("shape", [(9,), (3, 3), ()])
def test_interpolation(kind, shape):
    places = ORDERED[kind]
    values = np.float32([3.0, -1.0, np.inf, 2.0, 5.0])[: places.size]
    for points in (POINTS,) if shape else POINTS:
        assert_same_arrays(*both_ways(tnp.interp, np.reshape(points, shape), places, values))


@pytest.mark.parametrize(
    "options", [{"left": -1.0}, {"right": 3.0}, {"left": "extrapolate"}, {"period": 5.0}, {"left": 0, "right": 0}]
)
def test_interpolation_with_options(options):
    found = both_ways(lambda x: tnp.interp(x, ORDERED["increasing"], ORDERED["increasing"], **options), POINTS[1:7])
    assert_same_arrays(*found, tolerance=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "complex64", "bool", "bfloat16"])
@pytest.mark.parametrize("function", ["convolve", "correlate"])
def test_convolutions(function, dtype):
    """Of all lengths beside each other, in each mode, with infinities that must not meet what is beyond the ends."""
    kind = tangrad.dtypes.as_dtype(dtype)
    for long, short in ((5, 2), (2, 5), (4, 4), (1, 3)):
        a, v = (np.arange(long) % 3 - 1).astype(kind), (np.arange(short) % 2 + 1).astype(kind)
        for mode in ("full", "same", "valid"):
            run = lambda a, v, mode=mode: getattr(tnp, function)(a, v, mode)
            assert_same_arrays(*both_ways(run, a, v), tolerance=1e-6)
            if dtype == "float32":
                expected = getattr(np, function)(a, v, mode)
                np.testing.assert_allclose(run(tnp.asarray(a), tnp.asarray(v)), expected, rtol=1e-6)
    infinite = np.float32([np.inf, 1.0, -1.0])
    assert_same_arrays(*both_ways(getattr(tnp, function), infinite, np.float32([2.0, 1.0])))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32"])
def test_unravel_index(dtype):
    """Positions beyond either end are clamped; those from the end count from there."""
    inside = np.array([0, 5, 23, 7], dtype)
    beyond = np.array([24, 100, 127], dtype)
    below = np.array([-1, -24, -25, -100], dtype) if dtype != "uint32" else inside
    for given in (inside, beyond, below, inside[1]):
        assert_same_arrays(*both_ways(lambda x: tnp.unravel_index(x, (2, 3, 4)), given))
    assert_same_arrays(*both_ways(lambda x: tnp.unravel_index(x, 24), inside))


SPECIAL = np.array([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 7.3, -7.3, 6e4, 1e-7, -1e-7, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", UNIVERSAL)
def test_universal_functions(name, dtype):
    """Of all pairs of special numbers, with the signs of zeros."""
    if dtype == "bool" or np.issubdtype(dtype, np.floating):
        numbers = SPECIAL.astype(dtype)
    else:
        limits = np.iinfo(dtype)
        numbers = np.array([0, 1, 2, 3, 7, limits.max, limits.min, limits.max - 1, limits.min + 1], dtype)
    found, expected = both_ways(getattr(tnp, name), numbers[:, None], numbers)
    rounding = 2e-3 if found.dtype == np.float16 else 5e-7
    assert_same_arrays(found, expected, rounding)
    if np.issubdtype(found.dtype, np.floating):
        known = ~np.isnan(np.asarray(expected))
        assert np.array_equal(np.signbit(found)[known], np.signbit(expected)[known])


def test_functions_that_go_through_elements_one_by_one_are_for_small_arrays():
    """And those of many elements are what their operations are, to the bit."""
    many = np.linspace(-3, 3, 1000, dtype="float32")
    for name in ("hypot", "logaddexp", "logaddexp2", "heaviside"):
        found, expected = both_ways(getattr(tnp, name), many, many[::-1])
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool"])
def test_whole_parts(dtype):
    numbers = SPECIAL.astype(dtype) if dtype in ("float32", "float16") else np.arange(3).astype(dtype)
    found, expected = both_ways(tnp.trunc, numbers)
    assert_same_arrays(found, expected)
    assert np.array_equal(np.signbit(np.asarray(found, "float32")), np.signbit(np.trunc(numbers.astype("float32"))))


# --- long arrays, of which NumPy has another way than of short ones -------------------------------------------------

DRAW = np.random.default_rng(5)


def drawn(dtype, size=5000):
    """With ties, zeros of both signs, infinities and, of floats, the greatest and least ones there are."""
    if dtype == "float32":
        numbers = np.round(DRAW.normal(size=size) * 20).astype(dtype) / 4
        numbers[::97], numbers[1::97], numbers[2::997] = 0.0, -0.0, np.inf
        numbers[3::997], numbers[4::997], numbers[5::997] = -np.inf, np.finfo(dtype).max, -np.finfo(dtype).tiny
        return numbers
    limits = np.iinfo(dtype)
    numbers = DRAW.integers(limits.min, limits.max, size, dtype, endpoint=True)
    numbers[::3] = numbers[0]
    return numbers


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
@pytest.mark.parametrize(("shape", "axis"), [((5000,), 0), ((2, 2500), 1), ((2500, 2), 0), ((2500, 2), 1)])
def test_long_arrays_are_ordered_stably(dtype, shape, axis):
    numbers = drawn(dtype).reshape(shape)
    expected = np.argsort(numbers, axis, kind="stable")
    for found in both_ways(lambda x: tnp.argsort(x, axis=axis), numbers):
        assert np.array_equal(found, expected)
    keys, positions_ = tangrad.lax.sort_key_val(tnp.asarray(numbers), tnp.arange(5000).reshape(shape), axis)
    assert np.array_equal(np.signbit(keys), np.signbit(np.take_along_axis(numbers, expected, axis)))
    assert np.array_equal(positions_, np.take_along_axis(np.arange(5000).reshape(shape), expected, axis))


def test_nan_is_ordered_last_in_long_arrays():
    numbers = drawn("float32")
    numbers[7::50], numbers[8::50] = np.nan, -np.nan
    assert np.array_equal(tnp.argsort(tnp.asarray(numbers)), np.argsort(numbers, kind="stable"))


@pytest.mark.parametrize("first_zero", [0.0, -0.0])
def test_different_elements_of_long_arrays(first_zero):
    numbers = drawn("float32", 70_000)
    numbers[:98] = first_zero
    for backend in ("numpy", "xla"):
        if backend == "xla":
            pytest.importorskip("jaxlib")
        with use_backend(backend):
            found = tnp.unique(tnp.asarray(numbers))
            assert np.array_equal(found, np.unique(numbers))
            zero = np.asarray(found)[np.asarray(found) == 0]
            assert len(zero) == 1 and np.signbit(zero[0]) == np.signbit(np.float32(first_zero))
            parts = tnp.unique(tnp.asarray(numbers), return_index=True, return_inverse=True, return_counts=True)
            for one, other in zip(parts, np.unique(numbers, True, True, True)):
                assert np.array_equal(one, other)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
def test_membership_in_long_arrays(dtype, invert):
    numbers = drawn(dtype).reshape(50, 100)
    if dtype == "float32":
        numbers[3] = np.nan
    others = np.concatenate([numbers[:4].ravel(), drawn(dtype, 3000)])
    for found in both_ways(lambda x, y: tnp.isin(x, y, invert=invert), numbers, others):
        assert np.array_equal(found, np.isin(numbers, others, invert=invert)) and found.dtype == bool


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
def test_extremes_without_nan(name, axis):
    numbers = drawn("float32").reshape(50, 100)
    numbers[DRAW.random((50, 100)) < 0.3] = np.nan
    numbers[7], numbers[:, 9] = np.nan, np.nan
    function = lambda x, **more: getattr(tnp, name)(x, axis=axis, **more)
    assert_same_arrays(*both_ways(function, numbers))
    assert_same_arrays(*both_ways(lambda x: function(x, keepdims=True), numbers))
    assert_same_arrays(*both_ways(lambda x: function(x, initial=1.0), numbers))
    assert np.isnan(getattr(tnp, name)(tnp.full(3, np.nan)))


def test_norms_of_all_elements():
    for shape in ((), (7,), (30, 40)):
        numbers = DRAW.normal(size=shape).astype("float32")
        assert_same_arrays(*both_ways(tnp.linalg.norm, numbers), 1e-6)
        np.testing.assert_allclose(tnp.linalg.norm(tnp.asarray(numbers)), np.sqrt((numbers**2).sum()), rtol=1e-6)
    assert tnp.linalg.norm(tnp.ones((2, 2)), axis=0).shape == (2,)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
@pytest.mark.parametrize("given", ["float32", "float64", "float16"])
def test_floats_as_integers_saturate(dtype, given):
    limits = np.iinfo(dtype)
    with tangrad.enable_x64(given == "float64"):
        for numbers in (
            [0.9, -0.9, 1.5, -0.0],
            [np.nan, 1, np.inf, -np.inf],
            [limits.max, limits.min],
            [3e4, -3e4, 300.7],
        ):
            with np.errstate(over="ignore"):
                values = np.array(numbers, "float64").astype(given)
            whole = np.trunc(np.where(np.isnan(values), 0, values).astype("float64")).clip(limits.min, limits.max)
            for found in both_ways(lambda x: x.astype(dtype), values):
                assert found.dtype == dtype and np.array_equal(found, whole.astype(dtype))


@pytest.mark.parametrize("name", UNIVERSAL)
def test_universal_functions_of_an_array_and_a_number(name):
    function = getattr(tnp, name)
    for number in (2, 2.5, -1.5, 0.0):
        found, expected = both_ways(lambda x, number=number: function(x, number), SPECIAL.astype("float32"))
        assert_same_arrays(found, expected, 5e-7)


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint32", "uint8"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((5,), 0), ((5, 4), 0), ((5, 4), 1), ((2, 5, 4), 1), ((2, 5, 4), -1), ((5, 4), None)]
)
def test_taking(shape, axis, dtype):
    """Within bounds at once, beyond them as each mode has it; great numbers are not negative ones."""
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    size = x.size if axis is None else x.shape[axis]
    inside = np.array([[0, size - 1, 1], [2, 0, size - 2]], dtype)
    beyond = np.array([0, size, -1, -size, -size - 1, 100]).astype(dtype)
    for positions_ in (inside, inside[0], inside[0, 1], beyond):
        exact = positions_.astype(np.int64)
        reached = (exact < size) & (exact >= -size)
        expected = {
            "clip": x.take(exact.clip(0, size - 1), axis),
            "wrap": x.take(exact % size, axis),
            None: x.take(np.where(reached, exact, 0), axis),
        }
        for mode, values in expected.items():
            for found in both_ways(lambda x, at, mode=mode: tnp.take(x, at, axis, mode=mode), x, positions_):
                if mode is None and not reached.all():
                    place = 0 if axis is None else axis % x.ndim
                    missing = np.moveaxis(np.asarray(found), place, 0)[~reached]
                    assert np.isnan(missing).all() and missing.size
                    kept = np.moveaxis(values, place, 0)[reached]
                    assert np.array_equal(np.moveaxis(np.asarray(found), place, 0)[reached], kept)
                else:
                    assert np.array_equal(found, values)


def test_errors_are_those_of_the_function():
    x = tnp.ones((2, 2))
    for call in (
        lambda: tnp.interp(1.0, x, x),
        lambda: tnp.convolve(x, x),
        lambda: tnp.convolve(x[0], x[0], "other"),
        lambda: tnp.interp(x, tnp.ones(2) * 1j, x[0]),
    ):
        with pytest.raises(ValueError) as eager:
            call()
        with pytest.raises(ValueError) as staged:
            tangrad.jit(call)()
        assert str(eager.value) == str(staged.value)
    with pytest.raises(TypeError, match="convolve requires arrays or numbers"):
        tnp.convolve([1.0], [1.0])


def test_programs_hold_the_operations():
    text = str(tangrad.make_jaxpr(lambda x: tnp.interp(x, x, x) + tnp.convolve(x, x, "same"))(tnp.ones(3)))
    assert "search_sorted" in text and "interp" not in text and "convolve" not in text


def test_settings_that_decide_types_are_kept_apart():
    ones = np.ones(3)
    assert tnp.convolve(ones, ones).dtype == np.float32
    with tangrad.enable_x64(True):
        assert tnp.convolve(ones, ones).dtype == np.float64
        assert tnp.interp(0.5, ones, ones).dtype == np.float64
    with tangrad.numpy_dtype_promotion("strict"), pytest.raises(Exception, match="strict"):
        tnp.convolve(tnp.ones(3), tnp.ones(3, "int32"))
    assert tnp.convolve(tnp.ones(3), tnp.ones(3, "int32")).dtype == np.float32


def test_checks_look_into_them():
    with tangrad.debug_nans(True), pytest.raises(FloatingPointError):
        tnp.convolve(tnp.asarray([np.inf, -np.inf]), tnp.ones(2))


def test_several_results():
    @as_one("count", several=True)
    def parts(x, count):
        return tuple([x + i for i in range(count)])

    x = tnp.arange(3.0)
    for _ in range(2):  # made, and kept
        found = parts(x, 2)
        assert type(found) is tuple and [list(map(float, one)) for one in found] == [[0, 1, 2], [1, 2, 3]]
    assert isinstance(parts.fused, Fused) and parts.fused.primitive is parts.fused.primitive
    deleted = tnp.arange(3.0)
    deleted.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        parts(deleted, 2)


def test_operands_without_names():
    @as_one("power")
    def scaled(x, y, /, *, power=1):
        return x * y**power

    assert scaled(tnp.ones(2), 3.0, power=2).tolist() == scaled(tnp.ones(2), 9.0).tolist() == [9.0, 9.0]
    with pytest.raises(TypeError, match="positional-only"):
        scaled(x=tnp.ones(2), y=3.0)


# --- on the host ---------------------------------------------------------------------------------------------------

SETS = {
    "integers": np.int32([3, 1, 3, 2, 1]),
    "zeros of both signs": np.float32([0.0, -0.0, 1.0, -0.0]),
    "NaN": np.float32([np.nan, 1.0, np.nan, -2.0]),
    "booleans": np.array([True, False, True]),
    "one": np.float32([2.0]),
}


def looked_at(function, *operands):
    """With results that are looked at one by one, functions run by operations: the setting allows infinities."""
    with tangrad.debug_infs(True):
        return function(*operands)


@pytest.mark.parametrize(("kind", "backend"), [*[(kind, "numpy") for kind in SETS], ("zeros of both signs", "xla")])
def test_unique_is_that_of_the_operations(kind, backend):
    with use_backend(backend):
        x = tnp.asarray(SETS[kind])
        for equal_nan in (True, False):
            run = lambda x, equal_nan=equal_nan: tnp.unique(x, True, True, True, equal_nan=equal_nan)
            found, expected = run(x), looked_at(run, x)
            assert_same_arrays(found, expected)
            assert_same_arrays(tnp.unique(x, equal_nan=equal_nan), expected[0])
            if found[0].dtype.kind == "f":
                assert np.array_equal(np.signbit(found[0]), np.signbit(expected[0]))


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_counts_and_positions(backend):
    with use_backend(backend):
        numbers = tnp.asarray(np.int32([2, 0, -3, 2, 5]))
        assert_same_arrays(tnp.bincount(numbers), tnp.bincount(numbers, length=6))
        assert_same_arrays(tnp.bincount(numbers, minlength=9), tnp.bincount(numbers, length=9))
        matrix = numbers[:4].reshape(2, 2)
        assert tnp.argwhere(matrix).tolist() == np.argwhere(np.asarray(matrix)).tolist()
        assert_same_arrays(tnp.nonzero(matrix), tnp.nonzero(matrix, size=3))
        with pytest.raises(ValueError, match="a number for each of 2 dimensions"):
            tnp.nonzero(matrix, fill_value=(1, 2, 3))


def test_traced_arrays_stay_traced():
    gradient = tangrad.grad(lambda x: (tnp.unique(x, size=3) * tnp.arange(3.0)).sum())(tnp.asarray([3.0, 1.0, 2.0]))
    assert gradient.tolist() == [2.0, 0.0, 1.0]
    with pytest.raises(tangrad.errors.ConcretizationTypeError):
        tangrad.jit(tnp.unique)(tnp.ones(3))


def test_arrays_elsewhere_are_left_to_operations():
    """The result is on the device of the committed array."""
    for backend in ("numpy", "xla"):
        with use_backend(backend):
            device = tangrad.devices()[0]
            x = tangrad.device_put(tnp.asarray([2.0, 1.0, 2.0]), device)
            found = tnp.unique(x)
            assert found.devices() == {device} and found.committed == x.committed


# --- edits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("place", [-2, 0, 1, 2, [0, 2], [2, 0, 2], slice(0, 2), [1, 1]])
def test_insert_and_delete_as_numpy_does(place, axis):
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = tnp.asarray(matrix)
    np.testing.assert_array_equal(tnp.insert(x, place, 9.0, axis=axis), np.insert(matrix, place, 9.0, axis=axis))
    np.testing.assert_array_equal(tnp.delete(x, place, axis=axis), np.delete(matrix, place, axis=axis))


COMPLEX_OR_NOT = {
    "scalar type": (tnp.complex64, tnp.bfloat16),
    "aval": (tangrad.ShapeDtypeStruct((2,), np.complex64), tangrad.ShapeDtypeStruct((2,), np.int8)),
    "array": (np.ones(2, np.complex128), np.ones(2)),
    "NumPy scalar": (np.complex64(1), np.float16(1)),
    "number": (1j, True),
    "list": ([1.0, 2j], [1.0, 2.0]),
}


@pytest.mark.parametrize("kind", COMPLEX_OR_NOT)
def test_what_is_complex(kind):
    a_complex, a_real = COMPLEX_OR_NOT[kind]
    assert tnp.iscomplexobj(a_complex) and not tnp.isrealobj(a_complex)
    assert tnp.isrealobj(a_real) and not tnp.iscomplexobj(a_real)


def reshaping(shape):
    return lambda x: x.reshape(shape)


@pytest.mark.parametrize("made_by", [tnp.array, np.array, np.int8], ids=["array", "NumPy array", "scalar"])
def test_an_unknown_size_that_is_an_array(made_by):
    minus_one = made_by(-1)
    x = tnp.arange(6.0)
    sizes = [minus_one, (minus_one, 3), (3, minus_one), np.array([minus_one, 3])]
    for shape in sizes:
        expected = np.arange(6.0).reshape(np.asarray(shape))
        for found in (
            x.reshape(shape),
            tnp.reshape(x, shape, order="C"),
            tangrad.jit(reshaping(shape))(x),
        ):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="only one size"):
        x.reshape(minus_one, minus_one)
    with pytest.raises(TypeError):  # traced: it is no size that is known
        tangrad.jit(lambda x, size: x.reshape(size, 3))(x, minus_one)
    for size in (-1.0, np.float32(-1), tnp.array(-1.0)):
        with pytest.raises(TypeError, match="integers"):
            x.reshape(size, 3)
