"""What public functions do by fewer calls outside of transformations: results and types are those of operations."""

from functools import partial

import numpy as np
import pytest

import tangrad
import tangrad.image
import tangrad.numpy as tnp
from tangrad import use_backend
from tangrad._core.kernel import nan_checks, primitive
from tangrad._core.kernel.primitive import dispatch
from tangrad._numpy import nan_reductions
from tangrad._numpy.conversion import stacked
from tangrad._numpy.fusing import SEQUENCE_LIMIT
from tangrad._numpy.indexing import _parts
from tangrad._scipy import interpolation
from tangrad.core import EVAL_TRACE
from tangrad.core.backends import forget_direct_calls

BACKENDS = ["numpy", "xla"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib")
    with use_backend(request.param):
        yield request.param


def same(found, expected):
    assert found.aval.strip_weak_type() is expected.aval.strip_weak_type()
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("count", [1, 3, SEQUENCE_LIMIT, 2 * SEQUENCE_LIMIT + 1])
@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_lists_of_arrays_of_one_type(backend, count, shape):
    contents = np.arange(count * int(np.prod(shape)), dtype="float32").reshape(count, *shape)
    found = tnp.asarray([tnp.asarray(part) for part in contents])
    same(found, tnp.asarray(contents))
    assert not found.weak_type


class Blocks:
    """A sequence that is no tuple or list, nor registered as a sequence."""

    def __init__(self, *parts):
        self.parts = parts

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, key):
        return self.parts[key]


@pytest.mark.parametrize("name", ["concatenate", "concat", "stack", "hstack", "vstack", "dstack", "column_stack"])
def test_sequences_of_a_class_of_their_own_are_joined(backend, name):
    join, x, y = getattr(tnp, name), tnp.arange(3.0), tnp.ones(3)
    same(join(Blocks(x, y)), join([x, y]))
    same(tangrad.jit(lambda x, y: join(Blocks(x, y)))(x, y), join([x, y]))
    for others in {0: x, 1: y}, iter([x, y]), Blocks(Blocks(x, y)), Blocks("ab"):
        with pytest.raises(TypeError, match="requires"):
            join(others)


def test_a_long_list_is_few_operations(monkeypatch):
    """Of as many as one operation takes: not two for each array."""
    calls = []
    monkeypatch.setattr(
        "tangrad._numpy.conversion.stacked", lambda value, dtype: calls.append(1) or stacked(value, dtype)
    )
    x = tnp.arange(3 * SEQUENCE_LIMIT)
    same(tnp.asarray(list(x)), x)
    assert len(calls) == 3


def test_lists_of_arrays_in_other_dtypes_and_programs(backend):
    weak = tnp.full((), 2.0)
    assert weak.weak_type
    made = tnp.asarray([weak, weak])
    assert not made.weak_type and made.dtype == np.float32
    assert tnp.asarray([weak, weak], dtype="int32").tolist() == [2, 2]
    with pytest.raises(ValueError, match="ragged"):
        tnp.asarray([tnp.ones(2), tnp.ones(3)])
    same(tangrad.jit(lambda x: tnp.asarray([x[0], x[1]]))(tnp.arange(3.0)), tnp.arange(2.0))
    gradient = tangrad.grad(lambda x: (tnp.asarray([x[0], x[1]]) ** 2).sum())(tnp.arange(3.0))
    assert gradient.tolist() == [0, 2, 0]


def test_keys_in_lists(backend):
    keys = tangrad.random.split(tangrad.random.key(0), 3)
    made = tnp.stack([keys[0], keys[1]])
    assert made.dtype == keys.dtype and made.shape == (2,)


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16", "int8", "float8_e4m3fnuz"])
def test_sorting_keeps_the_order_of_zeros(dtype):
    """-0.0 and 0.0 are equal, and stay in their order; NaN comes last."""
    with use_backend("numpy"):
        values = [3, -0.0, 0.0, 1, -2, 0.0, -0.0] * 6
        x = tnp.asarray(values).astype(dtype)
        found = np.asarray(tnp.sort(x).astype("float32"))
        expected = np.sort(np.asarray(x.astype("float32")), kind="stable")
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "bool", "float16", "float32", "bfloat16"])
def test_scalars_compute_as_arrays_do(dtype):
    """Integers wrap around, floats overflow in silence, and results are arrays."""
    with use_backend("numpy"):
        x = tnp.asarray([1, 100, 127, 0, 1]).astype(dtype)
        for y in (x, x[::-1]):
            for of in (tnp.add, tnp.multiply, tnp.equal, tnp.less, tnp.greater_equal, tnp.not_equal):
                whole = of(x, y)
                for i in range(len(x)):
                    found = of(x[i], y[i])
                    assert found.aval is whole[i].aval and type(found.ndarray) is np.ndarray
                    assert np.asarray(found).tobytes() == np.asarray(whole[i]).tobytes()
    largest = tnp.asarray(np.float32(3e38))
    assert np.isinf(float(largest * largest)) and np.isnan(float(largest * largest - largest * largest))


def test_parts_are_operations_while_results_are_looked_at(backend, monkeypatch):
    monkeypatch.setattr(EVAL_TRACE, "process_primitive", dispatch)  # as before checks were switched on
    monkeypatch.setattr(nan_checks, "program_watchers", [])
    monkeypatch.setattr(primitive, "_watchers", [])
    x = tnp.asarray([1.0, np.nan])
    assert [x[0].shape, x[0].shape] == [(), ()]  # the first may be an operation that is compiled, and empties tables
    assert type(x) in _parts
    with tangrad.debug_nans(True):
        assert type(x) not in _parts
        with pytest.raises(FloatingPointError):
            x[1]
        assert type(x) not in _parts
    forget_direct_calls()


