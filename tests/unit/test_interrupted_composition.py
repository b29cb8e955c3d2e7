"""What is not finished is not broken: exceptions and nested uses at every line of a composition's first uses."""

import builtins
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

import pytest

import tangrad.core
from tangrad._core.composition.plugin import unfinished_module
from tangrad._core.composition.registry import Composition, Plugin
from tangrad.errors import BrokenPluginError, PluginWarning
from tests.unit.plugin_site import Site

API = "tangrad.api"
# An exception between the opening of a file and the block that closes it leaves that to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
OURS = ("/_core/composition/", "/pluggy/")
HOOKS = """
from tangrad.core import hookimpl

@hookimpl
def tangrad_api(name):
    return 42 if name == "computed" else None

@hookimpl
def tangrad_names(group):
    return ["computed"]
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(str(made.folder))
    yield made
    for name in [name for name, module in sys.modules.items() if _is_in(made.folder, module)]:
        del sys.modules[name]


def _is_in(folder: Path, module: Any) -> bool:
    return str(getattr(module, "__file__", "")).startswith(str(folder))


def uses(composition: Composition) -> list[Any]:
    """Everything that a composition does when it is first asked."""
    found = composition.find(API, "name"), composition.find(API, "other"), composition.find(API, "computed")
    plugins = [plugin.load() for plugin in found if plugin is not None]
    rules = [plugin.name for plugin in composition.manager.contributions("tangrad.rules.jvp", "family")]
    return [*plugins, rules, sorted(composition.names(API)), [p.status for p in composition.entries("tangrad.hooks")]]


EXPECTED = [1, 2, 42, [], ["computed", "name", "other"], ["loaded"]]


class Line:
    """Traces `uses`: at the line of this number `happen()` is called."""

    def __init__(self, number: int, happen: Callable[[], None]) -> None:
        self.left, self.happen = number, happen

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call" and not any(part in frame.f_code.co_filename for part in OURS):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                self.happen()
        return self

    def run(self, composition: Composition) -> Any:
        before = sys.gettrace()  # of who measures coverage
        sys.settrace(self)
        try:
            return uses(composition)
        finally:
            sys.settrace(before)


def filled(site: Site) -> None:
    site.add("plugin-a", {API: {"name": "plugin_a_one:x"}}, modules={"plugin_a_one.py": "x = 1"})
    hooks = {API: {"other": "plugin_b_one:x"}, "tangrad.hooks": {"hooks": "plugin_b_hooks"}}
    site.add("plugin-b", hooks, modules={"plugin_b_one.py": "x = 2", "plugin_b_hooks.py": HOOKS})


def raising(kind: type[BaseException]) -> Callable[[], None]:
    def happen() -> None:
        raise kind("now")

    return happen


# The first line, and how many lines from one to the next: in eight parts every line, in the ordinary suite some.
STEPS = [(37, 37), *[pytest.param(first, 8, marks=pytest.mark.sweep) for first in range(1, 9)]]


@pytest.mark.parametrize(("first", "step"), STEPS)
@pytest.mark.parametrize("kind", [KeyboardInterrupt, TimeoutError, RecursionError, MemoryError])
def test_an_exception_at_any_line_of_the_first_use_leaves_the_next_whole(
    site: Site, kind: type[BaseException], first: int, step: int
) -> None:
    filled(site)
    assert uses(site.composition()) == EXPECTED
    number, raised = first - step, 0
    while True:
        number += step
        composition, line = site.composition(), Line(number, raising(kind))
        try:
            assert line.run(composition) == EXPECTED
        except kind:
            raised += 1
        assert uses(composition) == EXPECTED, number
        assert uses(composition) == EXPECTED, number
        if line.left > 0:
            break
    assert raised > 1000 / step, raised


@pytest.mark.parametrize(("first", "step"), STEPS)
def test_a_use_amid_any_line_of_the_first_use(site: Site, first: int, step: int) -> None:
    """As in a signal handler or a `__del__`: both get what they ask for."""
    filled(site)
    assert uses(site.composition()) == EXPECTED
    number, answers = first - step, []
    while True:
        number += step
        composition = site.composition()
        line = Line(number, lambda composition=composition: answers.append(uses(composition)))  # type: ignore[misc]
        assert line.run(composition) == EXPECTED, number
        assert uses(composition) == EXPECTED, number
        if line.left > 0:
            break
    # While hook objects are loaded, uses by the same thread go without what they compute.
    without = [1, 2, [], ["name", "other"], ["available"]]
    assert len(answers) > 1000 / step and all(
        answer in (EXPECTED, without, [*without[:-1], ["loaded"]]) for answer in answers
    )


class LineOfRemoval(Line):
    """Counts the lines alone that take a distribution out of pluggy's manager."""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call" and frame.f_code.co_name not in ("_take_out", "unregister", "_remove_plugin", "<listcomp>"):
            return None
        return super().__call__(frame, event, argument)


