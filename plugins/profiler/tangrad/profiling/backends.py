"""The profilers of the backends in use, which not every backend has."""

from __future__ import annotations

from typing import Any

from tangrad.core import get_backend, loaded_backends
from tangrad.errors import BackendError


def profiler_of_loaded() -> list[Any]:
    """The profilers of the backends that this process has loaded."""
    return [found for backend in loaded_backends() if (found := backend.profiler) is not None]


def profiler_of(backend: str | None, what: str) -> Any:
    """The profiler of a backend (default: the one in use). Raises BackendError, naming `what`, where it has none."""
    chosen = get_backend(backend)
    found = chosen.profiler
    if found is None:
        raise BackendError(f"{what}: the backend {chosen.name!r} has no profiler; XLA has one")
    return found
