"""Sizes of dimensions: integers, or symbolic ones. What shapes are computed with, whichever they hold.

`+`, `-`, `*`, `//`, `%` and `==` work on both; `max`, `min` and the product of a whole shape are here.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


class SymbolicDimension:
    """Base class of dimensions that are not numbers; they compare and calculate like integers (`tangrad-symbolic`)."""

    __slots__ = ()

    def variables(self) -> tuple[str, ...]:
        """The names of the sizes that it is made of."""
        raise NotImplementedError

    def evaluate(self, sizes: Any, arithmetic: Any = None) -> Any:
        """Its value where its variables have the given sizes, which are integers or what `arithmetic` computes with.

        `arithmetic` has functions `constant`, `add`, `multiply`, `floordiv`, `mod`, `maximum` and `minimum`.
        """
        raise NotImplementedError

    def extremum(self, largest: bool, sizes: tuple[Any, ...]) -> Any:
        """The largest or the smallest of sizes, of which this one is the first that is symbolic."""
        raise NotImplementedError


def is_symbolic(dimension: Any) -> bool:
    """Whether a dimension of a shape is no number yet: a rule must not compute with it as with an integer.

    >>> from tangrad.core import is_symbolic
    >>> is_symbolic(3)
    False
    """
    return isinstance(dimension, SymbolicDimension)


def max_size(*sizes: Any) -> Any:
    """The largest of sizes, symbolic ones included, for which `max` would have to compare what depends on them.

    >>> from tangrad.core import max_size
    >>> max_size(2, 5)
    5
    """
    return _extremum(max, sizes)


def min_size(*sizes: Any) -> Any:
    """The smallest of sizes, symbolic ones included."""
    return _extremum(min, sizes)


def _extremum(function: Any, sizes: tuple[Any, ...]) -> Any:
    for size in sizes:
        if isinstance(size, SymbolicDimension):
            return size.extremum(function is max, sizes)
    return function(sizes)


def product(sizes: Iterable[Any]) -> Any:
    """The product of sizes: the number of elements of a shape.

    >>> from tangrad.core import product
    >>> product((2, 3)), product(())
    (6, 1)
    """
    total: Any = 1
    for size in sizes:
        total = total * size
    return total


def as_size(value: Any) -> Any:
    """A size as a Python integer, or the symbolic dimension that it is. Raises TypeError for anything else."""
    return value if type(value) is int or isinstance(value, SymbolicDimension) else operator.index(value)