def test_a_use_amid_a_removal_takes_nothing_from_others(site: Site) -> None:
    """What it registers was not there when the removal began."""
    filled(site)
    assert uses(site.composition()) == EXPECTED
    number = 0
    while True:
        number += 1
        composition = site.composition()
        line = LineOfRemoval(number, lambda composition=composition: uses(composition))  # type: ignore[misc]
        assert line.run(composition) == EXPECTED, number
        assert uses(composition) == EXPECTED, number
        if line.left > 0:
            break
    assert number > 5, number  # lines that Python reports: fewer from 3.14 on


def test_first_uses_by_eight_threads_at_once(site: Site) -> None:
    filled(site)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(40):
            composition, answers = site.composition(), []
            start = threading.Barrier(8)

            def use(composition: Composition = composition, answers: list[Any] = answers, start: Any = start) -> None:
                start.wait()
                answers.append(uses(composition))

            threads = [threading.Thread(target=use) for _ in range(8)]
            for one in threads:
                one.start()
            for one in threads:
                one.join(60)
            assert answers == [EXPECTED] * 8
    finally:
        sys.setswitchinterval(interval)


# --- modules --------------------------------------------------------------------------------------------------------


@pytest.fixture
def during() -> Iterator[list[Callable[[], None]]]:
    """What modules do while they are imported: `import builtins; builtins.during()` calls the first, then the next."""
    pending: list[Callable[[], None]] = []
    builtins.during = lambda: pending.pop(0)() if pending else None  # type: ignore[attr-defined]
    yield pending
    del builtins.during  # type: ignore[attr-defined]


def plugin(composition: Composition, name: str) -> Plugin:
    found = composition.find(API, name)
    assert found is not None
    return found


def test_a_time_out_amid_an_import_is_no_fault_of_the_plugin(site: Site, during: list[Callable[[], None]]) -> None:
    source = "import builtins\nbuiltins.during()\nx = 3"
    site.add("plugin-a", {API: {"name": "timed_out_one:x"}}, modules={"timed_out_one.py": source})
    found = plugin(site.composition(), "name")
    during.append(raising(TimeoutError))
    with pytest.raises(TimeoutError, match="now"):
        found.load()
    assert found.status == "loaded" and found.load() == 3


def test_exceptions_in_two_places_are_no_fault_and_three_are(site: Site, during: list[Callable[[], None]]) -> None:
    source = "import builtins\nbuiltins.during()\n\nx = 3"
    site.add(
        "plugin-a", {API: {"name": "thrice:x", "other": "twice:x"}}, modules={"thrice.py": source, "twice.py": source}
    )
    composition = site.composition()
    during += [raising(TimeoutError), raising(OSError)]
    with pytest.raises(TimeoutError):
        plugin(composition, "other").load()
    assert plugin(composition, "other").load() == 3
    during += [raising(TimeoutError), raising(OSError), raising(ValueError)]
    with pytest.warns(PluginWarning, match="TimeoutError"), pytest.raises(BrokenPluginError):
        plugin(composition, "name").load()
    with pytest.raises(BrokenPluginError):
        plugin(composition, "name").load()


HALF = "import builtins\nfirst = 1\nbuiltins.during()\nlater = 2\ndef call(): return later"
# What a plugin may do with a module of which only `first` is there yet.
NEEDS = {
    "imports a name": "from half_done import later as x",
    "reads an attribute": "import half_done\nx = half_done.later",
    "raises another": "try:\n    from half_done import later as x\nexcept ImportError:\n    raise ValueError",
    "calls what is not ready": "import half_done\nx = half_done.ready()",
}


@pytest.mark.parametrize("need", NEEDS)
def test_a_plugin_that_needs_a_half_imported_module_is_not_set_aside(
    site: Site, during: list[Callable[[], None]], need: str
) -> None:
    half = "def ready():\n    return later\n" + HALF
    site.add("plugin-a", {API: {"half": "half_done:first", "needs": "needs_half:x"}})
    (site.folder / "half_done.py").write_text(half)
    (site.folder / "needs_half.py").write_text(NEEDS[need])
    composition = site.composition()
    seen: list[BaseException] = []

    def nested() -> None:
        with pytest.raises(ImportError) as raised:
            plugin(composition, "needs").load()
        seen.append(raised.value)

    during.append(nested)
    assert plugin(composition, "half").load() == 1
    assert "was needed while module 'half_done' is being imported" in str(seen[0])
    assert plugin(composition, "needs").status == "available" and plugin(composition, "needs").load() == 2


