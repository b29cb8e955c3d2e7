"""The types of array elements: 32-bit by default, weak Python scalars, bfloat16 and float8, float0, typed keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._core.diagnostics.errors import TypePromotionError as TypePromotionError
from tangrad._core.diagnostics.users_calls import written_by_user as written_by_user
from tangrad._core.dtypes.kinds import bit_width as bit_width
from tangrad._core.dtypes.kinds import finfo as finfo
from tangrad._core.dtypes.kinds import iinfo as iinfo
from tangrad._core.dtypes.kinds import issubdtype as issubdtype
from tangrad._core.dtypes.kinds import to_complex_dtype as to_complex_dtype
from tangrad._core.dtypes.kinds import to_floating_dtype as to_floating_dtype
from tangrad._core.dtypes.kinds import to_inexact_dtype as to_inexact_dtype
from tangrad._core.dtypes.kinds import to_numeric_dtype as to_numeric_dtype
from tangrad._core.dtypes.objects import NARROW_NAMES as NARROW_NAMES
from tangrad._core.dtypes.objects import DType as DType
from tangrad._core.dtypes.objects import ExtendedDType as ExtendedDType
from tangrad._core.dtypes.objects import as_dtype as as_dtype
from tangrad._core.dtypes.objects import canonicalize_dtype as canonicalize_dtype
from tangrad._core.dtypes.objects import check_user_dtype_supported as check_user_dtype_supported
from tangrad._core.dtypes.objects import default_complex_dtype as default_complex_dtype
from tangrad._core.dtypes.objects import default_float_dtype as default_float_dtype
from tangrad._core.dtypes.objects import default_int_dtype as default_int_dtype
from tangrad._core.dtypes.objects import default_uint_dtype as default_uint_dtype
from tangrad._core.dtypes.objects import dtype_name as dtype_name
from tangrad._core.dtypes.objects import extended as extended
from tangrad._core.dtypes.objects import float0 as float0
from tangrad._core.dtypes.objects import narrow_dtype as narrow_dtype
from tangrad._core.dtypes.objects import prng_key as prng_key
from tangrad._core.dtypes.objects import python_scalar_dtypes as python_scalar_dtypes
from tangrad._core.dtypes.objects import short_name as short_name
from tangrad._core.dtypes.objects import user_stack_level as user_stack_level
from tangrad._core.dtypes.promotion import check_integer_fits as check_integer_fits
from tangrad._core.dtypes.promotion import coerce_to_array as coerce_to_array
from tangrad._core.dtypes.promotion import dtype_of as dtype_of
from tangrad._core.dtypes.promotion import is_weakly_typed as is_weakly_typed
from tangrad._core.dtypes.promotion import lattice_result_type as lattice_result_type
from tangrad._core.dtypes.promotion import promote_pair as promote_pair
from tangrad._core.dtypes.promotion import promote_types as promote_types
from tangrad._core.dtypes.promotion import result_type as result_type
from tangrad._core.dtypes.promotion import scalar_type_of as scalar_type_of
from tangrad._core.settings.config import enable_x64

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
