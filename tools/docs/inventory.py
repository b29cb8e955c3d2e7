"""`objects.inv`: where each public name is described, for intersphinx in the documentation of others."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

HEADER = "# Sphinx inventory version 2\n# Project: {project}\n# Version: {version}\n"
HEADER += "# The remainder of this file is compressed using zlib.\n"


def inventory(project: str, version: str, places: Mapping[str, str]) -> bytes:
    """Return the file, of dotted name -> address within the site, such as `reference/lax/#tangrad.lax.sin`."""
    lines = [f"{name} py:obj 1 {address} -\n" for name, address in sorted(places.items())]
    return HEADER.format(project=project, version=version).encode() + zlib.compress("".join(lines).encode(), 9)
