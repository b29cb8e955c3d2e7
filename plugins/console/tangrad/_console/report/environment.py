"""`print_environment_info`: what to put into a report of a defect."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

import tangrad
from tangrad.core import api_boundary

# What results depend on, where it is installed.
LIBRARIES = ("tangrad", "tangrad-core", "numpy", "ml-dtypes", "jaxlib")


@api_boundary
def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions and devices that a bug report needs; `tangrad doctor` says more.

    Args:
        return_string: whether the text is returned, and not printed.

    >>> import tangrad
    >>> text = tangrad.print_environment_info(return_string=True)
    >>> [line.partition(":")[0] for line in text.splitlines() if line.startswith(("numpy", "python"))]
    ['numpy', 'python']
    """
    rows = [*[(name, _version(name)) for name in LIBRARIES], ("python", sys.version.replace("\n", " "))]
    rows.append(("backend", tangrad.default_backend()))
    rows.append(("devices", ", ".join([str(device) for device in tangrad.devices()])))
    rows.append(("platform", platform.platform()))
    text = "\n".join([f"{name}: {value}" for name, value in rows])
    if return_string:
        return text
    print(text)
    return None


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
