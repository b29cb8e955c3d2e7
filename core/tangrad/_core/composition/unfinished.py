"""Whether an import failed because of a module that is itself being imported further up: unfinished is not broken.

A signal handler, a `__del__`, a callback of an import runs in the middle of anything. What it needs of a module whose
body is not through is missing, and will be there a moment later.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any, overload

FORM: Any = overload(lambda: None)  # what a function with several forms is until the module comes to its body


def unfinished_module(error: BaseException) -> str | None:
    """Return the name of the module that `error` is about and that is being imported now; None where there is none.

    Modules whose own import has failed are no longer being imported when their error is looked at.
    """
    for one in _chain(error):
        for module in _concerned(one):
            if module is not None and is_unfinished(module):
                return module.__name__
    return None


def is_unfinished(module: ModuleType | None) -> bool:
    """Return whether a module is being imported now."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """`error` and all that it was raised from, or beside."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            pending += [one.__cause__, one.__context__]
            yield one


def _concerned(error: BaseException) -> Iterator[ModuleType | None]:
    """The modules that an error names, and those whose functions raised it."""
    if isinstance(error, ImportError):
        yield sys.modules.get(error.name or "")
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        yield error.obj
    entry = error.__traceback__
    while entry is not None:
        yield _module_of(entry.tb_frame.f_globals)
        entry = entry.tb_next


class Origins:
    """What was declared by which module, where that was being imported: what a failed import leaves may be replaced.

    The module's next import declares it again.
    """

    def __init__(self) -> None:
        self._bodies: dict[Any, dict[str, Any] | None] = {}

    def note(self, declared: Any) -> None:
        """Remember for something (hashable) the module whose body runs now, further up."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_name != "<module>":
            frame = frame.f_back
        names = {} if frame is None else frame.f_globals
        self._bodies[declared] = names if getattr(names.get("__spec__"), "_initializing", False) else None

    def has_failed(self, declared: Any) -> bool:
        """Whether the module that declared something is there no more."""
        body = self._bodies.get(declared)
        return body is not None and _module_of(body) is None


def _module_of(names: dict[str, Any]) -> ModuleType | None:
    module = sys.modules.get(names.get("__name__") or "")
    return module if module is not None and vars(module) is names else None
