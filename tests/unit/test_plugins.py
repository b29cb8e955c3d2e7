"""The composition: loading, quarantine, conflicts, registration by hand, provenance, threads."""

import gc
import sys
import threading
import weakref
from pathlib import Path

import pytest

import tangrad.core
from tangrad._core.composition.plugin import Plugin, split_value
from tangrad._core.composition.registry import Composition, composition
from tangrad._core.diagnostics.errors import BrokenPluginError, PluginConflictError, PluginWarning
from tests.unit.plugin_site import Site

API = "tangrad.api"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(str(site.folder))
    return site


class Registrable:
    """What a plugin object must have to be registered without arguments."""

    def __init__(self, *entries: tuple[str, str]) -> None:
        self.entries = list(entries)

    def plugin_entries(self) -> list[tuple[str, str]]:
        return self.entries


def find(composition: Composition, name: str, group: str = API) -> Plugin:
    plugin = composition.find(group, name)
    assert plugin is not None
    return plugin


def break_it(plugin: Plugin, cause: str) -> BrokenPluginError:
    """Load a plugin that must warn once and fail; returns the error."""
    with pytest.warns(PluginWarning, match=cause) as warned, pytest.raises(BrokenPluginError) as raised:
        plugin.load()
    assert len(warned) == 1
    return raised.value


# --- loading --------------------------------------------------------------------------------------------------------


def test_a_plugin_is_loaded_when_asked_and_once(site: Site) -> None:
    site.add("plugin-a", {API: {"name": "loads_once:thing.part"}}, "2.3", {"loads_once.py": "class thing: part = [1]"})
    composition = site.composition()
    plugin = find(composition, "name")
    assert (plugin.group, plugin.name, plugin.value) == (API, "name", "loads_once:thing.part")
    assert (plugin.distribution, plugin.version) == ("plugin-a", "2.3")
    assert plugin.identity == "plugin-a:tangrad.api:name"
    assert plugin.status == "available" and "loads_once" not in sys.modules
    loaded = plugin.load()
    assert loaded == [1] and plugin.load() is loaded and plugin.status == "loaded"


def test_a_module_alone_is_an_object_too(site: Site) -> None:
    site.add("plugin-a", {API: {"name": "a_module [extra]"}}, modules={"a_module.py": ""})
    assert find(site.composition(), "name").load() is sys.modules["a_module"]


def test_order_of_installation_does_not_matter(tmp_path: Path) -> None:
    names = ["delta", "alpha", "charlie", "bravo"]
    orders = []
    for number, order in enumerate((names, sorted(names), sorted(names, reverse=True))):
        sites = []
        for name in order:
            site = Site(tmp_path / f"{number}-{name}")
            site.add(name, {"tangrad.hooks": {"same": f"{name}:x", name: f"{name}:y"}})
            sites.append(str(site.folder))
        entries = Composition(sites, {"TANGRAD_CACHE_DIR": "0"}).entries("tangrad.hooks")
        orders.append([(plugin.name, plugin.distribution) for plugin in entries])
    assert orders[0] == orders[1] == orders[2]
    assert orders[0][4:] == [("same", name) for name in sorted(names)]


def test_entries_for_a_family(site: Site) -> None:
    group = "tangrad.rules.jvp"
    site.add("plugin-a", {group: {"elementwise": "m:a", "elementwise.fast": "m:b", "elementwise2": "m:c"}})
    site.add("plugin-b", {group: {"elementwise.more": "m:d", "other": "m:e"}})
    composition = site.composition()
    names = [plugin.name for plugin in composition.entries(group, "elementwise")]
    assert names == ["elementwise", "elementwise.fast", "elementwise.more"]
    assert composition.entries(group, "absent") == () == composition.entries("tangrad.absent", "x")
    assert composition.groups() == (group,)


# --- quarantine -----------------------------------------------------------------------------------------------------

