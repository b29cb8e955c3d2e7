"""Monitoring the other processes: when one is lost, the rest report it and end, and none waits for it forever.

Process 0 has a connection to each other process, and these to it. A connection that ends before its process has given
notice means that the process is lost; process 0 notifies the others. A machine that is gone without a word, or a
process that stands still, is found by XLA's coordination service, which misses its heartbeats.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import sys
import threading
from collections.abc import Callable, Mapping

from tangrad._distributed.rendezvous import Line

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
        """Take in what a process says; whether the connection goes on."""
        while True:
            try:
                said = line.receive()
            except OSError:
                said = None
            if said is None:
                if number not in self._gone:
                    self._lost(number, "its connection ended without notice")
                return False
            if "bye" in said:
                self._gone.add(number)
            elif "failed" in said:
                self._lost(number, f"it ended with {said['failed']}")
            elif "lost" in said:
                self._lost(said["lost"], said["why"])
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
