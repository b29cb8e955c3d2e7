"""The argument `where` of reductions: which elements count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._numpy.operands import BOOL, broadcast_all, literal, operand, select
from tangrad.core import Array, dtypes

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Value


def where_mask(name: str, where: ArrayLike) -> Value:
    """The argument `where` of reductions. Raises ValueError if it is not boolean."""
    mask = operand(name, where)
    if mask.aval.dtype is not BOOL:
        raise ValueError(f"{name}: where must be boolean, got dtype {dtypes.dtype_name(mask.aval.dtype)}")
    return mask


def masked(name: str, x: Value, where: ArrayLike, start: Any) -> Array:
    """The elements that `where` leaves out replaced by what the reduction starts from."""
    mask = where_mask(name, where)
    mask, x = broadcast_all(name, [mask, x])
    return select(mask, x, literal(start, x.aval.dtype))
