"""Functions that differ from element to element: `tangrad.numpy.piecewise`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._numpy.conversion import asarray
from tangrad._numpy.indexing import getitem
from tangrad._numpy.logic import truth
from tangrad._numpy.operands import (
    array_operand,
    broadcast_to_shape,
    convert,
    floating_dtypes,
    is_complex,
    operand,
    select,
)
from tangrad.core import Array
from tangrad.core.programs import without_value_checks
from tangrad.extend.lax import and_p, not_p, or_p, stop_gradient_p
from tangrad.typing import ArrayLike, Value


def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Apply, to each element, the function that belongs to the last condition that holds.

    Args:
        x: an array or number.
        condlist: boolean arrays of the shape of `x`, or one of them.
        funclist: as many functions or numbers, and one more for where no condition holds (default 0).
        args, kw: further arguments of the functions.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: for lists of lengths that do not fit.
        TypeError: for what is no array.

    >>> import tangrad
    >>> x = tangrad.numpy.arange(-2.0, 3.0)
    >>> tangrad.numpy.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: 10 * v])
    Array([ 2.,  1.,  0., 10., 20.], dtype=float32)
    """
    made = array_operand("piecewise", x)
    conditions = _conditions(made, condlist)
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(
            f"piecewise takes as many functions as conditions, or one more, got {len(functions)} and {len(conditions)}"
        )
    masks = [broadcast_to_shape(truth(condition), made.aval.shape) for condition in conditions]
    result: Any = None
    taken = None
    for mask, function in zip([*reversed(masks), None], [*reversed(functions[:-1]), functions[-1]]):
        chosen = _first_of(mask, taken)
        value = _piece(_held_fixed_unless(chosen, made), function, args, kw)
        result = value if result is None else select(taken, result, value)
        taken = mask if taken is None or mask is None else or_p.bind(taken, mask)
    return result


def _first_of(mask: Value | None, taken: Value | None) -> Any:
    """Where a mask holds that none before it does; a mask of None holds everywhere."""
    if taken is None:
        return mask
    return not_p.bind(taken) if mask is None else and_p.bind(mask, not_p.bind(taken))


def _held_fixed_unless(chosen: Value, x: Value) -> Value:
    """`x`, with a derivative only where the function of it is chosen: elsewhere it may be NaN."""
    if chosen is None or (x.aval.dtype not in floating_dtypes and not is_complex(x)):
        return x
    return select(chosen, x, stop_gradient_p.bind(x))


def _conditions(x: Value, condlist: Any) -> list[Value]:
    if isinstance(condlist, (list, tuple)):
        if x.ndim == 0 or (condlist and not isinstance(condlist[0], bool)):
            return [operand("piecewise", condition, 1) for condition in condlist]
        return [asarray(condlist)]
    conditions = array_operand("piecewise", condlist, 1)
    return [conditions] if conditions.ndim == x.ndim else [getitem(conditions, i) for i in range(conditions.shape[0])]


def _piece(x: Value, function: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Value:
    if not isinstance(function, Callable):  # type: ignore[arg-type]
        value = function
    else:
        with without_value_checks():  # each function gets all elements, and counts where its condition holds
            value = function(x, *args, **kw)
    return broadcast_to_shape(convert(asarray(value), x.aval.dtype), x.aval.shape)
