"""How processes meet, tried out in threads: all are there, one is missing, or does not belong."""

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tangrad._distributed import rendezvous
from tangrad._distributed.membership import PeerMonitor
from tangrad._distributed.rendezvous import Address, Host, Line, meet, parse_address, port_of
from tests.ports import free_port

# Seconds for what happens at once, but for a busy machine.
SOON = 60.0


@pytest.fixture
def address() -> Address:
    return Address("127.0.0.1", free_port())


_opened: list[Line] = []


@pytest.fixture(autouse=True)
def _closed_afterwards() -> Iterator[None]:
    """A line that a failing test left open would be a warning, and so an error, in a test that comes later."""
    yield
    while _opened:
        _opened.pop().close()


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each returns, or the text of its error."""

    def result(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except RuntimeError as error:
            return str(error)

    with ThreadPoolExecutor(len(calls)) as pool:
        found = list(pool.map(result, calls))
    for one in found:
        _opened.extend([line for line in (one.values() if isinstance(one, dict) else [one]) if isinstance(line, Line)])
    return found


def hosted(address: Address, count: int, timeout: float = SOON, host: Host | None = None) -> dict[int, Line]:
    host = host or Host(address, False, count)
    try:
        lines = host.gather(timeout)
        host.stop_listening()
        host.let_go()
    except RuntimeError as error:
        host.send_away(str(error))
        raise
    return lines


def test_all_meet(address: Address) -> None:
    lines, first, second = at_once(
        lambda: hosted(address, 3), lambda: meet(address, 1, 3, SOON), lambda: meet(address, 2, 3, SOON)
    )
    assert sorted(lines) == [1, 2] and first.there() == lines[1].here() == address and first.here() == lines[1].there()
    second.send(text="é")
    assert lines[2].receive() == {"text": "é"}
    for line in (*lines.values(), first, second):
        line.close()


def test_who_is_missing_is_said_to_all(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    has_come, send = threading.Event(), Line.send

    def sent(line: Line, **message: object) -> None:
        send(line, **message)
        has_come.set()

    def hosted_when_one_has_come() -> Any:
        assert has_come.wait(SOON)
        return hosted(address, 4, 0.5, host)

    monkeypatch.setattr(Line, "send", sent)
    host = Host(address, False, 4)
    words = (
        f"process 0 waited for 0.5 s at {address!r} (initialization_timeout), and of 4 processes (num_processes) these"
    )
    for found in at_once(hosted_when_one_has_come, lambda: meet(address, 2, 4, SOON)):
        assert found == f"{words} did not come: 1, 3"


@pytest.mark.parametrize(
    ("number", "count", "words"),
    [
        (1, 3, "process 1 has num_processes=3, and process 0 has 2"),
        (2, 2, "process_id must be from 0 to 1, got 2"),
    ],
)
def test_who_does_not_fit_is_sent_away(address: Address, number: int, count: int, words: str) -> None:
    def then_the_right_one() -> Any:
        said = at_once(lambda: meet(address, number, count, SOON))
        return [*said, meet(address, 1, 2, SOON)]

    lines, (said, right) = at_once(lambda: hosted(address, 2), then_the_right_one)
    assert words in said
    lines[1].close()
    right.close()


def test_two_with_one_number(address: Address) -> None:
    """No process waits for a number that belongs to none."""
    host = Host(address, False, 3)  # listens already: the second would not wait for it for long
    found = at_once(
        lambda: hosted(address, 3, host=host),
        lambda: meet(address, 1, 3, SOON),
        lambda: meet(address, 1, 3, SOON),
    )
    words = f"two processes have process_id=1 at {address!r}; of 3 (num_processes) each must have a number of its own"
    assert found[0] == words
    assert sorted(found[1:]) == [f"there is another process with process_id=1 at {address!r}", words]


def test_two_with_number_0(address: Address) -> None:
    first = Host(address, False, 2)
    said, other = at_once(lambda: hosted(address, 2, host=first), lambda: Host(address, False, 2))
    assert said.startswith(f"two processes have process_id=0 at {address!r}")
    assert other == f"there is another process with process_id=0 at {address!r}"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows it before there is a process 0")
def test_two_with_one_number_and_no_process_0(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendezvous, "HEARD_WITHIN", 0.1)
    found = at_once(lambda: meet(address, 1, 2, 3), lambda: meet(address, 1, 2, 3))
    assert sorted([words.partition(" at ")[0] for words in found]) == [
        "process 1 found no process 0",
        "there is another process with process_id=1 on this machine, which waits for process 0",
    ]


@pytest.mark.parametrize("pause", [0, 0.2])
def test_one_that_comes_again_after_its_end(address: Address, pause: float) -> None:
    """The number of a process that has ended is free, also where all the others have come by then."""
    ended = threading.Event()

    def ended_and_again() -> Any:
        with socket.create_connection(tuple(address), SOON) as before:
            before.sendall(b'{"process": 1, "of": 3}\n')
            time.sleep(pause)
        ended.set()
        time.sleep(pause)
        return meet(address, 1, 3, SOON)

    def after_its_end() -> Any:
        assert ended.wait(SOON)
        return meet(address, 2, 3, SOON)

    host = Host(address, False, 3)  # listens before the first of them, which does not try twice
    lines, again, other = at_once(lambda: hosted(address, 3, host=host), ended_and_again, after_its_end)
    assert sorted(lines) == [1, 2]
    for line in (*lines.values(), again, other):
        line.close()


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b'{"process": "1"}\n', b"\xff\n", b"x" * 10_000, b""])
def test_unrelated_connections_are_ignored(address: Address, said: bytes) -> None:
    def unrelated_first() -> Any:
        with socket.create_connection(tuple(address), SOON) as unrelated:
            with contextlib.suppress(OSError):  # who reads nonsense may have hung up by now
                unrelated.sendall(said)
                unrelated.shutdown(socket.SHUT_WR)
            return meet(address, 1, 2, SOON)

    host = Host(address, False, 2)
    lines, line = at_once(lambda: hosted(address, 2, host=host), unrelated_first)
    assert line.there() == address
    lines[1].close()
    line.close()


def test_another_program_answers(address: Address) -> None:
    with socket.create_server(tuple(address)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"220 mail ready\r\n")

        _, said = at_once(answer, lambda: meet(address, 1, 2, SOON))
    assert said == f"process 1 reached {address!r}, and what answers there is no process 0 that waits for others"


def test_process_0_ends_meanwhile(address: Address) -> None:
    with socket.create_server(tuple(address)) as listener:
        _, said = at_once(lambda: listener.accept()[0].close(), lambda: meet(address, 1, 2, SOON))
    assert said.startswith((f"process 0 at {address!r} ended", "process 1 lost its connection"))


# --- monitor
# -----------------------------------------------------------------------------------------------------------


class _Watched:
    """Three processes' watches, and what they did at the end."""

    def __init__(self, address: Address) -> None:
        self.said: dict[int, str] = {}
        self.ended = {number: threading.Event() for number in range(3)}
        lines, *others = at_once(
            lambda: hosted(address, 3), lambda: meet(address, 1, 3, SOON), lambda: meet(address, 2, 3, SOON)
        )
        self.lines = {0: lines, 1: {0: others[0]}, 2: {0: others[1]}}
        self.monitors = {
            number: PeerMonitor(number, 3, lines, self._end(number)) for number, lines in self.lines.items()
        }

    def _end(self, number: int) -> Callable[[str], None]:
        def end(message: str) -> None:
            self.said[number] = message
            self.ended[number].set()

        return end

    def close(self) -> None:
        for monitor in self.monitors.values():
            monitor.close()


