"""The profilers of the backends in use, which not every backend has."""

from __future__ import annotations

from typing import Any, Protocol

from tangrad.core import get_backend, loaded_backends
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


def profiler_of_loaded() -> list[Profiler]:
    """The profilers of the backends that this process has loaded."""
    return [found for backend in loaded_backends() if (found := backend.profiler) is not None]


def profiler_of(backend: str | None, what: str) -> Profiler:
    """The profiler of a backend (default: the one in use). Raises BackendError, naming `what`, where it has none."""
    chosen = get_backend(backend)
    found = chosen.profiler
    if found is None:
        raise BackendError(f"{what}: the backend {chosen.name!r} has no profiler; XLA has one")
    return found  # type: ignore[no-any-return]
