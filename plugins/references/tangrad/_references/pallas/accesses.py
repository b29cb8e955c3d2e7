"""Reading and writing parts of references where a mask is true, and parts whose start the program computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tangrad.numpy as tnp
from tangrad._references.cells import located
from tangrad._references.indexing import Chain, beyond, read, written
from tangrad._references.indexing import Slice as Slice
from tangrad._references.pallas.interpretation import unwritten_number
from tangrad.core import Array, api_boundary, as_operand, literal
from tangrad.extend.lax import slice_p
from tangrad.typing import ArrayLike


@api_boundary
def ds(start: ArrayLike, size: int | None = None, stride: int | None = None) -> Slice | slice:
    """An index: `size` elements from `start` on, which the program may compute; `ds(size)` means those from 0 on.

    Args:
        start: an integer or an integer scalar; None with None for `size` means all.
        size: how many elements, an integer.
        stride: their distance, 1 by default.

    Raises TypeError and ValueError as `Slice` does, ValueError for None and a size or stride.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.ds(2, 4), pl.ds(4), pl.ds(None)
    (Slice(2, 4, stride=1), Slice(0, 4, stride=1), slice(None, None, None))
    """
    if start is None:
        if size is not None or stride is not None:
            raise ValueError(f"ds: start is None, so size and stride must be, got {size!r} and {stride!r}")
        return slice(None)
    if size is None:
        start, size = 0, start
    return Slice(start, size, 1 if stride is None else stride)


@api_boundary
def load(
    ref: object,
    idx: object = None,
    *,
    mask: ArrayLike | None = None,
    other: ArrayLike | None = None,
    cache_modifier: object = None,
    eviction_policy: object = None,
    volatile: bool = False,
) -> Array:
    """`ref[idx]`, and `other` where a mask is false; a slice `ds(start, size)` may overhang there.

    Args:
        ref: a reference, or a part of one, `ref.at[...]`.
        idx: an index of it; None: all.
        mask: truth values that broadcast to the part.
        other: what is returned where the mask is false; None: anything.
        cache_modifier, eviction_policy, volatile: accepted.

    Raises TypeError for what is no reference, ValueError for shapes that do not broadcast.

    >>> import tangrad, tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> ref = tangrad.new_ref(np.arange(3.0))
    >>> pl.load(ref, pl.ds(1, 4), mask=np.arange(4) < 2, other=0.0)
    Array([1., 2., 0., 0.], dtype=float32)
    """
    reference, chain = located(ref, idx)
    if mask is None:
        return _get(reference, chain)
    whole, last = _around(reference, chain)
    part = read(whole, last)
    return part if other is None else tnp.where(mask, part, tnp.asarray(other, part.dtype))


@api_boundary
def store(
    ref: object,
    idx: object,
    val: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    cache_modifier: object = None,
    eviction_policy: object = None,
) -> None:
    """`ref[idx] = val` where a mask is true; a slice `ds(start, size)` may overhang where it is false.

    Args:
        ref, idx, mask: see `load`.
        val: what is written, which broadcasts to the part.
        cache_modifier, eviction_policy: accepted.

    Raises as `load` does, and TypeError for a value of another dtype.

    >>> import tangrad, tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> ref = tangrad.new_ref(np.zeros(3))
    >>> pl.store(ref, pl.ds(1, 4), np.ones(4), mask=np.arange(4) < 2)
    >>> ref[...]
    Array([0., 1., 1.], dtype=float32)
    """
    exchange(ref, idx, mask, lambda before: val)


@api_boundary
def swap(
    ref: object, idx: object, val: ArrayLike, *, mask: ArrayLike | None = None, eviction_policy: object = None
) -> Array:
    """As `store`, and return what was there before.

    Raises as `store` does.

    >>> import tangrad, tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> ref = tangrad.new_ref(np.arange(3))
    >>> pl.swap(ref, 1, 5), ref[...]
    (Array(1, dtype=int32), Array([0, 5, 2], dtype=int32))
    """
    return exchange(ref, idx, mask, lambda before: val)


def _get(reference: Array, chain: Chain) -> Array:
    return _part(reference, chain[:-1])[chain[-1]] if chain else reference[...]


def _part(reference: Any, chain: Chain) -> Any:
    """The reference, or the part of it that the indices of a chain mean one after the other."""
    for index in chain:
        reference = reference.at[index]
    return reference


def _around(reference: Any, chain: Chain) -> tuple[Any, Any]:
    """What the last index of a chain is applied to, with room for slices that overhang; and that index."""
    if not chain:
        return reference[...], ()
    whole = _part(reference, chain[:-1])[...]
    fill = literal(unwritten_number(whole.dtype), whole.dtype)
    return beyond(whole, chain[-1], fill), chain[-1:]


def exchange(ref: object, idx: object, mask: ArrayLike | None, change: Callable[[Array], ArrayLike]) -> Any:
    """Replace a part by what `change` makes of it, where the mask is true; return it as it was."""
    reference, chain = located(ref, idx)
    place = _part(reference, chain)
    if mask is None:
        before = place[...]
        place[...] = change(before)
        return before
    whole, last = _around(reference, chain)
    before = read(whole, last)
    value = tnp.where(mask, change(before), before)
    after = written(whole, last, as_operand(value))
    base = _part(reference, chain[:-1])
    base[...] = _without_overhang(after, base.shape)
    return before


def _without_overhang(value: Array, shape: Sequence[int]) -> Array:
    if value.shape == shape:
        return value
    return slice_p.bind(value, start_indices=(0,) * len(shape), limit_indices=tuple(shape), strides=None)
