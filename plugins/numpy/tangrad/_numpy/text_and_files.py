"""Arrays as bytes, as text and in files: `tangrad.numpy.frombuffer`, `packbits`, `array_repr`, `save`, …"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import array, asarray
from tangrad._numpy.joining import concatenate
from tangrad._numpy.logic import truth
from tangrad._numpy.operands import array_operand, broadcast_to_shape, canonical_axis, convert, index_argument, literal
from tangrad._numpy.reductions import sum as total
from tangrad._numpy.shapes import expand_dims, ravel, reshaped
from tangrad.core import Array, dtypes, get_backend
from tangrad.core.arguments import is_symbolic
from tangrad.typing import ArrayLike, DeviceLike, DTypeLike, Value

if TYPE_CHECKING:
    pass

# ----------------------------------------------------------------------------------------------------------------------
# Arrays out of memory, text and other libraries: `tangrad.numpy.frombuffer`, `fromstring`, `from_dlpack`.


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


def fromfile(*args: object, **kwargs: object) -> Array:
    """Not provided: read the file with NumPy, then convert.

    Raises:
        NotImplementedError: always.

    >>> import tangrad
    >>> tangrad.numpy.fromfile("numbers.bin")
    Traceback (most recent call last):
    NotImplementedError: fromfile is not provided: tangrad.numpy.asarray(numpy.fromfile(...)) reads a file
    """
    raise NotImplementedError("fromfile is not provided: tangrad.numpy.asarray(numpy.fromfile(...)) reads a file")


def fromiter(*args: object, **kwargs: object) -> Array:
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


def from_dlpack(x: object, /, *, device: DeviceLike = None, copy: bool | None = None) -> Array:
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


# --- Arrays as text and in files: `tangrad.numpy.array_repr`, `set_printoptions`, `save`, `load`, … ---


def array_repr(
    arr: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """Write an array as NumPy's `array_repr` does.

    Args:
        arr: an array.
        max_line_width, precision, suppress_small: as of NumPy.

    Returns:
        A string.

    >>> import tangrad
    >>> tangrad.numpy.array_repr(tangrad.numpy.arange(2))
    'array([0, 1], dtype=int32)'
    """
    return str(np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small))


def array_str(
    a: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """Write the contents of an array as NumPy's `array_str` does.

    Args:
        a: an array.
        max_line_width, precision, suppress_small: as of NumPy.

    Returns:
        A string.

    >>> import tangrad
    >>> tangrad.numpy.array_str(tangrad.numpy.arange(2))
    '[0 1]'
    """
    return str(np.array_str(np.asarray(a), max_line_width, precision, suppress_small))


def get_printoptions() -> dict[str, object]:
    """Return how arrays are printed: NumPy's options, which these arrays follow.

    Returns:
        A dict.

    >>> import tangrad
    >>> tangrad.numpy.get_printoptions()["precision"]
    8
    """
    return dict(np.get_printoptions())


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Set how arrays are printed: NumPy's options, which these arrays follow.

    Args:
        args, kwargs: as of NumPy.

    >>> import tangrad
    >>> tangrad.numpy.set_printoptions(precision=8)
    """
    np.set_printoptions(*args, **kwargs)


def printoptions(*args: Any, **kwargs: Any) -> AbstractContextManager[Any]:
    """Set how arrays are printed within a `with` block.

    Args:
        args, kwargs: as of NumPy.

    Returns:
        A context manager.

    >>> import tangrad
    >>> with tangrad.numpy.printoptions(precision=2):
    ...     print(tangrad.numpy.array([1.23456]))
    [1.23]
    """
    return np.printoptions(*args, **kwargs)


