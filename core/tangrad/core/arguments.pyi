# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._core.dtypes.conversions import (
    can_represent_array as can_represent_array,
    represented_array as represented_array,
)
from tangrad._core.dtypes.sizes import (
    SymbolicDimension as SymbolicDimension,
    as_size as as_size,
    first_symbolic as first_symbolic,
    is_symbolic as is_symbolic,
    max_size as max_size,
    min_size as min_size,
    product as product,
)
from tangrad._core.kernel.aval import canonicalize_shape as canonicalize_shape

__all__ = [
    "SymbolicDimension",
    "as_size",
    "can_represent_array",
    "canonicalize_shape",
    "first_symbolic",
    "is_symbolic",
    "max_size",
    "min_size",
    "product",
    "represented_array",
]
