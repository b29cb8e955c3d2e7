"""Tangents and cotangents as users' rules see them, and what those rules return as the traces need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad import tree
from tangrad.autodiff import Zero, instantiate, tangent_aval
from tangrad.core import Array, ShapedArray, as_array, as_operand, dtypes, get_aval, is_array_value
from tangrad.core.arguments import first_symbolic

if TYPE_CHECKING:
    from tangrad.typing import PyTree, Value


class SymbolicZero:
    """A tangent or cotangent that is known to be zero, as rules with `symbolic_zeros=True` see it.

    Attributes:
        aval: its type; `shape`, `dtype`, `ndim` and `size` are those of the type.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @classmethod
    def from_primal_value(cls, val: object) -> SymbolicZero:
        """The zero tangent of an array or number."""
        return cls(tangent_aval(get_aval(val)))

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"


def zero_from_primal(val: object, symbolic_zeros: bool = False) -> PyTree:
    """The zero tangent of each leaf of a tree of arrays: an array, or a `SymbolicZero`.

    >>> from tangrad.custom_derivatives import zero_from_primal
    >>> zero_from_primal({"x": 2.0}, symbolic_zeros=True)
    {'x': SymbolicZero(f32[])}
    """
    return tree.map(lambda leaf: shown(Zero.of(as_operand(leaf)), symbolic_zeros), val)


def shown(tangent: object, symbolic_zeros: bool) -> Array | SymbolicZero | np.ndarray:
    """A tangent as a user's rule gets it: an array (for float0, NumPy's), or a symbolic zero if it asked."""
    if type(tangent) is not Zero:
        return as_array(tangent)
    if symbolic_zeros:
        return SymbolicZero(tangent.aval)
    if tangent.aval.dtype == dtypes.float0 and first_symbolic([tangent.aval]) is None:
        return np.zeros(tangent.aval.shape, dtypes.float0)
    return as_array(instantiate(tangent))


def taken(leaf: Value) -> Value | Zero:
    """A tangent that a user's rule returned: a value or a `Zero`. Raises TypeError for what is no array."""
    if isinstance(leaf, (SymbolicZero, Zero)):
        return Zero(leaf.aval)
    if isinstance(leaf, np.ndarray) and leaf.dtype == dtypes.float0:
        return Zero(ShapedArray(leaf.shape, dtypes.float0))
    if not is_array_value(leaf):
        raise TypeError(f"{leaf!r} of type {type(leaf).__name__}; expected an array")
    return as_operand(leaf)
