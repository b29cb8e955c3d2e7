"""The first use of public names, ended or overtaken at its lines: `first_use.py HOW EVERY SEED [DISTRIBUTION...]`.

HOW is "interrupted" (KeyboardInterrupt), "late" (a TimeoutError, as a time-out's handler raises), "deep"
(RecursionError), "full" (MemoryError) or "nested" (a use of Tangrad in the middle, as a signal handler or `__del__`
makes it). Each distribution's names are used for the first time in a process that has used nothing yet. Of the lines
that run then, one of EVERY is chosen, by a generator that SEED starts. There the process forks: in the child it
happens, and afterwards all names, and programs that need rules, have to work as they do where nothing happened.
"""

from __future__ import annotations

import ast
import os
import random
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FrameType
from typing import Any

# A child goes on where its parent forked, and needs the locks that are held there as they are.
os.register_at_fork = lambda **_: None  # type: ignore[assignment]
import tangrad
from tangrad._console.explanations import catalogue
from tangrad._core.composition.plugin import unfinished_module
from tangrad.core import EVAL_TRACE, thread

warnings.simplefilter("error")
# Seconds that one child may compute, and may be there: what takes longer hangs. The latter are many, since a machine
# may have much else to do.
BUSY, LONGEST = 30, 60
KINDS = {"interrupted": KeyboardInterrupt, "late": TimeoutError, "deep": RecursionError, "full": MemoryError}
# Others' modules cannot be imported twice, or not after a half; nor can what they do be mended here.
OURS = (f"{os.sep}tangrad{os.sep}", f"{os.sep}pluggy{os.sep}")


def resolve(name: str) -> Any:
    found: Any = tangrad
    for part in name.split("."):
        found = getattr(found, part)
    return found


def described(name: str) -> str:
    found = resolve(name)
    return f"{type(found).__name__} {getattr(found, '__name__', '')}"


def program() -> list[Any]:
    """Rules of every kind, operators and methods, control flow, and a program that is compiled."""
    np, lax = import_module("tangrad.numpy"), import_module("tangrad.lax")

    def f(x: Any) -> Any:
        return lax.scan(lambda c, y: (c * 0.5 + np.sin(y), c), x[0], x)[0] + (x**2).sum()

    x = np.arange(3.0)
    value, gradient = tangrad.jit(tangrad.value_and_grad(f))(x)
    return [round(float(value), 4), gradient.round(3).tolist(), tangrad.vmap(lambda y: -y)(x).tolist()]


def uses(names: list[str]) -> list[Any]:
    return [described(name) for name in names] + program()


class Injector:
    """Traces this thread; where a line is chosen, a child goes on with what happens there."""

    def __init__(self, happen: Callable[[], None], every: int, seed: int) -> None:
        self.happen, self.every, self.chooser = happen, every, random.Random(seed)
        self.seen: set[tuple[Any, int]] = set()
        self.children, self.writing = 0, 0  # how many there were; where a child answers, which alone has this
        self.failures: list[str] = []

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call":
            return self.trace if any(part in frame.f_code.co_filename for part in OURS) else None
        line = (frame.f_code, frame.f_lineno)
        if event == "line" and line not in self.seen:
            self.seen.add(line)
            if not self.chooser.randrange(self.every):
                self.fork(f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}")
        return self.trace

    def fork(self, place: str) -> None:
        """Have it happen in a child, and wait for what that says."""
        self.children += 1
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            self.writing = writing
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, BUSY)
            signal.alarm(LONGEST)
            self.happen()
            return
        os.close(writing)
        with os.fdopen(reading) as answers:
            said = answers.read()
        if os.waitpid(child, 0)[1] or said:
            self.failures.append(f"{place}: {said or 'it hangs'}")

    def run(self, names: list[str], expected: list[Any]) -> None:
        """Use the names; a child does not come back from here."""
        found, said = expected, ""
        try:
            sys.settrace(self.trace)
            found = uses(names)
        except BaseException as error:
            if not self.writing:
                raise
            if not isinstance(error, tuple(KINDS.values())):
                said = "it became " + "".join(traceback.format_exception(error)[-6:])
        finally:
            sys.settrace(None)
        if self.writing:
            os.write(self.writing, (said or self.verdict(names, expected, found)).encode())
            os._exit(0)

    def verdict(self, names: list[str], expected: list[Any], found: Any) -> str:
        """What is wrong in a child, in words; empty where nothing is."""
        try:
            for answer in (found, uses(names), uses(names)):
                if answer != expected:
                    return f"expected {expected}, got {answer}"
        except BaseException as error:
            return "".join(traceback.format_exception(error)[-6:])
        broken = [str(one) for group in tangrad.core.composition().groups() for one in _broken(group)]
        return f"set aside: {broken}" if broken else ""


def _broken(group: str) -> Iterator[Any]:
    return (plugin for plugin in tangrad.core.composition().entries(group) if plugin.status == "broken")


def nested() -> None:
    """What a signal handler does. It may hear that a module is being imported, and nothing else.

    Amid a trace it would be traced.
    """
    if thread.trace is not EVAL_TRACE:
        return
    try:
        program()
    except Exception as error:
        if unfinished_module(error) is None and not isinstance(error, ImportError):
            raise


def in_child(question: Callable[[], Any]) -> Any:
    """What a function returns in a process of its own: what is used here would not be used first afterwards."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, repr(question()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        said = answers.read()
    os.waitpid(child, 0)
    return ast.literal_eval(said)


def attack(how: str, every: int, seed: int, names: list[str]) -> tuple[int, list[str]]:
    """How many children there were, and what was wrong in some."""

    def happen() -> None:
        if how == "nested":
            nested()
        else:
            raise KINDS[how]("now")

    injector = Injector(happen, every, seed)
    injector.run(names, in_child(lambda: uses(names)))
    return injector.children, injector.failures[:20]


def main(how: str, every: int, seed: int, distributions: list[str]) -> int:
    total = failed = 0
    for distribution in distributions or [*catalogue.PUBLIC_NAMES]:
        names = catalogue.PUBLIC_NAMES[distribution].split()
        children, failures = in_child(lambda names=names: attack(how, every, seed, names))  # type: ignore[misc]
        total, failed = total + children, failed + len(failures)
        print(distribution, children, "lines", *failures, sep="\n    ", flush=True)
    print(f"{total} times {how}, {failed} faults")
    return min(failed, 1) if total else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
