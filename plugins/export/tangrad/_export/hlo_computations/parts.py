"""`in_parts` and `out_parts`: into how many parts the arguments and results of a program are cut."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from tangrad import tree
from tangrad.sharding import PartitionSpec
from tangrad.tree_util import flatten_axes

Tiling = tuple[int, ...] | None


class _Spec:
    """What a user said of one leaf: a tuple of integers is a leaf here, and not a tree of them."""

    __slots__ = ("counts",)

    def __init__(self, counts: Any) -> None:
        self.counts = counts


def _is_spec(value: Any) -> bool:
    if isinstance(value, PartitionSpec):
        return True
    integers = [isinstance(entry, int) for entry in value] if isinstance(value, tuple) else []
    return any(integers) and all([given or entry is None for given, entry in zip(integers, value, strict=True)])


def tilings(what: str, given: Any, structure: Any, avals: Sequence[Any], has_keywords: bool = False) -> list[Tiling]:
    """For each leaf the number of parts along each of its dimensions, or None for the whole.

    Args:
        what: for messages.
        given: what the user said: a tuple of integers, None, or a prefix of the tree of these.
        structure, avals: of the leaves.
        has_keywords: whether there are keyword arguments, whose parts cannot be named.

    Raises TypeError for other than integers, ValueError for parts that do not fit.
    """
    if given is None:
        return [None] * len(avals)
    if has_keywords:
        raise ValueError(f"{what} are those of positional arguments; pass the others by position too")
    prefix = tree.map(_Spec, tuple(given) if isinstance(given, list) else given, is_leaf=_is_spec)
    specs = flatten_axes(what, structure, prefix)
    return [_tiling(f"{what}, leaf {n},", spec, aval) for n, (spec, aval) in enumerate(zip(specs, avals, strict=True))]


def _tiling(what: str, spec: Any, aval: Any) -> Tiling:
    if spec is None:
        return None
    given = spec.counts
    try:
        counts = tuple([1 if count is None else operator.index(count) for count in given])
    except TypeError:
        raise TypeError(f"{what} must be a tuple of integers, or None, got {given!r}") from None
    if len(counts) > len(aval.shape):
        raise ValueError(f"{what} has {len(counts)} numbers of parts, {given}, for {aval.str_short()}")
    counts = (*counts, *[1] * (len(aval.shape) - len(counts)))
    for dimension, (count, size) in enumerate(zip(counts, aval.shape, strict=True)):
        if count < 1 or size % count:
            raise ValueError(
                f"{what} cuts dimension {dimension} of {aval.str_short()}, of size {size}, into {count}; a number of "
                f"equal parts is needed"
            )
    return None if math.prod(counts) == 1 else counts


def check_counts(parts: tuple[Sequence[Tiling], Sequence[Tiling]]) -> None:
    """Raise ValueError where two tilings are for different numbers of partitions."""
    found = {math.prod(tiling): tiling for tilings_of in parts for tiling in tilings_of if tiling is not None}
    if len(found) > 1:
        first, second = list(found.values())[:2]
        raise ValueError(
            f"xla_computation: all that is cut must be cut into the same number of parts; in_parts and out_parts have "
            f"{first}, which are {math.prod(first)}, and {second}, which are {math.prod(second)}"
        )
