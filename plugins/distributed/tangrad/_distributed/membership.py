"""`initialize` and `shutdown`: joining the processes that compute together, noticing losses, and leaving them."""

from __future__ import annotations

import atexit
import contextlib
import operator
import os
import selectors
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from tangrad._distributed.clusters import Cluster, detect
from tangrad._distributed.rendezvous import Address, Host, Line, meet, numeric, parse_address
from tangrad.core import get_backend
from tangrad.errors import BackendError

if TYPE_CHECKING:
    from tangrad.core.protocols import Coordination


EXIT_STATUS = 1


class PeerMonitor:
    """A watch over the connections to other processes, in a thread of its own.

    Args:
        number: of this process.
        count: how many there are.
        lines: the numbers of the processes it is connected to -> the connections.
        end: what is done when one is lost, with the message: at most once, and not after `close`.
    """

    def __init__(self, number: int, count: int, lines: Mapping[int, Line], end: Callable[[str], None]) -> None:
        self._number = number
        self._count = count
        self._lines = dict(lines)
        self._end = end
        self._over = False
        self._losing = threading.Event()
        self._done = threading.Event()
        self._gone: set[int] = set()  # who has announced their exit
        self._thread = threading.Thread(target=self._watch, name="tangrad.distributed", daemon=True)
        self._thread.start()

    def announce_exit(self) -> None:
        """Notify the others that this process leaves, and is not lost."""
        self._notify_others(bye=True)

    def announce_failure(self, error: BaseException) -> None:
        """Notify the others that an error ends this process."""
        self._over = True
        self._notify_others(failed=f"{type(error).__name__}: {error}"[:1000])

    def wait_for_loss(self, timeout: float) -> bool:
        """Wait so many seconds for the loss of another process, until all is done about it; whether there is one."""
        lost = self._losing.wait(timeout)
        if lost:
            self._done.wait(timeout)  # not forever: a process that stands still takes in no news
        return lost

    def close(self) -> None:
        """End the watch and all connections."""
        self._over = True
        for line in self._lines.values():
            with contextlib.suppress(OSError):  # it has ended already
                line.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join()

    def _notify_others(self, **message: object) -> None:
        for line in list(self._lines.values()):
            with contextlib.suppress(OSError):  # that it has ended is noticed elsewhere
                line.send(**message)

    def _watch(self) -> None:
        with selectors.DefaultSelector() as selector:
            for number, line in self._lines.items():
                selector.register(line.socket, selectors.EVENT_READ, (number, line))
            while selector.get_map():
                for key, _ in selector.select():
                    number, line = key.data
                    if not self._hear(number, line):
                        selector.unregister(line.socket)
                        line.close()

    def _hear(self, number: int, line: Line) -> bool:
        """Take in what a process sends; whether the connection goes on."""
        while True:
            try:
                message = line.receive()
            except OSError:
                message = None
            if message is None:
                if number not in self._gone:
                    self._lost(number, "its connection ended without notice")
                return False
            if "bye" in message:
                self._gone.add(number)
            elif "failed" in message:
                self._lost(number, f"it ended with {message['failed']}")
            elif "lost" in message:
                self._lost(message["lost"], message["why"])
            if not line.has_more:
                return True

    def _lost(self, number: int, why: str) -> None:
        if self._over:
            return
        self._over = True
        self._losing.set()
        self._notify_others(lost=number, why=why)
        self._end(
            f"tangrad.distributed: process {number} of {self._count} is lost: {why}. Process {self._number} cannot go "
            f"on without it, and ends"
        )
        self._done.set()


def end_process(message: str | None = None) -> None:
    """End this process, with a message, now: its threads may wait for a computation that never ends."""
    sys.stdout.flush()
    if message is not None:
        print(message, file=sys.stderr)
    sys.stderr.flush()
    os._exit(EXIT_STATUS)


WHAT = "tangrad.distributed.initialize"
# How many seconds to wait for the news that another process is lost before an error is held to be this process's own.
# The errors of computations, which are RuntimeErrors, come of a loss more often than not, and a busy machine may have
# them overtake the news.
GRACE = 0.5
GRACE_OF_COMPUTATIONS = 10.0


class _Membership:
    """This process among the others.

    Attributes:
        monitor: the watch over the others; None where there are none.
        coordination: the backend's part; None where it has none.
    """

    def __init__(self, cluster: Cluster, coordination: Any, monitor: PeerMonitor | None) -> None:
        self.cluster = cluster
        self.coordination = coordination
        self.monitor = monitor

    def __str__(self) -> str:
        address, count, number, _ = self.cluster
        return f"process {number} of {count}" + (f" at {address!r}" if count != 1 else "")


