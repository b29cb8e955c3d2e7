"""Windows over padded arrays: what does not count is replaced by what padding means to the operation.

Windows are placed as they would be without it, since they are counted from the start. Explicit padding at the end adds
to what is replaced; that of dimensions with padding at the end that depends on the size is refused by the primitives
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tangrad._lax.elementwise.primitives import ge_p
from tangrad._lax.reductions.primitives import greatest, least, zero
from tangrad._lax.windows.primitives import (
    conv_general_dilated_p,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
)
from tangrad.core import Array, Primitive, RuleSet
from tangrad.extend.masking import Sizes
from tangrad.typing import Dimensions, Value, Values

mask = RuleSet("mask", api=1)


def _windows(primitive: Primitive, identity: Callable[..., object]) -> Callable[..., Array]:
    def rule(args: Values, shapes: Sequence[Dimensions], *, sizes: Sizes, **params: object) -> Array:
        (x,), (shape,) = args, shapes
        padded = sizes.padded_params(params)
        out = primitive.bind(sizes.fill(x, shape, identity(x.aval.dtype)), **padded)
        return sizes.fill(out, primitive.infer((x.aval.update(shape=shape),), params).shape, 0)

    return rule


_IDENTITIES = {reduce_window_sum_p: zero, reduce_window_max_p: least, reduce_window_min_p: greatest}
for _primitive, _identity in _IDENTITIES.items():
    mask.add(_primitive, _windows(_primitive, _identity))


@mask.rule(conv_general_dilated_p)
def _(args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, **params: object) -> Value:
    operands = [sizes.fill(x, shape, 0) for x, shape in zip(args, shapes)]
    avals = tuple([x.aval.update(shape=shape) for x, shape in zip(args, shapes)])
    out = conv_general_dilated_p.bind(*operands, **sizes.padded_params(params))
    return sizes.fill(out, conv_general_dilated_p.infer(avals, params).shape, 0)


def _selecting(primitive: Primitive) -> Callable[..., Array]:
    """What does not count is never selected, and has no tangent."""

    def rule(
        args: Values, shapes: Sequence[Dimensions], *, sizes: Sizes, select_prim: Primitive, **params: object
    ) -> Array:
        (values, x), (of_values, shape) = args, shapes
        never = (least if select_prim is ge_p else greatest)(x.aval.dtype)
        avals = (values.aval.update(shape=of_values), x.aval.update(shape=shape))
        logical = primitive.infer(avals, {"select_prim": select_prim, **params})
        operands = sizes.fill(values, of_values, 0), sizes.fill(x, shape, never)
        out = primitive.bind(*operands, select_prim=select_prim, **sizes.padded_params(params))
        return sizes.fill(out, logical.shape, 0)

    return rule


for _primitive in (select_and_gather_add_p, select_and_scatter_add_p):
    mask.add(_primitive, _selecting(_primitive))
