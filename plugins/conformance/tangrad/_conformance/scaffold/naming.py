"""The names of a new package, made of the one that is given; and what is wrong with one that cannot be used."""

from __future__ import annotations

import keyword
import re
import sys
from typing import NamedTuple

_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")  # PEP 508
_LICENSE = re.compile(r"[A-Za-z0-9.+ ()-]+")  # an SPDX expression, such as `MIT OR Apache-2.0`
_PREFIX = "tangrad-"
LONGEST = 26  # characters: the lines of the templates stay readable


class Names(NamedTuple):
    """What the templates fill in.

    Attributes:
        name: of what is made, an identifier: the primitive's, the backend's, the transformation's.
        distribution: what `pip install` takes. package: what `import` takes.
        class_name: the beginning of the names of classes.
        license: an SPDX expression.
        version: of Tangrad, at least.
    """

    name: str
    distribution: str
    package: str
    class_name: str
    license: str
    version: str


def names_for(given: str, distribution: str | None = None, license: str = "Apache-2.0", version: str = "0.1") -> Names:
    """Return the names of a package.

    Args:
        given: the name of what is made, with or without `tangrad-` before it; letters, digits, `-`, `_` and `.`.
        distribution: the name of the distribution; None: `tangrad-<name>`, as is usual.
        license: an SPDX expression for the package's metadata.
        version: of Tangrad, at least, for the package's requirements.

    Raises:
        ValueError: for a name that no distribution or no module may have, and for a text that is no license.

    >>> from tangrad._conformance.scaffold import names_for
    >>> names_for("Fresnel-Sine")[:4]
    ('fresnel_sine', 'tangrad-fresnel-sine', 'tangrad_fresnel_sine', 'FresnelSine')
    """
    bare = _normal(given, "the name")
    name = _identifier(bare.removeprefix(_PREFIX), given)
    full = _normal(distribution, "--distribution") if distribution else _PREFIX + bare.removeprefix(_PREFIX)
    package = _identifier(full, distribution or given)
    if package in sys.stdlib_module_names or package in ("tangrad", "numpy", "tests"):
        raise ValueError(f"{full!r} would be imported as {package}, which is another package; choose another name")
    if not _LICENSE.fullmatch(license) or not license.strip():
        raise ValueError(f"{license!r} is not an SPDX expression such as 'MIT' or 'MIT OR Apache-2.0'")
    class_name = "".join(part.capitalize() for part in name.split("_"))
    return Names(name, full, package, class_name, license.strip(), version)


def _normal(text: str, what: str) -> str:
    """A distribution's name in normal form (PEP 503)."""
    if not _DISTRIBUTION.fullmatch(text):
        raise ValueError(
            f"{what} {text!r} is not a name that a distribution may have: ASCII letters and digits, and between them "
            "-, _ and . (PEP 508)"
        )
    normal = re.sub(r"[-_.]+", "-", text).lower()
    if len(normal.removeprefix(_PREFIX)) > LONGEST:
        raise ValueError(f"{what} {text!r} is longer than {LONGEST} characters")
    return normal


def _identifier(text: str, given: str) -> str:
    name = text.replace("-", "_")
    if not name.isidentifier():
        reason = "it would begin with a digit" if name[:1].isdigit() else "nothing is left of it"
        raise ValueError(f"{given!r} cannot name a Python module or function: {reason}")
    if keyword.iskeyword(name):
        raise ValueError(f"{given!r} cannot name a Python module or function: {name} is a keyword")
    return name
