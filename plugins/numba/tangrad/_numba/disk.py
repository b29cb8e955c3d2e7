"""The folder in which numba keeps what it compiled.

Numba files machine code under the source file that it comes from. The text of each program is such a file, named after
its contents; it has a fixed time, so that each process finds what others have compiled.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path

import llvmlite
import numba
import numpy as np

from tangrad.core.tools import cache_folder

_HERE = Path(__file__).parent
_TIME = 1_000_000_000


def file_of(text: str) -> str | None:
    """The file of a program's text; None where nothing can be kept."""
    folder = _folder()
    if folder is None:
        return None
    name = hashlib.sha256(f"{_state()}\n{text}".encode()).hexdigest()[:40]
    path = os.path.join(folder, f"{name}.py")
    try:
        if not os.path.exists(path):
            _write(folder, path, text)
    except OSError:
        return None
    return path


def _write(folder: str, path: str, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.utime(temporary, (_TIME, _TIME))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@lru_cache(1)
def _state() -> str:
    """What a program's machine code depends on beside its text; the processor is numba's concern."""
    sources = [(_HERE / name).read_bytes() for name in ("functions.py", "loops.py", "running.py")]
    versions = f"{numba.__version__} {llvmlite.__version__} {np.__version__}"
    return hashlib.sha256(b"\n".join([*sources, versions.encode()])).hexdigest()


def _folder() -> str | None:
    """The user's folder, made if need be; None where it is not theirs alone to write: numba's files are pickles."""
    records = cache_folder(os.environ)
    if records is None:
        return None
    folder = os.path.join(os.path.dirname(records), "numba")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        status = os.stat(folder)
    except OSError:
        return None
    is_own = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
    return folder if is_own and os.access(folder, os.W_OK) else None
