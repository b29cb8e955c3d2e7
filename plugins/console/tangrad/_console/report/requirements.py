"""Requirements of distributions: names, versions, environment markers, and whether what is installed meets them."""

from __future__ import annotations

import math
import os
import platform
import re
import sys
from collections.abc import Callable
from operator import eq, ne
from typing import NamedTuple


def normal_name(name: str) -> str:
    """Return the name in normal form: small letters, and a dash for each run of dashes, dots and underscores.

    Source: "Names and normalization", Python Packaging User Guide (PEP 503).

    >>> normal_name("Typing_Extensions")
    'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


_NUMBER = r"[-_.]?([0-9]*)"
_VERSION = re.compile(
    r"v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)"
    rf"(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc){_NUMBER})?"
    rf"(?:-([0-9]+)|[-_.]?(post|rev|r){_NUMBER})?"
    rf"(?:[-_.]?(dev){_NUMBER})?"
    r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.ASCII,
)
_CLAUSE = re.compile(r"(===|~=|==|!=|<=|>=|<|>)\s*(\S+)")
_PHASES = {"alpha": 0, "a": 0, "beta": 1, "b": 1, "preview": 2, "pre": 2, "c": 2, "rc": 2}

# Places in the order of the phases of one release: its development comes before all, its final form after rc.
_DEVELOPMENT, _FINAL = (-1, 0), (3, 0)
_NONE = -1


class Version(NamedTuple):
    """A version, in the order of its fields.

    Attributes:
        epoch: 0 for nearly all.
        release: its numbers, without zeros at the end.
        phase: of alpha, beta or candidate, and its number.
        post: the number of the release after it, or -1.
        development: its number, or infinity for what is released.
        local: what the builder calls it, part by part.
    """

    epoch: int
    release: tuple[int, ...]
    phase: tuple[int, int]
    post: int
    development: float
    local: tuple[tuple[int, int, str], ...]

    @property
    def public(self) -> Version:
        """The version, without who built it."""
        return self._replace(local=())

    @property
    def is_before_release(self) -> bool:
        """Whether it is a development, alpha, beta or candidate of another."""
        return self.phase != _FINAL or self.development != math.inf

    def is_of(self, other: Version) -> bool:
        """Whether both belong to one release."""
        return (self.epoch, self.release) == (other.epoch, other.release)


def parse_version(text: str) -> Version:
    """Return the version that a text gives.

    Raises ValueError for what is none.

    >>> parse_version("1.10") > parse_version("1.9.post1") > parse_version("1.9") > parse_version("1.9rc1")
    True
    """
    found = _VERSION.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is no version")
    epoch, release, phase, phase_number, dash, post, post_number, dev, dev_number, local = found.groups()
    is_post, is_dev = bool(dash or post), bool(dev)
    if phase:
        place = (_PHASES[phase], int(phase_number or 0))
    else:
        place = _DEVELOPMENT if is_dev and not is_post else _FINAL
    return Version(
        int(epoch or 0),
        _without_zeros(_numbers(release)),
        place,
        int(dash or post_number or 0) if is_post else _NONE,
        int(dev_number or 0) if is_dev else math.inf,
        tuple([(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split("[-_.]", local or "")])
        if local
        else (),
    )


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def _without_zeros(numbers: tuple[int, ...]) -> tuple[int, ...]:
    while len(numbers) > 1 and not numbers[-1]:
        numbers = numbers[:-1]
    return numbers


# --- ranges ---


def is_within(versions: str, installed: str) -> bool:
    """Return whether a version is in a range, such as `>=1.4,!=1.5.*`; versions before a release count as others do.

    Raises ValueError for what is no range, or no version.
    """
    return all([clause(installed) for clause in parse_range(versions).values()])


def parse_range(versions: str) -> dict[str, Callable[[str], bool]]:
    """Return the clauses of a range: the text of each, without blanks -> whether it holds for a version.

    Raises ValueError for what is no range.
    """
    clauses = {}
    for text in filter(None, [part.strip() for part in versions.split(",")]):
        found = _CLAUSE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no range of versions")
        clauses["".join(found.groups())] = _clause(*found.groups())
    return clauses


def _clause(operator: str, text: str) -> Callable[[str], bool]:
    if operator == "===":
        return lambda installed: installed.strip().lower() == text.lower()
    if text.endswith(".*"):
        if operator not in ("==", "!="):
            raise ValueError(f"{operator} takes no version that ends in .*, got {text!r}")
        is_under = _under(text[:-2])
        return lambda installed: is_under(parse_version(installed)) == (operator == "==")
    bound = parse_version(text)
    if bound.local and operator not in ("==", "!="):
        raise ValueError(f"{operator} takes no local version, got {text!r}")
    if operator == "~=":
        is_under = _under(_family(text))
        return lambda installed: parse_version(installed).public >= bound and is_under(parse_version(installed))
    holds = _COMPARISONS[operator]
    return lambda installed: holds(parse_version(installed), bound)


def _under(prefix: str) -> Callable[[Version], bool]:
    """Whether the numbers of a version's release begin with those of the prefix."""
    found = _VERSION.fullmatch(prefix.lower())
    if found is None or any(found.groups()[2:]):
        raise ValueError(f"expected numbers before .*, got {prefix!r}")
    epoch, numbers = int(found[1] or 0), _numbers(found[2])

    def is_under(version: Version) -> bool:
        padded = (*version.release, *[0] * len(numbers))
        return version.epoch == epoch and padded[: len(numbers)] == numbers

    return is_under


