"""pluggy's manager: who is registered and when, what hook objects compute, and those that misbehave."""

import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tangrad.core
from tangrad._core.composition.manager import Manager
from tangrad._core.composition.registry import Composition, composition
from tangrad._core.diagnostics.errors import (
    ApiVersionError,
    BrokenPluginError,
    DeniedPluginError,
    MissingRuleError,
    PluginConflictError,
    PluginWarning,
)
from tangrad._core.kernel.rules import rule_table
from tangrad.core import Backend, PrimitiveSet, RuleKind, RuleSet, hookimpl, register
from tangrad.core.tools import configure_plugins, plugin_manager
from tests.unit.plugin_site import Site

API, HOOKS = "tangrad.api", "tangrad.hooks"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(str(site.folder))
    return site


@pytest.fixture
def family() -> Iterator[PrimitiveSet]:
    """A registered family of two primitives, under a rule kind of its own."""
    family = PrimitiveSet("managed", api=1)
    for name in ("first", "second"):
        family.primitive(lambda x: x, name=name)
    with register(family), register(RuleKind("managed_kind", api=1, signature="(x)", doc="does")):
        yield family


def provider(name: str = "provider", **functions: Callable[..., Any]) -> Any:
    """Register functions as the hooks of their names."""
    marked = {hook: hookimpl(function) for hook, function in functions.items()}
    return register(types.SimpleNamespace(**marked), group=HOOKS, name=name)


def rules_for(primitives: Any, answer: str, **options: Any) -> RuleSet:
    rules = RuleSet("managed_kind", api=1, **options)
    for primitive in primitives:
        rules.add(primitive, lambda x: answer)
    return rules


def used(composition: Composition) -> list[str]:
    return sorted(name for name, plugin in composition.manager.list_name_plugin() if plugin is not None)


def cell(family: PrimitiveSet, name: str = "first") -> Any:
    return rule_table("managed_kind").cell(family.primitives[name])


# --- distributions --------------------------------------------------------------------------------------------------


def test_a_distribution_is_registered_when_a_look_up_concerns_it_and_not_before(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "managed_a:x"}}, modules={"managed_a.py": "x = 1"})
    site.add("plugin-b", {API: {"b": "m:b"}, "tangrad.rules.jvp": {"f": "m:f"}})
    composition = site.composition()
    assert isinstance(composition.manager, Manager) and used(composition) == []
    plugin = composition.find(API, "a")
    assert plugin is not None and plugin.status == "available" and "managed_a" not in sys.modules
    assert used(composition) == ["plugin-a"]
    assert plugin.load() == 1
    assert composition.find(API, "absent") is None and used(composition) == ["plugin-a"]
    assert len(composition.manager.contributions("tangrad.rules.jvp", "f")) == 1
    assert used(composition) == ["plugin-a", "plugin-b"]
    composition.refresh()
    assert used(composition) == []


def test_a_cell_is_asked_for_once(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "m:a"}})
    composition = site.composition()
    seen: list[str] = []
    undo = composition.manager.add_hookcall_monitoring(lambda *call: seen.append(call[0]), lambda *_: None)
    first = composition.find(API, "a")
    assert composition.find(API, "a") is first and seen == ["tangrad_api"]
    with composition.register(1, group=API, name="b"):
        assert composition.find(API, "a") is first and seen == ["tangrad_api"] * 2
    undo()


def test_the_hooks_of_the_manager_answer_direct_calls(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "m:a"}, "tangrad.rules.jvp": {"f": "m:f", "f.more": "m:g", "other": "m:h"}})
    composition = site.composition()
    composition.find(API, "a")
    hook = composition.manager.hook
    assert [[one.name for one in answer] for answer in hook.tangrad_api(name="a")] == [["a"]]
    answers = hook.tangrad_rules(kind="jvp", family="f", primitives=())
    assert [[one.name for one in answer] for answer in answers] == [["f", "f.more"]]
    assert hook.tangrad_backend(name="none") == []


