"""Whether what is installed is what its distributions ask for; what is not understood is not judged."""

from __future__ import annotations

from typing import NamedTuple

from packaging import requirements
from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version


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
    try:
        parsed = requirements.Requirement(text)
        # No extra is asked for: what only extras need may be missing.
        if parsed.marker is not None and not parsed.marker.evaluate({"extra": ""}):
            return None
    except (requirements.InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
        return None
    return Requirement(canonicalize_name(parsed.name), str(parsed.specifier))


def is_met(versions: str, installed: str) -> bool:
    """Return whether a version is among those that will do. What is no version, or no specifier, will do.

    A pre-release that is installed was asked for: it will do where it is in the range.

    >>> is_met(">=1.26", "2.4.0"), is_met("==0.1.*", "0.2.0"), is_met("~=1.4", "2.0")
    (True, False, False)
    """
    try:
        return SpecifierSet(versions).contains(Version(installed), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True
