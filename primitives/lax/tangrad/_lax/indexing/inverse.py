"""What derivatives of scatters need: zeros to scatter into, and the gather that reads what a scatter writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._lax.indexing.dimension_numbers import gather_of, window_sizes
from tangrad._lax.indexing.primitives import gather_p
from tangrad._lax.structure.primitives import broadcast_in_dim_p
from tangrad.core import Array, ShapedArray, literal
from tangrad.typing import Params, Value

if TYPE_CHECKING:
    from tangrad.autodiff import Linear


def zeros(aval: ShapedArray) -> Array:
    """Zeros of the type of an aval."""
    return broadcast_in_dim_p.bind(literal(0, aval.dtype), shape=aval.shape, broadcast_dimensions=())


def gathered(values: Value, indices: Value, updates: Value | Linear, params: Params) -> Array:
    """What stands in `values` where a scatter with these parameters writes its updates."""
    numbers = params["dimension_numbers"]
    return gather_p.bind(
        values,
        indices,
        dimension_numbers=gather_of(numbers),
        slice_sizes=window_sizes(numbers, values.aval.shape, updates.aval.shape),
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
        mode=params["mode"],
        fill_value=0,
    )