def test_groups_without_a_hook_of_their_own_are_asked_for_by_tangrad_entry(site: Site) -> None:
    site.add("plugin-a", {"tangrad.gadgets": {"one": "m:one"}})
    composition = site.composition()
    marked = hookimpl(lambda group, name: 7 if (group, name) == ("tangrad.gadgets", "two") else None)
    with composition.register(types.SimpleNamespace(tangrad_entry=marked), group=HOOKS, name="gadgets"):
        one, two = composition.find("tangrad.gadgets", "one"), composition.find("tangrad.gadgets", "two")
        assert one is not None and one.distribution == "plugin-a" and two is not None and two.load() == 7


def test_a_thousand_distributions_cost_a_look_up_next_to_nothing(site: Site) -> None:
    for number in range(300):
        site.add(f"plugin-{number}", {API: {f"name{number}": "m:x"}, "tangrad.rules.jvp": {"f": "m:x"}})
    composition = site.composition()
    assert composition.find(API, "name7") is not None
    assert used(composition) == ["plugin-7"] and len(composition._plugins) == 1  # the others are not even objects


# --- what hook objects compute --------------------------------------------------------------------------------------


def test_a_provider_computes_rules_for_any_family(family: PrimitiveSet) -> None:
    asked: list[tuple[str, str, tuple[str, ...]]] = []

    def tangrad_rules(kind: str, family: str, primitives: Any) -> Any:
        asked.append((kind, family, tuple(primitive.name for primitive in primitives)))
        return rules_for(primitives, "computed") if kind == "managed_kind" else None

    with provider(tangrad_rules=tangrad_rules) as registration:
        plugin_manager()  # loads the hook objects if not done since a refresh: all answers are asked for anew
        found = cell(family)
        assert found.status == "rule" and found.rule(0) == "computed"
        assert found.plugin.distribution == "(by hand)" and found.plugin.group == "tangrad.rules.managed_kind"
        assert composition().provenance(found.plugin.load()) is found.plugin
        assert cell(family, "second").rule(0) == "computed"
        assert asked.count(("managed_kind", "managed", ("first", "second"))) == 1
        assert registration.plugins[0].status == "loaded"
    assert cell(family).status == "missing"
    assert composition().provenance(found.plugin.load()) is None


def test_a_provider_without_the_family_is_named() -> None:
    family = PrimitiveSet("never_registered", api=1)
    primitive = family.primitive(lambda x: x, name="one")
    seen: list[Any] = []
    with provider(tangrad_rules=lambda primitives: seen.append(primitives)), pytest.raises(MissingRuleError):
        rule_table("jvp")[primitive]
    assert seen[-1] == ()


def test_one_answer_may_be_several_rule_sets(family: PrimitiveSet) -> None:
    def tangrad_rules(kind: str, primitives: Any) -> Any:
        return [rules_for(primitives[:1], "one"), rules_for(primitives[1:], "two")] if kind == "managed_kind" else None

    with provider(tangrad_rules=tangrad_rules):
        assert (cell(family).rule(0), cell(family, "second").rule(0)) == ("one", "two")


def test_providers_of_names_primitives_kinds_backends_and_commands(family: PrimitiveSet) -> None:
    computed = PrimitiveSet("computed_family", api=1)
    computed.primitive(lambda x: x, name="one")
    kind = RuleKind("computed_kind", api=1, signature="()", doc="does")

    class Computed(Backend):
        name, lowering_kind, api = "computed", "lower.computed", 1
        array_type = tangrad.Array

    backend = Computed()

    class Answers:
        tangrad_api = staticmethod(hookimpl(lambda name: len if name == "numpy.computed" else None))
        tangrad_primitives = staticmethod(hookimpl(lambda family: computed if family == "computed_family" else None))
        tangrad_rule_kind = staticmethod(hookimpl(lambda name: kind if name == "computed_kind" else None))
        tangrad_backend = staticmethod(hookimpl(lambda name: backend if name == "computed" else None))
        tangrad_commands = staticmethod(hookimpl(lambda: {"computed": print}))
        tangrad_names = staticmethod(hookimpl(lambda group: NAMES_OF_COMPUTED.get(group)))

    with register(Answers()) as registration:  # what it is shows
        assert registration.plugins[0].group == HOOKS and registration.plugins[0].name == "Answers"
        assert tangrad.numpy.computed is len
        assert tangrad.core.find_primitive("computed_family.one") is computed.primitives["one"]
        assert tangrad._core.kernel.rules.find_rule_kind("computed_kind") is kind
        found = composition().find("tangrad.backends", "computed")
        assert found is not None and found.load() is backend
        found = composition().find("tangrad.commands", "computed")
        assert found is not None and found.load() is print
        assert "computed" in dir(tangrad.numpy) and "computed" not in dir(tangrad.lax)
        assert "computed_family" in tangrad.core.tools.families() and "computed_kind" in tangrad.core.tools.rule_kinds()
        assert "computed" in tangrad.core.backend_names() and "computed_setting" in dir(tangrad.config)
        assert "computed_method" in dir(tangrad.numpy.ones(1))
    assert not hasattr(tangrad.numpy, "computed") and "computed" not in dir(tangrad.numpy)


