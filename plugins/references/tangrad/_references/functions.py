"""What users call: making references, reading and writing them, and ending them."""

from __future__ import annotations

import operator
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import tangrad.random as draws
from tangrad._references import cells
from tangrad._references.cells import Reference, trace_for_references
from tangrad._references.indexing import fitted
from tangrad._references.types import NO_GRAD_NO_REMAT, is_reference
from tangrad.core import (
    EVAL_TRACE,
    Array,
    api_boundary,
    array_leaves,
    class_boundary,
    dtypes,
    get_aval,
    is_array_value,
    thread,
)
from tangrad.numpy import asarray, broadcast_shapes, shape, zeros
from tangrad.tree_util import register_dataclass

if TYPE_CHECKING:
    from tangrad._references.cells import Part, Ref
    from tangrad.typing import ArrayLike, DTypeLike


@api_boundary
def new_ref(init_val: ArrayLike, *, memory_space: object = None, kind: str | None = None) -> Ref:
    """A reference to an array: a cell that is read by `ref[...]` and written by `ref[...] = value`.

    Functions that are jitted, mapped, differentiated, or bodies of loops, may make references, and may use those from
    outside, as arguments or by closing over them: what they write is there after the call.

    Args:
        init_val: what it holds first: an array or a number. Its shape and dtype are those of the reference.
        memory_space: as in JAX; None.
        kind: "no_grad_no_remat" for a reference that holds values without derivatives, such as statistics: what is
            differentiated is written to it as by `lax.stop_gradient`, and checkpointed functions keep what they read of
            it, so that computing values again neither reads nor writes it.

    Raises:
        TypeError: for what is no array, and for a reference. NotImplementedError: for a `memory_space`, or another
            `kind`.

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
    if memory_space is not None or kind not in (None, NO_GRAD_NO_REMAT):
        raise NotImplementedError(
            f"new_ref: memory_space must be None, and kind None or {NO_GRAD_NO_REMAT!r}, got {memory_space=!r} and "
            f"{kind=!r}: references are where arrays are"
        )
    if is_reference(init_val):
        raise TypeError("new_ref: init_val is a reference; a reference to its value is new_ref(ref[...])")
    array_leaves(init_val, "new_ref: init_val")
    value = fitted(init_val, get_aval(init_val).dtype)
    return cast("Ref", Reference(trace_for_references(), value, kind))


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
    cell: Ref = ref
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
def get(ref: Ref | Part, idx: object = None) -> Array:
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


@property  # type: ignore[misc]
def addupdate_method(ref: Ref) -> Callable[..., None]:
    """Of references: `ref.addupdate(x, idx=())` adds to a part, as `tangrad.ref.addupdate(ref, idx, x)`."""
    if not is_reference(ref):
        raise AttributeError("an array has no attribute 'addupdate'; references have it: tangrad.new_ref(array)")
    return lambda x, idx=(): cells.addupdate(ref, idx, x)


# Generators of random numbers that change as they draw: a key, and a reference to the number of keys drawn from it

Size = int | Sequence[int] | None


@register_dataclass
@class_boundary
@dataclass(frozen=True, init=False)  # frames of a generated constructor would be among the user's
class StatefulPRNG:
    """A generator of random numbers that changes as it draws, as NumPy's do; `stateful_rng` makes one.

    It may be an argument of functions that are jitted, mapped or differentiated, or be closed over by them; they do not
    return it, as no function returns references.

    >>> import tangrad
    >>> rng = tangrad.experimental.random.stateful_rng(42)
    >>> rng.integers(10, size=3)
    Array([4, 1, 9], dtype=int32)
    >>> bool((rng.uniform(size=2) != rng.uniform(size=2)).all())
    True
    """

    _base_key: Array
    _counter: Ref

    def __init__(self, _base_key: Array, _counter: Ref) -> None:
        if is_array_value(_base_key):  # it may be a tree of something else, such as specs
            if not dtypes.issubdtype(get_aval(_base_key).dtype, dtypes.prng_key):
                raise ValueError(f"StatefulPRNG: _base_key must be a typed key, of random.key, got {_base_key!r}")
            if not is_reference(_counter) and is_array_value(_counter):
                raise ValueError(f"StatefulPRNG: _counter must be a reference to an integer, got {_counter!r}")
        object.__setattr__(self, "_base_key", _base_key)
        object.__setattr__(self, "_counter", _counter)

    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """A key that was not drawn before, or an array of them; it can be split as any other.

        Raises ValueError for a generator that was split: it has to be mapped over.
        """
        if get_aval(self._base_key).shape:
            raise ValueError(
                "the generator was split into an array of them; map over it: vmap(lambda rng: ...)(rng.split(n))"
            )
        found = draws.fold_in(self._base_key, get(self._counter))
        addupdate(self._counter, ..., 1)
        sizes = _sizes(shape)
        return draws.split(found, sizes) if sizes else found

    def random(self, size: Size = None, dtype: DTypeLike = float) -> Array:
        """Numbers from 0 to 1, of the shape `size`."""
        return draws.uniform(self.key(), _sizes(size), dtype)

    def uniform(self, low: ArrayLike = 0, high: ArrayLike = 1, size: Size = None, *, dtype: DTypeLike = float) -> Array:
        """Numbers from `low` to `high`, of the shape `size`; None: that to which `low` and `high` broadcast."""
        return draws.uniform(self.key(), _sizes(size, low, high), dtype, minval=low, maxval=high)

    def normal(self, loc: ArrayLike = 0, scale: ArrayLike = 1, size: Size = None, *, dtype: DTypeLike = float) -> Array:
        """Normal numbers with the mean `loc` and the standard deviation `scale`; `size` as of `uniform`."""
        drawn = draws.normal(self.key(), _sizes(size, loc, scale), dtype)
        return (asarray(loc) + asarray(scale) * drawn).astype(drawn.dtype)

    def integers(
        self, low: ArrayLike, high: ArrayLike | None = None, size: Size = None, *, dtype: DTypeLike = int
    ) -> Array:
        """Integers from `low` up to, not including, `high`; with one bound from 0 up to it. `size` as of `uniform`."""
        first, last = (0, low) if high is None else (low, high)
        return draws.randint(self.key(), _sizes(size, first, last), first, last, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """An array of `num` generators as one object, to be mapped over by `vmap`.

        >>> import tangrad
        >>> rng = tangrad.experimental.random.stateful_rng(0)
        >>> tangrad.vmap(lambda one: one.random())(rng.split(3)).shape
        (3,)
        """
        return StatefulPRNG(self.key(num), new_ref(zeros(num, int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """A list of `n_children` generators, independent of each other and of this one."""
        return [StatefulPRNG(key, new_ref(0)) for key in self.key(n_children)]


def stateful_rng(seed: ArrayLike | None = None, *, impl: object = None) -> StatefulPRNG:
    """A generator of random numbers that changes as it draws, after the manner of `numpy.random.default_rng`.

    Args:
        seed: an integer; None: one of the operating system's, for generators that are made outside of functions that
            are transformed.
        impl: the generator behind its keys, as of `random.key`.

    Raises:
        TypeError: for a seed that is no integer, and for none within a function that is transformed.

    >>> import tangrad
    >>> rng = tangrad.experimental.random.stateful_rng(0)
    >>> draw = tangrad.jit(lambda: rng.uniform())
    >>> bool(draw() != draw())
    True
    """
    if seed is None:
        if thread.trace is not EVAL_TRACE:
            raise TypeError(
                "stateful_rng: seed must be given within a function that is transformed: it would be the same at each "
                "call; pass an integer, or make the generator outside"
            )
        seed = secrets.randbits(31)
    return StatefulPRNG(draws.key(seed, impl=impl), new_ref(0))


def _sizes(size: Any, *args: ArrayLike) -> tuple[int, ...]:
    if size is None:
        return tuple(broadcast_shapes(*[shape(arg) for arg in args]))
    try:
        return (operator.index(size),)
    except TypeError:
        return tuple([operator.index(one) for one in size])
