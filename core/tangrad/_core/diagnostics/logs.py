"""Loggers that cost nothing until there is something to say.

`logging` takes 5 ms to import, a fifth of what Tangrad needs before its first result. As long as it is not imported
there is no listener, so a debug message can be dropped; a warning loads it, and comes out as every unhandled one does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable


class Logger:
    """`logging.getLogger(name)`, imported when it is needed; only its methods `debug`, `info` and `warning`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, method: str) -> Callable[..., None]:
        if method not in ("debug", "info", "warning"):
            raise AttributeError(f"a Logger has no {method!r}")
        if method != "warning" and "logging" not in sys.modules:
            return _dropped
        import logging

        found: Callable[..., None] = getattr(logging.getLogger(self.name), method)
        return found


def _dropped(*_: object) -> None:
    """What is called in the place of `debug` and `info`: without `logging` there is no listener."""