def save(file: Any, arr: ArrayLike, allow_pickle: bool = False) -> None:
    """Write an array to a file in NumPy's format.

    Args:
        file: a path or a binary file.
        arr: an array.
        allow_pickle: passed on; arrays of numbers need none.

    >>> import io, tangrad
    >>> file = io.BytesIO()
    >>> tangrad.numpy.save(file, tangrad.numpy.arange(2))
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: ArrayLike, allow_pickle: bool = False, **kwds: object) -> None:
    """Write several arrays to one file in NumPy's format.

    Args:
        file: a path or a binary file.
        args, kwds: arrays, the latter under their names.
        allow_pickle: passed on; arrays of numbers need none.

    >>> import io, tangrad
    >>> file = io.BytesIO()
    >>> tangrad.numpy.savez(file, x=tangrad.numpy.arange(2))
    """
    named = {name: np.asarray(value) for name, value in kwds.items()}
    np.savez(file, *[np.asarray(value) for value in args], allow_pickle=allow_pickle, **named)


def load(file: Any, *args: Any, **kwargs: Any) -> Array | Mapping[str, np.ndarray]:
    """Read what `save` and `savez` wrote. Nothing in a file is ever executed.

    Args:
        file: a path or a binary file.
        args, kwargs: as of NumPy; `allow_pickle` must be False.

    Returns:
        An array; of what `savez` wrote NumPy's mapping from names to NumPy arrays.

    Raises:
        ValueError: the file holds pickled objects, or `allow_pickle` is set.

    >>> import io, tangrad
    >>> file = io.BytesIO()
    >>> tangrad.numpy.save(file, tangrad.numpy.arange(2))
    >>> _ = file.seek(0)
    >>> tangrad.numpy.load(file)
    Array([0, 1], dtype=int32)
    """
    if kwargs.get("allow_pickle"):
        raise ValueError("load: pickled objects are not read, since reading them can run any code; allow_pickle=False")
    contents = np.load(file, *args, **kwargs)
    if not isinstance(contents, np.ndarray):
        return contents
    if contents.dtype.kind == "V" and contents.dtype.itemsize == 2:
        contents = contents.view(dtypes.as_dtype("bfloat16"))  # NumPy writes its bytes, and forgets its name
    return asarray(contents)


# --- Booleans packed into bytes: `tangrad.numpy.packbits`, `unpackbits` ---


_BYTE = dtypes.as_dtype("uint8")


def _places(bitorder: str, name: str) -> Value:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be 'big' or 'little', got {bitorder!r}")
    places = np.arange(8, dtype=np.uint8)
    return asarray(places[::-1] if bitorder == "big" else places)


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack eight truth values into a byte each.

    Args:
        a: an array of integers or booleans; what is not zero is a bit that is set.
        axis: along which axis; None: of the array as one dimension.
        bitorder: whether the first is the highest ("big") or the lowest bit of a byte.

    Returns:
        An array of uint8; missing bits are 0.

    Raises:
        TypeError: `a` is not of integers or booleans.
        ValueError: the axis is out of bounds, or `bitorder` is unknown.

    >>> import tangrad
    >>> tangrad.numpy.packbits(tangrad.numpy.array([1, 0, 1]))
    Array([160], dtype=uint8)
    """
    x = array_operand("packbits", a)
    if x.dtype.kind not in "biu":
        raise TypeError(f"packbits requires integers or booleans, got dtype {dtypes.dtype_name(x.dtype)}")
    places = _places(bitorder, "packbits")
    if axis is None:
        x, axis = ravel(x), 0
    dimension = canonical_axis("packbits", axis, x.ndim)
    bits = moveaxis(truth(x).astype(_BYTE), dimension, -1)
    missing = -bits.shape[-1] % 8
    if is_symbolic(missing) or missing:
        padding = broadcast_to_shape(literal(0, _BYTE), (*bits.shape[:-1], missing))
        bits = concatenate([bits, padding], axis=-1)
    bits = reshaped(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    packed = total(bits << places, axis=-1, dtype=_BYTE)
    return moveaxis(packed, -1, dimension)


def unpackbits(a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """Unpack the bits of bytes.

    Args:
        a: an array of uint8.
        axis: along which axis; None: of the array as one dimension.
        count: how many bits to return; negative: how many to leave out at the end; None: all.
        bitorder: whether the highest ("big") or the lowest bit of a byte comes first.

    Returns:
        An array of uint8, 0 and 1.

    Raises:
        TypeError: `a` is not of uint8.
        ValueError: the axis is out of bounds, or `bitorder` is unknown.

    >>> import tangrad
    >>> tangrad.numpy.unpackbits(tangrad.numpy.array([160], dtype="uint8"), count=3)
    Array([1, 0, 1], dtype=uint8)
    """
    x = array_operand("unpackbits", a)
    if x.dtype != _BYTE:
        raise TypeError(f"unpackbits requires uint8, got dtype {dtypes.dtype_name(x.dtype)}")
    places = _places(bitorder, "unpackbits")
    if axis is None:
        x, axis = ravel(x), 0
    dimension = canonical_axis("unpackbits", axis, x.ndim)
    moved = moveaxis(x, dimension, -1)
    bits = (expand_dims(moved, moved.ndim) >> places) & 1
    bits = reshaped(bits, (*moved.shape[:-1], moved.shape[-1] * 8))
    if count is not None:
        wanted = index_argument("unpackbits", count, "count")
        more = wanted - bits.shape[-1]
        if more > 0:
            bits = concatenate([bits, broadcast_to_shape(literal(0, _BYTE), (*bits.shape[:-1], more))], axis=-1)
        bits = bits[..., :wanted]
    return moveaxis(bits, -1, dimension)
