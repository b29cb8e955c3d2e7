"""What dtypes are: their place among NumPy's scalar classes, their width and limits, the dtypes that go with them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np

from tangrad._core.dtypes import lattice
from tangrad._core.dtypes.objects import NARROW_NAMES, DType, ExtendedDType, as_dtype, dtype_name, ml_dtypes

# The default types; as arguments they become 32-bit unless enable_x64 is set, as every dtype does.
bool_ = np.bool_
int_ = np.int64
uint = np.uint64
float_ = np.float64
complex_ = np.complex128

_BOOL = as_dtype(bool)
_NARROW_FLOATS = frozenset({*lattice.NARROW_FLOATS, "bfloat16"})


def issubdtype(a: Any, b: Any) -> bool:
    """Whether the dtype or scalar class `a` is `b` or below it.

    As `numpy.issubdtype`, where bfloat16 and the narrow floats are `np.floating`, int4 and its kin `np.integer`, and
    typed keys are `prng_key` and `extended`.

    >>> import numpy as np
    >>> from tangrad.core import dtypes
    >>> dtypes.issubdtype("bfloat16", np.floating)
    True
    """
    try:
        return _issubdtype(a, b)
    except TypeError:
        return _issubdtype.__wrapped__(a, b)  # an unhashable argument, or one that is no dtype: raises again


@lru_cache(1024)
def _issubdtype(a: Any, b: Any) -> bool:
    if isinstance(b, ExtendedDType):
        return isinstance(a, ExtendedDType) and a == b
    lower, upper = _scalar_class(a), _scalar_class(b)
    if lower.__module__ == "ml_dtypes" and lower.__name__ in NARROW_NAMES:
        return upper is lower or issubclass(_numpy_class(lower.__name__), upper)
    return issubclass(lower, upper)


def _scalar_class(dtype: Any) -> type:
    if isinstance(dtype, ExtendedDType):
        return cast(type, dtype.type)
    if isinstance(dtype, type) and issubclass(dtype, np.generic):
        return dtype
    if isinstance(dtype, str) and dtype in NARROW_NAMES:
        return as_dtype(dtype).type
    return cast(type, np.dtype(dtype).type)


def _numpy_class(narrow: str) -> type:
    """The class of NumPy that is directly above a narrow dtype."""
    if narrow in _NARROW_FLOATS:
        return np.floating
    return np.unsignedinteger if narrow.startswith("u") else np.signedinteger


def bit_width(dtype: Any) -> int:
    """Bits of one element: 4 for int4, 8 for bool. Of an extended dtype, those of its physical element."""
    dtype = as_dtype(dtype)
    if dtype_name(dtype) in NARROW_NAMES:
        digits = dtype.name.lstrip("bfloatuin").partition("_")[0]
        return int(digits)
    return 8 * int(dtype.itemsize)


itemsize_bits = bit_width


def finfo(dtype: Any) -> Any:
    """Limits of a floating or complex dtype, as `numpy.finfo`. Raises ValueError for others."""
    dtype = as_dtype(dtype)
    if dtype_name(dtype) in NARROW_NAMES:
        return ml_dtypes().finfo(dtype)
    return np.finfo(dtype)


def iinfo(int_type: Any) -> Any:
    """Limits of an integer dtype, as `numpy.iinfo`. Raises ValueError for others."""
    dtype = as_dtype(int_type)
    if dtype_name(dtype) in NARROW_NAMES:
        return ml_dtypes().iinfo(dtype)
    return np.iinfo(dtype)


def to_inexact_dtype(dtype: Any) -> DType:
    """The dtype of quotients and roots: float64 of 64-bit integers, float32 of the others and bool; else the same."""
    dtype = as_dtype(dtype)
    if dtype is _BOOL or issubdtype(dtype, np.integer):
        return as_dtype("float64" if dtype.itemsize == 8 else "float32")
    return cast(DType, dtype)


def to_floating_dtype(dtype: Any) -> DType:
    """The real floating dtype beside `dtype`: that of the parts of a complex one, else as `to_inexact_dtype`."""
    dtype = to_inexact_dtype(dtype)
    return as_dtype(dtype.type(0).real.dtype) if issubdtype(dtype, np.complexfloating) else dtype


def to_complex_dtype(dtype: Any) -> DType:
    """The complex dtype that holds `dtype`: complex128 of 64-bit integers and floats, else complex64."""
    wide = dtype_name(to_inexact_dtype(dtype)) in ("float64", "complex128")
    return as_dtype("complex128" if wide else "complex64")


def to_numeric_dtype(dtype: Any) -> DType:
    """`dtype`, or int32 for bool: the dtype in which booleans are counted."""
    dtype = as_dtype(dtype)
    return as_dtype("int32") if dtype is _BOOL else dtype
