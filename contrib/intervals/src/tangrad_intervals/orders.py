"""Order and products: sorting, where extrema are, products of many elements, and functions that rise or fall."""

from __future__ import annotations

from typing import Any

from tangrad import lax
from tangrad.core import RuleSet
from tangrad.extend import lax as p
from tangrad_intervals.elementwise import LIBRARY, decreasing, increasing, mul, outward

sorting, reductions, special = (RuleSet("bounds", api=1) for _ in range(3))


# --- sorting ----------------------------------------------------------------------------------------------------------


@sorting.rule(p.sort_p)
def _sort(pairs: Any, **params: Any) -> Any:
    """The k-th least element is at least the k-th least of the low bounds, and at most that of the high ones."""
    if len(pairs) > 1:
        raise NotImplementedError("bounds: sort of several operands, whose order is not known exactly")
    ((low, high),) = pairs
    return [(p.sort_p.bind(low, **params)[0], p.sort_p.bind(high, **params)[0])]


@sorting.rule(p.top_k_p)
def _top_k(pairs: Any, *, k: Any, axis: int) -> Any:
    ((low, high),) = pairs
    (least, places), (most, _) = [p.top_k_p.bind(one, k=k, axis=axis) for one in (low, high)]
    return [(least, most), (lax.full_like(places, 0), lax.full_like(places, low.shape[axis] - 1))]


@sorting.rule(p.search_sorted_p)
def _search_sorted(pairs: Any, **params: Any) -> Any:
    (low_keys, high_keys), (low, high) = pairs
    return p.search_sorted_p.bind(high_keys, low, **params), p.search_sorted_p.bind(low_keys, high, **params)


# --- reductions -------------------------------------------------------------------------------------------------------


def _position(best: Any, bound: int, may_be: Any) -> Any:
    """The rule of argmax or argmin: from the first element that may be the extreme one to the last.

    Args:
        best: the reduction that finds what the extreme element surely reaches.
        bound: of which of the bounds: 0 the low ones, 1 the high ones.
        may_be: `(low, high, reached) -> which elements may be extreme`.
    """

    def rule(pairs: Any, *, axes: tuple[int, ...], index_dtype: Any) -> Any:
        (pair,) = pairs
        shape = pair[0].shape
        kept = tuple([axis for axis in range(len(shape)) if axis not in axes])
        reached = lax.broadcast_in_dim(best.bind(pair[bound], axes=axes), shape, kept)
        # Truth values have an order, and the first of equal ones is found.
        may = lax.convert_element_type(may_be(*pair, reached), "int32")
        place = lambda x: p.argmax_p.bind(x, axes=axes, index_dtype=index_dtype)
        return place(may), (shape[axes[0]] - 1) - place(lax.rev(may, axes))

    return rule


reductions.rule(p.argmax_p)(_position(p.reduce_max_p, 0, lambda low, high, reached: high >= reached))
reductions.rule(p.argmin_p)(_position(p.reduce_min_p, 1, lambda low, high, reached: low <= reached))


@reductions.rule(p.reduce_prod_p)
def _reduce_prod(pairs: Any, *, axes: tuple[int, ...]) -> Any:
    (pair,) = pairs
    for axis in sorted(axes, reverse=True):
        pair = _product(*pair, axis)
    return pair


def _product(low: Any, high: Any, axis: int) -> Any:
    """Bounds of the products along an axis, which is gone: halves are multiplied with each other."""
    while (size := low.shape[axis]) > 1:
        part = lambda x, start, stop: lax.slice_in_dim(x, start, stop, axis=axis)
        halves = [[part(x, start, start + size // 2) for x in (low, high)] for start in (0, size // 2)]
        rest = [part(x, size // 2 * 2, size) for x in (low, high)]
        low, high = [lax.concatenate(two, axis) for two in zip(mul(halves), rest, strict=True)]
    # One element, or none.
    return [p.reduce_prod_p.bind(x, axes=(axis,)) for x in (low, high)]


@reductions.rule(p.cumlogsumexp_p)
def _cumlogsumexp(pairs: Any, *, axis: int, reverse: bool) -> Any:
    """It rises with every element, and rounds with each."""
    ((low, high),) = pairs
    found = [p.cumlogsumexp_p.bind(x, axis=axis, reverse=reverse) for x in (low, high)]
    return outward(*found, LIBRARY * max(low.shape[axis], 1))


reductions.not_applicable("of numbers between bounds the bits may be any", p.reduce_xor_p)


# --- special functions ------------------------------------------------------------------------------------------------

special.table({one: increasing(one, LIBRARY) for one in (p.erf_p, p.erf_inv_p)})
special.add(p.erfc_p, decreasing(p.erfc_p, LIBRARY))


def _gamma(primitive: Any, rises: bool) -> Any:
    """The rule of an incomplete gamma function: of P(a, x), which falls with a and rises with x, or of 1 - P."""

    def rule(pairs: Any) -> Any:
        (low_a, high_a), (low_x, high_x) = pairs
        ends = primitive.bind(high_a, low_x), primitive.bind(low_a, high_x)
        return outward(*(ends if rises else ends[::-1]), 8 * LIBRARY)

    return rule


special.table({p.igamma_p: _gamma(p.igamma_p, True), p.igammac_p: _gamma(p.igammac_p, False)})
special.not_applicable(
    "where it rises and where it falls has not been worked out",
    *[one for one in p.special.primitives.values() if one not in special.rules],
)
