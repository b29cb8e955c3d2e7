"""Compile-time hooks: passes and observers, those that misbehave or are interrupted, and none at all."""

import ctypes
import signal
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tangrad._core.composition.hooks import hooks
from tangrad._core.composition.plugin import from_signal_handler
from tangrad._core.diagnostics.errors import BrokenPluginError, PluginWarning
from tangrad.core import ClosedJaxpr, HookContext, Jaxpr, ShapedArray, Var, composition, hookimpl, register
from tangrad.core.tools import plugin_manager
from tests.unit.plugin_site import Site

CONTEXT = HookContext("f", "numpy", "cpu", {"donated": (0,)})
GROUP = "tangrad.hooks"
OURS = ("tangrad_jaxpr_pass",)  # the hook of the regions, which comes with jit


@pytest.fixture(autouse=True)
def loaded() -> Iterator[None]:
    hooks.load()
    yield
    assert hooks.active == OURS, "a test left hooks behind"


def program(size: int = 3) -> Any:
    aval = ShapedArray((size,), np.dtype(np.float32))
    return identity_jaxpr(aval)


def identity_jaxpr(aval: ShapedArray) -> Any:
    x = Var(aval)  # made by hand: tracing it would be observed
    return ClosedJaxpr(Jaxpr([], [x], [x], []))


def by_hand(name: str, **functions: Any) -> Any:
    marked = {key: hookimpl(function) for key, function in functions.items()}
    return register(types.SimpleNamespace(**marked), group=GROUP, name=name)


def test_without_observers_nothing_is_observed_and_a_small_program_stays_itself() -> None:
    assert hooks.active == OURS and hooks.cache_hit_observers is None
    closed_jaxpr = program()
    assert hooks.run_passes(closed_jaxpr, CONTEXT) is closed_jaxpr
    hooks.traced(CONTEXT, closed_jaxpr, 0.1)


def test_pluggy_comes_with_the_first_look_up_and_guards_with_the_first_hook_object(tmp_path: Any) -> None:
    code = (
        "import sys, tangrad, tangrad.core\nassert 'pluggy' not in sys.modules\n"
        "tangrad.grad\nassert 'pluggy' in sys.modules and 'tangrad._core.composition.guards' not in sys.modules"
    )
    result = Site(tmp_path / "site").run(code, TANGRAD_DENY="*:hooks:*")
    assert result.returncode == 0, result.stderr


def test_observers_take_the_arguments_they_want() -> None:
    seen: list[Any] = []
    with by_hand(
        "observer",
        tangrad_traced=lambda seconds, context: seen.append((context.function_name, seconds)),
        tangrad_lowered=lambda lowered: seen.append(lowered),
        tangrad_compiled=lambda executable: seen.append(executable),
        tangrad_cache_hit=lambda cache: seen.append(cache),
        tangrad_cache_miss=lambda reason: seen.append(reason),
    ):
        assert hooks.active is not None and hooks.active[0] == "tangrad_cache_hit" and len(hooks.active) == 6
        assert hooks.cache_hit_observers is not None and len(hooks.cache_hit_observers) == 1
        hooks.traced(CONTEXT, program(), 0.5)
        hooks.lowered(CONTEXT, "text", 0.1)
        hooks.compiled(CONTEXT, "executable", 0.1)
        hooks.cache_hit(CONTEXT, "memory")
        hooks.cache_miss(CONTEXT, "memory", "new function")
    assert seen == [("f", 0.5), "text", "executable", "memory", "new function"]


def test_order_is_that_of_names_then_first_and_last() -> None:
    seen: list[str] = []

    def observer(name: str, **options: bool) -> Any:
        def tangrad_traced() -> None:
            seen.append(name)

        functions = types.SimpleNamespace(tangrad_traced=hookimpl(**options)(tangrad_traced))
        return register(functions, group=GROUP, name=name)

    last = [observer("a", trylast=True), observer("e", trylast=True)]
    undo = [observer("b"), observer("d", tryfirst=True), *last, observer("c")]
    hooks.traced(CONTEXT, program(), 0.0)
    for registration in undo:
        registration.undo()
    assert seen == ["d", "b", "c", "a", "e"]