def test_a_broken_plugin_is_set_aside_even_while_others_are_imported(
    site: Site, during: list[Callable[[], None]]
) -> None:
    site.add("plugin-a", {API: {"half": "half_way:first", "bad": "bad_one:x"}})
    (site.folder / "half_way.py").write_text(HALF)
    (site.folder / "bad_one.py").write_text("import half_way\nx = 1 / 0")
    composition = site.composition()

    def nested() -> None:
        with pytest.warns(PluginWarning, match="ZeroDivisionError"), pytest.raises(BrokenPluginError):
            plugin(composition, "bad").load()

    during.append(nested)
    assert plugin(composition, "half").load() == 1 and plugin(composition, "bad").status == "broken"


def test_what_a_module_defines_is_kept_once_it_is_imported(site: Site, during: list[Callable[[], None]]) -> None:
    """A use in the middle gets what there is; if the import fails then, that is of a module that is no more."""
    source = "import builtins\ndef early(): return later\nbuiltins.during()\nlater = 2"
    site.add("plugin-a", {API: {"early": "ends_badly:early"}}, modules={"ends_badly.py": source})
    found = plugin(site.composition(), "early")

    def nested() -> None:
        found.load()
        raise KeyboardInterrupt

    during.append(nested)
    with pytest.raises(KeyboardInterrupt):
        found.load()
    assert found.status == "available" and found.load()() == 2


def test_half_a_rule_set_is_no_rule_set(site: Site, during: list[Callable[[], None]]) -> None:
    source = "import builtins\nrules = []\nbuiltins.during()\nrules.append(1)"
    site.add("plugin-a", {"tangrad.rules.jvp": {"family": "half_rules:rules"}}, modules={"half_rules.py": source})
    (found,) = site.composition().entries("tangrad.rules.jvp", "family")

    def nested() -> None:
        with pytest.raises(ImportError, match="was needed while its own module 'half_rules' is being imported"):
            found.load()

    during.append(nested)
    assert found.load() == [1]


DECLARES = """
import builtins
from tangrad.core import ShapedArray
from declared_family import family, rules

@family.primitive
def declared(x):
    return ShapedArray(x.shape, x.dtype)

rules.rule(other := family.primitives["other"])(lambda primals, tangents: (primals, tangents))
builtins.during()
x = declared
"""


@pytest.mark.parametrize("kind", [KeyboardInterrupt, TimeoutError, MemoryError])
def test_what_an_interrupted_import_declared_is_declared_again(
    site: Site, during: list[Callable[[], None]], kind: type[BaseException]
) -> None:
    """Primitives and rules in sets of another module; two of one name are refused as ever."""
    family = """
from tangrad.core import PrimitiveSet, RuleSet
family, rules = PrimitiveSet("declared_family", api=1), RuleSet("jvp", api=1)
family.primitive(lambda x: x, name="other")
"""
    site.add("plugin-a", {API: {"it": "declares:x"}}, modules={"declared_family.py": family, "declares.py": DECLARES})
    found = plugin(site.composition(), "it")
    during.append(raising(kind))
    with pytest.raises(kind):
        found.load()
    sets = sys.modules["declared_family"]
    assert found.load() is sets.family.primitives["declared"] and len(sets.rules.rules) == 1
    with pytest.raises(ValueError, match="already has a primitive 'declared'"):
        sets.family.primitive(lambda x: x, name="declared")
    with pytest.raises(ValueError, match=r"already has a rule for 'declared_family\.other'"):
        sets.rules.rule(sets.family.primitives["other"])(lambda primals, tangents: (primals, tangents))


def test_two_of_one_name_in_one_module_are_refused(site: Site) -> None:
    twice = """
from tangrad.core import PrimitiveSet
family = PrimitiveSet("declared_twice", api=1)
family.primitive(lambda x: x, name="same")
family.primitive(lambda x: x, name="same")
"""
    site.add("plugin-a", {API: {"it": "declares_twice:family"}}, modules={"declares_twice.py": twice})
    with pytest.warns(PluginWarning, match="already has a primitive 'same'"), pytest.raises(BrokenPluginError):
        plugin(site.composition(), "it").load()


def test_a_name_of_the_kernel_whose_module_is_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that module that is not finished, and not the kernel's door, which has no such name."""
    half = ModuleType("tangrad._core.kernel.compilation")
    half.__spec__ = SimpleNamespace(_initializing=True)  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, half.__name__, half)
    monkeypatch.delitem(vars(tangrad.core.programs), "usable_donations", raising=False)
    with pytest.raises(ImportError, match="is being imported") as caught:
        from tangrad.core.programs import usable_donations  # noqa: F401
    assert unfinished_module(caught.value) == half.__name__
