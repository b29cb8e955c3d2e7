"""The methods and properties of arrays that are not the public function of the same name.

The entries of the group `tangrad.array` name all methods, properties and operators; most of them name the public
function itself, which then gets the array as its first argument.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as public
from tangrad._numpy.indexing import getitem, is_eager
from tangrad._numpy.operands import user_dtype
from tangrad.core import EVAL_TRACE, Array, Tracer, dtypes, thread, transfers
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import bitcast_convert_type_p, complex_p
from tangrad.typing import ArrayLike, DeviceLike, DType, DTypeLike, ShardingLike

if TYPE_CHECKING:
    from tangrad.typing import Value


_CHUNK = 64
_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def _sizes(given: tuple[object, ...]) -> Any:
    """A shape given as one sequence, or as its items."""
    if len(given) == 1 and not isinstance(given[0], int):
        return given[0]
    return given


def reshape(
    self: Array, *shape: object, order: str = "C", copy: bool | None = None, out_sharding: ShardingLike = None
) -> Array:
    """Give the elements another shape: `x.reshape(2, -1)` or `x.reshape((2, -1))`."""
    if not shape:
        raise TypeError("reshape() takes a shape")
    return public.reshape(self, _sizes(shape), order, copy=copy, out_sharding=out_sharding)


def transpose(self: Array, *axes: Any) -> Array:
    """Reorder the dimensions: `x.transpose()`, `x.transpose(1, 0)` or `x.transpose((1, 0))`."""
    order = None if not axes or (len(axes) == 1 and axes[0] is None) else _sizes(axes)
    return public.transpose(self, order)


def flatten(self: Array, order: str = "C", *, out_sharding: ShardingLike = None) -> Array:
    """Give the elements one dimension."""
    return public.ravel(self, order, out_sharding=out_sharding)


def clip(self: Array, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Move elements that are beyond bounds to the bounds."""
    return public.clip(self, min, max)


def compress(self: Array, condition: ArrayLike, axis: int | None = None, **options: Any) -> Array:
    """Take the elements, or the slices along an axis, where a condition holds."""
    return public.compress(condition, self, axis, **options)


