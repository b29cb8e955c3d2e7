"""What the profilers of backends do, which not every backend has: profiles of memory, and a server of traces."""

from __future__ import annotations

import gzip
import os
import threading
from typing import Any, Protocol

from tangrad.core import Backend, get_backend
from tangrad.core.backends import loaded_backends
from tangrad.core.caches import free_after_fork
from tangrad.errors import BackendError


class Profiler(Protocol):
    """What a backend's attribute `profiler` is, where it has one."""

    def session(self, options: object) -> Any:
        """Start a recording, as `ProfileOptions` say; its `stop_and_export(folder)` ends and writes it."""

    def annotation(self, name: str, details: dict[str, object]) -> Any:
        """A context manager whose block is an event in recordings; it has `set_metadata(**details)`."""

    def is_recording(self) -> bool:
        """Whether annotations are recorded."""

    def memory_profile(self) -> bytes:
        """What memory is used for, as a protocol buffer for pprof."""

    def serve(self, port: int, start_devices: bool) -> object:
        """Serve recordings on a port, as long as the returned object lives."""


def _profiler(backend: Backend) -> Profiler | None:
    return getattr(backend, "profiler", None)  # which those need not have that do not inherit from ours


def profiler_of_loaded() -> list[Profiler]:
    """The profilers of the backends that this process has loaded."""
    return [found for backend in loaded_backends() if (found := _profiler(backend)) is not None]


def own_profiler() -> Profiler | None:
    """The profiler of the backend in use, if it has one."""
    return _profiler(get_backend())


def profiler_of(backend: str | None, what: str) -> Profiler:
    """The profiler of a backend (default: the one in use). Raises BackendError, naming `what`, where it has none."""
    chosen = get_backend(backend)
    found = _profiler(chosen)
    if found is None:
        raise BackendError(f"{what}: the backend {chosen.name!r} has no profiler; XLA has one")
    return found


def device_memory_profile(backend: str | None = None) -> bytes:
    """What the devices' memory is used for, as a gzipped protocol buffer that `pprof` reads.

    Args:
        backend: the name of a backend; default: the one in use.

    Raises BackendError where the backend does not keep account of it: only XLA does.
    """
    return gzip.compress(profiler_of(backend, "device_memory_profile").memory_profile())


def save_device_memory_profile(filename: os.PathLike[str] | str, backend: str | None = None) -> None:
    """Write `device_memory_profile` to a file.

    Args:
        filename: of the file, which is written anew.
        backend: the name of a backend; default: the one in use.

    Raises BackendError where the backend does not keep account of its memory.
    """
    contents = device_memory_profile(backend)
    with open(filename, "wb") as file:
        file.write(contents)


_lock = free_after_fork(threading.Lock())
_running: list[Any] = []


def start_server(port: int, requires_backend: bool = True) -> object:
    """Serve traces on a port, to any client that can reach it: TensorBoard's "capture profile" takes them.

    Args:
        port: the number of the port.
        requires_backend: whether devices are started first; else that is left to the first array.

    Returns:
        the server, which runs until `stop_server`.

    Raises:
        ValueError: one is running; BackendError: the backend in use has no profiler: only XLA has.
    """
    with _lock:
        if _running:
            raise ValueError("a profiler server is running: one at a time; call stop_server() first")
        profiler = profiler_of(None, "start_server")
        _running.append(profiler.serve(port, requires_backend))
        return _running[0]


def stop_server() -> None:
    """Stop the server. Raises ValueError where none is running."""
    with _lock:
        if not _running:
            raise ValueError("no profiler server is running")
        _running.clear()
