"""What kernels for Triton do to memory that others write, too: at each place of the grid one after the other, here."""

from __future__ import annotations

import tangrad.numpy as tnp
from tangrad._references.pallas.accesses import exchange
from tangrad.core import Array, api_boundary
from tangrad.typing import ArrayLike


@api_boundary
def store(ref: object, val: ArrayLike, *, mask: ArrayLike | None = None, eviction_policy: object = None) -> None:
    """`ref[...] = val` where a mask is true; a part `ref.at[ds(start, size)]` may overhang where it is false.

    Args:
        ref: a reference, or a part of one.
        val: what is written, which broadcasts to the part.
        mask: truth values that broadcast to the part.
        eviction_policy: accepted.

    Raises TypeError for what is no reference, or a value of another dtype.

    >>> import tangrad, tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> ref = tangrad.new_ref(np.zeros(3))
    >>> pl.triton.store(ref.at[pl.ds(1, 4)], np.ones(4), mask=np.arange(4) < 2)
    >>> ref[...]
    Array([0., 1., 1.], dtype=float32)
    """
    exchange(ref, None, mask, lambda before: val)


@api_boundary
def atomic_add(ref: object, idx: object, val: ArrayLike, *, mask: ArrayLike | None = None) -> Array:
    """Add to a part of a reference where a mask is true; return it as it was.

    Args: as of `experimental.pallas.store`. Raises as it does.

    >>> import tangrad
    >>> from tangrad.experimental.pallas import triton
    >>> ref = tangrad.new_ref(5)
    >>> triton.atomic_add(ref, (), 1), ref[...]
    (Array(5, dtype=int32), Array(6, dtype=int32))
    """
    return exchange(ref, idx, mask, lambda before: before + tnp.asarray(val, before.dtype))


@api_boundary
def atomic_max(ref: object, idx: object, val: ArrayLike, *, mask: ArrayLike | None = None) -> Array:
    """Replace a part of a reference by the greater of it and a value where a mask is true; return it as it was.

    Args: as of `experimental.pallas.store`. Raises as it does.

    >>> import tangrad
    >>> from tangrad.experimental.pallas import triton
    >>> ref = tangrad.new_ref(5)
    >>> triton.atomic_max(ref, (), 1), ref[...]
    (Array(5, dtype=int32), Array(5, dtype=int32))
    """
    return exchange(ref, idx, mask, lambda before: tnp.maximum(before, val))


@api_boundary
def atomic_min(ref: object, idx: object, val: ArrayLike, *, mask: ArrayLike | None = None) -> Array:
    """Replace a part of a reference by the less of it and a value where a mask is true; return it as it was.

    Args: as of `experimental.pallas.store`. Raises as it does.

    >>> import tangrad
    >>> from tangrad.experimental.pallas import triton
    >>> ref = tangrad.new_ref(5)
    >>> triton.atomic_min(ref, (), 1), ref[...]
    (Array(5, dtype=int32), Array(1, dtype=int32))
    """
    return exchange(ref, idx, mask, lambda before: tnp.minimum(before, val))


@api_boundary
def atomic_and(ref: object, idx: object, val: ArrayLike, *, mask: ArrayLike | None = None) -> Array:
    """Replace a part of a reference by its bits that a value has, too where a mask is true; return it as it was.

    Args: as of `experimental.pallas.store`. Raises as it does.

    >>> import tangrad
    >>> from tangrad.experimental.pallas import triton
    >>> ref = tangrad.new_ref(5)
    >>> triton.atomic_and(ref, (), 1), ref[...]
    (Array(5, dtype=int32), Array(1, dtype=int32))
    """
    return exchange(ref, idx, mask, lambda before: before & val)


@api_boundary
def atomic_or(ref: object, idx: object, val: ArrayLike, *, mask: ArrayLike | None = None) -> Array:
    """Add the bits of a value to a part of a reference where a mask is true; return it as it was.

    Args: as of `experimental.pallas.store`. Raises as it does.

    >>> import tangrad
    >>> from tangrad.experimental.pallas import triton
    >>> ref = tangrad.new_ref(5)
    >>> triton.atomic_or(ref, (), 1), ref[...]
    (Array(5, dtype=int32), Array(5, dtype=int32))
    """
    return exchange(ref, idx, mask, lambda before: before | val)


@api_boundary
def atomic_xor(ref: object, idx: object, val: ArrayLike, *, mask: ArrayLike | None = None) -> Array:
    """Change those bits of a part of a reference that a value has where a mask is true; return it as it was.

    Args: as of `experimental.pallas.store`. Raises as it does.

    >>> import tangrad
    >>> from tangrad.experimental.pallas import triton
    >>> ref = tangrad.new_ref(5)
    >>> triton.atomic_xor(ref, (), 1), ref[...]
    (Array(5, dtype=int32), Array(4, dtype=int32))
    """
    return exchange(ref, idx, mask, lambda before: before ^ val)


@api_boundary
def atomic_xchg(ref: object, idx: object, val: ArrayLike, *, mask: ArrayLike | None = None) -> Array:
    """Replace a part of a reference where a mask is true; return it as it was.

    Args: as of `experimental.pallas.store`. Raises as it does.

    >>> import tangrad
    >>> from tangrad.experimental.pallas import triton
    >>> ref = tangrad.new_ref(5)
    >>> triton.atomic_xchg(ref, (), 1), ref[...]
    (Array(5, dtype=int32), Array(1, dtype=int32))
    """
    return exchange(ref, idx, mask, lambda before: val)


@api_boundary
def atomic_cas(ref: object, cmp: ArrayLike, val: ArrayLike) -> Array:
    """Replace what is behind a reference where it equals `cmp`, and return what was there before.

    Raises TypeError for what is no reference.

    >>> import tangrad
    >>> from tangrad.experimental.pallas import triton
    >>> lock = tangrad.new_ref(0)
    >>> triton.atomic_cas(lock, 0, 1), lock[...]
    (Array(0, dtype=int32), Array(1, dtype=int32))
    """
    return exchange(ref, None, None, lambda before: tnp.where(before == cmp, val, before))