def view(self: Array, dtype: DTypeLike | None = None, type: None = None) -> Array:
    """Read the same bits as another dtype; the last dimension changes with its width."""
    if type is not None:
        raise NotImplementedError("view: the argument type is not supported: there is one class of arrays")
    if dtype is None:
        return self
    wanted = user_dtype("view", dtype)
    own = self.dtype
    same_width = dtypes.bit_width(own) == dtypes.bit_width(wanted)
    if not same_width and not self.ndim:
        raise ValueError(f"view: an array without dimensions cannot be read as a dtype of another width, {wanted}")
    if own != wanted and "c" in (own.kind, wanted.kind):
        read = _read_complex(public.atleast_1d(self), wanted)
        return read if self.ndim else public.reshape(read, ())
    if same_width:
        return _read_bits(self, wanted)
    *rest, last = self.shape
    narrower = dtypes.bit_width(own) > dtypes.bit_width(wanted)
    if narrower:
        parts = _read_bits(self, wanted)
        return public.reshape(parts, (*rest, last * (dtypes.bit_width(own) // dtypes.bit_width(wanted))))
    count = dtypes.bit_width(wanted) // dtypes.bit_width(own)
    if last % count:
        raise ValueError(f"view: the last dimension of shape {self.shape} is not a multiple of {count}, for {wanted}")
    return _read_bits(public.reshape(self, (*rest, last // count, count)), wanted)


def _read_complex(x: Array, dtype: np.dtype) -> Array:
    """From or to a complex dtype, by way of the real and imaginary parts beside each other."""
    if x.dtype.kind == "c":
        parts = public.stack([public.real(x), public.imag(x)], axis=-1)
        return view(public.reshape(parts, (*x.shape[:-1], 2 * x.shape[-1])), dtype)
    parts = view(x, dtypes.to_floating_dtype(dtype))
    if parts.shape[-1] % 2:
        raise ValueError(f"view: the last dimension of shape {x.shape} does not make up whole elements of {dtype}")
    return complex_p.bind(parts[..., ::2], parts[..., 1::2])


def _read_bits(x: Array, dtype: DType) -> Array:
    """Booleans are read as bytes: compilers do not say how they store them."""
    if x.dtype == dtype:
        return x
    if x.dtype == np.bool_:
        x = public.astype(x, "uint8")
    if dtype == np.bool_:
        return public.not_equal(_read_bits(x, dtypes.as_dtype("uint8")), 0)
    return bitcast_convert_type_p.bind(x, new_dtype=dtype)


def astype(self: Array, dtype: DTypeLike | None, copy: bool = False, device: DeviceLike = None) -> Array:
    """Convert the elements to another dtype; `numpy.astype` with the array before the dot.

    Args:
        dtype: the dtype; None: the default float.
        copy: whether to copy where the dtype is the same.
        device: the device to put the result on.
    """
    return public.astype(self, dtype, copy=copy, device=device)


def byteswap(self: Array) -> Array:
    """Reverse the order of the bytes of each element, of each part of a complex one."""
    own = self.dtype
    if isinstance(own, dtypes.ExtendedDType) or dtypes.bit_width(own) < 8:
        raise TypeError(f"byteswap: elements of dtype {own} are not made of bytes")
    if own.kind == "c":
        return complex_p.bind(byteswap(public.real(self)), byteswap(public.imag(self)))
    if own.itemsize == 1:
        return public.copy(self)
    return _read_bits(public.flip(_read_bits(self, dtypes.as_dtype("uint8")), -1), own)


def to_device(self: Array, device: DeviceLike, *, stream: None = None) -> Array:
    """Put the array on a device."""
    if stream is not None:
        raise NotImplementedError("to_device: the argument stream is not supported")
    transfers.copied(transfers.DEVICE_TO_DEVICE, self.aval, device, explicit=True)
    return public.asarray(self, device=device)


def array_namespace(self: object, /, *, api_version: str | None = None) -> ModuleType:
    """The namespace of the Array API standard: `tangrad.numpy`."""
    if api_version is not None and api_version not in _API_VERSIONS:
        raise ValueError(f"the Array API is provided in versions up to {_API_VERSIONS[-1]}, not {api_version!r}")
    return public


def tobytes(self: Any, order: str = "C") -> bytes:
    """The contents as bytes."""
    return bytes(self.to_numpy().tobytes(order))


# --- properties ---


of_arrays: type[property] = property  # of this module it is none: the kernel gives it to arrays


@of_arrays
def transposed(self: Array) -> Array:
    """`x.T`: the dimensions in reverse order."""
    return public.transpose(self)


@of_arrays
def matrix_transposed(self: Array) -> Array:
    """`x.mT`: the last two dimensions exchanged."""
    return public.matrix_transpose(self)


@of_arrays
def real(self: Array) -> Array:
    """The real part."""
    return public.real(self)


@of_arrays
def imag(self: Array) -> Array:
    """The imaginary part."""
    return public.imag(self)


@of_arrays
def flat(self: Array) -> Array:
    """`x.flat`: the elements in one dimension, to iterate over and to index."""
    return public.ravel(self)


# --- operators ---


def iterate(x: Array) -> Iterator[Array]:
    """`iter(x)`: the slices along the first dimension, made as they are asked for.

    No program is as long as the dimension: XLA compiles a hundredth of a second for each result.
    """
    size = x.aval.shape[0]
    if thread.trace is EVAL_TRACE and type(size) is int and size and not isinstance(x, Tracer):  # mostly so
        rows = type(x).backend.rows(x)
        if rows is not None:
            return rows
    if is_symbolic(size):
        raise TypeError(
            f"iteration over a dimension of symbolic size {size}: only a known number of slices can be made"
        )
    if not size:
        return iter(())
    if thread.trace.stages or not is_eager(x):
        return _staged_rows(x, size)
    rows = None if isinstance(x, Tracer) else type(x).backend.rows(x)
    return (getitem(x, place) for place in range(size)) if rows is None else rows


def _staged_rows(x: Array, size: int) -> Iterator[Array]:
    """In a program that is recorded: some slices at a time, so that who stops early leaves no long program."""
    for start in range(0, size, _CHUNK):
        yield from public.unstack(x[start : start + _CHUNK])


def contains(x: ArrayLike, item: ArrayLike) -> Array:
    """`item in x`: whether any element is equal."""
    return public.any(public.equal(x, item))


def round_operator(x: ArrayLike, digits: int | None = None) -> Array:
    """`round(x)` is an integer, as in Python; `round(x, digits)` keeps the dtype."""
    rounded = public.round(x, 0 if digits is None else digits)
    return public.astype(rounded, int) if digits is None else rounded


# ----------------------------------------------------------------------------------------------------------------------
# `x.ctypes`: the address of an array's contents, for C functions and for libraries that ask for it (safetensors).


# Contents in order, of arrays whose own memory is not; by the array's id, and for as long as it lives.
_in_order: dict[int, np.ndarray] = {}


@of_arrays
def ctypes(self: Array) -> object:
    """The address of the contents, row after row, as NumPy's arrays have it: `x.ctypes.data`.

    It must not be written to, and holds as long as the array. Where the memory is on another device, on several, or in
    another order, it is that of a copy. Raises TypeError for typed keys and traced arrays.
    """
    contents = np.asarray(self.__array__(), order="C")
    return (_held(self, contents) if contents.flags.owndata else contents).ctypes


def _held(owner: Value, contents: np.ndarray) -> np.ndarray:
    """The copy that was made first: its address was handed out."""
    key = id(owner)
    found = _in_order.setdefault(key, contents)
    if found is contents:
        weakref.finalize(owner, _in_order.pop, key, None).atexit = False
    return found