def _family(text: str) -> str:
    """The prefix that is compatible with a version: its numbers without the last."""
    epoch, release = _VERSION.fullmatch(text.lower()).groups()[:2]  # type: ignore[union-attr]  # it was parsed
    numbers, _, _ = release.rpartition(".")
    if not numbers:
        raise ValueError(f"~= takes a version of two or more numbers, got {text!r}")
    return f"{epoch or 0}!{numbers}"


def _is_equal(version: Version, bound: Version) -> bool:
    return (version if bound.local else version.public) == bound


def _is_less(version: Version, bound: Version) -> bool:
    """What comes before a release is no less than that release."""
    return version < bound and (bound.is_before_release or not version.is_before_release or not version.is_of(bound))


def _is_greater(version: Version, bound: Version) -> bool:
    """Nor is what comes after it, or another build of it, greater."""
    if version.is_of(bound) and (version.local or (version.post != _NONE and bound.post == _NONE)):
        return False
    return version > bound


_COMPARISONS: dict[str, Callable[[Version, Version], bool]] = {
    "==": _is_equal,
    "!=": lambda version, bound: not _is_equal(version, bound),
    "<=": lambda version, bound: version.public <= bound,
    ">=": lambda version, bound: version.public >= bound,
    "<": _is_less,
    ">": _is_greater,
}


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


# A name, extras, then either versions (in parentheses or not) or an address, and a marker.
_REQUIREMENT = re.compile(
    r"\s*(?P<name>[a-z0-9](?:[-\w.]*[a-z0-9])?)\s*(?:\[[^\]]*\])?\s*"
    r"(?:@\s*(?P<address>\S+)(?:\s+;|\s*$)|(?P<bracket>\()?(?P<versions>[^;()@]*)(?(bracket)\))\s*(?:;|$))"
    r"(?P<marker>.*)",
    re.ASCII | re.IGNORECASE,
)


class Requirement(NamedTuple):
    """What a distribution asks for: a name in normal form and the versions that will do, such as `>=1.26`."""

    name: str
    versions: str


def parse_requirement(text: str) -> Requirement | None:
    """Return what a line of metadata requires here; None if it applies elsewhere only, or is not understood.

    >>> parse_requirement("numpy>=1.26")
    Requirement(name='numpy', versions='>=1.26')
    >>> parse_requirement("jaxlib<0.12,>=0.10; extra == 'xla'") is None
    True
    """
    found = _REQUIREMENT.fullmatch(text)
    if found is None:
        return None
    try:
        if found["marker"].strip() and not applies(found["marker"]):
            return None
        return Requirement(normal_name(found["name"]), ",".join(sorted(parse_range(found["versions"] or ""))))
    except ValueError:
        return None


def is_met(versions: str, installed: str) -> bool:
    """Return whether a version is among those that will do. What is no version, or no specifier, will do.

    A pre-release that is installed was asked for: it will do where it is in the range.

    >>> is_met(">=1.26", "2.4.0"), is_met("==0.1.*", "0.2.0"), is_met("~=1.4", "2.0")
    (True, False, False)
    """
    try:
        return is_within(versions, installed)
    except ValueError:
        return True
