"""The plugin of pytest under which JAX's test files run: the alias in place of jax, and a line of JSON for each test.

`tools.jax_tests` starts pytest with it, and says by variables where the checkout is and where results go.
"""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tangrad
from tangrad.compat.jax import install
from tools.jax_tests import CHECKOUT, LIMIT, REPORT, private

# An assertion about a message, or a warning, that is worded otherwise.
_WORDS = re.compile(r"does not match|not found in|Regex didn't match|Expected warning not found")
_ACCEPTED = re.compile(r"^AssertionError: \w+ not raised")
# What Python says where an object of ours lacks an attribute that is private in JAX, and of a stand-in as a value.
_PRIVATE = re.compile(
    r"has no attribute '_|'OpSharding' object|unexpected keyword argument '_|<private jax|'?Absent'?\b"
    r"|Array\(\) takes no arguments|assertRaises(Regex)?\(\) arg 1 must be|category must be a class"
    r"|Effect\w*' object has no attribute 'ordered'|abstract evaluation of the primitive 'call' is not defined"
)

# Counts that differ, of a test that counts what JAX does inside: what was traced, compiled, moved.
_COUNTS = re.compile(r"^AssertionError: (\d+ != \d+$|Expected exactly \d+)")
# An assertion about the text of a program: of a module, or as jaxprs are printed; and a part of one that is not found.
_TEXTS = re.compile(
    r"^AssertionError: .*(not found|unexpectedly found) in .*(module @|func\.func|sdy\.sharding|HloModule|\{ lambda )"
    r"|^AttributeError: 'NoneType' object has no attribute 'groups?'$"
)
# A line of a test that asserts something of the text of a module, such as how often it has an attribute.
_READS_MODULE = re.compile(r"lowered_text|\.as_text\(|stable_?hlo|mhlo|sdy\.|\bhlo", re.IGNORECASE)
# A line that looks for parameters of equations, which are JAX's own, or for a class of its inner modules.
_READS_PRIVATE = re.compile(r"\.params\[|\barray\.ArrayImpl\b")


def pytest_configure(config: pytest.Config) -> None:
    """Have `import jax` give the alias, with stand-ins for what it lacks."""
    install()
    private.install(os.environ[CHECKOUT])
    _as_plain_tests()
    _note_texts()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """From here on who asks for a private name is skipped; before, decorators and constants of modules are read."""
    private.Absent.collecting = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note that a test begins, should it end the process; end it after the limit."""
    _note(item.nodeid, "begun", "")
    _inside.counts = _inside.texts = False

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"took longer than {os.environ[LIMIT]} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(os.environ[LIMIT]))
    try:
        return (yield)
    finally:
        signal.alarm(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note how a test went."""
    report = yield
    if report.when == "call" or not report.passed:
        error = None if call.excinfo is None else call.excinfo.value
        text = "" if error is None else f"{type(error).__name__}: {' '.join(str(error).split())}"
        kind = _kind(report, error, text)
        if kind in ("words", "differs") and call.excinfo is not None and _looks_inside(call.excinfo):
            kind = "private"
        _note(item.nodeid, kind, text[:400])
    return report


def _looks_inside(found: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether the line of a test that fails asserts something of the text of a module, or looks into equations."""
    lines = [str(entry.statement) for entry in found.traceback if str(entry.path).endswith("_test.py")]
    last = lines[-1] if lines else ""
    asserted = isinstance(found.value, AssertionError)
    return _READS_PRIVATE.search(last) is not None or (asserted and _READS_MODULE.search(last) is not None)


def _kind(report: pytest.TestReport, error: BaseException | None, text: str) -> str:
    if report.passed:
        return "passed"
    asked = re.search(private.ASKED + r"(private|public) name", text)
    if asked is not None:
        return "private" if asked[1] == "private" else "missing"
    if report.skipped:
        return "skipped"
    if _PRIVATE.search(text) or (_inside.counts and _COUNTS.search(text)) or (_inside.texts and _TEXTS.search(text)):
        return "private"
    if _ACCEPTED.search(text):
        return "accepted"
    return "words" if isinstance(error, AssertionError) and _WORDS.search(text) else "differs"


def _note(test: str, kind: str, text: str) -> None:
    with open(os.environ[REPORT], "a", encoding="utf-8") as file:
        file.write(json.dumps([test.removeprefix("tests/"), kind, text]) + "\n")


def _as_plain_tests() -> None:
    """Have JAX's class of tests set the settings that the alias has, by public means."""
    from absl.testing import parameterized  # type: ignore[import-not-found]
    from jax._src import test_util  # type: ignore[import-not-found]

    def set_up(self: Any) -> None:
        parameterized.TestCase.setUp(self)
        self.addCleanup(_without_mesh)  # what sets one for good unsets it by private means
        self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))
        kinds = [f"_default_{kind}config" for kind in ("", "global_", "thread_local_")]  # the first before 0.5
        self.enterContext(_settings({name: x for kind in kinds for name, x in getattr(self, kind, {}).items()}))

    def counting(count: Any) -> Any:
        def counted(*args: object, **options: object) -> Any:
            _inside.counts = True
            return count(*args, **options)

        return counted

    for name in [name for name in vars(test_util) if name.startswith("count_") and name != "count_events"]:
        setattr(test_util, name, counting(getattr(test_util, name)))
    base: Any = test_util.JaxTestCase
    base.setUp, base.tearDown = set_up, parameterized.TestCase.tearDown


class _Inside:
    """What a test has asked for that only looks into JAX.

    Attributes:
        counts: counts of its events, of which there are none here.
        texts: texts of programs.
    """

    counts = texts = False


_inside = _Inside()


def _note_texts() -> None:
    """Have what makes texts of programs say that it was asked."""
    stages = tangrad.stages
    places = (
        (stages.Lowered, "as_text"),
        (stages.Lowered, "compiler_ir"),
        (stages.Compiled, "as_text"),
        (tangrad.export.Exported, "mlir_module"),
        (tangrad.core.ClosedJaxpr, "__str__"),
        (tangrad.core.Jaxpr, "__str__"),
    )
    for kind, name in places:
        setattr(kind, name, _noting(getattr(kind, name)))


def _noting(text_of: Any) -> Any:
    @functools.wraps(text_of)
    def noted(*args: object, **options: object) -> Any:
        _inside.texts = True
        return text_of(*args, **options)

    return noted


def _without_mesh() -> None:
    if not tangrad.sharding.get_mesh().empty:
        tangrad.set_mesh(None)


@contextmanager
def _settings(values: dict[str, Any]) -> Iterator[None]:
    """Settings by JAX's names, as far as they are known and can have those values."""
    from jax import config  # type: ignore[import-not-found]

    before = {}
    for name, value in values.items():
        with suppress(AttributeError, TypeError, ValueError):
            before[name] = getattr(config, name)
            config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            config.update(name, value)
