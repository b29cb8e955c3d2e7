"""Arrays out of memory, text and other libraries: `tangrad.numpy.frombuffer`, `fromstring`, `from_dlpack`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._numpy.conversion import array, asarray
from tangrad._numpy.operands import convert
from tangrad.core import Array, dtypes, get_backend
from tangrad.typing import DTypeLike

# Of what transfer guards ask: bytes are on the host.
COPIES_FROM_HOST = {"frombuffer": True}


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """Copy an array of one dimension out of a buffer of bytes.

    Args:
        buffer: an object with the buffer interface, such as `bytes`.
        dtype: how its bytes are read.
        count: how many elements; -1: all.
        offset: at which byte to start.

    Returns:
        An array of one dimension; 64-bit dtypes become 32-bit unless `enable_x64` is set.

    Raises:
        ValueError: the buffer is too short, or not whole elements long.

    >>> import tangrad
    >>> tangrad.numpy.frombuffer(b"abc", dtype="uint8")
    Array([97, 98, 99], dtype=uint8)
    """
    return array(np.frombuffer(buffer, dtype=np.dtype(dtype), count=count, offset=offset))


def fromfile(*args: Any, **kwargs: Any) -> Array:
    """Not provided: read the file with NumPy, then convert.

    Raises:
        NotImplementedError: always.

    >>> import tangrad
    >>> tangrad.numpy.fromfile("numbers.bin")
    Traceback (most recent call last):
    NotImplementedError: fromfile is not provided: tangrad.numpy.asarray(numpy.fromfile(...)) reads a file
    """
    raise NotImplementedError("fromfile is not provided: tangrad.numpy.asarray(numpy.fromfile(...)) reads a file")


def fromiter(*args: Any, **kwargs: Any) -> Array:
    """Not provided: gather the items in a list, then convert.

    Raises:
        NotImplementedError: always.

    >>> import tangrad
    >>> tangrad.numpy.fromiter(iter([1, 2]), int)
    Traceback (most recent call last):
    NotImplementedError: fromiter is not provided: tangrad.numpy.asarray(list(...)) takes the items of an iterable
    """
    raise NotImplementedError(
        "fromiter is not provided: tangrad.numpy.asarray(list(...)) takes the items of an iterable"
    )


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Read numbers from text.

    Args:
        string: the text.
        dtype: the dtype.
        count: how many numbers; -1: all.
        sep: what stands between them.

    Returns:
        An array of one dimension.

    Raises:
        ValueError: the text holds something else.

    >>> import tangrad
    >>> tangrad.numpy.fromstring("1 2 3", dtype=int, sep=" ")
    Array([1, 2, 3], dtype=int32)
    """
    return asarray(np.fromstring(string, dtype=np.dtype(dtype), count=count, sep=sep))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Take over an array of another library by the DLPack protocol.

    Args:
        x: an object with `__dlpack__`.
        device: the device to put it on; None: where it is.
        copy: True: copy; None: only if needed; False: raise where a copy is needed.

    Returns:
        An array of its shape and dtype; 64-bit dtypes become 32-bit unless `enable_x64` is set.

    Raises:
        TypeError: `x` has no `__dlpack__`.
        BufferError: `copy` is False and the memory cannot be shared.

    >>> import numpy, tangrad
    >>> tangrad.numpy.from_dlpack(numpy.arange(3.0, dtype="float32"))
    Array([0., 1., 2.], dtype=float32)
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack takes an object with __dlpack__, got {x!r} of type {type(x).__name__}")
    made = get_backend().from_dlpack(x, device, copy)
    dtype = dtypes.canonicalize_dtype(made.dtype)
    if copy is False and dtype != made.dtype:
        raise BufferError(f"copy=False, but {made.dtype} becomes {dtype} here, unless enable_x64 is set")
    return convert(made, dtype)
