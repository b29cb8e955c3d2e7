"""Dtypes as users ask about them: limits, kinds, promotion. `tangrad.core.dtypes` has what the system itself needs."""

from typing import Any

from tangrad.core.dtypes import TypePromotionError as TypePromotionError
from tangrad.core.dtypes import as_dtype as as_dtype
from tangrad.core.dtypes import canonicalize_dtype as canonicalize_dtype
from tangrad.core.dtypes import extended as extended
from tangrad.core.dtypes import finfo as finfo
from tangrad.core.dtypes import float0 as float0
from tangrad.core.dtypes import iinfo as iinfo
from tangrad.core.dtypes import issubdtype as issubdtype
from tangrad.core.dtypes import prng_key as prng_key
from tangrad.core.dtypes import promote_types as promote_types
from tangrad.core.dtypes import result_type as result_type
from tangrad.core.dtypes import scalar_type_of as scalar_type_of


def __getattr__(name: str) -> Any:
    if name == "bfloat16":  # in a package that only its users import
        return as_dtype(name).type
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