def test_all_are_notified_of_the_loss_of_one(address: Address) -> None:
    watched = _Watched(address)
    watched.lines[2][0].socket.shutdown(socket.SHUT_RDWR)
    for number in (0, 1):
        assert watched.ended[number].wait(SOON)
        assert watched.said[number].startswith("tangrad.distributed: process 2 of 3 is lost: its connection ended")
        assert f"Process {number} cannot go on without it" in watched.said[number]
    watched.close()


def test_all_are_notified_of_the_error_that_ended_one(address: Address) -> None:
    watched = _Watched(address)
    watched.monitors[1].announce_failure(ValueError("no data"))
    for number in (0, 2):
        assert watched.ended[number].wait(SOON)
        assert "process 1 of 3 is lost: it ended with ValueError: no data." in watched.said[number]
    watched.close()
    assert 1 not in watched.said


def test_waiting_for_a_loss_ends_when_all_have_been_notified(address: Address) -> None:
    """Else an error that follows from the loss could overtake the news of it."""
    watched = _Watched(address)
    notifying, notified = threading.Event(), threading.Event()

    def notify(**message: object) -> None:
        notifying.set()
        assert notified.wait(SOON)

    watched.monitors[0]._notify_others = notify
    waiting = threading.Thread(target=lambda: waited.append(watched.monitors[0].wait_for_loss(SOON)))
    waited: list[bool] = []
    waiting.start()
    watched.lines[2][0].socket.shutdown(socket.SHUT_RDWR)
    assert notifying.wait(SOON)
    waiting.join(0.2)
    assert waiting.is_alive() and not waited
    notified.set()
    waiting.join(SOON)
    assert waited == [True] and 0 in watched.said
    watched.close()


def test_notices_end_no_process(address: Address) -> None:
    watched = _Watched(address)
    for number in (2, 0, 1):
        watched.monitors[number].announce_exit()
    for number in (1, 0, 2):
        watched.monitors[number].close()
    assert not watched.said


# --- addresses -------------------------------------------------------------------------------------------------------


def test_addresses() -> None:
    assert parse_address("node-7.cluster:8080", "it") == ("node-7.cluster", 8080)
    assert str(parse_address("[::1]:80", "it")) == "[::1]:80" and parse_address("[::1]:80", "it").is_loopback
    assert [Address(host, 1).is_loopback for host in ("localhost", "127.0.0.9", "10.0.0.1", "node")] == [
        True, True, False, False,
    ]  # fmt: skip
    for text in ("host", ":80", "host:", "host:0", "host:x", "host:65536", ""):
        with pytest.raises(ValueError, match="it must be of the form 'host:port'"):
            parse_address(text, "it")
    assert port_of("17.0") == port_of("17.0") != port_of("18.0")
