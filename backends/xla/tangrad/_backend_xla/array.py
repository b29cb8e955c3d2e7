"""Arrays of the XLA backend: an aval, a buffer of jaxlib, and its placement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla import failures, jaxlib_api
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad.core import Array, ShapedArray, dtypes, filter_traceback, find_primitive, own_boundary, transfers
from tangrad.core.backends import evaluate, method_boundaries
from tangrad.dtypes import float0

if TYPE_CHECKING:
    from typing import SupportsInt

    from tangrad.core import Device, Sharding
    from tangrad.typing import Value

DLPACK_KINDS = {"cpu": 1, "cuda": 2, "rocm": 10}  # the DLPack standard's numbers of devices


class Placement:
    """A place of arrays: one object for each device (or set of devices) and commitment, which compares by identity.

    An array is *committed* if the user chose its device; operations on it run there, and committed arrays of
    different devices do not meet. An uncommitted one may be moved.

    Attributes:
        devices: the devices, of class XlaDevice.
        reachable: those of this process, which alone hold buffers that it can read.
        sharding: jaxlib's sharding object.
        committed: see above.
        user_sharding: the user's `Sharding` over several devices, None for one device.
    """

    __slots__ = ("__weakref__", "committed", "devices", "reachable", "sharding", "user_sharding")

    def __init__(
        self,
        devices: Sequence[Any],
        sharding: Any,
        committed: bool,
        user_sharding: Any = None,
        reachable: tuple[Any, ...] | None = None,
    ) -> None:
        self.user_sharding = user_sharding
        self.devices = tuple(devices)
        self.reachable = self.devices if reachable is None else tuple(reachable)
        self.sharding = sharding
        self.committed = committed

    def __repr__(self) -> str:
        return f"<{'committed' if self.committed else 'uncommitted'} on {', '.join(map(str, self.devices))}>"


class XlaArray(Array):
    """An array whose contents XLA holds. Computing it may still be going on; reading it waits.

    Attributes:
        value: jaxlib's array.
        placement: its devices and sharding.
    """

    __slots__ = ("_stated", "_unsent", "placement", "value")
    backend: Any = None  # set by backend.py, which makes the one backend object

    def __init__(self, aval: ShapedArray, value: Any, placement: Placement) -> None:
        self.aval = aval
        self.value = value
        self.placement = placement

    _unsent: np.ndarray | np.generic | None  # a NumPy array or scalar, or None
    _stated: Sharding

    @classmethod
    def unsent(cls, aval: ShapedArray, contents: np.ndarray | np.generic, placement: Placement) -> XlaArray:
        """An array whose contents go to its device when a computation needs it; they must never change."""
        array: XlaArray = object.__new__(cls)
        array.aval = aval
        array._unsent = contents
        array.placement = placement
        return array

    @own_boundary
    def __getattr__(self, name: str) -> Any:
        if name == "value":  # it is not there yet; another thread may be sending it too
            contents = self._unsent
            if contents is not None:
                self.value = jaxlib_api.put(contents, physical_aval(self.aval), self.placement.sharding)
                self._unsent = None
            return self.value
        try:
            return self._member(name)
        except Exception as error:
            filter_traceback(error)
            raise

    def to_numpy(self) -> np.ndarray:
        """The contents as a NumPy array, which must not be written to. Waits until they are computed."""
        transfers.read(self)
        try:
            contents = self._contents()
        except jaxlib_api.XlaRuntimeError as error:
            self._check_not_deleted(error)
            failures.raise_original(error)
            raise
        return contents if self.aval.dtype is not float0 else np.zeros(self.aval.shape, float0)

    def _owner(self) -> np.ndarray:
        """`to_numpy` in short, where the buffer is on the host: NumPy's `asarray` asks for it."""
        if self.aval.dtype in _NUMPYS_OWN and type(self.placement.sharding) is jaxlib_api.OnDevice:
            try:
                return np.asarray(jaxlib_api.readable(_read_value(self)))
            except (AttributeError, BufferError, jaxlib_api.XlaRuntimeError):  # not sent, deleted, on another device
                pass
        return Array._owner(self)

    def _contents(self) -> np.ndarray:
        """What the buffer holds, which is another array for typed keys and float0."""
        try:
            _read_value(self)
        except AttributeError:
            contents = self._unsent
            if contents is not None:
                return np.asarray(contents)
        sharding = self.placement.sharding
        aval = physical_aval(self.aval)
        if type(sharding) is jaxlib_api.OnDevice:
            return jaxlib_api.to_numpy(self.value, aval.dtype)
        self._check_not_deleted()
        if sharding.is_fully_replicated:
            return jaxlib_api.to_numpy(self._single(0, aval), aval.dtype)
        if not self.is_whole_here():
            raise RuntimeError(
                f"the array {self.aval.str_short()} is on devices of other processes too, and its contents cannot be "
                "read by this one alone; gather them in all processes "
                "(tangrad.experimental.multihost_utils.process_allgather(x, tiled=True)), or read the parts that are "
                "here (x.addressable_shards)"
            )
        number = {device: number for number, device in enumerate(self.placement.reachable)}
        user_sharding, seen = self.placement.user_sharding, set()
        parts = user_sharding.parts(aval.shape)
        if (shares := getattr(user_sharding, "combine", lambda: None)()) is not None:
            held = [
                jaxlib_api.to_numpy(self._single(number[device], aval.update(shape=_extent(bounds))), aval.dtype)
                for device, bounds in zip(user_sharding.device_order, parts.bounds, strict=True)
            ]
            return _frozen(shares.whole(aval.shape, parts.indices, held))
        whole = np.empty(aval.shape, aval.dtype)
        for device, index, key in zip(user_sharding.device_order, parts.indices, parts.numbers, strict=True):
            if key not in seen and device in number:  # of parts that are repeated, one
                seen.add(key)
                part = self._single(number[device], aval.update(shape=whole[index].shape))
                whole[index] = jaxlib_api.to_numpy(part, aval.dtype)
        return _frozen(whole)

    def _holders(self, shape: Sequence[int]) -> dict[str, tuple[tuple[slice, ...], list[Device]]]:
        """For each part its index, and the devices that hold it."""
        user_sharding = self.placement.user_sharding
        found: dict[str, tuple[tuple[slice, ...], list[Device]]] = {}
        for device, index in zip(user_sharding.device_order, user_sharding.indices(shape), strict=True):
            found.setdefault(str(index), (index, []))[1].append(device)
        return found

    def is_whole_here(self) -> bool:
        """Whether devices of this process hold all parts."""
        placement = self.placement
        if len(placement.reachable) == len(placement.devices) or placement.sharding.is_fully_replicated:
            return True
        here = set(placement.reachable)
        return all([not here.isdisjoint(holders) for _, holders in self._holders(self.aval.shape).values()])

    def _single(self, number: int, aval: ShapedArray) -> Any:
        """The buffer on one of the devices of this process."""
        device = self.placement.reachable[number]
        return jaxlib_api.with_aval(self.value._arrays[number], aval, device.committed.sharding)

    def __repr__(self) -> str:
        return Array.__repr__(self) if self.is_whole_here() else f"Array(shape={self.shape}, dtype={self.dtype})"

    def __str__(self) -> str:
        return Array.__str__(self) if self.is_whole_here() else repr(self)

    def _is_unsent(self) -> bool:
        try:
            _read_value(self)
        except AttributeError:
            return True
        return False

    def _check_not_deleted(self, cause: BaseException | None = None) -> None:
        if self.value.is_deleted():
            raise RuntimeError(deleted_message(self)) from cause

    def in_usual_memory(self) -> XlaArray:
        """Itself; of an array in another memory of its devices a copy in the usual one."""
        return self

    # --- where it is, and whether it is there yet -------------------------------------------------------------------

    @property
    def device(self) -> Any:
        """Its device; of an array on several, its sharding."""
        return self.placement.devices[0] if len(self.placement.devices) == 1 else self.placement.user_sharding

    def devices(self) -> set[Device]:
        """The set of its devices."""
        return set(self.placement.devices)

    @property
    def committed(self) -> bool:
        """Whether the user chose its device."""
        return self.placement.committed

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process reaches every device of the array."""
        return bool(self.placement.sharding.is_fully_addressable)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        return bool(self.placement.sharding.is_fully_replicated)

    @property
    def user_sharding(self) -> Any:
        """Its `Sharding` over several devices; None if it is on one."""
        return self.placement.user_sharding

    @property
    def stated_sharding(self) -> Any:
        """The `Sharding` over one device by which it was put there, if any."""
        try:
            return _read_stated(self)  # past `__getattr__`, which asks for more than slots
        except AttributeError:
            return None

    def stating(self, sharding: Sharding) -> XlaArray:
        """The same array, which has a sharding over its one device."""
        made = XlaArray(self.aval, self.value, self.placement)
        made._stated = sharding
        return made

    def __deepcopy__(self, _: object) -> XlaArray:
        return evaluate(find_primitive("structure.copy"), (self,), {})  # where it is, and sharded as it is

    def block_until_ready(self) -> XlaArray:
        """Wait until it is computed, and return it. Raises the error of the computation, if it failed."""
        if self._is_unsent():
            return self
        self._check_not_deleted()
        try:
            self.value.block_until_ready()
        except jaxlib_api.XlaRuntimeError as error:
            failures.raise_original(error)
            raise
        return self

    def is_ready(self) -> bool:
        """Whether it is computed."""
        self._check_not_deleted()
        return bool(self.value.is_ready())

    def copy_to_host_async(self) -> None:
        """Start copying the contents to the host, so that a later `to_numpy` need not wait."""
        self._check_not_deleted()
        jaxlib_api.copy_to_host_async(self.value)

    def delete(self) -> None:
        """Give the memory back now. Using the array afterwards is an error."""
        self.value.delete()

    def is_deleted(self) -> bool:
        """Whether it was deleted, or donated to a computation."""
        return bool(self.value.is_deleted())

    def on_device_size_in_bytes(self) -> int:
        """The memory it takes on its devices."""
        return int(self.value.on_device_size_in_bytes())

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """The array in a GPU's memory by Numba's protocol. Raises AttributeError for arrays on other devices."""
        if self.device.platform != "cuda":
            raise AttributeError("only arrays on NVIDIA GPUs have __cuda_array_interface__")
        self._check_not_deleted()
        return self.value.__cuda_array_interface__

    def unsafe_buffer_pointer(self) -> int:
        """The address of its memory on its one device."""
        return int(self.value.unsafe_buffer_pointer())

    # --- DLPack -----------------------------------------------------------------------------------------------------

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: object = None,
        dl_device: tuple[SupportsInt, SupportsInt] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A capsule by which another library reads the array, in place where it can."""
        own = self.__dlpack_device__()
        if dl_device is not None and tuple(map(int, dl_device)) != own:
            raise BufferError(
                f"the array is on DLPack device {own}; exporting it to {tuple(dl_device)} is not supported"
            )
        if isinstance(self.aval.dtype, dtypes.ExtendedDType):
            self._numbers()  # raises
        self._check_not_deleted()
        value = (
            jaxlib_api.copy_to(self.value, physical_aval(self.aval), self.placement.sharding) if copy else self.value
        )
        return jaxlib_api.to_dlpack(value, stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        device = self.device
        return DLPACK_KINDS[device.platform], device.local_hardware_id or 0


method_boundaries(XlaArray, ["__dlpack__"])
_NUMPYS_OWN = frozenset([np.dtype(code) for code in "?bBhHiIqQefdFD"])
_read_value = XlaArray.__dict__["value"].__get__  # the slot, without what fills it
_read_stated = XlaArray.__dict__["_stated"].__get__


def deleted_message(array: Value) -> str:
    """What to say of an array that was deleted or donated."""
    return (
        f"Array has been deleted: {array.aval.str_short()} was deleted, or donated to a computation that reused its "
        "memory (donate_argnums); keep a copy (x.copy()) of what is needed afterwards"
    )


def _extent(bounds: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return tuple([stop - start for start, stop in bounds])


def _frozen(contents: np.ndarray) -> np.ndarray:
    contents.flags.writeable = False
    return contents
