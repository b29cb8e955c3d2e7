"""What the tests of the NumPy backend share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tangrad.core import ShapedArray, get_backend, trace_to_closed_jaxpr
from tangrad.core.backends import CompileOptions

NUMPY = get_backend("numpy")
F32 = np.dtype("float32")


def put(value: Any, dtype: Any = None, device: Any = None) -> Any:
    """An array of the NumPy backend; Python numbers become float32."""
    if dtype is None and not isinstance(value, (np.ndarray, np.generic)):
        dtype = F32
    array = np.asarray(value, dtype)
    return NUMPY.put(array, ShapedArray(array.shape, array.dtype), device)


def compiled(function: Callable[..., Any], *arrays: Any, **options: Any) -> Any:
    """The executable of a function of arrays that returns a tuple."""
    closed = trace_to_closed_jaxpr(function, [array.aval for array in arrays])
    return NUMPY.compile(closed, CompileOptions("program", **options))


def same(one: Any, other: Any) -> None:
    """Assert equal shapes, dtypes and contents; NaNs are equal."""
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    np.testing.assert_array_equal(one, other)
