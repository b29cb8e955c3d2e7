"""Versions of distributions and ranges of them, as the version specifiers of Python's packages define them.

Source: "Version specifiers", Python Packaging User Guide (PEP 440). Read here, in a hundred lines, since the library
for it would be a tenth of a standard installation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

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
    """Return the version that a text says.

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


# --- ranges --------------------------------------------------------------------------------------------------------


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
