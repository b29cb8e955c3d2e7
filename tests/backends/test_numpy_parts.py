"""Parts of arrays that the NumPy backend takes without an operation, and arrays as NumPy sees them."""

import gc

import numpy as np
import pytest

import tangrad
from tangrad import use_backend

from .numpy_support import F32, put

tnp = pytest.importorskip("tangrad.numpy")

INDICES = [
    *(0, -1, slice(1, 3), slice(None, None, -1), slice(5, 0, -2), (0, slice(None)), (slice(None), 1), (1, 2), (-1, -1)),
    *((None, 0), (Ellipsis, 2), Ellipsis, None, (), (slice(0, 0), 1), np.array([0, -2]), np.array([[0], [2]])),
    *((slice(None), np.array([2, 0])), (np.array([0, 1]), None, np.array([1, 1])), np.array([True, False, True])),
    *((np.array([0, 1]), slice(1, 3)), np.array(1), np.zeros(0, np.int32), (np.array([0, 1]), np.uint8(2))),
]


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_parts_are_those_of_programs(dtype, weak):
    """In contents, dtype and weak type."""
    with use_backend("numpy"):
        x = tnp.asarray(np.arange(12).reshape(3, 4) % 5).astype(dtype)
        if weak:
            if dtype in ("bool", "bfloat16"):
                pytest.skip("no numbers of Python are such")
            x = tnp.full((3, 4), {"float32": 2.0, "complex64": 2j}[dtype]) * 1
        for index in INDICES:
            found, expected = x[index], tangrad.jit(lambda a, index=index: a[index])(x)
            assert found.aval is expected.aval, index
            np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), err_msg=str(index))


def test_what_is_beyond_the_array_is_left_to_operations() -> None:
    with use_backend("numpy"):
        x = put(np.arange(5, dtype=F32))
        assert [float(x[7]), float(x[-9])] == [4, 0]
        assert x[np.array([1, 9, -8])].tolist() == [1, 4, 0]
        assert x[tnp.asarray([9])].tolist() == [4]
        for index, error in (([0, 1], TypeError), (1.0, TypeError), ("a", TypeError), ((0, 0), IndexError)):
            with pytest.raises(error):
                x[index]
        with pytest.raises(IndexError, match="boolean index"):
            x[np.array([True, False])]
        assert x[True].shape == (1, 5)
        assert x[np.array(False)].shape == (0, 5)


def test_all_of_an_array_is_the_array() -> None:
    x = put(np.arange(5, dtype=F32))
    assert x[:] is x
    assert x[0:9] is x
    assert x[::-1] is not x


def test_parts_outlive_what_they_are_parts_of() -> None:
    x = put(np.arange(5, dtype=F32))
    with use_backend("numpy"):  # where values have been checked, positions are made into arrays first
        slice_, number, chosen = x[1:3], x[2], x[np.array([0, 4])]
    tangrad.jit(lambda a: a * 0, donate_argnums=0)(x)
    del x
    gc.collect()
    assert (slice_.tolist(), number.tolist(), chosen.tolist()) == ([1, 2], 2, [0, 4])


def test_parts_of_a_deleted_array() -> None:
    x = put(np.arange(5, dtype=F32))
    x.delete()
    with use_backend("numpy"):
        for index in (0, slice(1, 2), np.array([0])):
            with pytest.raises(RuntimeError, match="deleted"):
                x[index]


def test_parts_are_looked_at_where_values_are_checked() -> None:
    x = put(np.array([1, np.nan], F32))
    with tangrad.debug_nans(True):
        assert float(x[0]) == 1
        with pytest.raises(FloatingPointError, match="nan"):
            x[1]
    assert np.isnan(float(x[1]))


def test_parts_of_random_keys() -> None:
    random = pytest.importorskip("tangrad.random")
    with use_backend("numpy"):
        keys = random.split(random.key(0), 3)
        assert keys[1].shape == ()
        assert keys[::-1].shape == (3,)
        np.testing.assert_array_equal(random.key_data(keys[1]), random.key_data(keys)[1])


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_arrays_as_numpy_sees_them(backend) -> None:
    """Read-only, without a copy on the host, alive after the array is gone; dtypes that NumPy lacks keep theirs."""
    if backend == "xla":
        pytest.importorskip("jaxlib")
    with use_backend(backend):
        for dtype in ("float32", "bool", "complex64", "float16", "int8", "bfloat16"):
            for shape in ((), (3,), (0, 2), (2, 3)):
                x = tnp.ones(shape, dtype)
                seen = np.asarray(x)
                assert (seen.dtype, seen.shape) == (x.dtype, shape)
                with pytest.raises(ValueError, match="WRITEABLE"):
                    seen.flags.writeable = True
                assert np.array(x).flags.writeable
                assert np.asarray(x, "float64" if dtype != "complex64" else "complex128").sum() == x.size
                del x
                gc.collect()
                assert (np.asarray(seen, "complex64") == 1).all()
        assert np.array([tnp.ones(()), tnp.zeros(())]).tolist() == [1, 0]
        random = pytest.importorskip("tangrad.random")
        with pytest.raises(TypeError, match="do not become NumPy arrays"):
            np.asarray(random.key(0))


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_clipping_between_numbers_is_what_programs_do(backend) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    bounds = [np.nan, -np.inf, np.inf, -0.0, 0.0, 1, 5.0, -3]
    with use_backend(backend):
        arrays = [
            tnp.asarray(np.array(bounds, F32)),
            tnp.arange(5),
            tnp.arange(5, dtype="bfloat16"),
            tnp.ones((2, 2)) > 0,
        ]
        for x in arrays:
            for low in bounds:
                for high in bounds if x is arrays[0] else [2, 2.5]:
                    found, expected = tnp.clip(x, low, high), tangrad.jit(tnp.clip)(x, low, high)
                    assert found.aval is expected.aval
                    np.testing.assert_array_equal(np.asarray(found, F32), np.asarray(expected, F32))


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_splitting_at_positions(backend) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    host = np.arange(24, dtype=F32).reshape(4, 6)
    with use_backend(backend):
        x = tnp.asarray(host)
        for given, axis in (
            ([1, 3], 0),
            ([3, 3, 2, 12, -1], 1),
            ([0], -1),
            ((), 0),
            (np.array([2]), 1),
            (3, 1),
            (2, 0),
        ):
            found = tnp.split(x, given, axis)
            expected = np.split(host, given, axis)
            assert [part.tolist() for part in found] == [part.tolist() for part in expected]
        assert [part.shape for part in tnp.array_split(x, 4, 1)] == [(4, 2), (4, 2), (4, 1), (4, 1)]


def test_numbers_of_large_arrays_do_not_keep_them():
    with use_backend("numpy"):
        large = tnp.ones(1 << 16) + 1
        numbers = [large[5], large.reshape(256, 256)[3, 4], next(iter(large))]
        assert all([np.asarray(number.ndarray).base is None or number.ndarray.base.size <= 64 for number in numbers])
        assert [float(number) for number in numbers] == [2.0] * 3
        assert [float(number) for number in tnp.arange(3000.0)] == list(range(3000))
