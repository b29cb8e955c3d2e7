"""All contact with XLA's coordination service: a server that one of several processes runs, and a client of each.

They are the same in the supported releases of jaxlib, and so is a gap in them: a client cannot report to Python what
went wrong. By default it ends the process where it cannot connect, or where another one is lost, after it has said why;
with a function of Python's to call instead, that call fails (the error it is called with has no counterpart in Python).
So the default is kept, and the caller makes sure beforehand that all processes are there.
"""

from __future__ import annotations

import math
from typing import Any

from tangrad._backend_xla import jaxlib_api  # which imports jaxlib in silence

from jaxlib import _jax as runtime  # type: ignore[attr-defined]  # isort: skip


def start_service(
    address: str,
    process_count: int,
    *,
    initialization_timeout: float,
    heartbeat_timeout: float,
    shutdown_timeout: float,
) -> Any:
    """The service for so many processes, listening at `host:port`; time-outs in seconds.

    Raises XlaRuntimeError where it cannot listen there.
    """
    return runtime.get_distributed_runtime_service(
        address,
        process_count,
        heartbeat_timeout=_seconds(heartbeat_timeout),
        cluster_register_timeout=_seconds(initialization_timeout),
        shutdown_timeout=_seconds(shutdown_timeout),
    )


def connect(
    address: str,
    process_index: int,
    *,
    initialization_timeout: float,
    heartbeat_timeout: float,
    shutdown_timeout: float,
) -> Any:
    """A client of the service at `host:port`, when all processes have connected."""
    client = runtime.get_distributed_runtime_client(
        address,
        process_index,
        init_timeout=_seconds(initialization_timeout),
        heartbeat_timeout=_seconds(heartbeat_timeout),
        shutdown_timeout=_seconds(shutdown_timeout),
        shutdown_on_destruction=False,
        use_compression=True,
    )
    client.connect()
    return client


def _seconds(timeout: float) -> int:
    """A time-out as the service takes it: whole seconds, at least one."""
    return max(1, math.ceil(timeout))


Error = jaxlib_api.XlaRuntimeError
