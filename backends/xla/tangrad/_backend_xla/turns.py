"""Programs that call Python functions take turns on the host's processors.

XLA's client for them starts at most 32 programs at a time, and a caller beyond that waits. A program waits in turn for
the function that it calls; if the function computes with arrays it starts a program. Once 32 threads are in such
functions, each would wait for all others, for ever. With fewer at a time there is always room for what they start.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tangrad._backend_xla.calls import Execute

if TYPE_CHECKING:
    from tangrad.typing import Value

AT_A_TIME = 15  # each with the program that its function starts: 30 of the 32


class _Here(threading.local):
    """Whether this thread has a turn: what a function starts that a program called needs none of its own."""

    has_turn = False


_here = _Here()
_turns = threading.BoundedSemaphore(AT_A_TIME)


def in_turns(execute: Execute) -> Execute:
    """`execute` for a program that calls functions: it waits for its turn."""

    def execute_in_turn(arrays: Sequence[Value]) -> list[Value]:
        if _here.has_turn:
            return execute(arrays)
        with _turns:
            _here.has_turn = True
            try:
                return execute(arrays)
            finally:
                _here.has_turn = False

    return execute_in_turn
