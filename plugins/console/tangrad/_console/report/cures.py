"""Lines for a shell that cure a problem when they are pasted there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable

from tangrad._console.report.requirements import normal_name


def install(*requirements: str) -> str:
    """Install what is missing or too old."""
    return f"pip install {' '.join(map(shlex.quote, requirements))}"


def deny(pattern: str) -> str:
    """Go without a distribution, plugin or rule, beside whatever is denied already."""
    return _added("TANGRAD_DENY", pattern)


def prefer(cell: str, distribution: str) -> str:
    """Resolve a conflict, beside whatever is preferred already."""
    return _added("TANGRAD_PREFER", f"{cell}={distribution}")


def _added(variable: str, text: str) -> str:
    return f'export {variable}="${{{variable}:+${variable},}}"{shlex.quote(text)}'


def leave_out(variable: str, item: str) -> str:
    """Take one of its items out of a variable that is a list with commas; empty where it is not in there."""
    for written in os.environ.get(variable, "").split(","):
        if _normal(written) == _normal(item):
            others = f"tr , '\\n' | grep -vxF {shlex.quote(written)} | paste -sd, -"
            return f'export {variable}="$(echo "${variable}" | {others})"'
    return ""


def _normal(pattern: str) -> str:
    """A pattern as policies compare it, however it is written."""
    return normal_name(pattern.strip().replace(":tangrad.", ":"))


def assign(variable: str, value: str) -> str:
    """Set a variable for this shell and what it starts."""
    return f"export {variable}={shlex.quote(value)}"


def unset(variable: str) -> str:
    """Take a variable away."""
    return f"unset {variable}"


def off_path(folder: str) -> str:
    """Take a folder off PYTHONPATH; empty where it is not on it."""
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = [one for one in path if os.path.abspath(one) != folder]
    return assign("PYTHONPATH", os.pathsep.join(rest)) if len(rest) < len(path) else ""


def delete_files(files: Iterable[str]) -> str:
    """Delete these files, and nothing beside them."""
    return f"rm -f {' '.join(map(shlex.quote, files))}"


def delete_matching(folder: str, pattern: str) -> str:
    """Delete the files of a folder whose names match a pattern of the shell's."""
    return f"rm -f {shlex.quote(folder)}/{pattern}"


def delete(folder: str) -> str:
    """Delete a folder, and all that is in it."""
    return f"rm -r {shlex.quote(folder)}"
