"""Handlers written in Python, as ctypes makes function pointers of it: for tests, and where there is no compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_void_p
from typing import Any

import numpy as np

from tangrad._ffi import frames

_HANDLER = ctypes.CFUNCTYPE(c_void_p, c_void_p)


def handler(work: Callable[[Any], None]) -> Callable[..., Any]:
    """`work(frame)` as a function pointer that answers as a compiled handler does: with its version, if asked."""

    @_HANDLER
    def call(address: int) -> None:
        frame = frames.CallFrame.from_address(address)
        if frame.extensions:
            metadata = frames.MetadataExtension.from_address(frame.extensions).metadata.contents
            metadata.version.major, metadata.version.minor = frames.MAJOR, 1
        else:
            work(frame)

    return call


def buffer(values: Any, position: int, element: Any) -> np.ndarray:
    """An operand or result of a frame as a NumPy array of that ctypes type, over the same memory."""
    found = frames.Buffer.from_address(values.args[position])
    shape = tuple(found.dims[: found.rank])
    count = int(np.prod(shape))
    return np.frombuffer((element * count).from_address(found.data or ctypes.addressof(element())), element).reshape(
        shape
    )