NAMES_OF_COMPUTED = {
    "tangrad.api": ["numpy.computed"],
    "tangrad.primitives": ("computed_family",),
    "tangrad.rule_kinds": {"computed_kind"},
    "tangrad.backends": ["computed"],
    "tangrad.settings": ["computed_setting"],
    "tangrad.array": ["computed_method"],
}


@pytest.mark.parametrize("answer", [lambda group: 3, lambda group: [group, 4], lambda group: 1 / 0])
def test_a_hook_that_lists_no_names_is_set_aside(answer: Any) -> None:
    with provider(tangrad_names=answer) as registration:
        with pytest.warns(PluginWarning, match="its hook tangrad_names (raised|returned what cannot be used)"):
            assert "numpy" in tangrad.core.backend_names()
        assert registration.plugins[0].status == "broken"


def test_the_rules_of_an_installed_provider_are_its_distribution_s(site: Site) -> None:
    source = (
        "from tangrad.core import hookimpl\n"
        "@hookimpl\n"
        "def tangrad_api(name):\n"
        "    return len(name) if name.startswith('computed') else None\n"
    )
    site.add("plugin-a", {HOOKS: {"names": "managed_names"}}, "2.1", {"managed_names.py": source})
    composition = site.composition()
    found = composition.find(API, "computed")
    assert found is not None and found.load() == 8
    assert (found.distribution, found.version, found.value) == ("plugin-a", "2.1", "managed_names, computed")
    assert used(composition) == ["plugin-a"]


def test_what_is_looked_up_while_hook_objects_are_imported_is_resolved_anew(site: Site) -> None:
    source = (
        "from tangrad.core import hookimpl\nimport builtins\n"
        "builtins.looking_up()\n"
        "@hookimpl(wrapper=True)\n"
        "def tangrad_api(name):\n"
        "    given = yield\n"
        "    return []\n"
    )
    site.add("plugin-a", {API: {"a": "managed_early:x"}}, modules={"managed_early.py": "x = 1"})
    site.add("plugin-b", {HOOKS: {"b": "managed_import"}}, modules={"managed_import.py": source})
    composition = site.composition()
    seen: list[Any] = []

    def looking_up() -> None:
        found = composition.find(API, "a")
        assert found is not None
        seen.append(found.denial)

    import builtins

    builtins.looking_up = looking_up  # type: ignore[attr-defined]
    try:
        found = composition.find(API, "a")
    finally:
        del builtins.looking_up  # type: ignore[attr-defined]
    assert seen == [None] and found is not None and "plugin-b" in str(found.denial)


# --- conflicts, preferences, order ----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [("alpha", "beta"), ("beta", "alpha")])
def test_two_providers_of_one_cell_are_a_conflict_in_any_order(family: PrimitiveSet, order: tuple[str, str]) -> None:
    def answer(text: str) -> Any:
        return lambda kind, primitives: rules_for(primitives, text) if kind == "managed_kind" else None

    first = hookimpl(answer(order[0]), tryfirst=True)
    with (
        register(types.SimpleNamespace(tangrad_rules=first), group=HOOKS, name=order[0]),
        provider(order[1], tangrad_rules=answer(order[1])),
    ):
        assert cell(family).status == "conflict"
        with pytest.raises(
            PluginConflictError, match=r"two rules of kind 'managed_kind' for primitive 'managed\.first'"
        ):
            rule_table("managed_kind")[family.primitives["first"]]


