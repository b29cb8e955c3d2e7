"""The rule kinds that batching owns, itself as a plugin, and how batch rules are written: a line in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._batching.split import split_by_names
from tangrad._batching.trace import (
    AxisInfo,
    batch_by_decomposition,
    batch_call,
    broadcast_axis,
    broadcast_axis_p,
    move_axis,
    place_axis,
    to_front,
)
from tangrad.core import Primitive, RuleKind, RuleSet, Transformation

if TYPE_CHECKING:
    from tangrad.core.protocols import BatchRule
    from tangrad.typing import Dimensions, Dims, Value, Values


def elementwise_batch(batch: RuleSet, *primitives: Primitive) -> None:
    """Register primitives that act element by element on operands of one shape, scalars beside them included."""
    for primitive in primitives:
        batch.add(primitive, elementwise(primitive))


def elementwise(primitive: Primitive) -> BatchRule:
    def rule(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: object) -> tuple[object, object]:
        operands: Sequence[Value]
        if len(args) == 1:
            operands, dim = args, dims[0]
        else:
            operands, dim = match_axes(args, dims, axis_info.size)
        out = primitive.bind(*operands, **params)
        return (out, (dim,) * len(out)) if primitive.multiple_results else (out, dim)

    return rule


def match_axes(args: Sequence[Value], dims: Sequence[int | None], size: int) -> tuple[list[Value], int]:
    """Operands of an elementwise primitive with the mapped axis at one position, and that position.

    Scalars that are not mapped stay scalars; whatever else is missing an axis is repeated along it.
    """
    first = next((arg, dim) for arg, dim in zip(args, dims, strict=True) if dim is not None)
    ndim, dim = len(first[0].aval.shape), first[1]
    simple = True
    for arg, d in zip(args, dims, strict=True):
        shape = arg.aval.shape
        if d is None:
            simple = simple and not shape
        else:
            simple = simple and d == dim and len(shape) == ndim
    if simple:
        return list(args), dim
    # The full rank is that of the largest operand, with its mapped axis.
    rank = max([len(a.aval.shape) + (d is None) for a, d in zip(args, dims, strict=True)])
    shape = next(
        _with_front(a, d, size) for a, d in zip(args, dims, strict=True) if len(a.aval.shape) + (d is None) == rank
    )
    return [_at_front(a, d, size, shape) for a, d in zip(args, dims, strict=True)], 0


def _with_front(arg: Value, dim: int | None, size: int) -> tuple[int, ...]:
    shape = arg.aval.shape
    return (size, *shape) if dim is None else (size, *shape[:dim], *shape[dim + 1 :])


def _at_front(arg: Value, dim: int | None, size: object, shape: Dimensions) -> Value:
    if dim is None:
        return arg if not arg.aval.shape else broadcast_axis(arg, size, 0)
    arg = move_axis(arg, dim, 0)
    if len(arg.aval.shape) == 1 and len(shape) > 1:  # a mapped scalar beside arrays
        return broadcast_axis_p.bind(arg, shape=shape, positions=(0,))
    return arg


def reduction_batch(batch: RuleSet, *primitives: Primitive, param: str = "axes") -> None:
    """Register primitives of one operand that remove the axes named by the tuple parameter `param`."""
    for primitive in primitives:
        batch.add(primitive, reduction(primitive, param))


def reduction(primitive: Primitive, param: str = "axes") -> BatchRule:
    def rule(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: Any) -> tuple[object, object]:
        (operand,), (dim,) = args, dims
        axes = tuple([a if a < dim else a + 1 for a in params[param]])
        out = primitive.bind(operand, **{**params, param: axes})
        out_dim = dim - sum([a < dim for a in axes])
        return (out, (out_dim,) * len(out)) if primitive.multiple_results else (out, out_dim)

    return rule


def axis_batch(batch: RuleSet, *primitives: Primitive, param: str) -> None:
    """Register primitives that work along the axis of the integer parameter `param` and keep the rank."""
    for primitive in primitives:
        batch.add(primitive, along_axis(primitive, param))


def along_axis(primitive: Primitive, param: str) -> BatchRule:
    def rule(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: Any) -> tuple[object, object]:
        operands = [place_axis(arg, dim, 0, axis_info.size) for arg, dim in zip(args, dims, strict=True)]
        out = primitive.bind(*operands, **{**params, param: params[param] + 1})
        return (out, (0,) * len(out)) if primitive.multiple_results else (out, 0)

    return rule


def front_batch(batch: RuleSet, primitive: Primitive, function: Callable[..., Any], *, broadcast: bool = True) -> None:
    """Register a rule that sees operands with the mapped axis in front: `function(*operands, **params)`, result
    likewise.

    With `broadcast=False` operands that are not mapped stay as they are, and the function gets `mapped=(bool, …)` too.
    """
    batch.add(primitive, front(primitive, function, broadcast))


def front(primitive: Primitive, function: Callable[..., Any] | None = None, broadcast: bool = True) -> BatchRule:
    function = function or primitive.bind

    def rule(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: object) -> tuple[object, object]:
        if broadcast:
            placed = [place_axis(arg, dim, 0, axis_info.size) for arg, dim in zip(args, dims, strict=True)]
            out = function(*placed, **params)
        else:
            operands = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
            out = function(*operands, mapped=tuple([dim is not None for dim in dims]), **params)
        return (out, (0,) * len(out)) if primitive.multiple_results else (out, 0)

    return rule


def operand_of_call(arg: Value, dim: int | None, size: object, vmap_method: str) -> Value:
    """An operand of a function of the host or of C that is called once for a whole batch, with its axis in front.

    What is not mapped gets an axis of size 1 ("expand_dims"), of the batch's size ("broadcast_all"), or none
    ("legacy_vectorized").
    """
    if dim is not None:
        return move_axis(arg, dim, 0)
    if vmap_method == "legacy_vectorized":
        return arg
    return broadcast_axis(arg, size if vmap_method == "broadcast_all" else 1, 0)


# The forms by their names, which need no import: `batch.form("elementwise", sin_p)`.
FORMS: dict[str, Callable[..., BatchRule]] = {
    "elementwise": elementwise,
    "reduction": reduction,
    "axis": along_axis,
    "front": front,
}


batch = RuleKind(
    "batch",
    api=1,
    signature="(args, dims, *, axis_info, **params) -> (outs, out_dims)",
    doc="a primitive applied along a mapped axis of some operands",
    derive=batch_by_decomposition,
    forms={**FORMS, "call": batch_call},
)
split_axis = RuleKind(
    "split_axis",
    api=1,
    signature="(args, dims, *, axis_info, **params) -> (outs, out_dims)",
    doc="a primitive that names an axis of which only a part is mapped here, and another one under a name of its own",
    default=split_by_names,
    optional=True,
)
batching = Transformation("batching", api=1, kinds=(batch, split_axis), doc="vectorisation (vmap)")
