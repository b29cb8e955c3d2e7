"""A sample of the values of dimensions, for the conformance kit: of one that is a number."""

from __future__ import annotations

from tangrad._lax.symbolic.dimensions import dimension_as_value_p
from tangrad.conformance import Sample
from tangrad.core import dtypes


def samples() -> list[Sample]:
    """All of them."""
    return [Sample(dimension_as_value_p, (), {"dimension": 3, "dtype": dtypes.as_dtype("int32")})]
