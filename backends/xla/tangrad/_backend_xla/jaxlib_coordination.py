"""All contact with XLA's coordination service: a server that one of several processes runs, and a client of each.

They are the same in the supported releases of jaxlib, and so is a gap in them: a client cannot report to Python what
went wrong. By default it ends the process where it cannot connect, or where another one is lost, and logs why;
with a function of Python's to call instead, that call fails (the error it is called with has no counterpart in Python).
So the default is kept, and the caller makes sure beforehand that all processes are there.
"""

from __future__ import annotations

import math
from typing import Any

from tangrad._backend_xla import jaxlib_api  # which imports jaxlib in silence

from jaxlib import _jax as runtime  # type: ignore[attr-defined]  # isort: skip
from collections.abc import Callable, Sequence


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


class Coordination:
    """With which processes this one computes. Alone, until it is connected.

    Attributes:
        process_index, process_count: its number, and how many there are.
        client: of the coordination service, or None.
        host: the address at which the others reach this process.
        patience: how many minutes the others have to start their devices.
        local_devices: the numbers of the accelerators of this machine that it takes; None for all.
    """

    def __init__(self, has_started: Callable[[], bool]) -> None:
        self._has_started = has_started
        self._service: Any = None
        self._alone()

    def _alone(self) -> None:
        self.process_index, self.process_count = 0, 1
        self.client: Any = None
        self.host: str | None = None
        self.patience = 5
        self.local_devices: tuple[int, ...] | None = None

    def check_not_started(self) -> None:
        """Raise RuntimeError where devices are in use: they are made for the processes that were known then."""
        if self._has_started():
            raise RuntimeError(
                "the devices of XLA are in use in this process already, and cannot be joined with those of other "
                "processes any more: call tangrad.distributed.initialize before the first computation, and before "
                "anything else that asks for devices (tangrad.devices(), tangrad.device_put, tangrad.numpy.ones, ...)"
            )

    def serve(self, address: str, process_count: int, **timeouts: float) -> None:
        """Run the coordination service at `host:port`. Raises RuntimeError where it cannot listen there."""
        try:
            self._service = start_service(address, process_count, **timeouts)
        except Error as error:
            raise RuntimeError(f"the coordination service cannot listen at {address!r}: {error}") from error

    def connect(
        self,
        address: str,
        process_index: int,
        process_count: int,
        *,
        host: str | None,
        local_devices: Sequence[int] | None,
        **timeouts: float,
    ) -> None:
        """Join the processes that the service at an address serves, all of which must be about to do so."""
        self.client = connect(address, process_index, **timeouts)
        self.process_index, self.process_count = process_index, process_count
        self.host = host
        self.patience = max(1, math.ceil(timeouts["initialization_timeout"] / 60))
        self.local_devices = None if local_devices is None else tuple(local_devices)

    def leave(self) -> None:
        """Wait until all processes leave, and end the connection. What the devices hold stays as it is.

        Raises RuntimeError where they do not leave in time.
        """
        client, service = self.client, self._service
        self.client = self._service = None
        try:
            if client is not None:
                client.shutdown()
        except Error as error:
            raise RuntimeError(f"not all processes left: {error}") from error
        finally:
            if service is not None:
                service.shutdown()
            if not self._has_started():
                self._alone()
