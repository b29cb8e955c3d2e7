"""Python's buffer protocol for arrays: `memoryview(x)`, `hashlib.sha256(x)`, `file.write(x)`, NumPy's `asarray`.

From Python 3.12 on a class hands out memory by a method, `__buffer__`. Before, only C could: in CPython 3.11, whose
layout of classes changes no more, `serve` writes a function of ours into the class's slot for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tangrad._core.dtypes import objects

# What consumers ask for (PEP 3118). Without FORMAT the memory is bytes, without STRIDES it is in order.
FORMAT, STRIDES, IN_ORDER = 0x4, 0x10 | 0x8, 0x20
ALL_BUT_WRITING = 0x100 | FORMAT | STRIDES  # as memoryview, bytes and NumPy ask

# Where Python checks itself (a debug build), a consumer that gets neither memory nor an exception ends the process.
_CHECKED = hasattr(sys, "gettotalrefcount") or hasattr(sys, "getobjects")
_SERVED = sys.version_info < (3, 12) and sys.implementation.name == "cpython" and not _CHECKED


def check_format(dtype: objects.DType, flags: int) -> None:
    """Raise BufferError where a consumer asks for a format and a dtype of NumPy's extensions (bfloat16) has none."""
    if flags & FORMAT and isinstance(dtype, np.dtype) and dtype.isbuiltin != 1:
        raise BufferError(
            f"dtype {objects.dtype_name(dtype)} has no format in Python's buffer protocol: take the bytes, "
            "x.tobytes(), or x.view() of an integer dtype"
        )


def exported(contents: np.ndarray, flags: int) -> np.ndarray:
    """The memory of a NumPy array for a consumer, read-only: a copy where it must be in order and is not."""
    if contents.dtype.isbuiltin != 1:
        contents = contents.view(f"u{contents.itemsize}")
    if (flags & IN_ORDER or flags & STRIDES != STRIDES) and not contents.flags.c_contiguous:
        contents = np.ascontiguousarray(contents)
    if contents.flags.writeable:
        contents = contents.view()
        contents.flags.writeable = False
    return contents


def _filler(get_buffer: Any) -> Callable[..., int]:
    """What consumers call; `get_buffer` has the view filled. What it needs is its own: modules may be gone by then."""
    own_errors = (AttributeError, BufferError, MemoryError, RuntimeError, TypeError, ValueError)
    every, ignoring = BaseException, contextlib.suppress
    in_all, failed, interrupt = ALL_BUT_WRITING, -1, _interrupt

    def fill(array: Any, view: int, flags: int) -> int:
        # No exception can pass: consumers raise SystemError or their own, or take another way (NumPy).
        try:
            owner = array._owner() if flags == in_all else array._exported(flags)
            return get_buffer(owner, view, flags)  # type: ignore[no-any-return]
        except own_errors:
            return failed
        except every as error:  # of a signal's handler: it comes at the next chance
            with ignoring(every):
                interrupt(error)
            return failed

    return fill


def _interrupt(error: BaseException) -> None:
    """Have an exception of this kind raised where this thread goes on."""
    thread = ctypes.c_ulong(threading.get_ident())
    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(type(error)))


def serve(kind: type) -> None:
    """Have the arrays of a class hand out what their method `_exported` returns, where `__buffer__` is not asked."""
    if _SERVED:
        slots = ctypes.c_void_p.from_address(id(kind) + _AS_BUFFER).value or 0
        if 0 < slots - id(kind) < sys.getsizeof(kind):  # in the class itself, as in all that Python code makes
            ctypes.c_void_p.from_address(slots).value = ctypes.cast(_filled, ctypes.c_void_p).value


if _SERVED:
    _AS_BUFFER = 20 * ctypes.sizeof(ctypes.c_void_p)  # where a class has the address of its slots for buffers
    _Fill = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
    _filled = _Fill(_filler(_Fill(("PyObject_GetBuffer", ctypes.pythonapi))))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_filled))  # classes may outlive this module