def test_a_provider_for_a_cell_that_is_taken(site: Site) -> None:
    source = "from tangrad.core import hookimpl\n@hookimpl\ndef tangrad_api(name):\n    return 'computed'\n"
    site.add("plugin-a", {API: {"a": "managed_taken:x"}}, "1.0", {"managed_taken.py": "x = 'declared'"})
    site.add("plugin-b", {HOOKS: {"b": "managed_taker"}}, "2.0", {"managed_taker.py": source})
    with pytest.raises(PluginConflictError) as raised:
        site.composition().find(API, "a")
    for part in ("plugin-a 1.0 (managed_taken:x)", "plugin-b 2.0 (managed_taker, computed)", "TANGRAD_PREFER"):
        assert part in str(raised.value)
    for preferred, expected in (("plugin-a", "declared"), ("plugin-b", "computed")):
        found = site.composition(TANGRAD_PREFER=f"api:a={preferred}").find(API, "a")
        assert found is not None and found.load() == expected
    found = site.composition(TANGRAD_DENY="plugin-b:api:a").find(API, "a")  # one answer alone
    assert found is not None and found.load() == "declared"


def test_a_computed_rule_that_overrides(family: PrimitiveSet) -> None:
    def tangrad_rules(kind: str, primitives: Any) -> Any:
        return rules_for(primitives, "computed", override=True) if kind == "managed_kind" else None

    with register(rules_for(family.primitives.values(), "declared")), provider(tangrad_rules=tangrad_rules):
        assert cell(family).rule(0) == "computed"


# --- wrappers -------------------------------------------------------------------------------------------------------


def wrapper(function: Callable[..., Any], hook: str = "tangrad_rules", name: str = "wrapper", **options: bool) -> Any:
    return register(
        types.SimpleNamespace(**{hook: hookimpl(function, wrapper=True, **options)}), group=HOOKS, name=name
    )


def test_a_wrapper_observes_a_composition(family: PrimitiveSet) -> None:
    seen: list[Any] = []

    def observe(kind: str, family: str) -> Any:
        contributions = yield
        seen.append((kind, family, [(one.distribution, one.name) for one in contributions]))
        return contributions

    with register(rules_for(family.primitives.values(), "declared")), wrapper(observe):
        assert cell(family).rule(0) == "declared"
    assert ("managed_kind", "managed", [("(by hand)", "managed")]) in seen


def test_a_wrapper_withholds_and_is_named(family: PrimitiveSet) -> None:
    def withhold(kind: str) -> Any:
        contributions = yield
        return [] if kind == "managed_kind" else contributions

    rules = rules_for(family.primitives.values(), "declared")
    with register(rules), wrapper(withhold):
        assert cell(family).status == "denied"
        with pytest.raises(DeniedPluginError) as raised:
            rule_table("managed_kind")[family.primitives["first"]]
        identity = "(by hand):tangrad.hooks:wrapper"
        for part in (f"withheld by the hook wrapper of {identity}", f"TANGRAD_DENY='{identity}'"):
            assert part in str(raised.value)
    with register(rules):
        assert cell(family).rule(0) == "declared"  # nothing is left of it


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_wrapper_vetoes_with_a_denied_plugin_error(family: PrimitiveSet, when: str) -> None:
    def veto(kind: str) -> Any:
        if when == "before" and kind == "managed_kind":
            raise DeniedPluginError("not on a Sunday")
        contributions = yield
        if kind == "managed_kind":
            raise DeniedPluginError("not on a Sunday")
        return contributions

    with (
        register(rules_for(family.primitives.values(), "declared")),
        wrapper(veto),
        pytest.raises(DeniedPluginError, match=r"withheld by the hook wrapper of .*:wrapper: not on a Sunday"),
    ):
        rule_table("managed_kind")[family.primitives["first"]]


def test_a_wrapper_may_leave_one_rival_out(family: PrimitiveSet) -> None:
    def choose(kind: str) -> Any:
        return [one for one in (yield) if not one.value.endswith("computed")]

    def tangrad_rules(kind: str, primitives: Any) -> Any:
        return rules_for(primitives, "computed") if kind == "managed_kind" else None

    with (
        register(rules_for(family.primitives.values(), "declared")),
        provider(tangrad_rules=tangrad_rules),
        wrapper(choose),
    ):
        assert cell(family).rule(0) == "declared"


def swallows(kind: str) -> Any:
    yield


def adds(kind: str) -> Any:
    return [*(yield), "something of its own"]


