"""The mapped axes that a collective names: which are in scope, how large they are, and groups of their places.

In a list of axes an integer is no name: it is a dimension of the operand.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

import numpy as np

from tangrad.core import (
    Array,
    Effect,
    NamedAxisEffect,
    Primitive,
    ShapedArray,
    array_leaves,
    as_array,
    as_operand,
    thread,
)
from tangrad.errors import MissingRuleError
from tangrad.tree_util import PyTreeDef
from tangrad.typing import Params, PyTree, Value

Axes = tuple[Hashable, ...]
AxisNames: TypeAlias = Hashable | Sequence[Hashable]  # a mapped axis, or several


def is_position(axis: object) -> bool:
    """Whether an axis is a dimension of the operand rather than a mapped axis with a name."""
    return isinstance(axis, int)


def names_among(axes: object) -> Axes:
    """The names in a list of axes, or a bare name as a list of one."""
    return tuple([axis for axis in as_tuple(axes) if not is_position(axis)])


def positions_among(axes: Axes) -> tuple[int, ...]:
    """The dimensions of the operand in a list of axes."""
    return tuple([axis for axis in axes if isinstance(axis, int)])


def as_tuple(axis_name: Hashable) -> Axes:
    """One axis or several as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def axis_effects(parameter: str) -> Callable[..., frozenset[Effect]]:
    """The effects of a primitive that names its axes in a parameter."""

    def effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[NamedAxisEffect]:
        return frozenset([NamedAxisEffect(name) for name in names_among(params[parameter])])

    return effects


def checked_axes(function: str, axis_name: Hashable, positions: bool = False) -> Axes:
    """The axes that the caller of a function named, as a tuple.

    Raises NameError for a name that is not in scope, ValueError for an axis named twice and, unless `positions` may be
    among them, for integers; TypeError for what is not hashable.
    """
    axes = as_tuple(axis_name)
    for number, axis in enumerate(axes):
        if is_position(axis):
            if not positions:
                raise ValueError(
                    f"{function}: axis_name must name mapped axes, got the integer {axis!r}; an integer is a dimension "
                    f"of the operand"
                )
            continue
        size_of_axis(function, axis)
        if axis in axes[:number]:
            raise ValueError(f"{function}: axis_name names the axis {axis!r} twice: {axes}")
    return axes


def size_of_axis(function: str, name: Hashable) -> int:
    """The size of a mapped axis. Raises NameError, listing the axes that are in scope."""
    try:
        hash(name)
        is_name = not isinstance(name, frozenset)  # a set of names has no order
    except TypeError:
        is_name = False
    if not is_name:
        raise TypeError(
            f"{function}: axis_name must be a tuple or a str, or another hashable name, got {name!r} of type "
            f"{type(name).__name__}"
        )
    for other, size in reversed(thread.axis_environment):
        if other == name:
            return size
    raise unbound(function, name)


def size_of_axes(function: str, names: Sequence[Hashable]) -> int:
    """The product of the sizes of mapped axes."""
    total = 1
    for name in names:
        total = total * size_of_axis(function, name)
    return total


def unbound(function: str, name: Hashable) -> NameError:
    """The error for a name that no mapped axis in scope has."""
    scope = {}
    for other, size in thread.axis_environment:  # an inner axis hides an outer one of the same name
        scope[other] = size
    if not scope:
        return NameError(
            f"{function}: no mapped axis is named {name!r}; no named axis is in scope. An axis gets a name where it is "
            f"mapped: vmap(fun, axis_name={name!r})"
        )
    listed = ", ".join([f"{other!r} (size {size})" for other, size in scope.items()])
    return NameError(f"{function}: no mapped axis is named {name!r}; the named axes in scope are {listed}")


def axes_in_type(aval: ShapedArray, names: Axes) -> Axes:
    """Those of the axes along which values of a type differ, where types record that at all."""
    typed = thread.typed_axes
    if typed is None or not aval.named_shape:
        return ()
    differing = [name for name, _ in aval.named_shape if name in typed.names]
    return tuple([name for name in names if name in differing])


