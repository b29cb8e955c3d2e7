"""What functions do with their arguments: objects that represent arrays; sizes of dimensions, which may be symbolic.

Of sizes, `+`, `-`, `*`, `//`, `%` and `==` work on both; `max`, `min` and the product of a whole shape are here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

# Methods that return the array that an object represents.
CONVERSIONS = ("__tangrad_array__", "__jax_array__")
_NUMBERS = (np.ndarray, np.generic, bool, int, float, complex)


def can_represent_array(value: object) -> bool:
    """Whether the type of `value` has a method that makes an array of it: `__tangrad_array__` or `__jax_array__`."""
    kind = type(value)
    return hasattr(kind, "__tangrad_array__") or hasattr(kind, "__jax_array__")


def represented_array(value: object) -> Any:
    """The array that an object represents by a method of its type; the object itself where there is no such method.

    Raises TypeError for a method that returns no array.

    >>> import tangrad
    >>> class Celsius:
    ...     def __tangrad_array__(self):
    ...         return tangrad.numpy.array([20.0, 21.5])
    >>> tangrad.numpy.max(Celsius())
    Array(21.5, dtype=float32)
    """
    kind = type(value)
    for name in CONVERSIONS:
        method = getattr(kind, name, None)
        if method is not None:
            found = method(value)
            if not hasattr(type(found), "aval") and not isinstance(found, _NUMBERS):
                raise TypeError(f"{kind.__name__}.{name} must return an array or a number, got {found!r}")
            return found
    return value


class SymbolicDimension:
    """Base class of dimensions that are not numbers; they compare and calculate like integers (`tangrad-lax`)."""

    __slots__ = ()

    def variables(self) -> tuple[str, ...]:
        """The names of the sizes that it is made of."""
        raise NotImplementedError

    def evaluate(self, sizes: object, arithmetic: object = None) -> Any:
        """Its value where its variables have the given sizes, which are integers or what `arithmetic` computes with.

        `arithmetic` has functions `constant`, `add`, `multiply`, `floordiv`, `mod`, `maximum` and `minimum`.
        """
        raise NotImplementedError

    def extremum(self, largest: bool, sizes: tuple[int, ...]) -> int:
        """The largest or the smallest of sizes, of which this one is the first that is symbolic."""
        raise NotImplementedError

    def plan(self, shapes: object, labels: object = ()) -> Any:
        """How the variables in the shapes of arguments, of which this is one, are found when the arguments are there.

        An object with `sizes(shapes)`, from shapes of numbers to the sizes of the variables by name; it raises
        ValueError for shapes that do not fit, and calls the arguments by `labels`. Its `found(actual, arithmetic)`
        yields each name with its value in a given arithmetic, from `actual(argument, axis)`.
        """
        raise NotImplementedError

    def filled_in(self, value: object, sizes: object) -> Any:
        """A program, a parameter or a type with other sizes, by name, in the place of variables."""
        raise NotImplementedError


def first_symbolic(avals: Iterable[object]) -> Any:
    """The first symbolic dimension in the shapes of some types, or None.

    >>> import tangrad
    >>> from tangrad.core.arguments import first_symbolic
    >>> first_symbolic([tangrad.ShapeDtypeStruct((3,), "float32")]) is None
    True
    """
    for aval in avals:
        for size in getattr(aval, "shape", ()):
            if isinstance(size, SymbolicDimension):
                return size
    return None


def is_symbolic(dimension: object) -> bool:
    """Whether a dimension of a shape is no number yet: a rule must not compute with it as with an integer.

    >>> from tangrad.core.arguments import is_symbolic
    >>> is_symbolic(3)
    False
    """
    return isinstance(dimension, SymbolicDimension)


def max_size(*sizes: Any) -> int:
    """The largest of sizes, symbolic ones included, for which `max` would have to compare what depends on them.

    >>> from tangrad.core.arguments import max_size
    >>> max_size(2, 5)
    5
    """
    return _extremum(max, sizes)


def min_size(*sizes: Any) -> int:
    """The smallest of sizes, symbolic ones included."""
    return _extremum(min, sizes)


def _extremum(function: Callable[[tuple[int, ...]], int], sizes: tuple[int, ...]) -> int:
    for size in sizes:
        if isinstance(size, SymbolicDimension):
            return size.extremum(function is max, sizes)
    return function(sizes)


def product(sizes: Iterable[int]) -> int:
    """The product of sizes: the number of elements of a shape.

    >>> from tangrad.core.arguments import product
    >>> product((2, 3)), product(())
    (6, 1)
    """
    total = 1
    for size in sizes:
        total = total * size
    return total


def as_size(value: Any) -> Any:
    """A size as a Python integer, or the symbolic dimension that it is. Raises TypeError for anything else."""
    return value if type(value) is int or isinstance(value, SymbolicDimension) else operator.index(value)
