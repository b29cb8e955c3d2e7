"""All contact with jaxlib's profiler: recordings, annotations, memory profiles, and the server."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tangrad._backend_xla import jaxlib_version

with jaxlib_version.explained:
    from jaxlib import _profiler  # type: ignore[attr-defined]


class XlaProfiler:
    """The profiler of the XLA backend, as `tangrad._profiler.backends` wants it."""

    __slots__ = ("_backend",)

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def session(self, options: Any) -> Any:
        """Start a recording; its `stop_and_export(folder)` ends it. `options` is a dataclass with jaxlib's names."""
        self._backend.devices()  # the collectors of a platform are there when it has started
        described = _profiler.ProfileOptions()
        for one in fields(options):
            value = getattr(options, one.name)
            if value != one.default:  # which is jaxlib's
                setattr(described, one.name, value)
        return _profiler.ProfilerSession(described)

    def annotation(self, name: str, details: dict[str, object]) -> Any:
        """A context manager whose block is an event in recordings."""
        return _profiler.TraceMe(name, **details)

    def is_recording(self) -> bool:
        """Whether annotations are recorded."""
        return bool(_profiler.TraceMe.is_enabled())

    def memory_profile(self) -> bytes:
        """What memory is used for, as a protocol buffer for pprof."""
        return bytes(self._backend.home().client.heap_profile())

    def serve(self, port: int, start_devices: bool) -> Any:
        """Serve recordings on a port, as long as the returned object lives."""
        if start_devices:
            self._backend.devices()
        return _profiler.start_server(port)