def refuse_names(function: str, axes: object) -> None:
    """Refuse to decompose a collective that still names an axis: what it is made of holds without names only.

    Raises NameError if the axis is not mapped, MissingRuleError if it is: then it is a transformation inside of
    that map which has no rule for the collective.
    """
    for name in names_among(axes):
        if all(other != name for other, _ in thread.axis_environment):
            raise unbound(function, name)
        raise MissingRuleError(
            f"{function} along the mapped axis {name!r} cannot be decomposed, and the transformation that it is used "
            f"in has no rule for the primitive 'collectives.{function}'. Its author adds one to the group of its rule "
            "kind: the entry 'collectives', a rule set with a rule for it; or use it outside of that transformation"
        )


Groups = tuple[tuple[int, ...], ...] | None


def checked_groups(function: str, groups: Sequence[Sequence[int]] | None, size: int, equal: bool = False) -> Groups:
    """Groups as a tuple of tuples of integers.

    Args:
        size: of the axis (of all axes together): the groups must cover its indices exactly once.
        equal: whether all groups must have one size.

    Raises TypeError for what is not a list of lists of integers, ValueError for groups that do not fit.
    """
    if groups is None:
        return None
    try:
        found = tuple([tuple([operator.index(index) for index in group]) for group in groups])
    except TypeError:
        raise TypeError(
            f"{function}: axis_index_groups must be a list of lists of integers or None, got {groups!r}"
        ) from None
    if sorted([index for group in found for index in group]) != list(range(size)) or not all(found):
        raise ValueError(
            f"{function}: axis_index_groups must cover all indices of the axis, 0 to {size - 1}, exactly once, got "
            f"{groups!r}"
        )
    if equal and len({len(group) for group in found}) > 1:
        raise ValueError(f"{function}: all groups of axis_index_groups must have the same size, got {groups!r}")
    return found


def group_size(groups: Groups, size: int) -> int:
    """How many take part in one collective, where all groups have the same size."""
    return size if groups is None else len(groups[0])


def have_one_size(groups: Groups) -> bool:
    """Whether all groups have the same size."""
    return groups is None or len({len(group) for group in groups}) == 1


def group_sizes(groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """For each index the size of its group."""
    return _table(groups, len)


def member_table(groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """For each index a row with the members of its group; groups have one size."""
    return _table(groups, list)


def member_mask(groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """For each index a row of booleans: who is in its group."""
    count = sum([len(group) for group in groups])
    return _table(groups, lambda group: np.isin(np.arange(count), group))


def ranks(groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """For each index its place in its group."""
    places = {index: place for group in groups for place, index in enumerate(group)}
    return np.array([places[index] for index in range(len(places))], np.int32)


def _table(groups: tuple[tuple[int, ...], ...], row: Callable[[tuple[int, ...]], object]) -> np.ndarray:
    rows = {index: row(group) for group in groups for index in group}
    found = np.array([rows[index] for index in range(len(rows))])
    return found if found.dtype == np.bool_ else found.astype(np.int32)


def checked_leaves(function: str, x: PyTree) -> tuple[list[Value], PyTreeDef]:
    """The leaves and the structure of `x`. Raises TypeError for a leaf that is no array, by its path."""
    return array_leaves(x, f"{function}: x")


def apply_checked(primitive: Primitive, operand: Value, **params: object) -> Array:
    """The primitive applied to an operand whose type was checked: what maps the axis would not look at that."""
    primitive.infer((operand.aval,), params)
    return primitive.bind(operand, **params)


def on_leaves(function: str, x: PyTree, apply: Callable[[Value], object]) -> PyTree:
    """The tree with `apply(operand)` in place of each leaf."""
    leaves, structure = checked_leaves(function, x)
    return structure.unflatten([as_array(apply(as_operand(leaf))) for leaf in leaves])
