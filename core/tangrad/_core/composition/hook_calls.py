"""What a call of a hook needs while it runs: the program that passes hand on, and that no hook is called within one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

P = TypeVar("P")  # a program, of the type that the kernel has for them


class Program(Generic[P]):
    """A program on its way through the passes: each is handed what the one before it made.

    Attributes:
        check_pass: raises where a pass may not return the second program for the first; the kernel, which knows
            programs, sets it.
    """

    __slots__ = ("closed_jaxpr",)
    check_pass: ClassVar[Callable[[Any, Any], None]]

    def __init__(self, closed_jaxpr: P) -> None:
        self.closed_jaxpr = closed_jaxpr


class Inside(threading.local):
    """Whether this thread is inside a hook: a hook that compiles would otherwise call itself without end.

    Attributes:
        busy: whether the thread is in a `call`.
    """

    busy = False

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a hook. Not a context manager: an interrupt may come before its `__exit__` has done anything."""
        before = self.busy
        try:
            self.busy = True
            return function(*args)
        finally:
            self.busy = before


inside = Inside()
