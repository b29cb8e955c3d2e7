"""Errors of Python functions that programs call, on their way through XLA.

XLA turns whatever a callback raises into an error of its own, which keeps the text alone; it comes up where results are
waited for, which may be later and elsewhere. So the exception is kept here under a number that goes into the text, and
is raised in place of XLA's error.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections import OrderedDict
from types import TracebackType
from typing import Any

# Exceptions hold on to the frames they went through: only the latest are kept.
LIMIT = 32

_lock = threading.Lock()
_numbers = itertools.count(1)
_kept: OrderedDict[int, tuple[BaseException, TracebackType | None]] = OrderedDict()
_MARK = re.compile(r"\[tangrad callback failure (\d+)\]")


class CallbackFailed(Exception):
    """What a callback raises in XLA's hands."""


def keep(error: BaseException) -> CallbackFailed:
    """Keep an exception; returns the one to raise instead."""
    number = next(_numbers)
    with _lock:
        _kept[number] = error, error.__traceback__
        if len(_kept) > LIMIT:
            _kept.popitem(last=False)
    return CallbackFailed(f"{type(error).__name__}: {error} [tangrad callback failure {number}]")


def raise_original(error: BaseException) -> None:
    """Raise what a callback has raised, if that is why a program failed with `error` and it is still kept."""
    found: Any = _MARK.search(str(error))
    kept = _kept.get(int(found.group(1))) if found is not None else None
    if kept is not None:
        original, traceback = kept
        raise original.with_traceback(traceback)


def forget() -> None:
    """Let the kept exceptions go."""
    with _lock:
        _kept.clear()