def never_yields(kind: str) -> Any:
    if kind == "no such kind":
        yield


def yields_twice(kind: str) -> Any:
    yield
    yield


def raises_first(kind: str) -> Any:
    raise ZeroDivisionError("before")
    yield


def raises_last(kind: str) -> Any:
    yield
    raise ZeroDivisionError("after")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (swallows, "raised: TypeError: a wrapper returns the list .*this one returned None"),
        (adds, "returned .*something of its own"),
        (never_yields, "raised: TypeError: it did not yield"),
        (yields_twice, "raised: TypeError: it yielded twice"),
        (raises_first, "raised: ZeroDivisionError: before"),
        (raises_last, "raised: ZeroDivisionError: after"),
    ],
)
def test_a_wrapper_that_misbehaves_is_set_aside_and_everything_else_goes_on(
    family: PrimitiveSet, function: Callable[..., Any], words: str
) -> None:
    with register(rules_for(family.primitives.values(), "declared")), wrapper(function) as registration:
        with pytest.warns(PluginWarning, match=rf"'wrapper' of group 'tangrad.hooks'.* set aside.*{words}") as warned:
            assert cell(family).rule(0) == "declared"
        assert len(warned) == 1 and registration.plugins[0].status == "broken"
        assert cell(family, "second").rule(0) == "declared"  # no second warning: warnings are errors here


def test_a_wrapper_cannot_keep_an_interrupt(family: PrimitiveSet) -> None:
    def keeps(kind: str) -> Any:
        try:
            return (yield)
        except BaseException:
            return []

    answers: list[BaseException | None] = [KeyboardInterrupt(), None]

    def tangrad_rules(kind: str, primitives: Any) -> Any:
        if kind != "managed_kind":
            return None
        answer = answers.pop(0)
        if answer is not None:
            raise answer
        return rules_for(primitives, "computed")

    with provider(tangrad_rules=tangrad_rules), wrapper(keeps):
        with pytest.raises(KeyboardInterrupt):
            cell(family)
        assert cell(family).rule(0) == "computed"


def test_tryfirst_and_trylast_order_the_wrappers(family: PrimitiveSet) -> None:
    seen: list[str] = []

    def named(name: str) -> Callable[..., Any]:
        def observe(kind: str) -> Any:
            if kind == "managed_kind":
                seen.append(name)
            return (yield)

        return observe

    with (
        register(rules_for(family.primitives.values(), "declared")),
        wrapper(named("b"), name="b"),
        wrapper(named("last"), name="a", trylast=True),
        wrapper(named("first"), name="c", tryfirst=True),
    ):
        cell(family)
    assert seen == ["first", "b", "last"]


# --- quarantine -----------------------------------------------------------------------------------------------------


def raising(kind: str, primitives: Any) -> Any:
    raise KeyError("in the provider")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (raising, "its hook tangrad_rules raised: KeyError"),
        (lambda: {"first": 3}, "returned what cannot be used: TypeError: expected RuleSet, got"),
        (lambda: RuleSet("other_kind", api=1), "returned what cannot be used: ValueError: a rule set of kind"),
    ],
)
def test_a_provider_that_misbehaves_is_set_aside(family: PrimitiveSet, function: Any, words: str) -> None:
    with (
        register(rules_for([family.primitives["first"]], "declared")),
        provider(tangrad_rules=function) as registration,
    ):
        with pytest.warns(PluginWarning, match=words) as warned:
            assert cell(family).rule(0) == "declared"
        assert len(warned) == 1 and registration.plugins[0].status == "broken"
        with pytest.raises(MissingRuleError, match=r"Not asked was \(by hand\):tangrad.hooks:provider.*set aside"):
            rule_table("managed_kind")[family.primitives["second"]]


def test_a_provider_of_another_extension_api_is_refused_by_name(family: PrimitiveSet) -> None:
    with provider("old", tangrad_rules=lambda kind: RuleSet(kind, api=99)) as registration:
        with pytest.warns(PluginWarning, match="'old'.* extension API 99"):
            assert cell(family).status == "missing"
        assert isinstance(registration.plugins[0].cause, ApiVersionError)


