"""The profilers of the backends in use, which not every backend has."""

from __future__ import annotations

from typing import Any, Protocol

from tangrad.core import Backend, get_backend
from tangrad.core.backends import loaded_backends
from tangrad.errors import BackendError


class Profiler(Protocol):
    """What a backend's attribute `profiler` is, where it has one."""

    def session(self, options: Any) -> Any:
        """Start a recording, as `ProfileOptions` say; its `stop_and_export(folder)` ends and writes it."""

    def annotation(self, name: str, details: dict[str, Any]) -> Any:
        """A context manager whose block is an event in recordings; it has `set_metadata(**details)`."""

    def is_recording(self) -> bool:
        """Whether annotations are recorded."""

    def memory_profile(self) -> bytes:
        """What memory is used for, as a protocol buffer for pprof."""

    def serve(self, port: int, start_devices: bool) -> Any:
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
