"""Where an example is along mapped axes, how large these are, and values marked as differing along them."""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np

from tangrad import tree
from tangrad._collectives.axes import (
    Axes,
    AxisNames,
    as_tuple,
    checked_axes,
    checked_leaves,
    size_of_axes,
    size_of_axis,
)
from tangrad._collectives.primitives import axis_index_p, pvary_p
from tangrad.core import Array, ShapedArray, as_array, as_operand, literal, thread
from tangrad.extend.lax import add, mul
from tangrad.typing import ArrayLike, PyTree, Value

_INT32 = np.dtype(np.int32)


def differing(x: Value, names: Axes) -> Value:
    """An operand, of a type that records that it differs along the axes; itself, where types do not record it."""
    typed = thread.typed_axes
    if typed is None:
        return x
    operand = as_operand(x)
    known = [name for name, _ in operand.aval.named_shape]
    missing = [name for name in names if name in typed.names and name not in known]
    if not missing:
        return operand
    return pvary_p.bind(operand, axes=tuple([(name, size_of_axis("pvary", name)) for name in missing]))


def recast(x: Value, names: Axes, to: str) -> Value:
    """An operand, of a type that records how its parts are related along axes; itself, where types do not record it."""
    typed = thread.typed_axes
    return x if typed is None else typed.recast(x, [name for name in names if name in typed.names], to)


def index_along(name: object) -> Value:
    """The index of the example along one mapped axis."""
    return differing(axis_index_p.bind(axis_name=name), (name,))


def joint_index(names: Axes) -> Array:
    """The index along several axes, the first one varying slowest; each of them by itself."""
    total: Any = literal(0, _INT32, True)
    below = 1
    for name in reversed(names):
        total = add(total, mul(index_along(name), below))
        below = below * size_of_axis("axis_index", name)
    return total


T = TypeVar("T")


def axis_index(axis_name: AxisNames) -> Array:
    """The index of the example along a mapped axis.

    Args:
        axis_name: the name of a mapped axis; or several in a tuple or list, the first one varying slowest.

    Returns:
        an int32 scalar.

    Raises NameError for a name that no mapped axis in scope has; the message lists those in scope.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: x + 10 * lax.axis_index("i"), axis_name="i")(np.zeros(3, int))
    Array([ 0, 10, 20], dtype=int32)
    """
    checked_axes("axis_index", axis_name)
    if not isinstance(axis_name, (tuple, list)):
        return as_array(index_along(axis_name))
    return as_array(joint_index(tuple(axis_name)))


def axis_size(axis_name: AxisNames) -> int:
    """The size of a mapped axis.

    Args:
        axis_name: the name of a mapped axis; or several in a tuple or list: the product of their sizes.

    Returns:
        a Python integer.

    Raises NameError for a name that no mapped axis in scope has; the message lists those in scope.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(np.ones(4))
    Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return size_of_axes("axis_size", checked_axes("axis_size", axis_name))


@overload
def pvary(x: ArrayLike, axis_name: AxisNames) -> Array: ...
@overload
def pvary(x: T, axis_name: AxisNames) -> T: ...
def pvary(x: PyTree, axis_name: AxisNames) -> PyTree:
    """`x`, marked as differing along mapped axes; along which it is marked already, it stays. See `pcast`.

    Raises NameError for a name that no mapped axis in scope has, TypeError for leaves that are no arrays.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.pvary(x, "i"), axis_name="i")(np.ones(2))
    Array([1., 1.], dtype=float32)
    """
    return _marked("pvary", x, axis_name)[0]


@overload
def pcast(x: ArrayLike, axis_name: AxisNames, *, to: str) -> Array: ...
@overload
def pcast(x: T, axis_name: AxisNames, *, to: str) -> T: ...
def pcast(x: PyTree, axis_name: AxisNames, *, to: str) -> PyTree:
    """`x`, marked as differing along mapped axes, or as to be combined. Its values stay; derivatives see the mark.

    Types record how values are related along axes within a `shard_map` that checks them; elsewhere this is `x`. A
    derivative with respect to what is the same along an axis is summed over it; with respect to what is marked it is
    that of each device by itself.

    Args:
        x: a tree of arrays.
        axis_name: the name of a mapped axis, or several in a tuple.
        to: "varying": devices have values of their own, of what was the same or reduced. "unreduced": what differed are
            shares, whose sum is the value. "reduced": of what is the same, whose cotangents are to be such shares.

    Raises:
        ValueError: for another `to`, and for a value that is another's than these.
        NameError: for a name that no mapped axis in scope has. TypeError: for leaves that are no arrays.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(np.ones(2))
    Array([1., 1.], dtype=float32)
    """
    if to not in _TAKEN:
        raise ValueError(f"pcast: to must be one of {', '.join(_TAKEN)}, got {to!r}")
    marked, before = (_marked if to == "varying" else _checked)("pcast", x, axis_name)
    names, typed = as_tuple(axis_name), thread.typed_axes
    if typed is None or not names:
        return marked
    for aval in before:
        found = typed.relations(aval, names)
        if to == "varying" and found == ["varying"] * len(names):
            raise ValueError(f"pcast: a value of type {aval.str_short()} differs along {names} already")
        if others := [one for one in found if one not in _TAKEN[to]]:
            raise ValueError(
                f"pcast: a value of type {aval.str_short()} is {others[0]} along axes of {names}; to={to!r} is for "
                f"what is {_TAKEN[to][0]} along all of them"
            )
    leaves, structure = tree.flatten(marked)
    return structure.unflatten([as_array(recast(leaf, names, to)) for leaf in leaves])


# What pcast makes of what, by how values are related along axes.
_TAKEN = {"varying": ("invarying", "reduced", "varying"), "unreduced": ("varying",), "reduced": ("invarying",)}


def _checked(function: str, x: PyTree, axis_name: AxisNames) -> tuple[PyTree, list[ShapedArray]]:
    """The tree, of arrays, and the types of its leaves."""
    checked_axes(function, as_tuple(axis_name))
    leaves, structure = checked_leaves(function, x)
    operands = [as_operand(leaf) for leaf in leaves]
    return structure.unflatten([as_array(operand) for operand in operands]), [operand.aval for operand in operands]


def _marked(function: str, x: PyTree, axis_name: AxisNames) -> tuple[PyTree, list[ShapedArray]]:
    """The tree, marked, and the types that its leaves had."""
    names = checked_axes(function, as_tuple(axis_name))
    leaves, structure = checked_leaves(function, x)
    operands = [as_operand(leaf) for leaf in leaves]
    marked = structure.unflatten([as_array(differing(operand, names)) for operand in operands])
    return marked, [operand.aval for operand in operands]
