"""Generators of random numbers that change as they draw: a key, and a reference to the number of keys drawn from it."""

from __future__ import annotations

import operator
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tangrad.random as draws
from tangrad._references.functions import addupdate, get, new_ref
from tangrad._references.types import is_reference
from tangrad.core import EVAL_TRACE, Array, class_boundary, dtypes, get_aval, is_array_value, thread
from tangrad.numpy import asarray, broadcast_shapes, shape, zeros
from tangrad.tree_util import register_dataclass

if TYPE_CHECKING:
    from tangrad._references.cells import Ref
    from tangrad.typing import ArrayLike, DTypeLike

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


def _sizes(size: Any, *args: Any) -> tuple[int, ...]:
    if size is None:
        return tuple(broadcast_shapes(*[shape(arg) for arg in args]))
    try:
        return (operator.index(size),)
    except TypeError:
        return tuple([operator.index(one) for one in size])
