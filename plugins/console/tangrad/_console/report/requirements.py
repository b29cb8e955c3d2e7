"""Whether what is installed is what its distributions ask for; what is not understood is not judged."""

from __future__ import annotations

import re
from typing import NamedTuple

from tangrad._console.report.markers import applies
from tangrad._console.report.names import normal_name
from tangrad._console.report.versions import is_within, parse_range

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
