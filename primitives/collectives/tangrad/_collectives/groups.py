"""`axis_index_groups`: parts of a mapped axis that do a collective each for itself."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

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


def member_mask(groups: Any) -> np.ndarray:
    """For each index a row of booleans: who is in its group."""
    count = sum([len(group) for group in groups])
    return _table(groups, lambda group: np.isin(np.arange(count), group))


def ranks(groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """For each index its place in its group."""
    places = {index: place for group in groups for place, index in enumerate(group)}
    return np.array([places[index] for index in range(len(places))], np.int32)


def _table(groups: Any, row: Any) -> np.ndarray:
    rows = {index: row(group) for group in groups for index in group}
    found = np.array([rows[index] for index in range(len(rows))])
    return found if found.dtype == np.bool_ else found.astype(np.int32)
