"""Whether what is installed is what its distributions ask for: declared requirements, read as PEP 440 and 508 say.

Only as much of the two as metadata of real distributions contains; what is not understood is not judged. (The library
`packaging` knows it all, and would be a dependency of the kernel for one command.)
"""

from __future__ import annotations

import operator
import os
import platform
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from tangrad.core.record import normalise

_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(@.*|[^;@]*)(?:;(.*))?")
_SPECIFIER = re.compile(r"(===|==|!=|>=|<=|~=|>|<)\s*([^\s,]+)")
_VERSION = re.compile(
    r"v?(?:\d+!)?(?P<release>\d+(?:\.\d+)*)[-._]?(?:(?P<phase>a|b|c|rc|alpha|beta|pre|preview)[-._]?(?P<number>\d*))?"
    r"(?P<post>[-._]?(?:post|rev|r)[-._]?\d*|-\d+)?(?P<dev>[-._]?dev\d*)?(?:\+.*)?",
    re.IGNORECASE,
)
_PHASES = {"a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3}
_FINAL, _DEV, _POST = 4, 0, 5
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_MARKER = re.compile(r"\s*(\w+)\s*(==|!=|>=|<=|>|<)\s*['\"]([^'\"]*)['\"]\s*")
_MARKER_VALUES: dict[str, Callable[[], str]] = {
    "python_version": lambda: ".".join(platform.python_version_tuple()[:2]),
    "python_full_version": platform.python_version,
    "sys_platform": lambda: sys.platform,
    "platform_system": platform.system,
    "platform_machine": platform.machine,
    "platform_python_implementation": platform.python_implementation,
    "implementation_name": lambda: sys.implementation.name,
    "os_name": lambda: os.name,
    "extra": str,  # no extra is asked for: what only extras need may be missing
}


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
    match = _REQUIREMENT.fullmatch(text.strip())
    if match is None or not _applies(match[3] or ""):
        return None
    versions = match[2].strip().strip("()").replace(" ", "")
    return Requirement(normalise(match[1]), "" if versions.startswith("@") else versions)


def is_met(versions: str, installed: str) -> bool:
    """Return whether a version is among those that will do. A specifier that is not understood will do.

    >>> is_met(">=1.26", "2.4.0"), is_met("==0.1.*", "0.2.0"), is_met("~=1.4", "2.0")
    (True, False, False)
    """
    return all(_is_met(sign, wanted, installed) for sign, wanted in _SPECIFIER.findall(versions))


def _is_met(sign: str, wanted: str, installed: str) -> bool:
    if sign == "===":
        return wanted == installed
    if wanted.endswith(".*"):
        same = _release(installed, wanted.count(".")) == _release(wanted[:-2], wanted.count("."))
        return same if sign == "==" else not same
    found, bound = version_key(installed), version_key(wanted)
    if found is None or bound is None:
        return True
    if sign == "~=":
        parts = wanted.count(".")
        return found >= bound and _release(installed, parts) == _release(wanted, parts)
    if sign in ("==", "!="):
        return (found == bound) is (sign == "==")
    return bool(_COMPARISONS[sign](found, bound))


def version_key(version: str) -> tuple[tuple[int, ...], int, int] | None:
    """Return what versions are compared by; None for a text that is no version.

    >>> sorted(["1.10", "1.9.post1", "1.9", "1.9rc1", "1.9.dev3"], key=version_key)
    ['1.9.dev3', '1.9rc1', '1.9', '1.9.post1', '1.10']
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    release = tuple(int(part) for part in match["release"].split("."))
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    phase = _PHASES[match["phase"].lower()] if match["phase"] else _FINAL
    if match["post"]:
        phase = _POST
    elif match["dev"] and phase == _FINAL:
        phase = _DEV
    number = re.sub(r"\D", "", match["post"] or match["number"] or "")
    return release, phase, int(number or 0)


def _release(version: str, parts: int) -> tuple[int, ...] | None:
    """The first parts of a version, padded with zeros."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    numbers = [int(part) for part in match["release"].split(".")]
    return tuple((numbers + [0] * parts)[:parts])


def _applies(marker: str) -> bool:
    """Whether an environment marker holds; one that is not understood is taken not to: nothing is judged by it."""
    for part in marker.split(" and ") if marker.strip() else ():
        match = _MARKER.fullmatch(part)
        if match is None or match[1] not in _MARKER_VALUES:
            return False
        value = _MARKER_VALUES[match[1]]()
        if "version" in match[1]:
            holds = is_met(match[2] + match[3], value)
        else:
            holds = (value == match[3]) is (match[2] == "==")
        if not holds:
            return False
    return True
