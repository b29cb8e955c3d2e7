"""Addresses of the form `host:port`."""

from __future__ import annotations

import ipaddress
import zlib
from typing import NamedTuple

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
    """The address that a text says. Raises TypeError or ValueError, naming `what` it was given as.

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
