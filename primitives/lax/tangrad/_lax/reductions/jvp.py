"""How reductions and running totals act on tangents.

`reduce` has no rule of its own: its derivative is that of the tree that it decomposes into.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from tangrad._lax.checks import COMPLEX, is_kind
from tangrad._lax.elementwise import primitives as e
from tangrad._lax.reductions import primitives as p
from tangrad._lax.reductions.decompositions import Arrays, Combine, associative_scan, fold_axes, log_add_exp, rows
from tangrad._lax.structure.primitives import broadcast_in_dim_p, pad_p, reshape_p
from tangrad.autodiff import linear_jvp, zero_jvp
from tangrad.core import Array, Primitive, RuleSet, literal
from tangrad.typing import Value, Values

if TYPE_CHECKING:
    from tangrad.core.protocols import JvpRule

jvp = RuleSet("jvp", api=1)

linear_jvp(jvp, p.reduce_sum_p, p.cumsum_p)
zero_jvp(jvp, p.argmax_p, p.argmin_p, p.reduce_and_p, p.reduce_or_p, p.reduce_xor_p)


# --- reductions ---


def _number(value: float, like: Value) -> Value:
    return literal(value, like.aval.dtype, True)


def _extremum(primitive: Primitive) -> Callable[..., tuple[Array, Array]]:
    """The tangent of the extreme element; where several are equal, the mean of theirs."""

    def rule(primals: Values, tangents: Values, *, axes: tuple[int, ...]) -> tuple[Array, Array]:
        (operand,), (tangent,) = primals, tangents
        answer = primitive.bind(operand, axes=axes)
        shape = operand.aval.shape
        kept = tuple([axis for axis in range(len(shape)) if axis not in axes])
        spread = broadcast_in_dim_p.bind(answer, shape=shape, broadcast_dimensions=kept)
        chosen = e.convert_element_type_p.bind(
            e.eq_p.bind(operand, spread), new_dtype=tangent.aval.dtype, weak_type=tangent.aval.weak_type
        )
        count = p.reduce_sum_p.bind(chosen, axes=axes)
        return answer, e.div_p.bind(p.reduce_sum_p.bind(e.mul_p.bind(tangent, chosen), axes=axes), count)

    return rule


jvp.table({p.reduce_max_p: _extremum(p.reduce_max_p), p.reduce_min_p: _extremum(p.reduce_min_p)})


@jvp.rule(p.reduce_prod_p)
def _reduce_prod(primals: Values, tangents: Values, *, axes: tuple[int, ...]) -> tuple[Value, Value]:
    """The product rule along a tree of products, which is right where factors are 0."""
    (operand,), (tangent,) = primals, tangents
    if not axes:
        return operand, tangent
    pair: Values = (fold_axes(operand, axes), fold_axes(tangent, axes))
    size = pair[0].aval.shape[0]
    if size == 0:
        return p.reduce_prod_p.bind(operand, axes=axes), p.reduce_sum_p.bind(tangent, axes=axes)
    while size > 1:
        # Halves, not neighbours: the order does not matter, and rows side by side are faster.
        half = (size + 1) // 2
        second = [_padded(x, fill, 2 * half - size) for x, fill in zip(rows(pair, half, size), (1, 0))]
        pair = _products(rows(pair, 0, half), tuple(second))
        size = half
    kept = pair[0].aval.shape[1:]
    answer, out = [reshape_p.bind(x, new_sizes=kept, dimensions=None) for x in pair]
    return answer, out


def _padded(x: Value, fill: int, count: int) -> Value:
    """The array with so many rows of a number behind it."""
    if not count:
        return x
    config = ((0, count, 0), *[(0, 0, 0)] * (len(x.aval.shape) - 1))
    return pad_p.bind(x, _number(fill, x), padding_config=config)


# --- running totals ---
# Scans of pairs (value, tangent): what combines two pairs is linear in the tangents.


def _products(xs: Arrays, ys: Arrays) -> Arrays:
    (x, tx), (y, ty) = xs, ys
    return e.mul_p.bind(x, y), e.add_p.bind(e.mul_p.bind(tx, y), e.mul_p.bind(x, ty))


def _extremes(operation: Primitive) -> Combine:
    def combine(xs: Arrays, ys: Arrays) -> Arrays:
        (x, tx), (y, ty) = xs, ys
        out = operation.bind(x, y)
        shares = e.mul_p.bind(tx, _share(x, out, y)), e.mul_p.bind(ty, _share(y, out, x))
        return out, e.add_p.bind(*shares)

    return combine


def _share(x: Value, extreme: Value, other: Value) -> Array:
    """How much of an extreme is owed to x: 1, or 0, or a half where both are equal."""
    tied = e.select_n_p.bind(e.eq_p.bind(other, extreme), _number(1, x), _number(0.5, x))
    return e.select_n_p.bind(e.eq_p.bind(x, extreme), _number(0, x), tied)


def _log_sums(xs: Arrays, ys: Arrays) -> Arrays:
    (x, tx), (y, ty) = xs, ys
    out = log_add_exp(x, y)
    return out, e.add_p.bind(e.mul_p.bind(tx, _weight(x, out)), e.mul_p.bind(ty, _weight(y, out)))


def _weight(x: Value, total: Value) -> Array:
    """exp(x - total): the part of the total that is owed to x. Infinity counts as 0, lest the difference be NaN."""
    return e.exp_p.bind(e.sub_p.bind(_without_infinity(x), _without_infinity(total)))


def _without_infinity(x: Value) -> Array:
    real = e.real_p.bind(x) if is_kind(x.aval.dtype, (COMPLEX,)) else x
    return e.select_n_p.bind(e.eq_p.bind(real, _number(math.inf, real)), x, _number(0, x))


def _scan_of_pairs(combine: Combine) -> JvpRule:
    def rule(primals: Values, tangents: Values, *, axis: int, reverse: bool) -> tuple[object, object]:
        out, tangent = associative_scan(combine, (primals[0], tangents[0]), axis, reverse)
        return out, tangent

    return rule


jvp.table(
    {
        p.cumprod_p: _scan_of_pairs(_products),
        p.cummax_p: _scan_of_pairs(_extremes(e.max_p)),
        p.cummin_p: _scan_of_pairs(_extremes(e.min_p)),
        p.cumlogsumexp_p: _scan_of_pairs(_log_sums),
    }
)
