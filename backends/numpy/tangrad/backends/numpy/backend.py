"""The NumPy backend as the kernel sees it: devices, arrays in and out, eager application, compilation."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tangrad.backends.numpy import dispatch
from tangrad.backends.numpy.array import NumpyArray, wrap
from tangrad.backends.numpy.executable import Lowered, NumpyExecutable, array_function, array_function_into
from tangrad.backends.numpy.lowering import Lowering, physical
from tangrad.core.aval import ShapedArray
from tangrad.core.backend import Backend, CompileOptions, Device
from tangrad.core.config import thread
from tangrad.core.jaxpr import ClosedJaxpr
from tangrad.core.staging import JaxprCache

KEEP_FREE_MEMORY = 31 << 20  # bytes


class NumpyDevice(Device):
    """A CPU device. All are this machine's processor; several are simulated, to try programs for many."""

    __slots__ = ()

    @property
    def device_kind(self) -> str:
        return "cpu"


class NumpyBackend(Backend):
    """NumPy: pure Python, runs wherever NumPy does."""

    name = "numpy"
    platform = "cpu"
    lowering_kind = "lower.numpy"
    array_type = NumpyArray
    api = 1

    # The eager path is a plain function: a method would cost one call more.
    apply = staticmethod(dispatch.apply)  # type: ignore[assignment]

    def __init__(self) -> None:
        self._devices: tuple[NumpyDevice, ...] = ()
        self._lock = threading.Lock()
        self._functions = JaxprCache()

    # --- devices ---------------------------------------------------------------------------------------------------

    def devices(self, platform: str | None = None) -> tuple[NumpyDevice, ...]:
        """The devices: one, or as many as the setting `num_cpu_devices` said when they were first asked for.

        Raises RuntimeError for a platform other than "cpu".
        """
        if platform not in (None, "cpu"):
            raise RuntimeError(f"the NumPy backend has the platform 'cpu' only, got {platform!r}")
        if not self._devices:
            with self._lock:
                if not self._devices:
                    count = thread.num_cpu_devices or 1
                    self._devices = tuple([NumpyDevice(self, number, "cpu") for number in range(count)])
        return self._devices

    def local_devices(self) -> tuple[NumpyDevice, ...]:
        """Those of this process: all."""
        return self.devices()

    def device_count(self) -> int:
        """How many devices there are."""
        return len(self.devices())

    def default_device(self) -> NumpyDevice:
        """Where new arrays are made: the device of the setting, if it is one of this backend's, or the first."""
        device = thread.default_device
        return device if type(device) is NumpyDevice else self.devices()[0]

    # --- arrays ----------------------------------------------------------------------------------------------------

    def put(self, value: Any, aval: ShapedArray, device: Any = None) -> NumpyArray:
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

    def _placed(self, contents: Any, aval: ShapedArray, device: Any) -> NumpyArray:
        if device is None and thread.default_device is None:
            return wrap(aval, contents)
        if device is None or device is thread.default_device:
            return dispatch.placed(aval, contents, self.default_device(), False)
        if type(device) is not NumpyDevice:
            raise ValueError(f"expected a device of the NumPy backend, such as {self.devices()[0]!r}, got {device!r}")
        return dispatch.placed(aval, contents, device, True)

    def get(self, array: Any) -> np.ndarray[Any, Any]:
        """The contents of an array, not to be written to."""
        return array.to_numpy()  # type: ignore[no-any-return]

    def move(self, array: NumpyArray, device: Any) -> NumpyArray:
        """The array on `device`, committed to it. The contents are shared: all devices are this machine's memory."""
        return self._placed(array.buffer(), array.aval, device)

    def from_dlpack(self, external: Any, device: Any = None, copy: bool | None = None) -> NumpyArray:
        """An array over the memory of another library's array, or a copy of it.

        Raises TypeError for an object without `__dlpack__`, BufferError where the memory cannot be shared and `copy` is
        False.
        """
        if not hasattr(external, "__dlpack__"):
            raise TypeError(
                f"from_dlpack takes an object with __dlpack__, got {external!r} of type {type(external).__name__}"
            )
        contents = np.from_dlpack(external)
        if copy:
            contents = contents.copy()
        return self._placed(contents, ShapedArray(contents.shape, contents.dtype), device)

    # --- computing -------------------------------------------------------------------------------------------------

    def lower(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> Lowered:
        """The program as Python text."""
        return Lowered(closed_jaxpr, options)

    def compile(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> NumpyExecutable:
        """Make a function of a program; it runs where its arguments are, or on the device that the options say."""
        return NumpyExecutable(closed_jaxpr, options)

    def array_function(self, closed_jaxpr: ClosedJaxpr) -> Any:
        """A program as a function of ndarrays, for kernels that run programs; kept as long as the jaxpr lives."""
        return self._functions.get(closed_jaxpr, None, lambda: array_function(closed_jaxpr))

    def array_function_into(self, closed_jaxpr: ClosedJaxpr, positions: tuple[int, ...]) -> Any:
        """As `array_function`, writing some outputs into arguments; see `executable.array_function_into`."""
        return self._functions.get(closed_jaxpr, positions, lambda: array_function_into(closed_jaxpr, positions))

    def block_until_ready(self, array: Any) -> None:
        """Check that the array was not deleted: it is computed."""
        array.buffer()

    def clear_caches(self) -> None:
        """Forget the functions of primitives."""
        dispatch.clear_caches()
        self._functions.clear()


def _keep_free_memory() -> None:
    """Have the C library keep memory that is freed, instead of giving it back and asking for it anew at every call.

    glibc maps large arrays one by one and unmaps them when they are freed, so that every temporary is paid for in page
    faults: six additions of 65,536 floats took 620 µs, and 51 after this. It learns better when it sees a large array
    freed: from then on memory up to that size comes from the heap, of which it keeps twice as much. The array is never
    touched, so it takes no memory; other C libraries are not impressed.
    """
    np.empty(KEEP_FREE_MEMORY, np.uint8)


_keep_free_memory()
backend = NumpyBackend()
NumpyArray.backend = backend
Lowering.backend = backend
