"""Arrays of the NumPy backend: an aval and an ndarray that is never written to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import core as kernel
from tangrad.core import Array, ShapedArray, dtypes
from tangrad.core.backends import method_boundaries

if TYPE_CHECKING:
    from tangrad.core import Device, Sharding


new_array = object.__new__
# Counting references finds every view of a buffer, where the interpreter counts them exactly.
_COUNTS_REFERENCES = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
# Before 2.1 NumPy knew the first version of DLPack alone: consumers of later ones take what it hands out.
_DLPACK_OPTIONS = tuple([int(part) for part in np.__version__.split(".")[:2]]) >= (2, 1)


class NumpyArray(Array):
    """An array on the first CPU device.

    Literals have the attribute `ndarray` too, so that dispatch need not distinguish them. Whatever cannot be computed
    with at once lacks it, and takes the slow path: arrays that were deleted, tracers, arrays of other backends and
    other devices.

    Attributes:
        ndarray: the contents. It may share memory with other arrays, and is never written to.
    """

    __slots__ = ("_stated", "ndarray")
    _stated: Sharding
    ndarray: np.ndarray
    backend: Any = None  # set by backend.py, which makes the one backend object

    def __getattr__(self, name: str) -> Any:
        if name == "ndarray":
            raise AttributeError(deleted_message(self))
        return self._member(name)

    @property
    def stated_sharding(self) -> Any:
        """The `Sharding` over one device by which it was put there, if any."""
        try:
            return _read_stated(self)  # past `__getattr__`, which asks for more than slots
        except AttributeError:
            return None

    def stating(self, sharding: Sharding) -> NumpyArray:
        """The same array, which has a sharding over its one device."""
        made = placed(self.aval, self.buffer(), sharding.device_order[0], True)
        made._stated = sharding
        return made

    def buffer(self) -> np.ndarray:
        """The contents, on whichever device they are. Raises RuntimeError for a deleted array."""
        try:
            return self.ndarray
        except AttributeError:
            raise RuntimeError(deleted_message(self)) from None

    def to_numpy(self) -> np.ndarray:
        """The contents as a NumPy array that refuses to be written to."""
        return _read_only(self.buffer()).view()

    def _looked_at(self) -> np.ndarray:
        return self._numbers() if isinstance(self.aval.dtype, dtypes.ExtendedDType) else self.buffer()

    def _owner(self) -> np.ndarray:
        """The contents, at once: NumPy's `asarray` asks for them."""
        try:
            contents = self.ndarray
        except AttributeError:  # deleted, or of another device
            contents = self.buffer()
        if contents.dtype is not self.aval.dtype:  # typed keys
            return Array._owner(self)
        if contents.flags.writeable or contents.base is not None:
            _read_only(contents)
        return contents

    # --- where it is ---

    @property
    def device(self) -> Device:
        """Its device."""
        return self.backend.devices()[0]

    def devices(self) -> set[Device]:
        """The set of its devices: one."""
        return {self.device}

    @property
    def committed(self) -> bool:
        """Whether the user chose its device. With a single one there is no need to."""
        return False

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process reaches every device of the array: yes."""
        return True

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device of the array holds all of it: yes."""
        return True

    def block_until_ready(self) -> NumpyArray:
        """Return it: it is computed."""
        self.buffer()
        return self

    def is_ready(self) -> bool:
        """Whether it is computed: yes."""
        self.buffer()
        return True

    def copy_to_host_async(self) -> None:
        """It is on the host."""
        self.buffer()

    def on_device_size_in_bytes(self) -> int:
        """The bytes of its elements."""
        return int(self.buffer().nbytes)

    def unsafe_buffer_pointer(self) -> int:
        """The address of its first element."""
        return int(self.buffer().ctypes.data)

    # --- deletion ---

    def delete(self) -> None:
        """Give up the contents. Using the array afterwards is an error."""
        if not self.is_deleted():
            del self.ndarray

    def is_deleted(self) -> bool:
        """Whether it was deleted, or donated to a computation."""
        return not hasattr(self, "ndarray")

    # --- exchange ---

    def __dlpack__(
        self, *, stream: object = None, max_version: object = None, dl_device: object = None, copy: bool | None = None
    ) -> Any:
        """A capsule by which another library reads the array, in place where its DLPack knows read-only memory."""
        contents = self._numbers()
        options = {"stream": stream}
        if _DLPACK_OPTIONS:
            options |= {"max_version": max_version, "dl_device": dl_device, "copy": copy}
        try:
            return kernel.dlpack.to_dlpack(contents if _DLPACK_OPTIONS or not copy else contents.copy(), **options)
        except BufferError:  # the consumer's DLPack cannot say that memory must not be written to
            if copy is False:
                raise
            options |= {"copy": None} if _DLPACK_OPTIONS else {}
            return kernel.dlpack.to_dlpack(contents.copy(), **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.buffer().__dlpack_device__()

    def __deepcopy__(self, _: object) -> NumpyArray:
        return self.backend.put(self.buffer(), self.aval)


_read_stated = NumpyArray.__dict__["_stated"].__get__


def _read_only(contents: np.ndarray) -> np.ndarray:
    """Refuse to be written to, from now on: a buffer that was shown is never donated."""
    owner: Any = contents
    while type(owner) is np.ndarray:  # the owner too: else the user could make a view writable again
        flags = owner.flags
        if flags.writeable:
            flags.writeable = False
        owner = owner.base
    return contents


def _number(name: str, kind: type) -> None:
    """Have an array without dimensions become a number of Python's at once; for what cannot, `Array` raises."""
    general = getattr(Array, name)

    def method(self: NumpyArray) -> Any:
        if not self.aval.shape:
            try:
                return kind(self.ndarray)
            except (AttributeError, TypeError):  # deleted, of another device, or no number
                pass
        return general(self)

    method.__name__, method.__qualname__, method.__doc__ = name, f"NumpyArray.{name}", general.__doc__
    setattr(NumpyArray, name, method)


for _name, _kind in (("__bool__", bool), ("__int__", int), ("__float__", float)):
    _number(_name, _kind)
method_boundaries(NumpyArray, ["__getattr__", "__dlpack__", "__bool__", "__int__", "__float__"])


class PlacedArray(NumpyArray):
    """An array on a device that the user chose, among several simulated ones.

    Its slot `ndarray` stays empty, so that dispatch takes the slow path, which looks at devices.
    """

    __slots__ = ("_committed", "_contents", "_device")

    def __init__(self, aval: ShapedArray, contents: np.ndarray, device: Device, committed: bool) -> None:
        self.aval = aval
        self._contents: np.ndarray | None = contents
        self._device = device
        self._committed = committed

    def buffer(self) -> np.ndarray:
        if self._contents is None:
            raise RuntimeError(deleted_message(self))
        return self._contents

    @property
    def device(self) -> Device:
        return self._device

    @property
    def committed(self) -> bool:
        return self._committed

    def delete(self) -> None:
        self._contents = None

    def is_deleted(self) -> bool:
        return self._contents is None

    def __deepcopy__(self, _: object) -> PlacedArray:
        return PlacedArray(self.aval, self.buffer().copy(), self._device, self._committed)


def wrap(aval: ShapedArray, contents: np.ndarray) -> NumpyArray:
    """An array on the first device."""
    array = new_array(NumpyArray)
    array.aval = aval
    array.ndarray = contents
    return array


def placed(aval: ShapedArray, contents: np.ndarray, device: Device, committed: bool) -> NumpyArray:
    """A result on `device`. On the first one, uncommitted, it is a plain array."""
    if (device.id == 0 and not committed) or len(device.backend.devices()) == 1:
        return wrap(aval, contents)
    return PlacedArray(aval, contents, device, committed)


def physical(aval: ShapedArray) -> ShapedArray:
    """The type of the array that holds values of an aval: another than its own for typed keys."""
    dtype = aval.dtype
    return dtype.physical_aval(aval) if isinstance(dtype, dtypes.ExtendedDType) else aval


def deleted_message(array: Array) -> str:
    return (
        f"the array of type {array.aval.str_short()} was deleted, or donated to a computation that has overwritten it"
    )


def _references(buffers: list[np.ndarray], position: int) -> int:
    return sys.getrefcount(buffers[position])


# What the count is where the list is the only one to know: it differs between versions of the interpreter.
_SOLE = _references([np.empty(1)], 0)


def is_sole_owner(buffers: list[np.ndarray], position: int) -> bool:
    """Whether only `buffers` refers to the array at `position` and to its memory: then it may be overwritten.

    Views refer to the array that owns the memory, so they count; so do memory views and DLPack capsules.
    """
    contents = buffers[position]
    is_owner = contents.base is None and contents.flags.owndata and contents.flags.writeable
    del contents
    return _COUNTS_REFERENCES and is_owner and _references(buffers, position) == _SOLE
