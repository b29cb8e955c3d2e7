"""Checks of gather and scatter: indices out of bounds, whatever the mode makes of them."""

from __future__ import annotations

from typing import Any

from tangrad._lax.checkify_bounds import check_indices
from tangrad._lax.indexing.dimension_numbers import window_sizes
from tangrad._lax.indexing.primitives import SCATTERS, gather_p, scatter_p
from tangrad.core import Array, Primitive, RuleSet
from tangrad.extend.checkify import Checks
from tangrad.typing import Dimensions, Value, Values

checkify = RuleSet("checkify", api=1)


@checkify.rule(gather_p)
def _(args: Values, *, checks: Checks, dimension_numbers: Any, slice_sizes: Dimensions, **params: object) -> Value:
    operand, indices = args
    check_indices(checks, operand.aval.shape, slice_sizes, dimension_numbers.start_index_map, indices)
    return gather_p.bind(*args, dimension_numbers=dimension_numbers, slice_sizes=slice_sizes, **params)


def _scatter(primitive: Primitive) -> Any:
    def rule(args: Any, *, checks: Checks, dimension_numbers: Any, **params: object) -> Array:
        operand, indices, updates = args
        shape = operand.aval.shape
        windows = window_sizes(dimension_numbers, shape, updates.aval.shape)
        check_indices(checks, shape, windows, dimension_numbers.scatter_dims_to_operand_dims, indices)
        out = primitive.bind(*args, dimension_numbers=dimension_numbers, **params)
        if primitive is not scatter_p:  # that one only puts values elsewhere
            checks.check_nan(primitive, (out,))
        return out

    return rule


checkify.table({primitive: _scatter(primitive) for primitive in SCATTERS})
