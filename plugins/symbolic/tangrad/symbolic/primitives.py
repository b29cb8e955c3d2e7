"""The value of a dimension: what a symbolic dimension is where a program computes with it."""

from __future__ import annotations

from typing import Any, NoReturn

from tangrad.core import PrimitiveSet, ShapedArray, dtypes

dimensions = PrimitiveSet("dimensions", api=1)


def _no_value(_: Any, params: dict[str, Any]) -> NoReturn:
    raise ValueError(
        f"the dimension {params['dimension']} has no value here: symbolic dimensions are computed with in traced "
        "programs (make_jaxpr, jit, export), whose arguments tell their sizes"
    )


@dimensions.primitive(name="dimension_as_value", weak_type="own", evaluate=_no_value)
def dimension_as_value_p(*, dimension: Any) -> ShapedArray:
    """A dimension as an integer without dimensions, weakly typed."""
    return ShapedArray((), dtypes.default_int_dtype(), True)
