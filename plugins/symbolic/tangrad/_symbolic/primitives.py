"""The value of a dimension: what a symbolic dimension is where a program computes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad.core import PrimitiveSet, ShapedArray, as_array, dtypes, literal
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from tangrad.typing import DType, Params

dimensions = PrimitiveSet("dimensions", api=1)


def _value(*, dimension: Any, dtype: DType) -> Any:
    """Of a size that is a number."""
    if is_symbolic(dimension):
        raise ValueError(
            f"the dimension {dimension} has no value here: symbolic dimensions are computed with in exported programs, "
            "whose arguments determine their sizes"
        )
    return literal(dimension, dtype, True)


def _evaluated(_: Any, params: Params) -> Any:
    return as_array(_value(**params))


@dimensions.primitive(name="dimension_as_value", weak_type="own", evaluate=_evaluated, decompose=_value)
def dimension_as_value_p(*, dimension: Any, dtype: DType) -> ShapedArray:
    """A dimension, symbolic or a number, as an integer without dimensions, weakly typed."""
    return ShapedArray((), dtypes.as_dtype(dtype), True)