def test_what_a_provider_said_before_it_failed_is_forgotten(family: PrimitiveSet) -> None:
    other = PrimitiveSet("managed_too", api=1)
    other.primitive(lambda x: x, name="third")

    def tangrad_rules(kind: str, family: str, primitives: Any) -> Any:
        if kind != "managed_kind":
            return None
        if family == "managed_too":
            raise ValueError("not this one")
        return rules_for(primitives, "computed")

    with register(other), provider(tangrad_rules=tangrad_rules):
        assert cell(family).status == "rule"
        with pytest.warns(PluginWarning, match="not this one"):
            assert cell(other, "third").status == "missing"
        assert cell(family).status == "missing"  # as if the other family had been asked for first


def test_arguments_that_do_not_exist(family: PrimitiveSet) -> None:
    hook = hookimpl(lambda kind, colour: None)
    thing = types.SimpleNamespace(tangrad_rules=hook)
    plugin_manager()
    with pytest.warns(PluginWarning, match=r"(?s)'odd'.*its hooks are not valid.*colour"):
        registration = register(thing, group=HOOKS, name="odd")
    assert registration.plugins[0].status == "broken" and cell(family).status == "missing"
    registration.undo()


def test_wrappers_of_the_old_form_are_refused() -> None:
    def tangrad_api() -> Any:
        yield

    plugin_manager()
    with pytest.warns(PluginWarning, match=r"old form; write hookimpl\(wrapper=True\)"):
        register(types.SimpleNamespace(tangrad_api=hookimpl(tangrad_api, hookwrapper=True))).undo()


def test_a_provider_that_looks_up_the_cell_it_is_asked_for_is_set_aside(family: PrimitiveSet) -> None:
    def tangrad_rules(kind: str, primitives: Any) -> Any:
        if kind == "managed_kind":
            rule_table(kind).cell(primitives[0])

    with (
        provider(tangrad_rules=tangrad_rules),
        pytest.warns(PluginWarning, match="is looked up by a hook that is being asked for it"),
    ):
        assert cell(family).status == "missing"


def test_a_broken_hook_object_leaves_the_others_of_its_distribution(site: Site) -> None:
    good = "from tangrad.core import hookimpl\n@hookimpl\ndef tangrad_api(name):\n    return 5\n"
    site.add(
        "plugin-a",
        {HOOKS: {"bad": "managed_bad", "good": "managed_good"}},
        modules={"managed_bad.py": "1 / 0", "managed_good.py": good},
    )
    composition = site.composition()
    with pytest.warns(PluginWarning, match="'bad'.*ZeroDivisionError"):
        found = composition.find(API, "a")
    assert found is not None and found.load() == 5 and used(composition) == ["plugin-a"]


def test_threads_that_ask_while_hook_objects_are_imported_wait_for_them(site: Site) -> None:
    source = (
        "import time\ntime.sleep(0.2)\nfrom tangrad.core import hookimpl\n"
        "@hookimpl\ndef tangrad_api(name):\n    return 5"
    )
    site.add("plugin-a", {HOOKS: {"slow": "managed_slow"}}, modules={"managed_slow.py": source})
    composition = site.composition()
    results: list[Any] = []

    def work() -> None:
        found = composition.find(API, "a")
        results.append(None if found is None else found.load())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [5] * 8


def test_an_answer_that_a_change_has_overtaken_is_not_kept(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "m:a"}})
    composition = site.composition()
    registrations: list[Any] = []

    def overtaken(name: str) -> Any:
        contributions = yield
        if not registrations:  # as another thread may, while this look-up goes on
            registrations.append(composition.register(5, group=API, name="a", override=True))
        return contributions

    hook = hookimpl(overtaken, wrapper=True)
    with composition.register(types.SimpleNamespace(tangrad_api=hook), group=HOOKS, name="slow"):
        found = composition.find(API, "a")
        assert found is not None and found.distribution == "plugin-a"
        found = composition.find(API, "a")
        assert found is not None and found.load() == 5


