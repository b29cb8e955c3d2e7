"""`tangrad.lax.reduce_window`: windows reduced by any operation, or by one of three that are primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from tangrad import tree
from tangrad._lax.checks import ANY, NUMERIC, is_kind
from tangrad._lax.elementwise import functions as elementwise
from tangrad._lax.operands import operand as as_lax_operand
from tangrad._lax.operands import scalar_like
from tangrad._lax.reductions.generic import scalar_program
from tangrad._lax.reductions.primitives import greatest, least, zero
from tangrad._lax.windows.convolutions import integers, pairs
from tangrad._lax.windows.dimensions import dilated_shape, padtype_to_pads
from tangrad._lax.windows.primitives import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
)
from tangrad.core import Array, ClosedJaxpr, Primitive, Tracer, without_boundary
from tangrad.typing import ArrayLike, Params, PyTree, Value

# The functions of which reductions over windows are primitives; what they start from, and which dtypes they take.
_SIMPLE: dict[object, tuple[Primitive, Callable[..., Any], tuple[str, ...]]] = {
    elementwise.add: (reduce_window_sum_p, zero, NUMERIC),
    elementwise.max: (reduce_window_max_p, least, ANY),
    elementwise.min: (reduce_window_min_p, greatest, ANY),
}


@overload
def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[[Any, Any], object],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Array: ...
@overload
def reduce_window(
    operand: PyTree,
    init_value: PyTree,
    computation: Callable[[Any, Any], object],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> PyTree: ...
def reduce_window(
    operand: PyTree,
    init_value: PyTree,
    computation: Callable[[Any, Any], object],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: object = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> PyTree:
    """Windows of an array, each reduced to one element: pooling.

    Args:
        operand: an array, or a tree of arrays of one shape.
        init_value: a scalar, or a tree of scalars, which `computation` leaves unchanged; padding has this value.
        computation: a function `(x, y) -> z` of scalars, or of trees of scalars with the structure of `operand`. It
            must be associative; how often and in what grouping it is applied is not defined.
        window_dimensions: the size of the window in each dimension of the operand.
        window_strides: its steps; default: 1.
        padding: "VALID", "SAME" or "SAME_LOWER" (see `lax.padtype_to_pads`), or pairs `(low, high)`.
        base_dilation: how far apart the elements of the operand are; default: 1.
        window_dilation: how far apart the elements of a window are; default: 1.

    Returns:
        An array, or a tree of arrays with the structure of `operand`, with an element for each window.

    Raises:
        TypeError: for dtypes, trees or parameters that do not fit, or a `computation` whose result is of another type
            than its arguments.
        ValueError: for shapes that differ, or sizes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> x = np.arange(8, dtype=np.float32).reshape(2, 4)
    >>> tangrad.lax.reduce_window(x, -np.inf, tangrad.lax.max, (2, 2), (2, 2))
    Array([[5., 7.]], dtype=float32)
    """
    name = "reduce_window"
    leaves, structure = tree.flatten(operand)
    starts, start_structure = tree.flatten(init_value)
    if structure != start_structure:
        found = f"{structure} and {start_structure}"
        raise TypeError(f"{name}: operand and init_value must have one structure, got {found}")
    if not leaves:
        raise TypeError(f"{name} requires at least one operand, got none")
    arrays = [x if isinstance(x, Array) else as_lax_operand(name, x, f"operand {i}") for i, x in enumerate(leaves)]
    initial = [_initial(start, x, i) for i, (start, x) in enumerate(zip(starts, arrays))]
    params = _parameters(
        arrays[0].aval.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    primitive = _simple_reduction(computation, initial)
    if primitive is not None:
        return structure.unflatten([primitive.bind(arrays[0], **params)])
    closed, out_structure = scalar_program(name, computation, structure, initial)
    if out_structure != structure:
        raise TypeError(f"{name}: computation must return the structure of operand, {structure}, got {out_structure}")
    return structure.unflatten(_reduce_window(closed, arrays, initial, params))


def _initial(value: float, operand: Value, position: int) -> Value:
    """An initial value as an operand; a Python number takes the dtype of the array."""
    if type(value) in (bool, int, float, complex):
        return scalar_like(value, operand.aval.dtype)
    return value if isinstance(value, Array) else as_lax_operand("reduce_window", value, f"init_value {position}")


def _parameters(
    shape: Sequence[int],
    window: tuple[int, ...] | Sequence[int],
    strides: tuple[int, ...] | Sequence[int] | None,
    padding: object,
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> dict[str, tuple[int | tuple[int, ...], ...]]:
    """The parameters of the primitives."""
    name = "reduce_window"
    sizes = integers(name, window, "window_dimensions")
    ones = (1,) * len(sizes)
    steps = ones if strides is None else integers(name, strides, "window_strides")
    spread = ones if window_dilation is None else integers(name, window_dilation, "window_dilation")
    if isinstance(padding, str):
        if len(sizes) != len(shape):
            raise ValueError(
                f"{name}: window_dimensions must have an entry for each dimension of the operand, of shape "
                f"{tuple(shape)}, got {sizes}"
            )
        pads = tuple(padtype_to_pads(shape, dilated_shape(sizes, spread), steps, padding))
    else:
        pads = pairs(name, padding)
    return {
        "window_dimensions": sizes,
        "window_strides": steps,
        "padding": pads,
        "base_dilation": ones if base_dilation is None else integers(name, base_dilation, "base_dilation"),
        "window_dilation": spread,
    }


def _simple_reduction(computation: object, initial: Sequence[Value]) -> Primitive | None:
    """The primitive that reduces by `computation` from `initial`, or None where no single one does."""
    try:
        found = _SIMPLE.get(without_boundary(computation))
    except TypeError:  # not hashable
        return None
    start = initial[0]
    if found is None or len(initial) != 1 or start.aval.shape or isinstance(start, Tracer):
        return None
    primitive, identity, accepted = found
    dtype = start.aval.dtype
    return primitive if is_kind(dtype, accepted) and bool(start.to_numpy() == identity(dtype)) else None


def _reduce_window(
    closed: ClosedJaxpr, arrays: Sequence[Value], initial: Sequence[Value], params: Params
) -> Sequence[Value]:
    # A program that closed over values of an outer trace must not become a parameter: it is applied here and now.
    if any([isinstance(const, Tracer) for const in closed.consts]):
        params = {"jaxpr": closed, **params}
        reduce_window_p.infer(tuple([x.aval for x in (*arrays, *initial)]), params)
        decompose: Any = reduce_window_p.decompose
        return decompose(*arrays, *initial, **params)
    return reduce_window_p.bind(*arrays, *initial, jaxpr=closed, **params)