def test_passes_are_chained_and_none_means_unchanged() -> None:
    first, second = program(), program()
    seen: list[Any] = []

    def one(closed_jaxpr: Any, context: HookContext) -> Any:
        seen.append((closed_jaxpr, context))
        return first

    def two(closed_jaxpr: Any) -> None:
        seen.append(closed_jaxpr)

    def three(closed_jaxpr: Any) -> Any:
        seen.append(closed_jaxpr)
        return second

    original = program()
    with (
        by_hand("1", tangrad_jaxpr_pass=one),
        by_hand("2", tangrad_jaxpr_pass=two),
        by_hand("3", tangrad_jaxpr_pass=three),
    ):
        assert hooks.run_passes(original, CONTEXT) is second
    assert seen == [(original, CONTEXT), first, first]


def broken_pass(closed_jaxpr: Any) -> Any:
    raise ZeroDivisionError("in the pass")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (broken_pass, "ZeroDivisionError: in the pass"),
        (lambda closed_jaxpr: 3, "returns a ClosedJaxpr or None, not int"),
        (lambda closed_jaxpr: program(4), r"\(f32\[3\]\) -> \(f32\[3\]\), and are \(f32\[4\]\) -> \(f32\[4\]\)"),
    ],
)
def test_a_bad_pass_stops_the_compilation_and_is_named(function: Any, words: str) -> None:
    with by_hand("bad", tangrad_jaxpr_pass=function):
        for _ in range(2):  # it is not set aside: leaving a pass out could change results
            with pytest.raises(BrokenPluginError, match=words) as raised:
                hooks.run_passes(program(), CONTEXT)
            assert "(by hand):tangrad.hooks:bad" in str(raised.value) and "TANGRAD_DENY" in str(raised.value)
            assert raised.value.__cause__ is not None


def test_an_observer_that_raises_is_set_aside_with_one_warning() -> None:
    seen: list[str] = []

    def fails() -> None:
        raise KeyError("in the observer")

    with (
        by_hand("a_bad", tangrad_traced=fails, tangrad_compiled=lambda: seen.append("never")),
        by_hand("good", tangrad_traced=lambda: seen.append("good")),
    ):
        with pytest.warns(
            PluginWarning, match="a_bad.* is set aside because its hook tangrad_traced raised: KeyError"
        ) as warned:
            hooks.traced(CONTEXT, program(), 0.0)
        assert len(warned) == 1
        hooks.traced(CONTEXT, program(), 0.0)
        hooks.compiled(CONTEXT, None, 0.0)
        assert hooks.active == (*OURS, "tangrad_traced")
    assert seen == ["good", "good"]


def test_an_interrupt_passes_through_and_nothing_stays_blocked() -> None:
    answers: list[BaseException | None] = [KeyboardInterrupt(), None]
    seen: list[str] = []

    def observer() -> None:
        answer = answers.pop(0)
        if answer is not None:
            raise answer
        seen.append("called")

    with by_hand("interrupted", tangrad_traced=observer):
        with pytest.raises(KeyboardInterrupt):
            hooks.traced(CONTEXT, program(), 0.0)
        hooks.traced(CONTEXT, program(), 0.0)
    assert seen == ["called"]


def test_what_a_hook_traces_calls_no_hooks() -> None:
    depth: list[int] = []

    def observer(context: HookContext, closed_jaxpr: Any) -> None:
        depth.append(1)
        hooks.traced(context, closed_jaxpr, 0.0)
        assert hooks.run_passes(closed_jaxpr, context) is closed_jaxpr

    with by_hand("recursive", tangrad_traced=observer, tangrad_jaxpr_pass=lambda: depth.append(2)):
        hooks.traced(CONTEXT, program(), 0.0)
    assert depth == [1]


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({"tangrad_unheard_of": hookimpl(lambda: None)}, "unknown hook 'tangrad_unheard_of'"),
        ({"tangrad_traced": hookimpl(lambda nonsense: None)}, "nonsense"),
        ({"tangrad_befor_apply": hookimpl(lambda: None)}, "did you mean 'tangrad_before_apply'?"),
        ({"tangrad_traced": lambda: None}, "tangrad_traced of .* is not marked: write @tangrad.core.hookimpl above it"),
        ({"traced": lambda: None}, "implements no hook; expected functions named tangrad_rules"),
    ],
)
def test_objects_that_are_no_valid_hooks_are_set_aside(functions: dict[str, Any], words: str) -> None:
    thing = types.SimpleNamespace(**functions)
    with pytest.warns(PluginWarning, match=words):
        registration = register(thing, group=GROUP, name="invalid")
    assert hooks.active == OURS and registration.plugins[0].status == "broken"
    registration.undo()


