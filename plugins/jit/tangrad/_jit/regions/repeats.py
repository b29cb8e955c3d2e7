"""Where a sequence repeats itself: stretches that consist of one part several times over.

A program that a Python loop has written is such a sequence, of the numbers of its equations. Which distances it may
repeat at show the distances between equal subsequences: there are few that occur often, and each is checked in one
pass. So the search takes time linear in the length but for sorting.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tangrad._jit.regions.limits import Limits

LONG = 8  # a subsequence of so many numbers hardly ever occurs twice within one layer
CANDIDATES = 12  # distances that are looked at, for each length of subsequences
STRETCHES = 64  # at most so many are found


class Stretch(NamedTuple):
    """A part of a sequence that repeats itself.

    Attributes:
        start, length: where it is. period: after how many places it repeats, whole regions of enough weight at a time.
    """

    start: int
    length: int
    period: int


def find_stretches(numbers: Sequence[int], weights: Sequence[int], limits: Limits) -> list[Stretch]:
    """The stretches that spare most, none of which overlap, in order.

    Args:
        numbers: the sequence. weights: the equations that each item stands for.
    """
    sequence = np.asarray(numbers, np.int64)
    until = np.concatenate([[0], np.cumsum(np.asarray(weights, np.int64))])
    heap: list[Any] = []

    def offer(start: int, length: int, period: int) -> None:
        stretch = _grouped(start, length, period, until, limits)
        if stretch is not None:
            saved = _saved(stretch, until)
            if saved >= limits.saved:
                heapq.heappush(heap, (-saved, stretch.period, stretch, period))

    for period in _distances(sequence, until):
        for start, length in _runs(sequence, period):
            offer(start, length, period)
    found: list[Stretch] = []
    free = np.ones(len(sequence), bool)
    while heap and len(found) < STRETCHES:
        _, _, stretch, period = heapq.heappop(heap)
        within = free[stretch.start : stretch.start + stretch.length]
        if within.all():
            found.append(stretch)
            within[:] = False
            continue
        for start, length in _true_runs(within):
            offer(stretch.start + start, length, period)
    return sorted(found)


def _grouped(start: int, length: int, period: int, until: np.ndarray, limits: Limits) -> Stretch | None:
    """The stretch in periods of enough weight; None where less than two of them fit."""
    if length < 2 * period:
        return None
    one, total = int(until[start + period] - until[start]), int(until[start + length] - until[start])
    wanted = limits.grouped(one, total)
    group = min(wanted, length // (2 * period))
    return None if group < wanted and group * one < limits.region else Stretch(start, length, group * period)


def _saved(stretch: Stretch, until: np.ndarray) -> int:
    """The equations that need not be compiled if each period but the first is a call."""
    one = int(until[stretch.start + stretch.period] - until[stretch.start])
    return (stretch.length // stretch.period - 1) * (one - 1)


def _distances(sequence: np.ndarray, until: np.ndarray) -> list[int]:
    """The distances at which most of the sequence, by weight, comes again."""
    long, length = sequence, 1
    while length < LONG and len(long) > 2 * length:
        pairs = long[:-length] * (int(long.max()) + 1) + long[length:]
        long, length = np.unique(pairs, return_inverse=True)[1], 2 * length
    found: dict[int, None] = {}
    for items in (long, sequence):
        order = np.argsort(items, kind="stable")
        later = order[1:][items[order][1:] == items[order][:-1]]
        gaps = np.diff(order)[items[order][1:] == items[order][:-1]]
        if len(gaps):
            weight = np.bincount(gaps, (until[later + 1] - until[later]).astype(float))
            best = np.argsort(-weight, kind="stable")[:CANDIDATES]
            found.update(dict.fromkeys([int(gap) for gap in best if weight[gap] > 0]))
    return list(found)


def _runs(sequence: np.ndarray, period: int) -> Iterator[tuple[int, int]]:
    """Where, and how far, the sequence repeats after `period` places: twice at least."""
    for start, length in _true_runs(sequence[period:] == sequence[:-period]):
        if length >= period:
            yield start, length + period


def _true_runs(flags: np.ndarray) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    for start, end in edges.reshape(-1, 2):
        yield int(start), int(end - start)
