"""Statistics of samples: `tangrad.scipy.stats.mode`, `rankdata`, `sem`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tangrad.numpy as tnp
from tangrad.core import Array
from tangrad.extend.lax import cummax, cummin
from tangrad.extend.numpy import asarray, canonical_axis, check_array_like, promote_inexact, shape_of
from tangrad.typing import ArrayLike


class ModeResult(NamedTuple):
    """What `mode` returns: the values, and how often each is there."""

    mode: object
    count: Any


def _checked_policy(name: str, nan_policy: str, known: tuple[str, ...]) -> None:
    if nan_policy in known:
        return
    if nan_policy in ("propagate", "omit", "raise"):
        raise NotImplementedError(f"{name}: nan_policy={nan_policy!r} is not supported; use {' or '.join(known)}")
    raise ValueError(f"{name}: nan_policy must be 'propagate', 'omit' or 'raise', got {nan_policy!r}")


def _along(name: str, a: object, axis: object) -> tuple[Array, int]:
    """An array and the axis; flattened where the axis is None."""
    check_array_like(name, a)
    x = asarray(a)
    if axis is None or not x.ndim:
        x, axis = x.ravel(), 0
    return x, canonical_axis(name, axis, x.ndim)


def _starts_of_runs(ordered: Array) -> Array:
    """Whether each element of the last axis, which is sorted, differs from the one before. NaN equals NaN."""
    before, after = ordered[..., :-1], ordered[..., 1:]
    differs = (before != after) & ~((before != before) & (after != after))
    return tnp.concatenate([tnp.ones_like(ordered[..., :1], bool), differs], -1)


def mode(a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The commonest value along an axis, the least of them where several are.

    Args:
        a: an array.
        axis: the axis; None: all elements.
        nan_policy: must be "propagate". NaN counts as a value.
        keepdims: whether the axis stays, with size 1.

    Returns:
        The values, and how often each is there.

    Raises:
        NotImplementedError: for another policy.
        ValueError: there is no such axis.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy import stats
    >>> stats.mode(np.array([1, 2, 2]))
    ModeResult(mode=Array(2, dtype=int32), count=Array(2, dtype=int32))
    """
    _checked_policy("mode", nan_policy, ("propagate",))
    x, place = _along("mode", a, axis)
    if not x.shape[place]:
        shape = x.shape[:place] + x.shape[place + 1 :]
        value = tnp.full(shape, math.nan, promote_inexact("mode", x)[0].aval.dtype)
        result = value, tnp.zeros(shape, int)
    else:
        ordered = tnp.sort(tnp.moveaxis(x, place, -1), -1)
        position = tnp.arange(ordered.shape[-1])
        start = cummax(tnp.where(_starts_of_runs(ordered), position, 0), ordered.ndim - 1)
        length = position - start + 1
        best = tnp.argmax(length, -1, keepdims=True)
        result = tnp.take_along_axis(ordered, best, -1)[..., 0], tnp.take_along_axis(length, best, -1)[..., 0]
    if keepdims:
        axes = tuple(range(len(shape_of(a)))) if axis is None else place
        result = tnp.expand_dims(result[0], axes), tnp.expand_dims(result[1], axes)
    return ModeResult(*result)


def rankdata(a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Array:
    """The rank of each element, from 1 on.

    Args:
        a: an array.
        method: the rank of equal elements: "average", "min" or "max" of the ranks that they take together, "dense"
            (the next greater ones have the next rank), or "ordinal" (in the order in which they are there).
        axis: along which elements are compared; None: all, and the result has one dimension.
        nan_policy: must be "propagate": ranks beside a NaN are NaN.

    Returns:
        An array of floats.

    Raises:
        NotImplementedError: for another policy.
        ValueError: for another method, or an axis that is not there.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy import stats
    >>> stats.rankdata(np.array([5, 1, 5]))
    Array([2.5, 1. , 2.5], dtype=float32)
    """
    _checked_policy("rankdata", nan_policy, ("propagate",))
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"rankdata: method must be 'average', 'min', 'max', 'dense' or 'ordinal', got {method!r}")
    x, place = _along("rankdata", a, axis)
    moved = tnp.moveaxis(x, place, -1)
    order = tnp.argsort(moved, -1)
    inverse = tnp.argsort(order, -1)
    ranks = _ranks_in_order(tnp.take_along_axis(moved, order, -1), method) if moved.shape[-1] else order
    # The default float whatever is ranked: float16 has no room for many ranks.
    ranks = tnp.take_along_axis(ranks.astype(float), inverse, -1)
    ranks = tnp.where((moved != moved).any(-1, keepdims=True), math.nan, ranks)
    return tnp.moveaxis(ranks, -1, place)


def _ranks_in_order(ordered: Array, method: str) -> Array:
    last, size = ordered.ndim - 1, ordered.shape[-1]
    position = tnp.broadcast_to(tnp.arange(1, size + 1), ordered.shape)
    if method == "ordinal":
        return position
    starts = _starts_of_runs(ordered)
    if method == "dense":
        return tnp.cumsum(starts, -1)
    ends = tnp.concatenate([starts[..., 1:], tnp.ones_like(starts[..., :1])], -1)
    least = cummax(tnp.where(starts, position, 0), last)
    greatest = cummin(tnp.where(ends, position, size), last, reverse=True)
    return {"min": least, "max": greatest, "average": 0.5 * (least + greatest)}[method]


def sem(
    a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Array:
    """The standard error of the mean: the standard deviation by the root of the number of elements.

    Args:
        a: an array.
        axis: the axis; None: all elements.
        ddof: what is taken from the number of elements in the variance.
        nan_policy: "propagate", or "omit", which leaves NaN out.
        keepdims: whether the axis stays, with size 1.

    Returns:
        A floating array.

    Raises:
        NotImplementedError: for the policy "raise".
        ValueError: for an unknown policy, or an axis that is not there.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy import stats
    >>> f"{stats.sem(np.array([1.0, 2.0, 3.0])):.4f}"
    '0.5774'
    """
    _checked_policy("sem", nan_policy, ("propagate", "omit"))
    check_array_like("sem", a)
    x = asarray(promote_inexact("sem", a)[0])
    if nan_policy == "propagate":
        count: Any = x.size if axis is None else x.shape[canonical_axis("sem", axis, x.ndim)]
        return tnp.std(x, axis, ddof=ddof, keepdims=keepdims) / math.sqrt(count)
    count = (~tnp.isnan(x)).sum(axis, keepdims=keepdims)
    return tnp.nanstd(x, axis, ddof=ddof, keepdims=keepdims) / tnp.sqrt(count)
