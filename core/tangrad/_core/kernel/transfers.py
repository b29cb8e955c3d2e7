"""Transfer guards: what is copied between the host and devices, or between devices, is logged or refused.

Every copy is reported (`copied`); until a guard is first set, that costs one look. What the user's program
hands to a function counts (`brought`) if it is a number or an array of NumPy, and so do positions, and what `zeros` is
made of; what our own functions make inside does not, nor does reading what is in the memory of the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

from tangrad._core.diagnostics.logs import Logger
from tangrad._core.diagnostics.source_info import is_from_host as is_from_host
from tangrad._core.diagnostics.source_info import what_is_copied
from tangrad._core.kernel.aval import ShapedArray
from tangrad._core.settings.config import define_choice, thread
from tangrad._core.settings.threads import holding

LEVELS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
HOST_TO_DEVICE, DEVICE_TO_DEVICE, DEVICE_TO_HOST = "host_to_device", "device_to_device", "device_to_host"

_CURES = {
    HOST_TO_DEVICE: "tangrad.device_put(x) does it explicitly",
    DEVICE_TO_DEVICE: "tangrad.device_put(x, device) does it explicitly",
    DEVICE_TO_HOST: "tangrad.device_get(x) does it explicitly",
}
_logger = Logger("tangrad")


watch = SimpleNamespace(on=False)  # whether any guard was ever set


P = ParamSpec("P")
R = TypeVar("R")
_WORDS = "'allow', 'log' or 'disallow'; with '_explicit' also those by device_put and device_get."
_define = partial(define_choice, choices=LEVELS, changes_results=False)
transfer_guard_everywhere = _define("transfer_guard", "allow", doc=f"Copies between the host and devices: {_WORDS}")
_SAME = "The same for copies {}; None: as for transfer_guard."
transfer_guard_host_to_device = _define("transfer_guard_host_to_device", None, doc=_SAME.format("from the host alone"))
transfer_guard_device_to_device = _define("transfer_guard_device_to_device", None, doc=_SAME.format("between devices"))
transfer_guard_device_to_host = _define("transfer_guard_device_to_host", None, doc=_SAME.format("to the host"))
_OF_ONE_DIRECTION = (transfer_guard_host_to_device, transfer_guard_device_to_device, transfer_guard_device_to_host)
GUARDS = (transfer_guard_everywhere, *_OF_ONE_DIRECTION)


def _start_watching(level: str | None) -> None:
    if level not in (None, "allow"):
        watch.on = True


for _setting in GUARDS:
    _setting.on_change(_start_watching)


@contextmanager
def transfer_guard(new_val: str) -> Iterator[None]:
    """A context manager, and a decorator, under which copies between the host and devices are allowed, logged or
    refused.

    Args:
        new_val: "allow", "log" or "disallow", which mean implicit copies; "log_explicit" and
            "disallow_explicit" mean those by `device_put` and `device_get`, too.

    Raises ValueError for another level. A copy that is refused raises RuntimeError. `transfer_guard_host_to_device`,
    `transfer_guard_device_to_device` and `transfer_guard_device_to_host` say the same of one direction.

    >>> import numpy, tangrad
    >>> double = tangrad.jit(lambda x: x + x)
    >>> with tangrad.transfer_guard("disallow"):
    ...     y = double(tangrad.device_put(numpy.ones(2)))
    >>> with tangrad.transfer_guard("disallow"):
    ...     double(numpy.ones(2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: ...
    """
    with ExitStack() as stack:
        stack.enter_context(transfer_guard_everywhere(new_val))
        for one in _OF_ONE_DIRECTION:
            stack.enter_context(one(None))
        yield


def _level(direction: str) -> str:
    return getattr(thread, f"transfer_guard_{direction}") or thread.transfer_guard  # type: ignore[no-any-return]


def brought(aval: ShapedArray | None, put: bool = True) -> None:
    """Say that something of type `aval` is put on a device, or is the operand of an operation, in a call of the user's.

    Raises RuntimeError where the call brings it from the host, and a guard refuses that.
    """
    if not watch.on or thread.copies_explicitly or thread.trace.stages or _level(HOST_TO_DEVICE) == "allow":
        return
    found = what_is_copied(put)
    was_logged = found == "operands" and aval is None and _level(HOST_TO_DEVICE).startswith("log")
    if found and not was_logged:  # when it was put
        copied(HOST_TO_DEVICE, aval)


def copied(direction: str, aval: ShapedArray | None, where: object = None, *, explicit: bool = False) -> None:
    """Say that an array of type `aval` is about to be copied, to `where`; `explicit`: at the user's request.

    Raises RuntimeError where the guard of this thread refuses it.
    """
    if not watch.on or (thread.copies_explicitly and not explicit) or thread.trace.stages:  # written into programs
        return
    level = _level(direction)
    if level == "allow" or (explicit and not level.endswith("_explicit")):
        return
    what = "a number" if aval is None else aval.str_short()
    words = f"{direction.replace('_', '-')} transfer of {what}{'' if where is None else f' to {where}'}"
    if level.startswith("log"):
        _logger.warning("%s", words)
        return
    cure = "" if explicit else f"; {_CURES[direction]}"
    raise RuntimeError(f"disallowed {words}: the transfer guard is {level!r}{cure}")


def read(array: Any, *, explicit: bool = False) -> None:
    """Say that the contents of an array are about to be read, which are copied unless the host's memory holds them."""
    if watch.on and any([device.platform != "cpu" for device in array.devices()]):
        copied(DEVICE_TO_HOST, array.aval, explicit=explicit)


def copies_explicitly(function: Callable[P, R]) -> Callable[P, R]:
    """What the function, and those that it calls, copy is explicit; the function reports it itself."""

    @wraps(function)
    def copying(*args: P.args, **kwargs: P.kwargs) -> R:
        if not watch.on:
            return function(*args, **kwargs)
        with holding(copies_explicitly=True):
            return function(*args, **kwargs)

    return copying
