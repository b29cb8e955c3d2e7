"""Addresses of the form `host:port`."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import ipaddress
import json
import selectors
import socket
import sys
import time
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

# Where a cluster gives each job a number and no port, jobs get ports of their own in this range, which is above those
# that systems hand out by themselves.
FIRST_PORT, PORT_COUNT = 61_000, 4_000


class Address(NamedTuple):
    """A host, by name or number, and a port.

    >>> Address("::1", 1234)
    '[::1]:1234'
    """

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only processes of the same machine reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __repr__(self) -> str:
        return repr(str(self))


def parse_address(text: object, what: str) -> Address:
    """The address that a text gives. Raises TypeError or ValueError, naming `what` it was given as.

    >>> parse_address("[::1]:1234", "address").host
    '::1'
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a text such as 'host:1234', got {text!r} of type {type(text).__name__}")
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{what} must be of the form 'host:port', with a port from 1 to 65535, got {text!r}")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def port_of(job: str) -> int:
    """A port for a job, the same in all of its processes."""
    return FIRST_PORT + zlib.crc32(job.encode()) % PORT_COUNT


LINE_LIMIT = 4096  # bytes
RETRY_AFTER = 0.1  # seconds
HEARD_WITHIN = 3.0  # seconds that a process of another's number waits for process 0