def test_a_class_whose_functions_take_self_is_refused_with_what_to_write() -> None:
    class Watch:
        @hookimpl
        def tangrad_compiled(self, seconds: float) -> None: ...

    class Static:
        @hookimpl
        @staticmethod
        def tangrad_compiled(seconds: float) -> None: ...

    words = "Watch is a class, and its hook tangrad_compiled takes 'self'.*'tests.unit.test_plugins_hooks:watch'"
    with pytest.warns(PluginWarning, match=words):
        registration = register(Watch, group=GROUP, name="class")
    registration.undo()
    for right in (Watch(), Static):
        with register(right, group=GROUP, name="object") as registration:
            hooks.compiled(CONTEXT, None, 0.0)
            assert registration.plugins[0].status == "loaded"


def test_wrappers_are_refused() -> None:
    def tangrad_traced() -> Iterator[None]:
        yield

    thing = types.SimpleNamespace(tangrad_traced=hookimpl(tangrad_traced, wrapper=True))
    with pytest.warns(PluginWarning, match="tangrad_traced is a wrapper"):
        registration = register(thing, group=GROUP, name="wrapper")
    registration.undo()


def test_a_broken_hook_plugin_of_a_distribution_leaves_the_others(tmp_path: Any) -> None:
    site = Site(tmp_path / "site")
    source = (
        "from tangrad.core import hookimpl, HookContext\nfrom tangrad._core.composition.hooks import hooks\n"
        "hooks.traced(HookContext('during import'), None, 0.0)\n"
        "@hookimpl\ndef tangrad_traced(context):\n    print('traced', context.function_name)\n"
    )
    site.add("good", {GROUP: {"good": "good_hooks"}}, modules={"good_hooks.py": source})
    site.add("bad", {GROUP: {"bad": "bad_hooks:x"}}, modules={"bad_hooks.py": "1 / 0"})
    code = (
        "import warnings; warnings.simplefilter('always')\n"
        "from tangrad.core import HookContext\nfrom tangrad._core.composition.hooks import hooks\n"
        "hooks.traced(HookContext('f'), None, 0.0); hooks.traced(HookContext('g'), None, 0.0)"
    )
    result = site.run(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n") == ["traced f", "traced g", ""]
    assert result.stderr.count("ZeroDivisionError") == 1 and "shipped by bad 1.0" in result.stderr
    assert site.run(code, TANGRAD_DENY="bad").stderr == ""


@pytest.mark.parametrize("kind", ["RecursionError", "MemoryError", "GeneratorExit", "SystemExit", "KeyError", "deep"])
def test_a_hook_object_whose_import_fails_does_not_fail_calls(tmp_path: Path, kind: str) -> None:
    site = Site(tmp_path / "site")
    source = "def f(): f()\nf()" if kind == "deep" else f"raise {kind}('of its own')"
    site.add("plugin-h", {"tangrad.hooks": {"bad": "bad_hook:x"}}, modules={"bad_hook.py": source})
    done = site.run(CALLS)
    assert done.stdout.splitlines() == ["1.0", "2.0", "3.0", "1 warning"], done.stderr


def test_a_hook_object_whose_import_is_ended_from_outside_is_tried_again(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    source = "import os\nif 'sent' not in os.environ:\n    os.environ['sent'] = ''\n    raise BaseException('sent')\n"
    source += (
        "from tangrad.core import hookimpl\nclass x:\n    @hookimpl\n    def tangrad_compiled(context): print('seen')"
    )
    site.add("plugin-h", {"tangrad.hooks": {"late": "late_hook:x"}}, modules={"late_hook.py": source})
    done = site.run(
        "try:\n    import tangrad\n    tangrad.jit\nexcept BaseException as error:\n    print(error)\n" + CALLS
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "sent" and "seen" in lines and lines[-1] == "0 warnings", done.stdout + done.stderr


CALLS = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import tangrad
    for i in range(3):
        print(tangrad.jit(lambda x: x + i)(1.0))
print(len(caught), "warning" if len(caught) == 1 else "warnings")
"""


# --- time-outs that come upon a plugin at work: the caller gets them, and the plugin stays as it was ----------------


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
