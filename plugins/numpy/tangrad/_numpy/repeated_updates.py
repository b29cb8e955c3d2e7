"""Updates that are made once for each time that an index names an element: `x.at[index].apply(function)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad._numpy.operands import convert
from tangrad._numpy.shapes import broadcast_arrays, ravel
from tangrad.core import Array
from tangrad.extend.lax import MOST_ROUNDS, GatherScatterMode, ranks_of, scan

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Values

Update = Callable[[Array, object], Array]


def in_turn(x: Array, index: object, once: Update, mode: object) -> Array:
    """`once(x, index)`, done again for what the index names again.

    Args:
        x: an array.
        index: as users write it.
        once: makes a changed copy of an array, where no element is named twice.
        mode: what is done with indices out of bounds.
    """
    items: list[Any] = list(index) if type(index) is tuple else [index]
    places = [place for place, item in enumerate(items) if _is_vector(item)]
    arrays = [_as_integers(items[place]) for place in places]
    if not places or (len(places) == 1 and np.dtype(bool) == getattr(items[places[0]], "dtype", None)):
        return once(x, index)
    if any([array is None for array in arrays]):  # a mask that counts for several dimensions, or is traced
        return once(x, index)
    if any([isinstance(array, Array) for array in arrays]):
        return _one_by_one(x, items, places, arrays, once)
    flat = [array.ravel() for array in np.broadcast_arrays(*arrays)]
    ranks = ranks_of(_elements(flat, _axes(items, places, x.aval.ndim), x.aval.shape, mode))
    last = int(ranks.max(initial=0))
    if last == 0:
        return once(x, index)
    if last >= MOST_ROUNDS:
        return _one_by_one(x, items, places, arrays, once)
    for rank in range(last + 1):
        x = once(x, _replaced(items, places, [array[ranks == rank] for array in flat]))
    return x


def _is_vector(item: object) -> bool:
    if isinstance(item, (Array, np.ndarray)):
        return len(item.shape) > 0
    return isinstance(item, (list, tuple, range))


def _as_integers(item: Any) -> Any:
    """Positions: as a NumPy array where they are known, else traced; None for a mask that is no list of positions."""
    if isinstance(item, Array):
        known = item.concrete() if hasattr(item, "concrete") else item
        if known is None:
            return item if item.aval.dtype.kind in "iu" else None
        item = known.to_numpy() if isinstance(known, Array) else known
    array = np.asarray(item) if len(item) else np.zeros(0, int)
    if array.dtype.kind == "b":
        return array.nonzero()[0] if array.ndim == 1 else None
    return array


def _axes(items: Sequence[object], places: Sequence[int], rank: int) -> list[int]:
    """The dimension of the array that each index array is for."""
    used = sum([item is not None and item is not Ellipsis for item in items])
    axes, axis = [], 0
    for place, item in enumerate(items):
        if place in places:
            axes.append(axis)
        axis += rank - used if item is Ellipsis else item is not None
    return axes


def _elements(flat: Sequence[np.ndarray], axes: Sequence[int], shape: Sequence[int], mode: object) -> np.ndarray:
    """Which elements, or parts, are named: a row for each occurrence."""
    columns = []
    for positions, axis in zip(flat, axes):
        size = shape[axis]
        counted = np.where(positions < 0, positions + size, positions)
        if mode == "wrap":
            counted = positions % max(size, 1)
        elif mode is GatherScatterMode.CLIP:
            counted = np.clip(counted, 0, max(size - 1, 0))
        columns.append(counted)
    return np.stack(columns, axis=1)


def _replaced(items: Sequence[object], places: Sequence[int], by: Sequence[object]) -> tuple[object, ...]:
    found = list(items)
    for place, item in zip(places, by):
        found[place] = item
    return tuple(found)


def _one_by_one(
    x: object, items: Sequence[ArrayLike], places: Sequence[int], arrays: Sequence[ArrayLike], once: Update
) -> Array:
    """A loop over the occurrences, which may be traced; it has derivatives of both modes."""
    flat = [ravel(array) for array in broadcast_arrays(*[asarray(array) for array in arrays])]

    def step(carry: Array, positions: Values) -> tuple[Array, None]:
        changed = once(carry, _replaced(items, places, positions))
        return convert(changed, carry.aval.dtype, carry.aval.weak_type), None

    return scan(step, x, tuple(flat))[0]
