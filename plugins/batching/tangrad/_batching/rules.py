"""The rules of batching's own family, in which all is linear."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from tangrad._batching.trace import AxisInfo, broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.core import Array, RuleSet, ShapedArray

if TYPE_CHECKING:
    from tangrad.extend.masking import Sizes
    from tangrad.extend.sharding import Axes, Operand
    from tangrad.typing import Dimensions, Params, Value

jvp = RuleSet("jvp", api=1)
jvp.form("linear", broadcast_axis_p, move_axis_p, sum_axes_p)

checkify = RuleSet("checkify", api=1)
checkify.form("handed on", move_axis_p, broadcast_axis_p)

# --- cotangents ---

transpose = RuleSet("transpose", api=1)


def _undo_move(cotangent: Value, _: ShapedArray, source: int, destination: int) -> Value:
    return move_axis_p.bind(cotangent, source=destination, destination=source)


def _undo_broadcast(cotangent: Value, aval: ShapedArray, shape: Dimensions, positions: tuple[int, ...]) -> Value:
    summed = sum_axes_p.bind(cotangent, axes=tuple([axis for axis in range(len(shape)) if axis not in positions]))
    # The sum leaves the axes in the order of the result; the operand had them in the order of `positions`.
    order = sorted(positions)
    if list(positions) == order:
        return summed
    return broadcast_axis_p.bind(summed, shape=aval.shape, positions=tuple([positions.index(p) for p in order]))


def _undo_sum(cotangent: object, aval: ShapedArray, axes: tuple[int, ...]) -> Array:
    kept = tuple([axis for axis in range(aval.ndim) if axis not in axes])
    return broadcast_axis_p.bind(cotangent, shape=aval.shape, positions=kept)


transpose.form("linear", move_axis_p, using=[_undo_move])
transpose.form("linear", broadcast_axis_p, using=[_undo_broadcast])
transpose.form("linear", sum_axes_p, using=[_undo_sum])

# --- mapped axes ---

batch = RuleSet("batch", api=1)
batch.form("reduction", sum_axes_p)


@batch.rule(move_axis_p)
def _(
    args: Sequence[Value], dims: Sequence[int | None], *, axis_info: AxisInfo, source: int, destination: int
) -> tuple[Array, int]:
    value = axis_info.place(args[0], dims[0], 0)
    return move_axis_p.bind(value, source=source + 1, destination=destination + 1), 0


@batch.rule(broadcast_axis_p)
def _(
    args: Sequence[Value],
    dims: Sequence[int | None],
    *,
    axis_info: AxisInfo,
    shape: tuple[int, ...],
    positions: tuple[int, ...],
) -> tuple[Array, int]:
    value = axis_info.place(args[0], dims[0], 0)
    return broadcast_axis_p.bind(value, shape=(axis_info.size, *shape), positions=(0, *[p + 1 for p in positions])), 0


# --- padded arrays ---

mask = RuleSet("mask", api=1)
mask.form("whole", move_axis_p)
mask.form("filled", sum_axes_p, using=[lambda dtype: 0])


@mask.rule(broadcast_axis_p)
def _(args: Sequence[Value], shapes: object, *, sizes: Sizes, shape: Dimensions, positions: object) -> Value:
    out = broadcast_axis_p.bind(*args, shape=sizes.padded(tuple(shape)), positions=positions)
    return sizes.fill(out, shape, 0)


# --- shardings ---

sharding = RuleSet("sharding", api=1)


def _summed(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (tuple([cut for at, cut in enumerate(operands[0].axes) if at not in params["axes"]]),)


def _moved(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    axes = list(operands[0].axes)
    axes.insert(params["destination"], axes.pop(params["source"]))
    return (tuple(axes),)


def _repeated(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    axes: list[tuple[Hashable, ...]] = [()] * results[0].ndim
    for cut, place in zip(operands[0].axes, params["positions"], strict=True):
        axes[place] = cut
    return (tuple(axes),)


for _primitive, _rule in ((sum_axes_p, _summed), (move_axis_p, _moved), (broadcast_axis_p, _repeated)):
    sharding.form("linear", _primitive, using=[_rule])
