"""Which devices there are: the platforms of this process, started at first use and kept."""

from __future__ import annotations

import os
import threading
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import freed_memory, gpus, jaxlib_api, jaxlib_calls, settings
from tangrad._backend_xla.array import Placement
from tangrad._backend_xla.jaxlib_coordination import Coordination
from tangrad.core import Device, thread
from tangrad.core.backends import Logger
from tangrad.core.tools import own_fault

if TYPE_CHECKING:
    from tangrad.core import Backend

logger = Logger(__name__)


class XlaDevice(Device):
    """A device of XLA.

    Attributes:
        raw: jaxlib's device.
        client: jaxlib's client that it belongs to.
        committed, uncommitted: the placements of whole arrays on it.
    """

    __slots__ = ("client", "committed", "raw", "uncommitted")

    def __init__(self, backend: Backend, platform: str, raw: Any) -> None:
        super().__init__(backend, raw.id, platform, raw.process_index)
        self.raw = raw
        self.client = raw.client
        sharding = jaxlib_api.OnDevice(raw)
        self.committed = Placement((self,), sharding, committed=True)
        self.uncommitted = Placement((self,), sharding, committed=False)

    @property
    def memory_kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        """The kinds of memory that it reaches, the usual one first."""
        return jaxlib_api.memory_kinds(self.raw)

    @property
    def device_kind(self) -> str:
        """The maker's name of the device."""
        return str(self.raw.device_kind)

    @property
    def local_hardware_id(self) -> int | None:
        """Its number among the hardware of its host, where the platform has one."""
        number = self.raw.local_hardware_id
        return None if number is None or number < 0 else int(number)

    def memory_stats(self) -> dict[str, int] | None:
        """Bytes in use and the like; None where the platform does not count."""
        return self.raw.memory_stats()

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"


class Platforms:
    """The platforms of this process: name -> devices.

    Attributes:
        coordination: with which other processes it computes.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._devices: dict[str, tuple[XlaDevice, ...]] | None = None
        self._errors: dict[str, Exception] = {}
        self.coordination = Coordination(lambda: self._devices is not None)

    def use(self, clients: dict[str, object]) -> None:
        """Take these clients of jaxlib, one for each platform, in place of those that would be started."""
        self._devices = {name: self._devices_of(name, client) for name, client in clients.items()}

    def _devices_of(self, platform: str, client: Any) -> tuple[XlaDevice, ...]:
        return tuple([XlaDevice(self._backend, platform, raw) for raw in client.devices()])

    @cached_property
    def all(self) -> dict[str, tuple[XlaDevice, ...]]:
        """Every platform that could be started; the first is the default."""
        with self._lock:
            if self._devices is None:
                self._devices = self._start()
        return self._devices

    def devices(self, platform: str | None = None) -> tuple[XlaDevice, ...]:
        """The devices of a platform (default: the first). Raises RuntimeError where it could not be started."""
        platforms = self.all
        if platform is None:
            return next(iter(platforms.values()))
        name = next((gpu for gpu in jaxlib_calls.GPUS if gpu in platforms), "cuda") if platform == "gpu" else platform
        if name not in platforms:
            cause = self._errors.get(name)
            reason = f": {cause}" if cause else ""
            raise RuntimeError(
                f"XLA has no platform {platform!r} here{reason}; it has {', '.join(platforms)}"
            ) from cause
        return platforms[name]

    @cached_property
    def home(self) -> XlaDevice:
        """The first of the default platform's devices that belong to this process."""
        process = self.coordination.process_index
        return next(device for device in self.devices() if device.process_index == process)

    def _start(self) -> dict[str, tuple[XlaDevice, ...]]:
        asked = settings.xla_platforms.value
        found = {}
        for name in asked or _automatic():
            try:
                client = _MAKERS[name](self.coordination)
                _warn_of_forks()
            except own_fault(Exception) as error:  # whatever a vendor's plugin raises
                if asked:
                    raise RuntimeError(
                        f"platform {name!r}, which TANGRAD_XLA_PLATFORMS asks for, did not start: {error}"
                    ) from error
                self._errors[name] = error
                logger.warning("a GPU is present, but %s did not start, so the CPU is used: %s", name, error)
                continue
            found[name] = self._devices_of(name, client)
        return found


def _automatic() -> tuple[str, ...]:
    """GPUs where there are some and their plugin is installed, and the CPU always."""
    present = [vendor for vendor in gpus.VENDORS if vendor.has_device() and vendor.find_plugin() is not None]
    return (*[vendor.platform for vendor in present], "cpu")


def _warn_of_forks() -> None:
    """From now on there are threads of XLA, which a forked process would wait for in vain."""
    global _forks_are_watched
    if not _forks_are_watched and hasattr(os, "register_at_fork"):
        _forks_are_watched = True
        os.register_at_fork(before=_warn)


_forks_are_watched = False


def _warn() -> None:
    warnings.warn(
        "os.fork() was called in a process in which XLA has threads; they are not there in the child, where "
        "computations with XLA will hang. Start processes afresh: multiprocessing.get_context('spawn'), or fork before "
        "the first array, or use the NumPy backend",
        RuntimeWarning,
        stacklevel=2,
    )


def _make_cpu_client(coordination: Coordination) -> object:
    freed_memory.apply()
    return jaxlib_api.make_cpu_client(
        thread.num_cpu_devices,
        asynchronous=settings.xla_cpu_asynchronous.value,
        distributed_client=coordination.client,
        process_index=coordination.process_index,
        process_count=coordination.process_count,
        host=coordination.host,
        patience=coordination.patience,
    )


_MAKERS = {  # as settings.PLATFORMS
    "cpu": _make_cpu_client,
    **{vendor.platform: vendor.make_client for vendor in gpus.VENDORS},
}
