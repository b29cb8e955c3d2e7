"""Names of distributions, which are written in several ways and compared in one."""

from __future__ import annotations

import re


def normal_name(name: str) -> str:
    """Return the name in normal form: small letters, and a dash for each run of dashes, dots and underscores.

    Source: "Names and normalization", Python Packaging User Guide (PEP 503).

    >>> normal_name("Typing_Extensions")
    'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()
