"""The compiled library: where it is, and its functions."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

# Where the library is, for those who build it themselves: it goes before the one that the wheel has.
VARIABLE = "TANGRAD_KERNELS_LIBRARY"
FILE = {"win32": "tangrad_kernels.dll", "darwin": "libtangrad_kernels.dylib"}.get(sys.platform, "libtangrad_kernels.so")
_logger = logging.getLogger("tangrad.kernels")


@cache
def library() -> Any:
    """The library as ctypes loads it; None where there is none, or it is not for this machine."""
    path = os.environ.get(VARIABLE) or str(Path(__file__).with_name(FILE))
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        _logger.info("there are no compiled kernels: %s", error)
        return None


def kernel(name: str) -> Any:
    """A kernel as a function of three addresses: its plan, and the lists of operands and of results."""
    function = getattr(library(), f"tangrad_{name}")
    function.argtypes, function.restype = [ctypes.c_void_p] * 3, ctypes.c_int
    return function


def handler(name: str) -> Any:
    """The function by which XLA calls a kernel."""
    return getattr(library(), f"tangrad_{name}_xla")