_lock = threading.Lock()
_membership: list[_Membership] = []  # at most one


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: float = 300,
    heartbeat_timeout_seconds: float = 100,
    shutdown_timeout_seconds: float = 300,
    coordinator_bind_address: str | None = None,
) -> None:
    """Join this process with others to compute together: `tangrad.devices()` are then those of all.

    Every process calls it, before its first computation and before it asks for devices; it returns when all are there.
    When one of them is lost, the others end with a message and exit status 1.

    Args:
        coordinator_address: `host:port` of process 0; all can reach it, and no other program listens there.
        num_processes: how many processes there are.
        process_id: the number of this one, from 0.
        local_device_ids: the numbers of the GPUs of this machine that the process takes; default: all that it sees.
        cluster_detection_method: what is not stated is taken from the environment variables
            TANGRAD_COORDINATOR_ADDRESS, TANGRAD_NUM_PROCESSES and TANGRAD_PROCESS_ID, else from the scheduler that
            started the process: "slurm", "open_mpi", "kubernetes", "mpi4py", or another that is installed; default: the
            one that did, if that can be seen ("mpi4py" has to be named). "deactivate": from no scheduler.
        initialization_timeout: how many seconds to wait for the others.
        heartbeat_timeout_seconds: after how many seconds without a sign of life a process is lost. One that was killed
            is noticed at once.
        shutdown_timeout_seconds: how many seconds to wait for the others at the end.
        coordinator_bind_address: `host:port` where process 0 listens; default: on all interfaces of its machine, or
            locally, if coordinator_address is a local one such as "localhost:1234".

    Raises:
        RuntimeError: where the process is joined already, devices are in use, the port is, no process 0 is found, or
            not all processes come in time, naming those that are missing.
        BackendError: for several processes, where the backend in use computes in one, as the NumPy backend does.
        ValueError, TypeError: for an address, number or time that cannot be, or is not known.

    After an error everything is as it was before.

    >>> import tangrad
    >>> tangrad.distributed.initialize(num_processes=1, process_id=0)
    >>> tangrad.process_index(), tangrad.process_count()
    (0, 1)
    >>> tangrad.distributed.shutdown()
    """
    with _lock:
        if _membership:
            raise RuntimeError(
                f"{WHAT} was called before: this is {_membership[0]}; call tangrad.distributed.shutdown() to leave"
            )
        stated = Cluster(coordinator_address, num_processes, process_id, _device_numbers(local_device_ids))
        cluster = _complete(stated, cluster_detection_method)
        timeouts = {
            "initialization_timeout": _seconds(initialization_timeout, "initialization_timeout"),
            "heartbeat_timeout": _seconds(heartbeat_timeout_seconds, "heartbeat_timeout_seconds"),
            "shutdown_timeout": _seconds(shutdown_timeout_seconds, "shutdown_timeout_seconds"),
        }
        bind = None
        if coordinator_bind_address is not None:
            bind = parse_address(coordinator_bind_address, f"{WHAT}: coordinator_bind_address")
        coordination = _coordination(cluster)
        monitor = _joined(cluster, coordination, bind, timeouts) if cluster.num_processes != 1 else None
        _membership.append(_Membership(cluster, coordination, monitor))
        atexit.register(_leave_at_exit)


def is_initialized() -> bool:
    """Whether `initialize` has been called, and `shutdown` not yet.

    >>> import tangrad
    >>> tangrad.distributed.is_initialized()
    False
    """
    return bool(_membership)


def shutdown() -> None:
    """Leave the other processes, when all of them leave; nothing happens where `initialize` was not called.

    It is called at the end of a program by itself. Devices, and arrays on those of this process, stay.

    Raises RuntimeError where the others do not leave within `shutdown_timeout_seconds`.

    >>> import tangrad
    >>> tangrad.distributed.shutdown()
    """
    with _lock:
        if not _membership:
            return
        atexit.unregister(_leave_at_exit)
        member = _membership.pop()
        if member.monitor is None:
            return
        member.monitor.announce_exit()
        try:
            member.coordination.leave()
        finally:
            member.monitor.close()


def _leave_at_exit() -> None:
    """At the end of a program: with the others, or, if an error ends it, so that these know why, without waiting."""
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)  # interactive sessions survive errors
    if error is None or not _membership or _membership[0].monitor is None:
        shutdown()
    else:
        # An error in a computation with others may follow from the loss of one, and then that is what to say.
        monitor = _membership[0].monitor
        if not monitor.wait_for_loss(GRACE_OF_COMPUTATIONS if isinstance(error, RuntimeError) else GRACE):
            monitor.announce_failure(error)
        # Not by way of what is left to do at exit: that would wait for computations with the others.
        end_process()


# --- what is asked for -----------------------------------------------------------------------------------------------


