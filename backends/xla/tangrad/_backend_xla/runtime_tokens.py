"""Side effects at run time: programs with ordered effects run one after the other, and can be waited for.

Inside a program, tokens order the operations (lowering.py). Between programs, XLA returns a token for each execution:
the next program with the same effect is started when it is done.

Each thread orders and waits for what it has started itself: a callback that waits for the program around it would
never return. What threads that have ended did not wait for is left to the next wait.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from tangrad._backend_xla import failures, jaxlib_api
from tangrad._backend_xla.calls import wrapped

if TYPE_CHECKING:
    from tangrad._backend_xla.array import XlaArray
    from tangrad._backend_xla.calls import Loaded
    from tangrad.core import Effect, ShapedArray

    class Token(Protocol):  # jaxlib's, of one execution
        def block_until_ready(self) -> object: ...


# How many executions with unordered effects may be under way before the oldest is waited for.
PENDING_LIMIT = 64
# Of how many failed executions the error is kept for a later wait.
FAILED_LIMIT = 16


class _Started(threading.local):
    """The executions that a thread has not waited for.

    Attributes:
        ordered: effect -> the token of the last execution with it.
        pending: the tokens of the others.
        failed: errors that came up while waiting for something else.
    """

    def __init__(self) -> None:
        self.ordered: dict[Effect, Token] = {}
        self.pending: deque[Token] = deque()
        self.failed: deque[BaseException] = deque(maxlen=FAILED_LIMIT)
        with _lock:
            _threads.append((threading.current_thread(), self.ordered, self.pending, self.failed))

    def wait(self, token: Token) -> None:
        """Wait for a token; an error is kept for `synchronize`."""
        try:
            token.block_until_ready()
        except jaxlib_api.XlaRuntimeError as error:
            self.failed.append(error)


_lock = threading.Lock()
_threads: list[tuple[threading.Thread, dict[Effect, Token], deque[Token], deque[BaseException]]] = []
_started = _Started()


def execute_in_order(
    effects: Sequence[Effect], out_avals: Sequence[ShapedArray], loaded: Loaded, values: Sequence[object]
) -> list[XlaArray]:
    """Run a program with effects, after earlier ones with equal ordered effects. `loaded`: as in a runner's table."""
    run, handlers, placement = loaded
    started = _started
    ordered = [effect for effect in effects if effect.ordered]
    wait_for_ordered(ordered)
    try:
        results = run(list(values), with_tokens=True)
        outs = results.consume_with_handlers(handlers)
        token = results.consume_token()
    except jaxlib_api.XlaRuntimeError as error:
        failures.raise_original(error)
        raise
    for effect in ordered:
        started.ordered[effect] = token
    if len(ordered) < len(effects):
        started.pending.append(token)
        if len(started.pending) > PENDING_LIMIT:
            started.wait(started.pending.popleft())
    return wrapped(out_avals, outs, placement)


def wait_for_ordered(effects: Iterable[Effect]) -> None:
    """Wait for this thread's programs with these ordered effects. Their errors are left for `synchronize`."""
    started = _started
    for effect in effects:
        earlier = started.ordered.pop(effect, None)
        if earlier is not None:
            started.wait(earlier)


def synchronize() -> None:
    """Wait for the effects of the programs that this thread, and threads that have ended, have started.

    Raises the first error of one that failed; the next call raises nothing of these again.
    """
    started = _started
    tokens, failed = _take(started.ordered, started.pending, started.failed)
    with _lock:
        ended = [entry for entry in _threads if not entry[0].is_alive()]
        for entry in ended:
            _threads.remove(entry)
    for _, ordered, pending, failures_there in ended:
        more, errors = _take(ordered, pending, failures_there)
        tokens += more
        failed += errors
    for token in tokens:
        try:
            token.block_until_ready()
        except jaxlib_api.XlaRuntimeError as error:
            failed.append(error)
    if failed:
        failures.raise_original(failed[0])
        raise failed[0]


def _take(
    ordered: dict[Effect, Token], pending: deque[Token], failed: deque[BaseException]
) -> tuple[list[Token], list[BaseException]]:
    tokens, errors = [*ordered.values(), *pending], list(failed)
    ordered.clear()
    pending.clear()
    failed.clear()
    return tokens, errors


# What was printed last must come out, and nothing may call Python when Python is gone.
atexit.register(synchronize)