def test_permutations_are_kept_by_type(backend):
    x = tnp.asarray(np.arange(6).reshape(1, 2, 3))
    for _ in range(2):
        assert tnp.transpose(x, (2, 0, 1)).shape == (3, 1, 2) and x.T.shape == (3, 2, 1)
        assert tnp.transpose(x, (0, 1, 2)) is x
    assert tangrad.grad(lambda a: (a.T * 2.0).sum())(tnp.ones((2, 3))).shape == (2, 3)
    assert tangrad.vmap(lambda a: a.T)(x.astype("float32")).shape == (1, 3, 2)


def test_filled_arrays_again(backend):
    for _ in range(2):
        for value, weak in ((7, True), (float("nan"), True), (-0.0, True), (True, False)):
            made = tnp.full((2, 3), value)
            np.testing.assert_array_equal(np.asarray(made), np.full((2, 3), value, made.dtype))
            assert made.weak_type is weak and np.signbit(float(made[0, 0])) == np.signbit(float(value))
        like = tnp.full_like(tnp.full(2, 3.0), 4)
        assert like.weak_type and like.tolist() == [4, 4]
        with pytest.raises(OverflowError):
            tnp.full(2, 300, "int8")


def test_running_totals_by_position_and_name(backend):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(tnp.cumsum(x)), np.cumsum(x))
        np.testing.assert_array_equal(np.asarray(tnp.cumprod(tnp.asarray(x), axis=1)), np.cumprod(x, axis=1))
    assert tnp.cumsum(tnp.asarray([True, True])).tolist() == [1, 2]
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        tnp.cumsum(x, 2)
    with pytest.raises(NotImplementedError, match="cumsum"):
        tnp.cumsum(x, out=x)


def test_ranges_of_all_kinds_of_numbers(backend):
    cases = [(3, 9), (0, 7, 2), (9, 3, -2), (5,), (0.5, 4.0), (1e-3, 2e-3, 1e-4), (-(2**31), -(2**31) + 2), (5, 1)]
    for case in [*cases, (0, 2**31 - 1, 2**30), (0.0, 1e38, 5e37)]:
        dtype = "float32" if any(isinstance(value, float) for value in case) else "int32"
        made = tnp.arange(*case)
        assert made.dtype == dtype and not made.weak_type
        np.testing.assert_allclose(np.asarray(made), np.arange(*case), rtol=1e-6, err_msg=str(case))


def test_numpy_sees_arrays_that_are_gone():
    with use_backend("numpy"):
        x = tnp.ones(3)
        x.delete()
        with pytest.raises(RuntimeError, match="deleted"):
            np.asarray(x)
        with pytest.raises(TypeError, match="key"):
            np.asarray(tangrad.random.key(0))


# --- Functions of many operations are one outside of transformations, and the same function under them ---


HOLES = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, 2.0]], np.float32)

NAN_FUNCTIONS = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanargmax", "nanargmin"]


@pytest.mark.parametrize("name", NAN_FUNCTIONS)
def test_nan_reductions_are_one_operation(name):
    function, reference = getattr(tnp, name), getattr(np, name)
    assert getattr(nan_reductions, name).fused.name == name
    for options in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": -1}):
        expected = np.asarray(reference(HOLES, **options))
        for found in (function(HOLES, **options), tangrad.jit(partial(function, **options))(HOLES)):
            assert found.shape == expected.shape
            assert np.allclose(np.asarray(found), expected, atol=1e-6)
    mapped = tangrad.vmap(function)(tnp.asarray(HOLES))
    assert np.allclose(np.asarray(mapped), reference(HOLES, axis=1), atol=1e-6)


def test_nan_reductions_take_masks_and_refuse_what_is_no_array():
    where = np.array([[True, True, False], [True, True, True]])
    assert tnp.nansum(HOLES, where=where) == np.nansum(HOLES, where=where)
    assert tnp.nanvar(HOLES, ddof=1, axis=1).tolist() == pytest.approx(np.nanvar(HOLES, ddof=1, axis=1).tolist())
    with pytest.raises(TypeError, match="nanmean"):
        tnp.nanmean([1.0, 2.0])
    with pytest.raises(ValueError, match="axis"):
        tnp.nanmax(HOLES, axis=5)


@pytest.mark.parametrize("shape", [(4, 4), [4, 4], (2, 6)])
@pytest.mark.parametrize("method", ["nearest", "linear", "cubic", "lanczos3"])
def test_resizing_is_one_operation(method, shape):
    image = tnp.asarray(np.arange(9.0, dtype="float32").reshape(3, 3))
    assert interpolation.resize.fused.name == "resize_image"
    found = tangrad.image.resize(image, shape, method)
    traced = tangrad.jit(lambda x: tangrad.image.resize(x, tuple(shape), method))(image)
    assert found.shape == tuple(shape) and np.allclose(np.asarray(found), np.asarray(traced), atol=1e-5)
    slope = tangrad.grad(lambda x: tangrad.image.resize(x, shape, method).sum())(image)
    assert slope.shape == (3, 3)
    with pytest.raises(ValueError, match="resize"):
        tangrad.image.resize(image, (2, 2), "unknown")
