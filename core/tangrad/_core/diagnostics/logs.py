"""Loggers that cost nothing until there is something to say.

`logging` takes 5 ms to import, a fifth of what Tangrad needs before its first result. As long as it is not imported
there is no listener, so a debug message can be dropped; a warning loads it, and comes out as every unhandled one does.
"""

from __future__ import annotations

import sys
from typing import Any


class Logger:
    """`logging.getLogger(name)`, imported when it is needed."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def debug(self, message: str, *values: Any) -> None:
        """For those who have turned debugging messages on."""
        if "logging" in sys.modules:
            self._logger().debug(message, *values, stacklevel=2)

    def info(self, message: str, *values: Any) -> None:
        """For those who have turned messages on."""
        if "logging" in sys.modules:
            self._logger().info(message, *values, stacklevel=2)

    def warning(self, message: str, *values: Any) -> None:
        """For all threads."""
        self._logger().warning(message, *values, stacklevel=2)

    def _logger(self) -> Any:
        import logging

        return logging.getLogger(self.name)
