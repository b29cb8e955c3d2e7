"""Whose fault an exception is that has ended a plugin's code: what is interrupted, or unfinished, is not broken.

A time-out raises wherever the program happens to be, in the middle of a plugin that does nothing wrong. It must reach
the caller, the plugin stays as it was, and nothing is done again meanwhile: what took too long would again.

A signal handler, a `__del__`, a callback of an import runs in the middle of anything. What it needs of a module whose
body is not through is missing, and will be there a moment later.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar, overload

from tangrad._core.diagnostics.source_info import callers_of, entries_of

E = TypeVar("E", bound=BaseException)
K = TypeVar("K")
V = TypeVar("V")

FORM: Any = overload(lambda: None)  # what a function with several forms is until the module comes to its body


class UnfinishedImportError(ImportError):
    """A plugin was asked for while a module that it needs is being imported: the plugin is not broken."""


# Not faults of a plugin: the next attempt may succeed.
CIRCUMSTANCES = (MemoryError, RecursionError, UnfinishedImportError)
# What a plugin's code may raise of itself. Any other is from outside: Ctrl-C, or an exception that another thread sent.
FAULTS = (Exception, SystemExit, GeneratorExit)


def own_fault(*kinds: type[E], again: Callable[[], object] | None = None) -> tuple[type[E], ...]:
    """Return `kinds`, for an `except` clause; none of them where what is being handled came from outside of the code.

    From outside comes what a signal's handler raises. So does what another thread sends, where the code can be called
    `again` to find that out: Python makes it without arguments, and a call that was interrupted works when it is
    repeated.

    >>> from tangrad.core.tools import own_fault
    >>> try:
    ...     1 / 0
    ... except own_fault(Exception) as error:
    ...     print(error)
    division by zero
    """
    error = sys.exc_info()[1]
    if not isinstance(error, kinds) or from_signal_handler(error):
        return ()
    return () if again is not None and not error.args and _works(again) else kinds


def _works(call: Callable[[], object]) -> bool:
    try:
        call()
    except Exception as error:
        return from_signal_handler(error)
    return True


def from_signal_handler(error: BaseException) -> bool:
    """Return whether a signal's handler has raised `error`: Python hands it the frame that it came upon.

    That frame called it, as far as tracebacks say, and no other function gets the frame of its caller as an argument.
    """
    for entry in entries_of(error.__traceback__):
        frame = entry.tb_frame
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        if frame.f_back is not None and any([frame.f_locals.get(name) is frame.f_back for name in names]):
            return True
    return False


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """`error` and all that it was raised from, or beside."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            pending += [one.__cause__, one.__context__]
            yield one


# --- modules that are being imported --------------------------------------------------------------------------------


def unfinished_module(error: BaseException) -> str | None:
    """Return the name of the module that `error` is about and that is being imported now; None where there is none.

    Modules whose own import has failed are no longer being imported when their error is looked at.
    """
    for one in chain_of(error):
        for module in _concerned(one):
            if module is not None and is_unfinished(module):
                return module.__name__
    return None


def is_unfinished(module: ModuleType | None) -> bool:
    """Return whether a module is being imported now."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _concerned(error: BaseException) -> Iterator[ModuleType | None]:
    """The modules that an error names, and those whose functions raised it."""
    if isinstance(error, ImportError):
        yield sys.modules.get(error.name or "")
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        yield error.obj
    for entry in entries_of(error.__traceback__):
        yield _module_of(entry.tb_frame.f_globals)


class Declared(dict[K, V]):
    """What modules have declared, each thing once; what a failed import has left, the module's next declares again."""

    def __init__(self) -> None:
        super().__init__()
        self._bodies: dict[K, dict[str, Any] | None] = {}  # the names of modules that were being imported meanwhile

    def declare(self, key: K, value: V) -> bool:
        """Add a value; False where the key has another one."""
        body = self._bodies.get(key)
        if key in self and (body is None or _module_of(body) is not None):
            return False
        callers = callers_of(sys._getframe(1))
        names = next((frame.f_globals for frame in callers if frame.f_code.co_name == "<module>"), {})
        self._bodies[key] = names if getattr(names.get("__spec__"), "_initializing", False) else None
        self[key] = value
        return True


def _module_of(names: dict[str, Any]) -> ModuleType | None:
    module = sys.modules.get(names.get("__name__") or "")
    return module if module is not None and vars(module) is names else None
