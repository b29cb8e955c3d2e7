"""Memory of other libraries by the DLPack protocol, read field by field: what a capsule claims is checked first.

The readers of NumPy and XLA trust a capsule, and a wrong one ends the process; NumPy's lacks bfloat16 and float8, too.
The structures are those of https://dmlc.github.io/dlpack/latest/c_api.html. Loaded when it is first needed.
"""

from __future__ import annotations

import ctypes
import operator
import sys
from typing import Any

import numpy as np

from tangrad._core.dtypes import lattice, objects

VERSION = (1, 0)  # the newest whose structures are known here
HOST_DEVICES = frozenset({1, 3, 11, 13})  # the host's memory, and what CUDA and ROCm share with it
MOST_BYTES = 2**63 - 1
MOST_DIMENSIONS = 64

# (code, bits) -> the name of the dtype.
DTYPES = {
    **{(0, bits): f"int{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    (4, 16): "bfloat16",
    (5, 64): "complex64",
    (5, 128): "complex128",
    (6, 8): "bool",
    **{(code, 8): name for code, name in enumerate(lattice.FLOATS8, 7)},
}
CODES = {name: code for (code, _), name in DTYPES.items()}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """What capsules of the first version hold."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _VersionedManaged(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


# The name of a capsule -> what it holds, and its name once it has been consumed. The names must live for ever.
_KINDS: dict[bytes, tuple[Any, bytes]] = {
    b"dltensor": (_Managed, b"used_dltensor"),
    b"dltensor_versioned": (_VersionedManaged, b"used_dltensor_versioned"),
}


def _function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_capsule_name = _function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_capsule_pointer = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename_capsule = _function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Memory:
    """What owns the memory of a capsule that was taken, as NumPy sees it; gives it back at its end."""

    __slots__ = ("__array_interface__", "_address", "_deleter")

    def __init__(self, interface: dict[str, Any], address: int, deleter: int | None) -> None:
        self.__array_interface__ = interface
        self._address = address
        self._deleter = deleter

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if self._deleter and not is_finalizing():
            _Deleter(self._deleter)(self._address)


def device_kind(external: Any) -> int:
    """DLPack's number of the kind of device that an object's memory is on. Raises BufferError where it gives none."""
    device = external.__dlpack_device__()
    try:
        kind, _ = device
        return operator.index(kind)
    except (TypeError, ValueError):
        raise BufferError(
            f"__dlpack_device__ of {type(external).__name__} returned {device!r}; expected a pair of integers"
        ) from None


def from_dlpack(external: Any) -> np.ndarray:
    """The memory of an object with `__dlpack__` on the host, as a NumPy array that cannot be written to.

    Raises BufferError for memory elsewhere, for dtypes that are none here, and for a capsule that was taken before or
    describes no array.
    """
    try:
        capsule = external.__dlpack__(max_version=VERSION)
    except TypeError:  # written before versions were
        capsule = external.__dlpack__()
    managed, taken = _opened(capsule, type(external).__name__)
    interface, dtype = _described(managed.tensor)
    memory = _Memory(interface, ctypes.addressof(managed), None)
    _rename_capsule(capsule, taken)
    memory._deleter = managed.deleter
    if not interface["data"][0]:  # NumPy takes no address for nothing
        return np.empty(interface["shape"], dtype)
    contents: np.ndarray = np.asarray(memory).view(dtype)
    return contents if contents.flags.aligned else contents.copy()


def checked_capsule(external: Any) -> object:
    """A capsule of the first version for a reader that trusts it, of memory on any device. Raises as `from_dlpack`."""
    capsule = external.__dlpack__()
    managed, _ = _opened(capsule, type(external).__name__)
    if not managed.deleter:
        raise BufferError("the DLPack capsule has no deleter, which XLA calls in the end")
    _sizes(managed.tensor, _dtype(managed.tensor).itemsize)
    return capsule


def _opened(capsule: object, owner: str) -> tuple[Any, bytes]:
    """What a capsule holds, and the name that it has once it is taken."""
    if type(capsule).__name__ != "PyCapsule":
        raise BufferError(f"__dlpack__ of {owner} returned {capsule!r}, which is no DLPack capsule")
    name = _capsule_name(capsule)
    if name not in _KINDS:
        raise BufferError(f"__dlpack__ of {owner} returned a capsule {_named(name)}; expected a new 'dltensor'")
    holds, taken = _KINDS[name]
    managed = holds.from_address(_capsule_pointer(capsule, name))
    if holds is _VersionedManaged and managed.major != VERSION[0]:
        raise BufferError(f"the DLPack capsule is of version {managed.major}.{managed.minor}; 1 is what is known here")
    return managed, taken


def _named(name: bytes | None) -> str:
    if name is None:
        return "without a name"
    used = " that was taken before" if name in [taken for _, taken in _KINDS.values()] else ""
    return f"named {name.decode(errors='replace')!r}{used}"


def _described(tensor: _Tensor) -> tuple[dict[str, Any], Any]:
    """A tensor's `__array_interface__`, and its dtype. Raises BufferError where it cannot be."""
    if tensor.device_type not in HOST_DEVICES:
        raise BufferError(f"the memory is on DLPack device type {tensor.device_type}, not the host's; copy it there")
    dtype = _dtype(tensor)
    shape, strides = _sizes(tensor, dtype.itemsize)
    empty = 0 in shape
    if not tensor.data and not empty:
        raise BufferError(f"the DLPack capsule of shape {shape} has no address of data")
    interface = {
        "shape": shape,
        "typestr": dtype.str if dtype.isbuiltin == 1 else f"<u{dtype.itemsize}",
        "data": (0 if empty else tensor.data + tensor.byte_offset, True),
        "strides": None if empty else strides,
        "version": 3,
    }
    return interface, dtype


def _dtype(tensor: _Tensor) -> Any:
    name = DTYPES.get((tensor.code, tensor.bits))
    if name is None or tensor.lanes != 1:
        raise BufferError(
            f"the DLPack dtype of code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes is none of those known "
            "here; convert it first"
        )
    try:
        return objects.as_dtype(name)
    except (TypeError, ImportError) as error:
        raise BufferError(f"the DLPack capsule's dtype {name} is not there: {error}") from None


def _sizes(tensor: _Tensor, itemsize: int) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The shape, and the strides in bytes."""
    ndim = tensor.ndim
    if not 0 <= ndim <= MOST_DIMENSIONS:
        raise BufferError(f"the DLPack capsule has {ndim} dimensions; expected 0 to {MOST_DIMENSIONS}")
    if ndim and not tensor.shape:
        raise BufferError(f"the DLPack capsule has {ndim} dimensions and no shape")
    shape = _numbers(tensor.shape, ndim)
    bytes_in_all = itemsize
    for size in shape:
        bytes_in_all *= size
    if min(shape, default=0) < 0 or bytes_in_all > MOST_BYTES:
        raise BufferError(f"the DLPack capsule's shape {shape} is none that an array can have")
    strides = tuple([stride * itemsize for stride in _numbers(tensor.strides, ndim)]) if tensor.strides else None
    _check_reach(tensor, shape, strides, bytes_in_all)
    return shape, strides


def _numbers(address: int | None, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * count).from_address(address)) if count and address else ()


def _check_reach(tensor: _Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None, bytes_in_all: int) -> None:
    """No element is where no memory can be."""
    first = (tensor.data or 0) + tensor.byte_offset
    steps = [] if strides is None else [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    lowest = first + sum([step for step in steps if step < 0])
    highest = first + (bytes_in_all if strides is None else sum([step for step in steps if step > 0]))
    if bytes_in_all and (lowest < 0 or highest > MOST_BYTES):
        raise BufferError(f"the DLPack capsule's shape {shape} and strides {strides} reach beyond all memory")


def to_dlpack(contents: np.ndarray, **options: Any) -> object:
    """A capsule over the memory of a NumPy array, of those dtypes too that NumPy does not export.

    Raises BufferError for a dtype that DLPack has no word for.
    """
    dtype = contents.dtype
    if dtype.isbuiltin == 1:
        return contents.__dlpack__(**options)
    code = CODES.get(objects.dtype_name(dtype))
    if code is None:
        raise BufferError(f"arrays of dtype {objects.dtype_name(dtype)} cannot be exported by DLPack; convert it first")
    capsule = contents.view(f"u{dtype.itemsize}").__dlpack__(**options)
    name = _capsule_name(capsule)
    _KINDS[name][0].from_address(_capsule_pointer(capsule, name)).tensor.code = code
    return capsule
