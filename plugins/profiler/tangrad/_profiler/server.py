"""The server that TensorBoard asks for traces of this process."""

from __future__ import annotations

import threading
from typing import Any

from tangrad._profiler.backends import profiler_of
from tangrad.core.caches import free_after_fork

_lock = free_after_fork(threading.Lock())
_running: list[Any] = []


def start_server(port: int, requires_backend: bool = True) -> Any:
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
