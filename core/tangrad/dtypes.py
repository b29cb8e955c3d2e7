"""Dtypes as users ask about them: limits, kinds, promotion."""

from typing import Any

from tangrad._core.diagnostics.errors import TypePromotionError as TypePromotionError
from tangrad._core.dtypes.kinds import bit_width as itemsize_bits  # noqa: F401 - public
from tangrad._core.dtypes.kinds import finfo as finfo
from tangrad._core.dtypes.kinds import iinfo as iinfo
from tangrad._core.dtypes.kinds import issubdtype as issubdtype
from tangrad._core.dtypes.objects import ExtendedDType as ExtendedDType
from tangrad._core.dtypes.objects import as_dtype as as_dtype
from tangrad._core.dtypes.objects import canonicalize_dtype as canonicalize_dtype
from tangrad._core.dtypes.objects import extended as extended
from tangrad._core.dtypes.objects import float0 as float0
from tangrad._core.dtypes.objects import prng_key as prng_key
from tangrad._core.dtypes.promotion import promote_types as promote_types
from tangrad._core.dtypes.promotion import result_type as result_type
from tangrad._core.dtypes.promotion import scalar_type_of as scalar_type_of


def __getattr__(name: str) -> Any:
    if name == "bfloat16":  # in a package that only its users import
        return as_dtype(name).type
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