class Line:
    """A connection to another process, over which go messages: dicts.

    Attributes:
        socket: the connection, blocking.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._rest = b""

    def send(self, **message: object) -> None:
        """Send a message. Raises OSError where the other is gone."""
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """The next message; None where the other ended the connection, and `{}` for what is no message.

        Raises TimeoutError where the socket has a time-out, and other OSErrors where the connection broke.
        """
        while b"\n" not in self._rest:
            if len(self._rest) > LINE_LIMIT:
                return {}
            received = self.socket.recv(LINE_LIMIT)
            if not received:
                return {} if self._rest else None
            self._rest += received
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            return {}
        return message if isinstance(message, dict) else {}

    @property
    def has_more(self) -> bool:
        """Whether another whole message has come already."""
        return b"\n" in self._rest

    @property
    def is_open(self) -> bool:
        """Whether the other, who has nothing to say now, is still there."""
        self.socket.setblocking(False)
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self.socket.setblocking(True)

    def here(self) -> Address:
        """Its address at this end."""
        return _plain(self.socket.getsockname())

    def there(self) -> Address:
        """Its address at the other end."""
        return _plain(self.socket.getpeername())

    def close(self) -> None:
        """End the connection."""
        self.socket.close()


def _plain(place: Any) -> Address:
    """An address of a socket, an IPv4 number as such, also where the socket is for both."""
    return Address(place[0].removeprefix("::ffff:"), place[1])


class Host:
    """Process 0 at its address, until the others are there.

    Args:
        address: where to listen.
        everywhere: on all interfaces of the machine, not only at the address.
        count: how many processes there are.

    Raises RuntimeError where it cannot listen there: the port is in use, by another process 0 perhaps, or the address
    is another machine's.
    """

    def __init__(self, address: Address, everywhere: bool, count: int) -> None:
        self._address = address
        self._count = count
        self._lines: dict[int, Line] = {}
        self._twice: int | None = None  # the number of two processes
        try:
            self._listener = _listen(address, everywhere)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and (refusal := _refused_by_another(address, count)):
                raise RuntimeError(refusal) from error
            raise RuntimeError(f"process 0 cannot listen at {address!r}: {error.strerror or error}") from error

    def gather(self, timeout: float) -> dict[int, Line]:
        """Wait until all others are there: their numbers -> connections. They wait for `let_go` or `send_away`.

        Raises RuntimeError, in those that came too, where a process is missing after `timeout` seconds, and at once
        where two have one number: then another number belongs to no process, and waiting is in vain.
        """
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._listener, selectors.EVENT_READ)
            try:
                while not self._all_are_there():
                    ready = waiting.select(max(0.0, deadline - time.monotonic()))
                    if not ready and time.monotonic() >= deadline:
                        raise RuntimeError(self._missing(timeout))
                    for key, _ in ready:
                        self._hear(key, waiting)
            finally:
                for key in list(waiting.get_map().values()):
                    if key.data is not None:
                        key.data.close()
        return dict(self._lines)

    def _all_are_there(self) -> bool:
        """Whether each other process has come and is still there; the number of one that has ended is free again."""
        if len(self._lines) < self._count - 1:
            return False
        for number in [number for number, line in self._lines.items() if not line.is_open]:
            self._lines.pop(number).close()
        return len(self._lines) == self._count - 1

    def _hear(self, key: selectors.SelectorKey, waiting: selectors.BaseSelector) -> None:
        """A process connects, or sends which it is. Raises RuntimeError for the number of another."""
        if key.data is None:
            connection, _ = self._listener.accept()
            connection.settimeout(1.0)  # for senders of half a line; a registered connection has data
            waiting.register(connection, selectors.EVENT_READ, Line(connection))
            return
        waiting.unregister(key.fileobj)
        self._greet(key.data)
        if self._twice is not None:
            raise RuntimeError(
                f"two processes have process_id={self._twice} at {self._address!r}; of {self._count} (num_processes) "
                f"each must have a number of its own"
            )

    def _missing(self, timeout: float) -> str:
        missing = [str(number) for number in range(1, self._count) if number not in self._lines]
        return (
            f"process 0 waited for {timeout:g} s at {self._address!r} (initialization_timeout), and of {self._count} "
            f"processes (num_processes) these did not come: {', '.join(missing)}"
        )

    def _greet(self, line: Line) -> None:
        """Register a process, or refuse one that does not fit; a connection that is no process of ours is closed."""
        try:
            message = line.receive() or {}
            number, count = message.get("process"), message.get("of")
            if type(number) is not int or type(count) is not int or not line.is_open:
                line.close()
            elif count != self._count:
                line.send(refused=f"process {number} has num_processes={count}, and process 0 has {self._count}")
                line.close()
            elif not 0 <= number < count:
                line.send(refused=f"process_id must be from 0 to {count - 1}, got {number}")
                line.close()
            elif number == 0 or (number in self._lines and self._lines[number].is_open):
                line.send(refused=f"there is another process with process_id={number} at {self._address!r}")
                line.close()
                self._twice = number
            else:
                line.socket.settimeout(None)
                if number in self._lines:  # of one that has ended, and was started again
                    self._lines[number].close()
                self._lines[number] = line
        except OSError:
            line.close()

    def stop_listening(self) -> None:
        """Leave the port to the coordination service."""
        self._listener.close()

    def let_go(self) -> None:
        """Notify the others that the service is there. Raises RuntimeError where one is gone again."""
        for number, line in self._lines.items():
            try:
                line.send(service=True)
            except OSError as error:
                raise RuntimeError(f"process {number} came to {self._address!r}, and was lost again") from error

    def send_away(self, reason: str) -> None:
        """Send the others the error, and end all connections."""
        self._listener.close()
        for line in self._lines.values():
            with contextlib.suppress(OSError):
                line.send(refused=reason)
            line.close()
        self._lines.clear()


def _refused_by_another(address: Address, count: int) -> str | None:
    """The refusal of another process 0 that listens at an address already; None where none does. It gives up, too."""
    try:
        with socket.create_connection((address.host, address.port), 2.0) as connection:
            line = Line(connection)
            line.send(process=0, of=count)
            message = line.receive()
    except OSError:
        return None
    refused = (message or {}).get("refused")
    return refused if isinstance(refused, str) else None


def meet(address: Address, number: int, count: int, timeout: float) -> Line:
    """The connection of process `number` to process 0, when all are there.

    Raises RuntimeError where there is no answer within `timeout` seconds, or one from another program, or process 0
    refuses; and soon where there is no answer, and another process of this machine waits as process `number`.
    """
    deadline = time.monotonic() + timeout
    with _claimed(address, number) as alone:
        line = Line(_reach(address, number, deadline, timeout, alone))
    try:
        line.send(process=number, of=count)
        # Process 0 gives up when its own time is over, and sends why: that is worth waiting for a little longer.
        line.socket.settimeout(max(1.0, deadline - time.monotonic() + 1.0))
        message = line.receive()
        line.socket.settimeout(None)
        if not message or "service" not in message:
            raise RuntimeError(_refusal(message, address, number))
    except TimeoutError:
        line.close()
        raise RuntimeError(
            f"process {number} reached {address!r}, where not all {count} processes (num_processes) were there within "
            f"{timeout:g} s (initialization_timeout)"
        ) from None
    except OSError as error:
        line.close()
        raise RuntimeError(f"process {number} lost its connection to process 0 at {address!r}: {error}") from error
    except BaseException:
        line.close()
        raise
    return line


def _refusal(message: dict[str, object] | None, address: Address, number: int) -> str:
    if message is None:
        return f"process 0 at {address!r} ended before all processes were there"
    other = f"process {number} reached {address!r}, and what answers there is no process 0 that waits for others"
    return str(message.get("refused", other))


@contextlib.contextmanager
def _claimed(address: Address, number: int) -> Iterator[bool]:
    """Whether no other process of this machine claims to be process `number` at an address meanwhile, if that shows.

    Linux has names of sockets that are no files: each belongs to one process, until it ends.
    """
    if sys.platform != "linux":
        yield True
        return
    name = hashlib.sha256(f"tangrad {address!r} {number}".encode()).hexdigest()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        try:
            claim.bind(f"\0tangrad-{name}")
        except OSError as error:
            yield error.errno != errno.EADDRINUSE
        else:
            yield True


def _reach(address: Address, number: int, deadline: float, timeout: float, alone: bool) -> socket.socket:
    """A connection to an address at which a process may begin to listen a little later.

    A process that is not alone with its number waits shortly, so that process 0 may hear of it, and all others by that.
    """
    started = time.monotonic()
    while True:
        try:
            connection = socket.create_connection((address.host, address.port), max(0.1, deadline - time.monotonic()))
            if connection.getsockname() != connection.getpeername():  # a port of ours may be given the very number
                return connection
            connection.close()
        except OSError as error:
            if not alone and time.monotonic() - started > HEARD_WITHIN:
                raise RuntimeError(
                    f"there is another process with process_id={number} on this machine, which waits for process 0 at "
                    f"{address!r}"
                ) from error
            if time.monotonic() + RETRY_AFTER >= deadline:
                raise RuntimeError(
                    f"process {number} found no process 0 at {address!r} within {timeout:g} s (initialization_timeout)"
                    f": {error.strerror or error}"
                ) from error
        time.sleep(RETRY_AFTER)


def _listen(address: Address, everywhere: bool) -> socket.socket:
    """A listening socket that refuses a port at which another program listens."""
    if everywhere and socket.has_dualstack_ipv6():
        listener = socket.create_server(("", address.port), family=socket.AF_INET6, dualstack_ipv6=True)
    elif everywhere:
        listener = socket.create_server(("", address.port))
    else:
        host, family = numeric(address)
        listener = socket.create_server((host, address.port), family=family)
    return listener


def numeric(address: Address) -> tuple[str, socket.AddressFamily]:
    """The number of a host, IPv4 where it has one, and which kind that is. Raises OSError for a host unknown here."""
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    family, _, _, _, place = min(found, key=lambda one: one[0] != socket.AF_INET)
    return str(place[0]), family