FAULTS = {
    "does not exist": ("absent_module:x", {}, "ModuleNotFoundError: No module named 'absent_module'"),
    "raises": (
        "raises_here:x",
        {"raises_here.py": "raise ZeroDivisionError('one by nought')"},
        "ZeroDivisionError: one by",
    ),
    "exits": ("exits_here:x", {"exits_here.py": "import sys; sys.exit('bye')"}, "SystemExit: bye"),
    "has a syntax error": ("wrong_syntax:x", {"wrong_syntax.py": "def"}, "SyntaxError"),
    "lacks the attribute": ("lacks_it:x", {"lacks_it.py": ""}, "AttributeError: .*'x'"),
    "is garbage": ("not a path", {}, "ValueError: 'not a path' is not 'module:attribute'"),
    "is relative": (".relative:x", {}, "ValueError"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_plugin_warns_once_and_raises_its_cause_each_time(site: Site, fault: str) -> None:
    value, modules, cause = FAULTS[fault]
    site.add("plugin-a", {API: {"bad": value, "good": "good_one:x"}}, "4.2", {"good_one.py": "x = 1", **modules})
    composition = site.composition()
    plugin = find(composition, "bad")
    error = break_it(plugin, cause)
    for part in ("'bad'", "tangrad.api", value, "plugin-a 4.2", "is set aside because it could not be loaded"):
        assert part in str(error)
    assert plugin.status == "broken" and error.__cause__ is plugin.cause is not None
    with pytest.raises(BrokenPluginError) as again:  # no second warning: warnings are errors here
        plugin.load()
    assert str(again.value) == str(error) and again.value.__cause__ is plugin.cause
    assert find(composition, "good").load() == 1


def test_the_cause_says_where_it_was_raised_and_keeps_no_frames(site: Site) -> None:
    site.add(
        "plugin-a",
        {API: {"bad": "frames_here:x"}},
        modules={"frames_here.py": "def f():\n    raise KeyError('k')\nf()"},
    )

    class Witness:
        pass

    def caller() -> weakref.ref[Witness]:
        witness = Witness()
        error = break_it(find(site.composition(), "bad"), "KeyError")
        cause = error.__cause__
        assert cause is not None and cause.__traceback__ is None
        assert "frames_here.py" in cause.__notes__[0] and "line 2, in f" in cause.__notes__[0]
        kept.append(cause)
        return weakref.ref(witness)

    kept: list[BaseException] = []
    reference = caller()
    gc.collect()
    assert reference() is None


def test_an_interrupt_is_not_the_plugin_s_fault(site: Site) -> None:
    source = "import builtins\nif builtins.interrupting: raise builtins.interrupting()\nx = 7"
    site.add("plugin-a", {API: {"name": "interrupted_one:x"}}, modules={"interrupted_one.py": source})
    plugin = find(site.composition(), "name")
    import builtins

    for kind in (KeyboardInterrupt, MemoryError, RecursionError):
        builtins.interrupting = kind  # type: ignore[attr-defined]
        with pytest.raises(kind):
            plugin.load()
        assert plugin.status == "available"
    builtins.interrupting = None  # type: ignore[attr-defined]
    assert plugin.load() == 7
    del builtins.interrupting  # type: ignore[attr-defined]


def test_a_plugin_needed_during_its_own_import_is_not_broken_for_good(site: Site) -> None:
    source = "import builtins\nbuiltins.during_import()\nx = 3"
    site.add("plugin-a", {API: {"name": "needs_itself:x"}}, modules={"needs_itself.py": source})
    plugin = find(site.composition(), "name")
    seen: list[Exception] = []

    def during_import() -> None:
        try:
            plugin.load()
        except ImportError as error:
            seen.append(error)

    import builtins

    builtins.during_import = during_import  # type: ignore[attr-defined]
    try:
        assert plugin.load() == 3
    finally:
        del builtins.during_import  # type: ignore[attr-defined]
    assert "was needed while its own module 'needs_itself' is being imported" in str(seen[0])


def test_a_name_declared_twice_by_one_distribution_is_set_aside(site: Site) -> None:
    site.add("plugin-a", "[tangrad.api]\nname = m:one\nname = m:two\nother = m:three\n")
    composition = site.composition()
    with pytest.warns(PluginWarning, match="declares the name twice: m:one and m:two"):
        entries = composition.entries(API)
    assert [(plugin.name, plugin.status) for plugin in entries] == [("name", "broken"), ("other", "available")]
    with pytest.raises(BrokenPluginError) as raised:
        entries[0].load()
    assert isinstance(raised.value.__cause__, PluginConflictError)


def test_what_the_check_of_a_group_refuses_is_set_aside(site: Site) -> None:
    site.add("plugin-a", {"tangrad.rules.jvp": {"f": "checked_one:x"}}, modules={"checked_one.py": "x = 'no rule set'"})
    composition = site.composition()

    def check(plugin: Plugin, loaded: object) -> None:
        raise TypeError(f"{plugin.name}: not {loaded!r}")

    composition.set_check("tangrad.rules", check)
    error = break_it(find(composition, "f", "tangrad.rules.jvp"), "f: not 'no rule set'")
    assert isinstance(error.__cause__, TypeError)


@pytest.mark.parametrize(
    ("value", "expected"), [("a.b:c.d", ("a.b", "c.d")), (" a : b ", ("a", "b")), ("a", ("a", ""))]
)
def test_values_of_entry_points(value: str, expected: tuple[str, str]) -> None:
    assert split_value(value) == expected


# --- conflicts ------------------------------------------------------------------------------------------------------


def test_two_distributions_with_one_name_are_an_error_that_names_both(site: Site) -> None:
    site.add("plugin-a", {API: {"name": "m:a"}}, "1.2")
    site.add("plugin-b", {API: {"name": "m:b"}}, "3.4")
    with pytest.raises(PluginConflictError) as raised:
        site.composition().find(API, "name")
    for part in ("plugin-a 1.2 (m:a)", "plugin-b 3.4 (m:b)", "TANGRAD_PREFER='api:name=plugin-a'", "configure_plugins"):
        assert part in str(raised.value)


# --- dormant --------------------------------------------------------------------------------------------------------


def test_rules_for_what_is_not_installed_are_dormant(site: Site) -> None:
    site.add(
        "backend",
        {
            "tangrad.rule_kinds": {"lower.mine": "m:kind"},
            "tangrad.rules.lower.mine": {"family": "m:a", "absent": "m:b", "family.more": "m:c"},
            "tangrad.rules.lower.mine.gpu": {"family": "m:d"},
            "tangrad.rules.lower.other": {"family": "m:e"},
        },
    )
    site.add("primitives", {"tangrad.primitives": {"family": "m:family"}})
    composition = site.composition()

    def statuses(group: str) -> dict[str, str]:
        return {plugin.name: plugin.status for plugin in composition.entries(group)}

    served = {"absent": "dormant", "family": "available", "family.more": "available"}
    assert statuses("tangrad.rules.lower.mine") == served
    assert statuses("tangrad.rules.lower.mine.gpu") == {"family": "available"}
    assert statuses("tangrad.rules.lower.other") == {"family": "dormant"}
    with composition.register(object(), group="primitives", name="absent"):
        assert statuses("tangrad.rules.lower.mine")["absent"] == "available"


# --- by hand --------------------------------------------------------------------------------------------------------


def test_registering_by_hand_and_undoing_it(site: Site) -> None:
    composition = site.composition()
    changes: list[object] = []
    composition.on_change(changes.append)
    thing = Registrable((API, "one"), (API, "two"))
    with composition.register(thing) as registration:
        added = registration.plugins
        assert [plugin.name for plugin in composition.entries(API)] == ["one", "two"]
        assert find(composition, "one").load() is thing and find(composition, "one").distribution == "(by hand)"
        assert composition.groups() == (API,)
    assert composition.entries(API) == () and composition.groups() == ()
    assert changes == [added, added]
    registration.undo()
    assert len(changes) == 2


def test_undoing_happens_after_an_exception_too(site: Site) -> None:
    composition = site.composition()
    with pytest.raises(KeyError), composition.register(1, group=API, name="one"):
        raise KeyError
    assert composition.find(API, "one") is None


def test_by_hand_beside_an_installed_one_is_a_conflict_unless_it_overrides(site: Site) -> None:
    site.add("plugin-a", {API: {"name": "m:a"}})
    composition = site.composition()
    with composition.register(1, group=API, name="name"), pytest.raises(PluginConflictError, match=r"\(by hand\)"):
        composition.find(API, "name")
    with composition.register(1, group=API, name="name", override=True):
        assert find(composition, "name").load() == 1
    assert find(composition, "name").distribution == "plugin-a"


def test_what_cannot_be_registered(site: Site) -> None:
    composition = site.composition()
    with pytest.raises(TypeError, match="cannot find out what 3 of type int is"):
        composition.register(3)
    with pytest.raises(TypeError, match="cannot find out what <class"):
        composition.register(Registrable)
    with pytest.raises(ValueError, match="nothing to register"):
        composition.register(Registrable())
    with pytest.raises(TypeError, match="expected PrimitiveSet"):
        tangrad.core.register(3, group="tangrad.primitives", name="x")
    thing = Registrable((API, "x"))
    with (
        composition.register(thing),
        pytest.raises(ValueError, match="already registered as 'x' of group"),
    ):
        composition.register(thing)
    assert composition.entries(API) == ()


# --- provenance -----------------------------------------------------------------------------------------------------


def test_provenance(site: Site) -> None:
    site.add(
        "plugin-a",
        {API: {"one": "has_objects:one", "two": "has_objects:two"}},
        modules={"has_objects.py": "one = []\ntwo = []"},
    )
    composition = site.composition()
    one = find(composition, "one").load()
    assert composition.provenance(one) is find(composition, "one")
    two = sys.modules["has_objects"].two  # not through its plugin
    assert composition.provenance(two) is find(composition, "two")
    assert composition.provenance([]) is None and composition.provenance(None) is None
    by_hand = Registrable((API, "three"))
    with composition.register(by_hand) as registration:
        assert composition.provenance(by_hand) is registration.plugins[0]
    assert composition.provenance(by_hand) is None


def test_the_provenance_of_a_primitive_is_that_of_its_family(site: Site) -> None:
    family = tangrad.core.PrimitiveSet("provenance_family", api=1)

    @family.primitive
    def some_primitive(x):  # type: ignore[no-untyped-def]
        return x

    assert composition().provenance(some_primitive) is None
    with tangrad.core.register(family) as registration:
        assert composition().provenance(some_primitive) is registration.plugins[0]


# --- refreshing and threads -----------------------------------------------------------------------------------------


def test_refresh_finds_what_was_installed_meanwhile_and_keeps_what_is_by_hand(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "m:a"}})
    composition = site.composition()
    changes: list[object] = []
    composition.on_change(changes.append)
    with composition.register(1, group=API, name="mine"):
        assert composition.find(API, "b") is None
        site.add("plugin-b", {API: {"b": "m:b"}})
        assert composition.find(API, "b") is None
        composition.refresh()
        assert [plugin.name for plugin in composition.entries(API)] == ["a", "b", "mine"]
        assert changes[-1] is None


