"""The types of array elements: 32-bit by default, weak Python scalars, bfloat16 and float8, float0, typed keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._core.diagnostics.callers import written_by_user
from tangrad._core.diagnostics.errors import TypePromotionError
from tangrad._core.dtypes.kinds import (
    bit_width,
    finfo,
    iinfo,
    issubdtype,
    to_complex_dtype,
    to_floating_dtype,
    to_inexact_dtype,
    to_numeric_dtype,
)
from tangrad._core.dtypes.objects import (
    NARROW_NAMES,
    DType,
    ExtendedDType,
    as_dtype,
    canonicalize_dtype,
    check_user_dtype_supported,
    default_complex_dtype,
    default_float_dtype,
    default_int_dtype,
    default_uint_dtype,
    dtype_name,
    extended,
    float0,
    narrow_dtype,
    prng_key,
    python_scalar_dtypes,
    short_name,
    user_stack_level,
)
from tangrad._core.dtypes.promotion import (
    check_integer_fits,
    coerce_to_array,
    dtype_of,
    is_weakly_typed,
    lattice_result_type,
    promote_pair,
    promote_types,
    result_type,
    scalar_type_of,
)
from tangrad._core.settings.config import enable_x64

__all__ = [
    "NARROW_NAMES",
    "DType",
    "ExtendedDType",
    "TypePromotionError",
    "as_dtype",
    "bit_width",
    "bool_",
    "canonicalize_dtype",
    "check_integer_fits",
    "check_user_dtype_supported",
    "coerce_to_array",
    "complex_",
    "default_complex_dtype",
    "default_float_dtype",
    "default_int_dtype",
    "default_uint_dtype",
    "dtype_name",
    "dtype_of",
    "extended",
    "finfo",
    "float0",
    "float_",
    "iinfo",
    "int_",
    "is_weakly_typed",
    "issubdtype",
    "lattice_result_type",
    "narrow_dtype",
    "on_x64_change",
    "prng_key",
    "promote_pair",
    "promote_types",
    "python_scalar_dtypes",
    "result_type",
    "scalar_type_of",
    "short_name",
    "to_complex_dtype",
    "to_floating_dtype",
    "to_inexact_dtype",
    "to_numeric_dtype",
    "uint",
    "user_stack_level",
    "written_by_user",
]

on_x64_change = enable_x64.on_change

# The default types; as arguments they become 32-bit unless enable_x64 is set, as every dtype does.
bool_ = np.bool_
int_ = np.int64
uint = np.uint64
float_ = np.float64
complex_ = np.complex128


def __getattr__(name: str) -> Any:
    if name in NARROW_NAMES:  # bfloat16, float8_e4m3fn, int4, ...: the scalar types of ml_dtypes, which is imported now
        scalar_type = globals()[name] = narrow_dtype(name, AttributeError).type
        return scalar_type
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
