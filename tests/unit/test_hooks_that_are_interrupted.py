"""Time-outs that come upon a plugin at work: the caller gets them, and the plugin stays as it was."""

import ctypes
import signal
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tangrad._core.composition.faults import from_signal_handler
from tangrad._core.composition.hooks import hooks
from tangrad.core import HookContext, composition, hookimpl, register
from tangrad.core.tools import plugin_manager
from tests.unit.plugin_site import Site
from tests.unit.test_plugins_hooks import CONTEXT, by_hand, program


class TimeOut(Exception):
    """What a handler of a signal, or another thread, sends."""


def _raise(number: int, frame: Any) -> None:
    raise TimeOut(f"signal {number}")


def _by_signal() -> None:
    signal.raise_signal(signal.SIGUSR1)


def _by_thread() -> None:
    sent = ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(TimeOut))
    assert sent == 1
    for _ in range(1000):
        time.sleep(0)


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, _raise)
    yield
    signal.signal(signal.SIGUSR1, before)


def once(interrupt: Callable[[], None], answer: Any = None) -> Callable[[], Any]:
    """A function that is interrupted the first time."""
    left = [interrupt]

    def work() -> Any:
        if left:
            left.pop()()
        return answer

    return work


OBSERVED = {
    "tangrad_traced": lambda: hooks.traced(CONTEXT, program(), 0.0),
    "tangrad_lowered": lambda: hooks.lowered(CONTEXT, None, 0.0),
    "tangrad_compiled": lambda: hooks.compiled(CONTEXT, None, 0.0),
    "tangrad_cache_hit": lambda: hooks.cache_hit(CONTEXT, "memory"),
    "tangrad_cache_miss": lambda: hooks.cache_miss(CONTEXT, "memory", "new"),
    "tangrad_jaxpr_pass": lambda: hooks.run_passes(program(), CONTEXT),
    "tangrad_before_apply": lambda: hooks.before_apply(None, (), {}, CONTEXT),
    "tangrad_rules": lambda: plugin_manager().contributions("tangrad.rules.jvp", "elementwise"),
    "tangrad_names": lambda: composition().names("tangrad.api"),
}


@pytest.mark.parametrize("interrupt", [_by_signal, _by_thread])
@pytest.mark.parametrize("hook", OBSERVED)
def test_the_time_out_goes_through_and_the_hook_stays(hook: str, interrupt: Callable[[], None]) -> None:
    answer = () if hook == "tangrad_names" else None
    with by_hand("interrupted", **{hook: once(interrupt, answer)}) as registration:
        with pytest.raises(TimeOut):
            OBSERVED[hook]()
        assert registration.plugins[0].status == "loaded"
        OBSERVED[hook]()


def test_what_takes_too_long_is_not_done_again() -> None:
    """A pass that hangs would hang again, and the time-out comes once."""
    calls: list[int] = []

    def hangs() -> None:
        calls.append(1)
        _by_signal()

    for hook in OBSERVED:
        calls.clear()
        with by_hand("hanging", **{hook: hangs}), pytest.raises(TimeOut, match="signal"):
            OBSERVED[hook]()
        assert len(calls) == 1, hook


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_wrapper_that_is_interrupted_stays(phase: str) -> None:
    work = once(_by_signal)

    def tangrad_rules(kind: str, family: str) -> Any:
        if phase == "before":
            work()
        given = yield
        if phase == "after":
            work()
        return given

    thing = types.SimpleNamespace(tangrad_rules=hookimpl(tangrad_rules, wrapper=True))
    with register(thing, group="tangrad.hooks", name="wrapping") as registration:
        ask = OBSERVED["tangrad_rules"]
        with pytest.raises(TimeOut):
            ask()
        assert registration.plugins[0].status == "loaded"
        assert ask()


MODULE = """
import os, signal
if not os.environ.get("done"):
    os.environ["done"] = "{number}"
    signal.raise_signal(signal.SIGUSR1)
{rest}
"""
PROGRAM = """
import os, signal
class TimeOut(Exception): pass
def handler(number, frame): raise TimeOut
signal.signal(signal.SIGUSR1, handler)
import tangrad
try:
    {use}
    print("not interrupted")
except TimeOut:
    print("interrupted")
print({use})
"""
PLUGINS = {
    "a name": ({"tangrad.api": {"slow_name": "slow_module:thing"}}, "thing = 3", "tangrad.slow_name", "3"),
    "a hook object": (
        {"tangrad.hooks": {"slow": "slow_module"}},
        "from tangrad.core import hookimpl\n@hookimpl\ndef tangrad_names(group): return ['seen']",
        "'seen' in dir(tangrad)",
        "True",
    ),
}


@pytest.mark.parametrize("kind", PLUGINS)
def test_a_module_that_is_interrupted_is_not_imported_again_at_once(kind: str, tmp_path: Path) -> None:
    entries, rest, use, result = PLUGINS[kind]
    site = Site(tmp_path / "site")
    site.add("slow", entries, modules={"slow_module.py": MODULE.format(number=1, rest=rest)})
    done = site.run(PROGRAM.format(use=use))
    assert done.stdout.split("\n") == ["interrupted", result, ""], done.stdout + done.stderr


def test_whose_exception_it_is() -> None:
    def own() -> None:
        raise TimeOut("of its own")

    for function, expected in ((own, False), (_by_signal, True)):
        with pytest.raises(TimeOut) as caught:
            function()
        assert from_signal_handler(caught.value) is expected


def test_an_assertion_of_an_observer_is_its_own() -> None:
    def fails() -> None:
        raise AssertionError

    with by_hand("failing", tangrad_traced=fails) as registration:
        with pytest.warns(UserWarning, match="its hook tangrad_traced raised: AssertionError"):
            hooks.traced(HookContext("f", "numpy", "cpu", {}), program(), 0.0)
        assert registration.plugins[0].status == "broken"
