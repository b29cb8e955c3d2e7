"""Environment markers: for which Pythons and platforms a line of metadata is meant.

Source: "Dependency specifiers", Python Packaging User Guide (PEP 508).
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable
from operator import eq, ne

from tangrad._console.report.names import normal_name
from tangrad._console.report.versions import is_within

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'[^']*'|\"[^\"]*\")|(?P<operator>===|~=|==|!=|<=|>=|<|>|not\s+in\b|in\b)|(?P<word>[A-Za-z_][\w.]*)"
    r"|(?P<bracket>[()]))"
)
_VERSIONS = ("python_version", "python_full_version", "implementation_version")
# Other texts than versions are in no order.
_TEXTS: dict[str, Callable[[str, str], bool]] = {
    "==": eq,
    "===": eq,
    "!=": ne,
    "in": lambda x, y: x in y,
    "not in": lambda x, y: x not in y,
}


def _environment() -> dict[str, str]:
    """What markers can ask for, here; no extra is asked for."""
    release = ".".join(map(str, sys.implementation.version[:3]))
    return {
        "extra": "",
        "implementation_name": sys.implementation.name,
        "implementation_version": release,
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": platform.python_version().rstrip("+"),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    }


def applies(marker: str) -> bool:
    """Return whether a marker holds here, where no extra is asked for.

    Raises ValueError for what is no marker, or asks for what is not known.

    >>> applies("python_version >= '3' and extra != 'docs'"), applies("os_name == 'nowhere'")
    (True, False)
    """
    return _Reader(marker).read()


class _Reader:
    """Reads a marker from left to right: alternatives of conjunctions of comparisons."""

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._environment = _environment()
        self._tokens = list(self._split(marker))
        self._place = 0

    def _split(self, marker: str) -> list[tuple[str, str]]:
        tokens, place, end = [], 0, len(marker.rstrip())
        while place < end:
            found = _TOKEN.match(marker, place)
            if found is None:
                raise self._error()
            kind = found.lastgroup or ""
            tokens.append((kind, found[kind]))
            place = found.end()
        return [*tokens, ("end", "")]

    def _error(self) -> ValueError:
        return ValueError(f"{self._marker!r} is no environment marker")

    def _next(self) -> tuple[str, str]:
        self._place += 1
        return self._tokens[self._place - 1]

    def _accept(self, word: str) -> bool:
        if self._tokens[self._place] in (("word", word), ("bracket", word)):
            self._place += 1
            return True
        return False

    def read(self) -> bool:
        holds = self._alternatives()
        if self._next()[0] != "end":
            raise self._error()
        return holds

    def _alternatives(self) -> bool:
        holds = self._conjunction()
        while self._accept("or"):
            holds = self._conjunction() or holds
        return holds

    def _conjunction(self) -> bool:
        holds = self._comparison()
        while self._accept("and"):
            holds = self._comparison() and holds
        return holds

    def _comparison(self) -> bool:
        if self._accept("("):
            holds = self._alternatives()
            if not self._accept(")"):
                raise self._error()
            return holds
        (left, x), operator, (right, y) = self._value(), self._operator(), self._value()
        name = left or right
        if name == "extra":
            x, y = normal_name(x), normal_name(y)
        elif name in _VERSIONS and operator not in ("in", "not in"):
            return is_within(operator + y, x)
        if operator not in _TEXTS:
            raise self._error()
        return _TEXTS[operator](x, y)

    def _value(self) -> tuple[str, str]:
        """The name of a variable, or "", and its value."""
        kind, text = self._next()
        if kind == "text":
            return "", text[1:-1]
        if kind != "word" or text not in self._environment:
            raise self._error()
        return text, self._environment[text]

    def _operator(self) -> str:
        kind, text = self._next()
        if kind != "operator":
            raise self._error()
        return " ".join(text.split())
