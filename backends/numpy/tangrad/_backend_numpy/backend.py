"""The NumPy backend as the kernel sees it: devices, arrays in and out, eager application, compilation."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import core as kernel
from tangrad._backend_numpy.array import NumpyArray, physical, placed, wrap
from tangrad.core import Backend, ClosedJaxpr, Device, Primitive, ShapedArray, Sharding, thread
from tangrad.core.backends import CompileOptions, chosen_device
from tangrad.core.caches import JaxprCache, free_after_fork

if TYPE_CHECKING:
    from types import ModuleType

    from tangrad._backend_numpy.executable import Lowered, NumpyExecutable
    from tangrad.core import Array
    from tangrad.typing import Params, Value, Values


class NumpyDevice(Device):
    """A CPU device. All are this machine's processor; several are simulated, to try programs for many."""

    __slots__ = ()

    @property
    def device_kind(self) -> str:
        return "cpu"

    @property
    def client(self) -> Any:
        """What runs programs on it: the backend."""
        return self.backend


class NumpyBackend(Backend):
    """NumPy: pure Python, runs wherever NumPy does.

    Dispatch and compiler are imported at the first computation, not with the backend: code that only asks which
    backends there are needs neither.
    """

    name = "numpy"
    platform = "cpu"
    platform_version = f"NumPy {np.__version__}"
    runtime_type = "numpy"  # what libraries ask the client of a device for
    lowering_kind = "lower.numpy"
    array_type = NumpyArray
    priority = 10
    sizes_at_call = True
    api = 1

    def __init__(self) -> None:
        self._devices: tuple[NumpyDevice, ...] = ()
        self._lock = free_after_fork(threading.RLock())
        self._functions = JaxprCache()

    # --- devices ---

    def devices(self, platform: str | None = None) -> tuple[NumpyDevice, ...]:
        """The devices: one, or as many as the setting `num_cpu_devices` had when they were first asked for.

        Raises RuntimeError for a platform other than "cpu".
        """
        if platform not in (None, "cpu"):
            raise RuntimeError(f"the NumPy backend has the platform 'cpu' only, got {platform!r}")
        if not self._devices:
            with self._lock:
                if not self._devices:
                    count = thread.num_cpu_devices or 1
                    made = tuple([NumpyDevice(self, number, "cpu") for number in range(count)])
                    self._devices = self._devices or made  # a signal handler may have been quicker
        return self._devices

    def local_devices(self) -> tuple[NumpyDevice, ...]:
        """Those of this process: all."""
        return self.devices()

    def device_count(self) -> int:
        """How many devices there are."""
        return len(self.devices())

    def default_device(self) -> NumpyDevice:
        """Where new arrays are made: the device of the setting, if it is one of this backend's, or the first."""
        device = chosen_device()
        return device if type(device) is NumpyDevice else self.devices()[0]

    # --- arrays ---

    def put(self, value: np.ndarray, aval: ShapedArray, device: object = None) -> NumpyArray:
        """An array with the contents of a NumPy array, converted to the aval's dtype; committed, if a device is given.

        The contents are copied: the caller may write to `value` afterwards. Raises ValueError for contents of another
        shape and for a device of another backend.
        """
        if isinstance(value, NumpyArray):
            contents = value.buffer()  # immutable already
        else:
            type_ = physical(aval)
            contents = np.array(value, type_.dtype, order="C")
            if contents.shape != type_.shape:
                raise ValueError(f"expected contents of shape {type_.shape}, got {contents.shape}")
        return self._placed(contents, aval, device)

    def adopt(self, contents: np.ndarray, aval: ShapedArray) -> NumpyArray:
        """The array itself is what computations see."""
        return wrap(aval, contents)

    def _placed(self, contents: np.ndarray, aval: ShapedArray, device: object) -> NumpyArray:
        if device is None and thread.default_device is None:
            return wrap(aval, contents)
        if device is None:
            over = _sharded().default_sharding()
            device = None if over is None else _sharded().whole(over, aval.ndim)
        if device is None or (device is chosen_device() and not isinstance(device, Sharding)):
            return placed(aval.plain, contents, self.default_device(), False)
        if isinstance(device, Sharding):
            return _sharded().shard(contents, device.type_of(aval), device)
        if type(device) is not NumpyDevice:
            raise ValueError(f"expected a device of the NumPy backend, such as {self.devices()[0]!r}, got {device!r}")
        return placed(aval.plain, contents, device, True)

    def rows(self, array: object) -> Iterator[NumpyArray] | None:
        """The slices along the first axis: views. Of an array that was put on a device they are left to operations."""
        from tangrad._backend_numpy import parts

        # From now on the plain function, as for `apply`.
        type.__setattr__(NumpyBackend, "rows", staticmethod(parts.rows))
        return self.rows(array)

    def part(self, array: object, index: object) -> NumpyArray | None:
        """A view, or a copy of what an index array selects."""
        from tangrad._backend_numpy import parts

        # From now on the plain function, as for `apply`.
        type.__setattr__(NumpyBackend, "part", staticmethod(parts.part))
        return self.part(array, index)

    def get(self, array: Array) -> np.ndarray:
        """The contents of an array, not to be written to."""
        return array.to_numpy()

    def move(self, array: NumpyArray, device: object) -> NumpyArray:
        """The array on a device, or sharded by a sharding, committed to it.

        The contents are shared: all devices are this machine's memory.
        """
        if isinstance(device, Sharding) and _is_sharded_by(array, device):
            return array
        return self._placed(array.buffer(), array.aval, device)

    def assemble(self, aval: ShapedArray, sharding: Sharding, parts: Sequence[Value]) -> NumpyArray:
        """An array of its parts, on one device each, in the order of the sharding's devices; nothing is copied."""
        return _sharded().assembled(aval, sharding, parts)

    def parts(self, array: NumpyArray) -> list[NumpyArray]:
        """The parts of an array, on one device each, in the order of its devices."""
        return _sharded().parts_of(array)

    def from_dlpack(self, external: object, device: object = None, copy: bool | None = None) -> NumpyArray:
        """An array over the memory of another library's array, or a copy of it.

        Raises TypeError for an object without `__dlpack__`, BufferError where the memory cannot be shared and `copy` is
        False.
        """
        if not hasattr(external, "__dlpack__"):
            raise TypeError(
                f"from_dlpack takes an object with __dlpack__, got {external!r} of type {type(external).__name__}"
            )
        if hasattr(external, "__dlpack_device__"):
            kind = kernel.dlpack.device_kind(external)
            if kind not in kernel.dlpack.HOST_DEVICES:
                raise BufferError(
                    f"the memory of {type(external).__name__} is on DLPack device type {kind}, and the NumPy backend "
                    "reads that of the host alone; copy it there first"
                )
        contents = kernel.dlpack.from_dlpack(external)
        if copy:
            contents = contents.copy()
        return self._placed(contents, ShapedArray(contents.shape, contents.dtype), device)

    # --- computing ---

    def apply(self, primitive: Primitive, args: Values, params: Params) -> Array | None:
        """Apply a primitive to arrays and literals now."""
        # From now on the eager path is the plain function: a method would cost one call more.
        type.__setattr__(NumpyBackend, "apply", staticmethod(_dispatch().apply))
        return self.apply(primitive, args, params)

    def direct(self, primitive: Primitive, args: Values, params: Params) -> Any:
        """The kernel of a primitive as a function of arrays."""
        from tangrad._backend_numpy import dispatch

        type.__setattr__(NumpyBackend, "direct", staticmethod(dispatch.direct))
        return self.direct(primitive, args, params)

    def lower(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> Lowered:
        """The program as Python text."""
        return _compiler().Lowered(closed_jaxpr, options)

    def compile(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> NumpyExecutable:
        """Make a function of a program; it runs where its arguments are, or on the device that the options say."""
        return _compiler().NumpyExecutable(closed_jaxpr, options)

    def array_function(self, closed_jaxpr: ClosedJaxpr) -> Any:
        """A program as a function of ndarrays, for kernels that run programs; kept as long as the jaxpr lives."""
        return self._functions.get(closed_jaxpr, None, lambda: _compiler().array_function(closed_jaxpr))

    def array_function_into(
        self, closed_jaxpr: ClosedJaxpr, positions: tuple[int, ...], carried: tuple[tuple[int, int], ...]
    ) -> Any:
        """As `array_function`, writing some outputs into arguments; see `executable.array_function_into`."""
        make = lambda: _compiler().array_function_into(closed_jaxpr, positions, carried)
        return self._functions.get(closed_jaxpr, (positions, carried), make)

    def block_until_ready(self, array: Any) -> None:
        """Check that the array was not deleted: it is computed."""
        array.buffer()

    def clear_caches(self) -> None:
        """Forget the functions of primitives."""
        self._functions.clear()
        if "tangrad._backend_numpy.dispatch" in sys.modules:
            _dispatch().clear_caches()


def _is_sharded_by(array: NumpyArray, sharding: Sharding) -> bool:
    return getattr(array, "user_sharding", None) == sharding and array.aval is sharding.type_of(array.aval)


def _sharded() -> ModuleType:
    from tangrad._backend_numpy import sharded

    return sharded


def _compiler() -> ModuleType:
    from tangrad._backend_numpy import executable

    return executable


def _dispatch() -> ModuleType:
    from tangrad._backend_numpy import dispatch

    return dispatch


backend = NumpyBackend()
NumpyArray.backend = backend
