"""Libraries by others that kernels call where they are installed: oneMKL and oneDNN. They are found, loaded and handed
to the compiled library with the first equation that could use them.
"""

from __future__ import annotations

import ctypes
import itertools
import logging
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tangrad._kernels.library import library

# Which of them may be used, by name and separated by commas; all without it.
VARIABLE = "TANGRAD_KERNELS_LIBRARIES"
# Library -> the distributions that bring it, and its file.
FILES = {
    "mkl": (("mkl",), re.compile(r"(lib)?mkl_rt(\.\d+)?\.(so(\.\d+)*|dll|dylib)")),
    "onednn": (
        ("onednn", "onednn-cpu-gomp", "onednn-cpu-iomp", "onednn-cpu-tbb"),
        re.compile(r"(lib)?dnnl(\.\d+)?\.(so(\.\d+)*|dll|dylib)"),
    ),
}
# Library -> those parts of the kernels that call it.
RECEIVERS = {"mkl": ("mkl", "vectors"), "onednn": ("onednn",)}
# What a library has with OpenMP's threads alone.
OPTIONAL = frozenset({"omp_get_max_threads", "omp_set_num_threads"})
# Of oneMKL: what it returns where integers have 32 bits, and how its own threads are started. GNU's wait asleep.
_INTEGERS_OF_32_BITS, _SEQUENTIAL, _GNU = 0, 1, 3
# The last digits of its results do not depend on where arrays are in memory: factors took no longer that way.
_WHEREVER_ARRAYS_ARE = 2
_logger = logging.getLogger("tangrad.kernels")


@cache
def is_here(name: str) -> bool:
    """Whether a library is installed, allowed and loaded."""
    allowed = os.environ.get(VARIABLE)
    if library() is None or (allowed is not None and name not in allowed.replace(" ", "").split(",")):
        return False
    for path in _paths(name):
        try:
            return _hand_over(name, ctypes.CDLL(str(path)))
        except (OSError, AttributeError) as error:
            _logger.info("%s at %s is not used: %s", name, path, error)
    return False


def _paths(name: str) -> Iterator[Path]:
    distributions, file = FILES[name]
    for each in distributions:
        try:
            files = distribution(each).files or ()
        except PackageNotFoundError:
            continue
        yield from [Path(str(path.locate())) for path in files if file.fullmatch(path.name)][:1]


def _hand_over(name: str, vendor: ctypes.CDLL) -> bool:
    if name == "mkl" and not _is_configured(vendor):
        return False
    return all([_hand_over_to(each, vendor) for each in RECEIVERS[name]])


def _hand_over_to(receiver: str, vendor: ctypes.CDLL) -> bool:
    function = getattr(library(), f"tangrad_{receiver}_function")
    function.argtypes, function.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_char_p
    names: list[str] = []
    for number in itertools.count():
        found = function(number, None)
        if found is None:
            break
        names.append(found.decode())
    taken = [getattr(vendor, each, None) if each in OPTIONAL else getattr(vendor, each) for each in names]
    for number, address in enumerate(taken):
        function(number, None if address is None else ctypes.cast(address, ctypes.c_void_p))
    return True


def _is_configured(mkl: ctypes.CDLL) -> bool:
    """Configure oneMKL; False where the process calls it already, and with integers of another size."""
    if sys.platform == "linux":
        try:
            ctypes.CDLL("libgomp.so.1")
        except OSError:
            mkl.MKL_Set_Threading_Layer(_SEQUENTIAL)
        else:
            mkl.MKL_Set_Threading_Layer(_GNU)
    if mkl.MKL_Set_Interface_Layer(_INTEGERS_OF_32_BITS) == _INTEGERS_OF_32_BITS:
        mkl.MKL_CBWR_Set(_WHEREVER_ARRAYS_ARE)
        return True
    _logger.info("oneMKL is not used: this process calls it with integers of 64 bits")
    return False
