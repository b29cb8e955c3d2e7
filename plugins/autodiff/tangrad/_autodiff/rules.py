"""The rules of autodiff's own family, all of which is linear in its operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._autodiff.primitives import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad._autodiff.transpose_rules import is_linear
from tangrad.core import RuleSet, ShapedArray

if TYPE_CHECKING:
    from tangrad._autodiff.tangents import Linear
    from tangrad.batching import AxisInfo
    from tangrad.core import Array
    from tangrad.extend.masking import Sizes
    from tangrad.typing import Dimensions, Params, Value

jvp = RuleSet("jvp", api=1)
jvp.form("linear", add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p)
jvp.form("zero", zeros_p)

# --- cotangents ---

transpose = RuleSet("transpose", api=1)


@transpose.rule(add_any_p)
def _(cotangent: Value, x: Linear, y: Linear) -> tuple[Value | None, Value | None]:
    return cotangent if is_linear(x) else None, cotangent if is_linear(y) else None


def _undo_append(ct: Value, aval: ShapedArray, sizes: tuple[int, ...]) -> Value:
    return sum_trailing_p.bind(ct, count=len(sizes))


def _undo_sum(ct: object, aval: ShapedArray, count: int) -> Array:
    return append_dims_p.bind(ct, sizes=aval.shape[aval.ndim - count :])


transpose.form("linear", append_dims_p, using=[_undo_append])
transpose.form("linear", sum_trailing_p, using=[_undo_sum])
transpose.form("linear", set_weak_type_p, using=[lambda ct, aval, weak_type: ct])
transpose.not_applicable("it has no arguments", zeros_p)

# --- mapped axes ---

batch = RuleSet("batch", api=1)
batch.form("elementwise", set_weak_type_p)
batch.not_applicable("it has no arguments", zeros_p)


@batch.rule(add_any_p)
def _(args: Sequence[Value], dims: Sequence[int | None], *, axis_info: AxisInfo) -> tuple[Array, int]:
    # Both have one type: a scalar that is not mapped must not be left beside one that is.
    (dim, *_) = [own for own in dims if own is not None]
    operands = [arg if own == dim else axis_info.place(arg, own, dim) for arg, own in zip(args, dims, strict=True)]
    return add_any_p.bind(*operands), dim


@batch.rule(append_dims_p)
def _(
    args: Sequence[Value], dims: Sequence[int | None], *, axis_info: AxisInfo, sizes: object
) -> tuple[Array, int | None]:
    return append_dims_p.bind(args[0], sizes=sizes), dims[0]


@batch.rule(sum_trailing_p)
def _(args: Sequence[Value], dims: Sequence[int | None], *, axis_info: AxisInfo, count: int) -> tuple[Array, int]:
    return sum_trailing_p.bind(axis_info.place(args[0], dims[0], 0), count=count), 0


# --- padded arrays ---

mask = RuleSet("mask", api=1)
mask.form("whole", add_any_p, set_weak_type_p, zeros_p)
mask.form("filled", sum_trailing_p, using=[lambda dtype: 0])


@mask.rule(append_dims_p)
def _(args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, **params: Dimensions) -> Value:
    out = append_dims_p.bind(*args, sizes=sizes.padded(tuple(params["sizes"])))
    return sizes.fill(out, (*shapes[0], *params["sizes"]), 0)


# --- shardings ---

sharding = RuleSet("sharding", api=1)
sharding.form("linear", add_any_p, set_weak_type_p)


def _with_trailing(operands: Any, results: Any, params: Params) -> Any:
    """Trailing dimensions come and go."""
    rank = results[0].ndim
    return ((*operands[0].axes, *[()] * rank)[:rank],)


sharding.form("linear", append_dims_p, sum_trailing_p, using=[_with_trailing])