# --- blocking -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["plugin-a", "Plugin_A", "plugin-[a-b]"])
def test_the_deny_list_blocks_a_distribution(site: Site, pattern: str) -> None:
    site.add("plugin-a", {API: {"a": "managed_denied:a"}, HOOKS: {"h": "managed_denied"}})
    site.add("plugin-c", {API: {"c": "m:c"}})
    composition = site.composition(TANGRAD_DENY=pattern)
    assert composition.manager.is_blocked("plugin-a") and not composition.manager.is_blocked("plugin-c")
    plugin = composition.find(API, "a")
    assert plugin is not None
    with pytest.raises(
        DeniedPluginError, match=r"plugin-a:tangrad.api:a is needed but denied by TANGRAD_DENY \('.*\. "
    ):
        plugin.load()
    assert composition.find(API, "c") is not None and used(composition) == ["plugin-c"]
    composition.configure()  # code takes nothing back that the environment said
    assert composition.manager.is_blocked("plugin-a") and "managed_denied" not in sys.modules


def test_set_blocked_and_unblock_change_the_composition(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "managed_blocked:a"}}, modules={"managed_blocked.py": "a = 5"})
    composition = site.composition()
    plugin = composition.find(API, "a")
    assert plugin is not None and plugin.load() == 5
    composition.manager.set_blocked("plugin-a")
    assert composition.manager.is_blocked("plugin-a") and used(composition) == []
    plugin = composition.find(API, "a")
    assert plugin is not None
    with pytest.raises(DeniedPluginError, match=r"denied by plugin_manager\(\).set_blocked\('plugin-a'\)"):
        plugin.load()
    composition.configure(deny=["plugin-b"])  # says nothing about it
    assert composition.manager.is_blocked("plugin-a")
    assert composition.manager.unblock("plugin-a") and not composition.manager.unblock("plugin-a")
    plugin = composition.find(API, "a")
    assert plugin is not None and plugin.load() == 5


def test_a_denied_provider_is_named_where_something_is_missing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add("blocked-provider", {HOOKS: {"h": "managed_absent"}})
    family = PrimitiveSet("denied_family", api=1)
    primitive = family.primitive(lambda x: x, name="one")
    configure_plugins(deny=["blocked-provider"])
    composition().refresh()
    try:
        with pytest.raises(MissingRuleError, match=r"Not asked was blocked-provider:.*denied by configure_plugins"):
            rule_table("jvp")[primitive]
        with pytest.raises(AttributeError, match="Not asked was blocked-provider"):
            tangrad.numpy.no_such_name
    finally:
        monkeypatch.undo()
        composition().refresh()
        configure_plugins()


# --- by hand --------------------------------------------------------------------------------------------------------


def test_registering_with_the_manager_itself(family: PrimitiveSet) -> None:
    def tangrad_rules(kind: str, primitives: Any) -> Any:
        return rules_for(primitives, "computed") if kind == "managed_kind" else None

    thing = types.SimpleNamespace(tangrad_rules=hookimpl(tangrad_rules))
    manager = plugin_manager()
    assert manager.register(thing, "by-the-manager") == "by-the-manager"
    assert manager.has_plugin("by-the-manager") and cell(family).rule(0) == "computed"
    with pytest.raises(ValueError, match="is the name of a plugin already"):
        manager.register(types.SimpleNamespace(), "by-the-manager")
    with pytest.raises(ValueError, match="is the name of a plugin already"):
        manager.register(types.SimpleNamespace(), "tangrad-core")
    assert manager.unregister(thing) is thing and cell(family).status == "missing"
    assert manager.unregister(name="by-the-manager") is None
    assert manager.register(thing, "once-more") == "once-more" and manager.unregister(name="once-more") is thing
    with pytest.raises(ValueError, match="was not registered by hand"):
        manager.unregister(thing)


def test_two_hook_objects_of_one_name() -> None:
    hook = hookimpl(lambda name: None)
    with (
        register(types.SimpleNamespace(tangrad_api=hook), group=HOOKS, name="same"),
        register(types.SimpleNamespace(tangrad_api=hook), group=HOOKS, name="same"),
    ):
        plugin_manager()
        assert {"same", "same 2"} <= {name for name, _ in plugin_manager().list_name_plugin()}


def test_a_broken_provider_raises_nothing_but_what_is_needed(site: Site) -> None:
    site.add("plugin-a", {API: {"bad": "managed_gone:x"}})
    composition = site.composition()
    plugin = composition.find(API, "bad")
    assert plugin is not None
    with pytest.warns(PluginWarning, match="managed_gone"), pytest.raises(BrokenPluginError):
        plugin.load()
    found = composition.find(API, "bad")
    assert found is plugin and found.status == "broken"
