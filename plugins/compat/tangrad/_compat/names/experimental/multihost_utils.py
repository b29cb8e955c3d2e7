"""`jax.experimental.multihost_utils`: which of the processes that compute together are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tangrad


class ProcessFailureError(RuntimeError):
    """A process was lost. Nothing raises it: the others end, with a message that names it."""


@contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """The devices of `devices` whose processes live: all of them, since a process that is lost ends the others.

    Raises ValueError for a device that there is not.

    >>> import tangrad
    >>> with live_devices(tangrad.devices()) as found:
    ...     len(found) == len(tangrad.devices())
    True
    """
    known = set(tangrad.devices())
    for device in devices:
        if device not in known:
            raise ValueError(f"live_devices: there is no device {device!r} among {len(known)}")
    yield list(devices)


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether the cluster warned, before this step, that it will end a process: False, since none is asked.

    >>> reached_preemption_sync_point(0)
    False
    """
    return False
