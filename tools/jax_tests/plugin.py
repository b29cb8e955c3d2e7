"""The plugin of pytest under which JAX's test files run: the alias in place of jax, and a line of JSON for each test.

`tools.jax_tests` starts pytest with it, and says by variables where the checkout is and where results go.
"""

from __future__ import annotations

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

from tangrad.compat.jax import install
from tools.jax_tests import CHECKOUT, LIMIT, REPORT, private

# An assertion about a message, or a warning, that is worded otherwise.
_WORDS = re.compile(r"does not match|not found in|Regex didn't match|Expected warning not found")
# What Python says where an object of ours lacks an attribute that is private in JAX, and of a stand-in as a value.
_PRIVATE = re.compile(
    r"has no attribute '_|'OpSharding' object|unexpected keyword argument '_|<private jax|'?Absent'?\b"
    r"|Array\(\) takes no arguments|assertRaises(Regex)?\(\) arg 1 must be|category must be a class"
)


def pytest_configure(config: pytest.Config) -> None:
    """Have `import jax` give the alias, with stand-ins for what it lacks."""
    install()
    private.install(os.environ[CHECKOUT])
    _as_plain_tests()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """From here on who asks for a private name is skipped; before, decorators and constants of modules are read."""
    private.Absent.collecting = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note that a test begins, should it end the process; end it after the limit."""
    _note(item.nodeid, "begun", "")

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
        _note(item.nodeid, _kind(report, error, text), text[:400])
    return report


def _kind(report: pytest.TestReport, error: BaseException | None, text: str) -> str:
    if report.passed:
        return "passed"
    asked = re.search(private.ASKED + r"(private|public) name", text)
    if asked is not None:
        return "private" if asked[1] == "private" else "missing"
    if report.skipped:
        return "skipped"
    if _PRIVATE.search(text):
        return "private"
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
        self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))
        self.enterContext(_settings({**self._default_global_config, **self._default_thread_local_config}))

    base: Any = test_util.JaxTestCase
    base.setUp, base.tearDown = set_up, parameterized.TestCase.tearDown


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
