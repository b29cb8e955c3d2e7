"""Reductions of padded arrays: what does not count is replaced by what changes nothing.

Running totals up to an element that counts see only such elements; those from the end see the padding first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tangrad._lax.reductions.primitives import (
    argmax_p,
    argmin_p,
    cumlogsumexp_p,
    cummax_p,
    cummin_p,
    cumprod_p,
    cumsum_p,
    greatest,
    identities,
    least,
    one,
    reduce_p,
    zero,
)
from tangrad.core import Array, ClosedJaxpr, Primitive, RuleSet
from tangrad.core.arguments import is_symbolic
from tangrad.extend.masking import Sizes, filled
from tangrad.typing import Dimensions, Value, Values

if TYPE_CHECKING:
    pass

mask = RuleSet("mask", api=1)

for _primitive, _identity in {**identities, argmax_p: least, argmin_p: greatest}.items():
    filled(mask, _primitive, _identity)


def _running(primitive: Primitive, identity: Callable[..., object]) -> Callable[..., Array]:
    def rule(args: Values, shapes: Sequence[Dimensions], *, sizes: Sizes, axis: int, reverse: bool) -> Array:
        (x,), (shape,) = args, shapes
        if not is_symbolic(shape[axis]):
            return primitive.bind(x, axis=axis, reverse=reverse)
        out = primitive.bind(sizes.fill(x, shape, identity(x.aval.dtype)), axis=axis, reverse=reverse)
        return sizes.fill(out, shape, 0)

    return rule


_IDENTITIES = {cumsum_p: zero, cumprod_p: one, cummax_p: least, cummin_p: greatest, cumlogsumexp_p: least}
for _primitive, _identity in _IDENTITIES.items():
    mask.add(_primitive, _running(_primitive, _identity))


@mask.rule(reduce_p)
def _(
    args: Sequence[Value],
    shapes: Sequence[Dimensions],
    *,
    sizes: Sizes,
    jaxpr: ClosedJaxpr,
    dimensions: tuple[int, ...],
) -> Sequence[Value]:
    count = len(args) // 2
    operands, initial = args[:count], args[count:]
    filled_ones = [sizes.fill(x, shape, start) for x, shape, start in zip(operands, shapes, initial)]
    return reduce_p.bind(*filled_ones, *initial, jaxpr=jaxpr, dimensions=dimensions)
