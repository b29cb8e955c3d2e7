"""Order and products: sorting, where extrema are, products of many elements, and functions that rise or fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad import lax
from tangrad.core import RuleSet
from tangrad.extend import lax as p
from tangrad_intervals.elementwise import LIBRARY, decreasing, increasing, mul, outward

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad.core import Array, Primitive
    from tangrad.typing import DType, Value
    from tangrad_intervals.transformation import Pair, Pairs, Rule

sorting, reductions, special = (RuleSet("bounds", api=1) for _ in range(3))


# --- sorting ----------------------------------------------------------------------------------------------------------


@sorting.rule(p.sort_p)
def _sort(pairs: Pairs, **params: object) -> Pairs:
    """The k-th least element is at least the k-th least of the low bounds, and at most that of the high ones."""
    if len(pairs) > 1:
        raise NotImplementedError("bounds: sort of several operands, whose order is not known exactly")
    ((low, high),) = pairs
    return [(p.sort_p.bind(low, **params)[0], p.sort_p.bind(high, **params)[0])]


@sorting.rule(p.top_k_p)
def _top_k(pairs: Pairs, *, k: int, axis: int) -> Pairs:
    ((low, high),) = pairs
    (least, places), (most, _) = [p.top_k_p.bind(one, k=k, axis=axis) for one in (low, high)]
    return [(least, most), (lax.full_like(places, 0), lax.full_like(places, low.shape[axis] - 1))]


@sorting.rule(p.search_sorted_p)
def _search_sorted(pairs: Pairs, **params: object) -> Pair:
    (low_keys, high_keys), (low, high) = pairs
    return p.search_sorted_p.bind(high_keys, low, **params), p.search_sorted_p.bind(low_keys, high, **params)


# --- reductions -------------------------------------------------------------------------------------------------------


def _position(best: Primitive[Array], bound: int, may_be: Callable[[Value, Value, Array], Array]) -> Rule:
    """The rule of argmax or argmin: from the first element that may be the extreme one to the last.

    Args:
        best: the reduction that finds what the extreme element surely reaches.
        bound: of which of the bounds: 0 the low ones, 1 the high ones.
        may_be: `(low, high, reached) -> which elements may be extreme`.
    """

    def rule(pairs: Pairs, *, axes: tuple[int, ...], index_dtype: DType) -> Pair:
        (pair,) = pairs
        shape = pair[0].shape
        kept = tuple([axis for axis in range(len(shape)) if axis not in axes])
        reached = lax.broadcast_in_dim(best.bind(pair[bound], axes=axes), shape, kept)
        # Truth values have an order, and the first of equal ones is found.
        may = lax.convert_element_type(may_be(*pair, reached), "int32")
        place: Callable[[Array], Array] = lambda x: p.argmax_p.bind(x, axes=axes, index_dtype=index_dtype)
        return place(may), (shape[axes[0]] - 1) - place(lax.rev(may, axes))

    return rule


reductions.rule(p.argmax_p)(_position(p.reduce_max_p, 0, lambda low, high, reached: high >= reached))
reductions.rule(p.argmin_p)(_position(p.reduce_min_p, 1, lambda low, high, reached: low <= reached))


@reductions.rule(p.reduce_prod_p)
def _reduce_prod(pairs: Pairs, *, axes: tuple[int, ...]) -> Pair:
    (pair,) = pairs
    for axis in sorted(axes, reverse=True):
        pair = _product(*pair, axis)
    return pair


def _product(low: Value, high: Value, axis: int) -> Pair:
    """Bounds of the products along an axis, which is gone: halves are multiplied with each other."""
    while (size := low.shape[axis]) > 1:
        halves = [_parts(low, high, start, start + size // 2, axis) for start in (0, size // 2)]
        rest = _parts(low, high, size // 2 * 2, size, axis)
        low, high = [lax.concatenate(two, axis) for two in zip(mul(halves), rest, strict=True)]
    # One element, or none.
    return p.reduce_prod_p.bind(low, axes=(axis,)), p.reduce_prod_p.bind(high, axes=(axis,))


def _parts(low: Value, high: Value, start: int, stop: int, axis: int) -> Pair:
    return lax.slice_in_dim(low, start, stop, axis=axis), lax.slice_in_dim(high, start, stop, axis=axis)


@reductions.rule(p.cumlogsumexp_p)
def _cumlogsumexp(pairs: Pairs, *, axis: int, reverse: bool) -> Pair:
    """It rises with every element, and rounds with each."""
    ((low, high),) = pairs
    found = [p.cumlogsumexp_p.bind(x, axis=axis, reverse=reverse) for x in (low, high)]
    return outward(found[0], found[1], LIBRARY * max(low.shape[axis], 1))


reductions.not_applicable("of numbers between bounds the bits may be any", p.reduce_xor_p)


# --- special functions ------------------------------------------------------------------------------------------------

special.table({one: increasing(one, LIBRARY) for one in (p.erf_p, p.erf_inv_p)})
special.add(p.erfc_p, decreasing(p.erfc_p, LIBRARY))


def _gamma(primitive: Primitive[Array], rises: bool) -> Rule:
    """The rule of an incomplete gamma function: of P(a, x), which falls with a and rises with x, or of 1 - P."""

    def rule(pairs: Pairs) -> Pair:
        (low_a, high_a), (low_x, high_x) = pairs
        low, high = primitive.bind(high_a, low_x), primitive.bind(low_a, high_x)
        return outward(low, high, 8 * LIBRARY) if rises else outward(high, low, 8 * LIBRARY)

    return rule


special.table({p.igamma_p: _gamma(p.igamma_p, True), p.igammac_p: _gamma(p.igammac_p, False)})
special.not_applicable(
    "where it rises and where it falls has not been worked out",
    *[one for one in p.special.primitives.values() if one not in special.rules],
)
