"""`associative_scan`: running combinations in a logarithmic number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tangrad import tree
from tangrad._lax.control_flow.bodies import flat_operands
from tangrad._lax.elementwise.primitives import add_p, or_p
from tangrad._lax.reductions.running import nothing_added
from tangrad._lax.structure.functions import concatenate, pad, rev, slice_in_dim
from tangrad.core import Array, api_boundary, literal
from tangrad.typing import Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["associative_scan"], True)


T = TypeVar("T")


@api_boundary
def associative_scan(fn: Callable[[T, T], T], elems: T, reverse: bool = False, axis: int = 0) -> T:
    """Combine each element with all before it, by a function that is associative.

    Element i of the result is `fn(…fn(fn(x[0], x[1]), x[2])…, x[i])`. Pairs are combined side by side: the depth
    is the logarithm of the length; `fn` gets many elements at once.

    Args:
        fn: a function of two trees of arrays, vectorised along `axis`, that returns one like them. It must be
            associative: `fn(a, fn(b, c)) == fn(fn(a, b), c)`.
        elems: arrays with one size along `axis`, and trees of them.
        reverse: whether to combine from the end.
        axis: the axis; negative: from the end.

    Returns:
        A tree like `elems`.

    Raises:
        TypeError: for an `fn` that is no function; ValueError: for an axis that does not exist, and sizes that differ.

    >>> import tangrad
    >>> tangrad.lax.associative_scan(tangrad.lax.add, tangrad.numpy.arange(5))
    Array([ 0,  1,  3,  6, 10], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"associative_scan: fn must be a function, got {fn!r} of type {type(fn).__name__}")
    leaves, treedef = flat_operands(elems, "associative_scan", "elems")
    if not leaves:
        return elems
    ndim = leaves[0].aval.ndim
    if not -ndim <= axis < ndim:
        raise ValueError(f"associative_scan: axis {axis} does not exist in {leaves[0].aval.str_short()}")
    axis %= ndim
    sizes = [leaf.aval.shape[axis] if axis < leaf.aval.ndim else None for leaf in leaves]
    if any([size is None or size != sizes[0] for size in sizes]):
        shapes = ", ".join([leaf.aval.str_short() for leaf in leaves])
        raise ValueError(f"associative_scan: all arrays must have one size along axis {axis}, got {shapes}")
    if reverse:
        leaves = [rev(leaf, (axis,)) for leaf in leaves]

    def combine(one: Sequence[Value], other: Sequence[Value]) -> list[Array]:
        out = tree.leaves(fn(treedef.unflatten(one), treedef.unflatten(other)))
        if len(out) != len(one):
            raise TypeError(f"associative_scan: fn must return a tree like its arguments, {treedef}")
        return list(out)

    results = _scan(combine, leaves, axis)
    if reverse:
        results = [rev(result, (axis,)) for result in results]
    return treedef.unflatten(results)


def _scan(combine: Callable[..., list[Any]], elems: list[Value], axis: int) -> list[Value]:
    """Neighbours combined; the scan of these is every second result, and the others need one step more."""
    size = elems[0].shape[axis]
    if size < 2:
        return elems
    evens, odds = _every_second(elems, axis, 0, size - 1), _every_second(elems, axis, 1, size)
    odd = _scan(combine, combine(evens, odds), axis)
    later = _every_second(elems, axis, 2, size)
    shorter = [slice_in_dim(x, 0, x.shape[axis] - 1, 1, axis) for x in odd] if size % 2 == 0 else odd
    even = combine(shorter, later) if size > 2 else later
    even = [concatenate([slice_in_dim(x, 0, 1, 1, axis), y], axis) for x, y in zip(elems, even)]
    return [_interleave(one, other, axis) for one, other in zip(even, odd)]


def _every_second(elems: Sequence[Value], axis: int, start: int, limit: int) -> list[Array]:
    return [slice_in_dim(x, start, max(limit, start), 2, axis) for x in elems]


def _interleave(evens: Value, odds: Value, axis: int) -> Array:
    """x0 y0 x1 y1 …: both padded at each other's places with what changes no number, and added."""
    dtype = evens.dtype
    zero = literal(False, dtype, False) if dtype.name == "bool" else nothing_added(dtype)
    config = [(0, 0, 0)] * evens.ndim
    longer = evens.shape[axis] > odds.shape[axis]
    config[axis] = (0, 0 if longer else 1, 1)
    one = pad(evens, zero, config)
    config[axis] = (1, 1 if longer else 0, 1)
    other = pad(odds, zero, config)
    return or_p.bind(one, other) if dtype.name == "bool" else add_p.bind(one, other)
