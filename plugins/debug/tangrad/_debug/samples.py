"""Samples of callbacks, for the conformance kit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tangrad._debug.functions import debug_call, debug_callback, io_callback, pure_callback
from tangrad._debug.primitives import debug_callback_p, debug_print_p, io_callback_p, pure_callback_p
from tangrad.conformance import Sample, draw, recorded
from tangrad.core import ShapedArray

ORDERED = "the rows of a batch have no order"


def samples() -> list[Sample]:
    """All of them."""
    x, y = draw(2, 3), draw(2, 3, dtype="int32")
    return [
        *[_pure(_sum, x, y, method) for method in ("sequential", "expand_dims", "broadcast_all")],
        _pure(_two, draw(2, 3, dtype="complex64"), draw(3, dtype="bool"), "sequential"),
        *_effectful(x),
    ]


def _sum(x: object, y: object) -> tuple[np.ndarray, ...]:
    """A function of the host that works on rows and on batches, with arguments of size 1."""
    with np.errstate(all="ignore"):  # huge numbers overflow
        return (np.asarray(x) * 2 + (np.asarray(y) != 0),)


def _two(x: object, y: object) -> tuple[np.ndarray | np.generic, ...]:
    """One that works on rows alone."""
    with np.errstate(all="ignore"):  # huge numbers overflow
        return np.asarray(x).sum(), ~np.asarray(y)


def _pure(
    function: Callable[..., tuple[np.ndarray | np.generic, ...]], x: np.ndarray, y: np.ndarray, method: str
) -> Sample:
    declared = tuple([ShapedArray(result.shape, result.dtype) for result in function(x, y)])
    _, params = recorded(pure_callback_p, lambda: pure_callback(function, declared, x, y, vmap_method=method))
    return Sample(pure_callback_p, (x, y), params, derivatives=0)


def _effectful(x: np.ndarray) -> list[Sample]:
    return [
        sample
        for ordered in (False, True)
        for sample in (_io(_Log(), x, ordered), _debug(_Log(), x, ordered), _print(_Log(), x, ordered))
    ]


class _Log:
    """A function of the host that keeps what it is called with, until it is asked."""

    def __init__(self) -> None:
        self._seen: list[object] = []

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self._seen.append(np.array(x))
        return np.asarray(x) + 1

    def take(self) -> list[object]:
        """What it was called with since the last time."""
        seen, self._seen = self._seen, []
        return seen


def _io(log: _Log, x: np.ndarray, ordered: bool) -> Sample:
    aval = ShapedArray(x.shape, x.dtype)
    _, params = recorded(io_callback_p, lambda: io_callback(log, aval, x, ordered=ordered))
    without = {"batch": ORDERED} if ordered else {}
    return Sample(io_callback_p, (x,), params, derivatives=0, without=without, observe=log.take)


def _debug(log: _Log, x: np.ndarray, ordered: bool) -> Sample:
    _, params = recorded(debug_callback_p, lambda: debug_callback(log, x, ordered=ordered))
    return Sample(debug_callback_p, (x,), params, derivatives=0, observe=log.take)


def _print(log: _Log, x: np.ndarray, ordered: bool) -> Sample:
    call, _ = debug_call("debug.print", log, (x,), {})
    params = {"fmt": "{}", "callback": call, "ordered": ordered, "partitioned": False}
    return Sample(debug_print_p, (x,), params, derivatives=0, observe=log.take)
