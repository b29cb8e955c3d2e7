"""What users call: making references, reading and writing them, and ending them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tangrad._references import cells
from tangrad._references.cells import Reference, trace_for_references
from tangrad._references.indexing import fitted
from tangrad._references.types import is_reference
from tangrad.core import api_boundary, array_leaves, get_aval
from tangrad.numpy import zeros

if TYPE_CHECKING:
    from tangrad._references.cells import Part, Ref
    from tangrad.core import Array
    from tangrad.typing import ArrayLike


@api_boundary
def new_ref(init_val: ArrayLike, *, memory_space: object = None, kind: str | None = None) -> Ref:
    """A reference to an array: a cell that is read by `ref[...]` and written by `ref[...] = value`.

    Functions that are jitted, mapped, differentiated, or bodies of loops, may make references, and may use those from
    outside, as arguments or by closing over them: what they write is there after the call.

    Args:
        init_val: what it holds first: an array or a number. Its shape and dtype are those of the reference.
        memory_space, kind: as in JAX; None.

    Raises:
        TypeError: for what is no array, and for a reference. NotImplementedError: for a `memory_space` or `kind`.

    >>> import tangrad, tangrad.numpy as np
    >>> total = tangrad.new_ref(np.zeros(2))
    >>> @tangrad.jit
    ... def add(x):
    ...     total[0] += x
    >>> add(1.0), add(2.0)
    (None, None)
    >>> total[...]
    Array([3., 0.], dtype=float32)
    """
    if memory_space is not None or kind is not None:
        raise NotImplementedError(
            f"new_ref: memory_space and kind must be None, got memory_space={memory_space!r} and kind={kind!r}: "
            "references are where arrays are"
        )
    if is_reference(init_val):
        raise TypeError("new_ref: init_val is a reference; a reference to its value is new_ref(ref[...])")
    array_leaves(init_val, "new_ref: init_val")
    value = fitted(init_val, get_aval(init_val).dtype)
    return cast("Ref", Reference(trace_for_references(), value))


@api_boundary
def empty_ref(ty: object, memory_space: object = None) -> Ref:
    """A reference to an array of zeros, of the shape and dtype of `ty`.

    >>> import tangrad
    >>> tangrad.empty_ref(tangrad.ShapeDtypeStruct((2,), "int32"))
    Ref(Array([0, 0], dtype=int32))

    Raises TypeError for what has no shape and dtype.
    """
    if not (hasattr(ty, "shape") and hasattr(ty, "dtype")):
        raise TypeError(f"empty_ref: ty must have a shape and a dtype, got {ty!r} of type {type(ty).__name__}")
    return new_ref(zeros(ty.shape, ty.dtype), memory_space=memory_space)


@api_boundary
def freeze(ref: Ref) -> Array:
    """The array behind a reference, which ends with that: it is neither read nor written any more.

    Raises TypeError for what is no reference, ValueError for one that was frozen, and for one from outside of the
    function that is transformed: it has to be frozen where it was made.

    >>> import tangrad
    >>> ref = tangrad.new_ref(1.0)
    >>> tangrad.freeze(ref)
    Array(1., dtype=float32)
    >>> ref[...]
    Traceback (most recent call last):
        ...
    ValueError: a reference of type Ref{f32[]} was frozen, so it is neither read nor written any more: ...
    """
    if not is_reference(ref):
        raise TypeError(f"freeze: expected a reference, got {ref!r} of type {type(ref).__name__}")
    cell: Any = ref
    if type(cell) is not Reference or not cell.is_here:
        raise ValueError(
            "freeze: the reference comes from outside of the function that is transformed; freeze it where it was "
            "made, and here read it: ref[...]"
        )
    value, cell.value = cell.value, None
    return value


@api_boundary
def free_ref(ref: Ref) -> None:
    """As `freeze`, where the array is not needed: the reference ends.

    Raises as `freeze` does.

    >>> import tangrad
    >>> ref = tangrad.new_ref(1.0)
    >>> tangrad.free_ref(ref)
    >>> ref
    Ref(frozen)
    """
    freeze(ref)


@api_boundary
def get(ref: Ref | Part, idx: Any = None) -> Array:
    """`ref[idx]`: a part of the array behind a reference, by default all of it.

    Args:
        ref: a reference, or a part of one, `ref.at[...]`.
        idx: integers, slices, `None`, `...` and integer arrays, as arrays take them.

    Raises TypeError for what is no reference, and ValueError for one that was frozen.

    >>> import tangrad, tangrad.numpy as np
    >>> tangrad.ref.get(tangrad.new_ref(np.arange(3)), slice(1, None))
    Array([1, 2], dtype=int32)
    """
    return cells.get(ref, idx)


@api_boundary
def set_(ref: Ref | Part, idx: object, value: ArrayLike) -> None:
    """`ref[idx] = value`: replace a part of the array behind a reference; None for `idx` means all of it.

    Args:
        ref, idx: see `get`.
        value: of the shape of the part, or one that broadcasts to it, and of the reference's dtype, or a number.

    Raises as `get` does, and TypeError for a value of another dtype.

    >>> import tangrad, tangrad.numpy as np
    >>> ref = tangrad.new_ref(np.arange(3))
    >>> tangrad.ref.set(ref, 0, 5)
    >>> ref[...]
    Array([5, 1, 2], dtype=int32)
    """
    cells.set_(ref, idx, value)


@api_boundary
def swap(ref: Ref | Part, idx: object, value: ArrayLike) -> Array:
    """As `set`, and return what was there before.

    Raises as `set` does.

    >>> import tangrad, tangrad.numpy as np
    >>> ref = tangrad.new_ref(np.arange(3))
    >>> tangrad.ref.swap(ref, 2, 7), ref[...]
    (Array(2, dtype=int32), Array([0, 1, 7], dtype=int32))
    """
    return cells.swap(ref, idx, value)


@api_boundary
def addupdate(ref: Ref | Part, idx: object, x: ArrayLike) -> None:
    """Add to a part of the array behind a reference: to an element once for each time that `idx` names it.

    Raises as `set` does.

    >>> import tangrad, tangrad.numpy as np
    >>> ref = tangrad.new_ref(np.zeros(2))
    >>> tangrad.ref.addupdate(ref, np.array([0, 0, 1]), 1.0)
    >>> ref[...]
    Array([2., 1.], dtype=float32)
    """
    cells.addupdate(ref, idx, x)