def _complete(stated: Cluster, method: str | None, environ: Mapping[str, str] = os.environ) -> Cluster:
    """What is stated, completed by the environment and by the scheduler; checked."""
    from_environment = Cluster(
        environ.get("TANGRAD_COORDINATOR_ADDRESS"),
        _number_of(environ, "TANGRAD_NUM_PROCESSES"),
        _number_of(environ, "TANGRAD_PROCESS_ID"),
    )
    known = _merged(stated, from_environment)
    scheduler = ""
    if method is not None or None in known[:3]:
        scheduler, detected = detect(method, environ)
        known = _merged(known, detected)
    count = _integer(known.num_processes, "num_processes", scheduler)
    number = _integer(known.process_id, "process_id", scheduler)
    if count < 1 or not 0 <= number < count:
        raise ValueError(f"{WHAT}: process_id must be from 0 to num_processes - 1, got {number} of {count}")
    if known.coordinator_address is None and count > 1:
        raise _unknown("coordinator_address", scheduler)
    return known._replace(num_processes=count, process_id=number)


def _merged(first: Cluster, second: Cluster) -> Cluster:
    return first._replace(**{name: value for name, value in second._asdict().items() if getattr(first, name) is None})


def _number_of(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{WHAT}: {name} must be a number, got {text!r}") from None


def _integer(value: SupportsIndex | None, name: str, scheduler: str) -> int:
    if value is None:
        raise _unknown(name, scheduler)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{WHAT}: {name} must be an integer, got {value!r}") from None


def _unknown(name: str, scheduler: str) -> ValueError:
    why = f"{scheduler} does not say it" if scheduler else "no scheduler known here has started this process"
    return ValueError(f"{WHAT}: {name} is not stated, TANGRAD_{name.upper()} is not set, and {why}")


def _device_numbers(given: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        return tuple([operator.index(number) for number in (given if isinstance(given, Sequence) else (given,))])
    except TypeError:
        raise TypeError(f"{WHAT}: local_device_ids must be an integer, or several, got {given!r}") from None


def _seconds(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{WHAT}: {name} must be a number of seconds, got {value!r}")
    if not value > 0:
        raise ValueError(f"{WHAT}: {name} must be a positive number of seconds, got {value!r}")
    return float(value)


def _coordination(cluster: Cluster) -> Any:
    """What joins the backend in use with others. One process needs none."""
    backend = get_backend()
    try:
        coordination = backend.coordination()
    except BackendError as error:
        if cluster.num_processes == 1:
            return None
        raise BackendError(
            f"{WHAT}: {error}. For {cluster.num_processes} processes use XLA: pip install tangrad-backend-xla, and "
            f"TANGRAD_BACKEND=xla where another backend is set. To try out on this one a program for several "
            f"processes, run it in one with as many devices: num_processes=1 and TANGRAD_NUM_CPU_DEVICES"
        ) from None
    coordination.check_not_started()
    return coordination


# --- how it is done --------------------------------------------------------------------------------------------------


def _joined(
    cluster: Cluster, coordination: Coordination, bind: Address | None, timeouts: dict[str, float]
) -> PeerMonitor:
    """Bring the processes together and connect the backend. Raises RuntimeError, with nothing left behind."""
    address = parse_address(cluster.coordinator_address, f"{WHAT}: coordinator_address")
    count, number = cluster.num_processes or 1, cluster.process_id or 0
    try:
        lines = (
            _hosted(address, bind, count, coordination, timeouts)
            if number == 0
            else {0: meet(address, number, count, timeouts["initialization_timeout"])}
        )
    except RuntimeError as error:
        raise RuntimeError(f"{WHAT}: {error}") from error
    service = lines[0].there() if number else lines[1].here()
    coordination.connect(
        str(service),
        number,
        count,
        host=_reachable(address, lines),
        local_devices=cluster.local_device_ids,
        **timeouts,
    )
    return PeerMonitor(number, count, lines, end_process)


def _hosted(
    address: Address, bind: Address | None, count: int, coordination: Coordination, timeouts: dict[str, float]
) -> dict[int, Line]:
    """Wait for the others as process 0, and run the coordination service for them."""
    place = bind or address
    everywhere = bind is None and not address.is_loopback
    host = Host(place, everywhere, count)
    try:
        lines = host.gather(timeouts["initialization_timeout"])
        host.stop_listening()
        served = Address("::" if socket.has_dualstack_ipv6() else "0.0.0.0", place.port)
        if not everywhere:
            served = Address(numeric(place)[0], place.port)
        coordination.serve(str(served), count, **timeouts)
        host.let_go()
    except BaseException as error:
        host.send_away(f"process 0 gave up: {error}")
        coordination.leave()
        raise
    return lines


def _reachable(address: Address, lines: Mapping[int, Line]) -> str | None:
    """The host by which others reach this process: where it met them. None where that is known on this machine only."""
    for line in lines.values():
        here = line.here()
        if address.is_loopback or not here.is_loopback:
            return here.host
    return None
