"""The thread while a user's function runs: as if nothing were being traced, under the settings of the program's author.

The function may run in the thread that traces or computes, or in one of a backend's own, which knows of nothing.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from tangrad.core import EVAL_TRACE, holding, thread
from tangrad.core.settings import SETTINGS
from tangrad.core.tools import NO_NAMES

Overrides = tuple[tuple[str, Any], ...]

# Where arrays are made is a matter of the thread that makes them: a backend chooses it for its callbacks.
_NOT_TAKEN = "default_device"


def current_overrides() -> Overrides:
    """The settings that this thread overrides, for functions that will run in another one.

    Beside settings the overrides of a thread have what else programs are remembered by, such as the axes that types
    record within `shard_map`: a user's function knows of no axes.
    """
    return tuple([item for item in thread.overrides if item[0] in SETTINGS and item[0] != _NOT_TAKEN])


class HostState:
    """A context manager: the bottom trace, no named axes, no place in a program, and the overrides of settings."""

    __slots__ = ("_alone", "_overrides", "_settings")

    def __init__(self, overrides: Overrides) -> None:
        self._overrides = overrides
        self._settings: ExitStack | None = None

    def __enter__(self) -> None:
        if self._overrides != thread.overrides:
            settings = ExitStack()
            for name, value in self._overrides:
                if getattr(thread, name) is not value:
                    settings.enter_context(SETTINGS[name](value))
            self._settings = settings
        self._alone = holding(trace=EVAL_TRACE, axis_environment=(), name_stack=NO_NAMES, source=None)
        self._alone.__enter__()

    def __exit__(self, *_: object) -> None:
        self._alone.__exit__()
        if self._settings is not None:
            self._settings.close()