def test_many_threads_load_one_plugin_once(site: Site) -> None:
    source = "import time\ntime.sleep(0.05)\nx = object()"
    bad = "import time\ntime.sleep(0.05)\nraise ValueError('bad')"
    modules = {"slow_one.py": source, "slow_bad.py": bad}
    site.add("plugin-a", {API: {"good": "slow_one:x", "bad": "slow_bad:x"}}, modules=modules)
    composition = site.composition()
    barrier = threading.Barrier(16)
    results: list[object] = []
    failures: list[BaseException] = []

    def work() -> None:
        barrier.wait()
        results.append(find(composition, "good").load())
        try:
            find(composition, "bad").load()
        except BrokenPluginError as error:
            failures.append(error)

    with pytest.warns(PluginWarning, match="bad") as warned:
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 16 and len({id(result) for result in results}) == 1
    assert len(failures) == 16 and len({id(failure.__cause__) for failure in failures}) == 1
    assert len(warned) == 1


def test_there_is_one_composition() -> None:
    assert composition() is composition()


def test_samples_are_dormant_where_nothing_reads_them(site):
    site.add("sampled", {"tangrad.samples": {"elementwise": "sampled:samples"}})
    (alone,) = site.composition().entries("tangrad.samples")
    assert alone.status == "dormant"
    site.add("kit", {"tangrad.groups": {"samples": "kit:SAMPLES"}})
    (read,) = site.composition().entries("tangrad.samples")
    assert read.status == "available"
