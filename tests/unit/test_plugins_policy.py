"""Policies: allow lists, deny lists and preferences, and what a hook refuses by RefusedError."""

import pickle
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._console.report.surroundings import list_problems
from tangrad._core.composition.policy import Policy
from tangrad._core.diagnostics.errors import DeniedPluginError, PluginConflictError
from tangrad._core.kernel.applications import _asking
from tangrad._core.kernel.primitive import _watchers
from tangrad._core.kernel.rules import find_rule_kind
from tangrad.core import RefusedError, backend_names, composition, get_backend, hookimpl, register
from tangrad.core.tools import primitive_set
from tangrad.errors import BrokenPluginError
from tests.unit.plugin_site import Site

API = "tangrad.api"

# --- Allow lists, deny lists, preferences: what they match, and that nothing denied is ever imported ---


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(str(site.folder))
    return site


@pytest.mark.parametrize(
    ("deny", "denied"),
    [
        ("plugin-a", True),
        ("Plugin_A", True),
        ("plugin-*", True),
        ("plugin-[ab]", True),
        ("other, plugin-a", True),
        ("plugin-b", False),
        ("plugin", False),
        ("plugin-a:tangrad.api:name", True),
        ("plugin-a:api:name", True),
        ("*:api:na*", True),
        ("plugin-a:api:other", False),
        ("plugin-a:hooks:name", False),
        ("api:name", False),  # the form of a rule
    ],
)
def test_what_a_pattern_denies(site: Site, deny: str, denied: bool) -> None:
    site.add("plugin-a", {API: {"name": "policy_a:x"}})
    (plugin,) = site.composition(TANGRAD_DENY=deny).entries(API)
    assert (plugin.status == "denied") is denied


def test_a_denied_plugin_is_never_imported_and_says_who_denied_it(site: Site) -> None:
    site.add("plugin-a", {API: {"name": "policy_denied:x"}}, modules={"policy_denied.py": "x = 1"})
    composition = site.composition(TANGRAD_DENY="plugin-a")
    plugin = composition.find(API, "name")
    assert plugin is not None
    with pytest.raises(DeniedPluginError, match=r"plugin-a:tangrad.api:name .* denied by TANGRAD_DENY \('plugin-a'\)"):
        plugin.load()
    assert "policy_denied" not in sys.modules


def test_with_an_allow_list_all_else_is_denied(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "m:a"}})
    site.add("plugin-b", {API: {"b": "m:b"}})
    composition = site.composition(TANGRAD_ALLOW="plugin-a")
    assert [plugin.status for plugin in composition.entries(API)] == ["available", "denied"]
    with pytest.raises(DeniedPluginError, match="not among what TANGRAD_ALLOW allows"):
        composition.entries(API)[1].load()


def test_code_restricts_further_and_takes_back_only_what_it_said(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "m:a"}})
    site.add("plugin-b", {API: {"b": "m:b"}})
    composition = site.composition(TANGRAD_DENY="plugin-a")
    changes: list[object] = []
    composition.on_change(changes.append)
    assert [plugin.status for plugin in composition.entries(API)] == ["denied", "available"]
    composition.configure(deny=["plugin-b"])
    assert [plugin.denial for plugin in composition.entries(API)] == [
        "denied by TANGRAD_DENY ('plugin-a')",
        "denied by configure_plugins(deny=...) ('plugin-b')",
    ]
    composition.configure()
    assert [plugin.status for plugin in composition.entries(API)] == ["denied", "available"]
    assert changes == [None, None]


def test_both_allow_lists_must_agree(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "m:a"}})
    site.add("plugin-b", {API: {"b": "m:b"}})
    composition = site.composition(TANGRAD_ALLOW="plugin-a,plugin-b")
    composition.configure(allow=["plugin-b", "plugin-c"])
    assert [plugin.status for plugin in composition.entries(API)] == ["denied", "available"]


def test_denying_after_loading_takes_it_out_of_use(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "policy_loaded:a"}}, modules={"policy_loaded.py": "a = 5"})
    composition = site.composition()
    (plugin,) = composition.entries(API)
    assert plugin.load() == 5
    composition.configure(deny=["plugin-a"])
    with pytest.raises(DeniedPluginError):
        plugin.load()
    composition.configure()
    assert plugin.load() == 5


def test_denied_rivals_make_no_conflict(site: Site) -> None:
    site.add("plugin-a", {API: {"name": "m:a"}})
    site.add("plugin-b", {API: {"name": "m:b"}})
    with pytest.raises(PluginConflictError):
        site.composition().find(API, "name")
    plugin = site.composition(TANGRAD_DENY="plugin-a").find(API, "name")
    assert plugin is not None and plugin.distribution == "plugin-b"


@pytest.mark.parametrize("text", ["api:name=plugin-b", "tangrad.api:name = Plugin_B ", "x:y=z,api:name=plugin-b"])
def test_a_preference_resolves_a_conflict(site: Site, text: str) -> None:
    site.add("plugin-a", {API: {"name": "m:a"}})
    site.add("plugin-b", {API: {"name": "m:b"}})
    composition = site.composition(TANGRAD_PREFER=text)
    plugin = composition.find(API, "name")
    assert plugin is not None and plugin.distribution == "plugin-b"
    composition.configure(prefer={"api:name": "plugin-a"})  # code has the last word
    plugin = composition.find(API, "name")
    assert plugin is not None and plugin.distribution == "plugin-a"


def test_a_preference_for_what_is_not_installed_resolves_nothing(site: Site) -> None:
    site.add("plugin-a", {API: {"name": "m:a"}})
    site.add("plugin-b", {API: {"name": "m:b"}})
    with pytest.raises(PluginConflictError):
        site.composition(TANGRAD_PREFER="api:name=plugin-c").find(API, "name")


@pytest.mark.parametrize(
    ("pattern", "denied"),
    [
        ("jvp:sin", True),
        ("jvp:elementwise.sin", True),
        ("*:sin", True),
        ("jvp:*", True),
        ("lower.*:sin", False),
        ("jvp:elementwise", False),
        ("jvp:other.sin", False),
        ("sin", False),
    ],
)
def test_single_rules(pattern: str, denied: bool) -> None:
    reason = Policy({"TANGRAD_DENY": pattern}).rule_denial("jvp", "elementwise.sin")
    assert (reason is not None) is denied
    allowed = Policy({"TANGRAD_ALLOW": pattern}).rule_denial("jvp", "elementwise.sin")
    if ":" in pattern:
        assert (allowed is None) is denied
    else:
        assert allowed is None  # a list of distributions says nothing about single rules


def test_preferences_for_rules_name_the_primitive_with_or_without_family() -> None:
    policy = Policy({"TANGRAD_PREFER": "jvp:sin=a,jvp:elementwise.cos=b,jvp:cos=c"})
    assert policy.preferred("jvp", "elementwise.sin") == "a"
    assert policy.preferred("jvp", "elementwise.cos") == "b"
    assert policy.preferred("batch", "elementwise.sin") is None


@pytest.mark.parametrize("variable", ["TANGRAD_ALLOW", "TANGRAD_DENY"])
@pytest.mark.parametrize("text", ["a:b:c:d", "a:", ":b", "a::b"])
def test_a_malformed_pattern_names_its_source(variable: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"{variable}: .* is not a pattern"):
        Policy({variable: text})


@pytest.mark.parametrize("text", ["jvp:sin", "jvp=a", "jvp:sin=", ":sin=a", "=a"])
def test_a_malformed_preference_names_its_source(text: str) -> None:
    with pytest.warns(UserWarning, match=r"TANGRAD_PREFER: .* is not 'kind:primitive=distribution'; it is ignored"):
        policy = Policy({"TANGRAD_PREFER": text})
    assert not policy.preferences() and repr(text) in policy.rejected[text]


def test_configure_checks_types() -> None:
    with pytest.raises(TypeError, match=r"takes a list of patterns, not the string 'plugin'"):
        Policy().extended(deny="plugin")
    with pytest.raises(TypeError, match="a pattern must be a string, not 3"):
        Policy().extended(allow=[3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="expected strings"):
        Policy().extended(prefer={"jvp:sin": 3})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"configure_plugins\(prefer=...\)"):
        Policy().extended(prefer={"jvp": "a"})


def test_a_failed_configuration_changes_nothing(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "m:a"}})
    composition = site.composition()
    composition.configure(deny=["plugin-a"])
    with pytest.raises(ValueError, match="not a pattern"):
        composition.configure(deny=["a:b:c:d"])
    assert composition.entries(API)[0].status == "denied"


def test_patterns_that_match_nothing_are_reported(site: Site) -> None:
    site.add("plugin-a", {API: {"a": "m:a"}})
    composition = site.composition(TANGRAD_DENY="plugin-a,plugni-b,x:api:*,jvp:sin")
    found = [problem.what for problem in list_problems(composition)]
    assert found == [f"TANGRAD_DENY: {pattern!r} matches no installed plugin" for pattern in ("plugni-b", "x:api:*")]


# --- What a hook refuses by RefusedError reaches the caller as it is, on every backend, eager operations too ---

HAS_XLA = "xla" in backend_names()
BACKENDS = ["numpy", pytest.param("xla", marks=pytest.mark.skipif(not HAS_XLA, reason="there is no such backend"))]

# A package that keeps callbacks into Python out of production, as a user would install it.
NO_CALLBACKS = """
from tangrad.core import hookimpl
from tangrad.core import RefusedError

class CallbackRefused(RefusedError):
    pass

class Policy:
    @hookimpl
    def tangrad_before_apply(self, primitive, context):
        if primitive.name.endswith("callback"):
            raise CallbackRefused(f"{primitive} in {context.function_name}: no callbacks in production")

policy = Policy()
"""
TRIED = """
import tangrad, tangrad.numpy as np
from tangrad import debug, lax
from tangrad.core import RefusedError

x = np.arange(3.0)

def printed(x):
    debug.callback(print, x)
    return x * 2

def called(x):
    return tangrad.pure_callback(lambda v: v * 2, x, x)

tried = {
    "eager": printed, "jit": tangrad.jit(printed), "lower": tangrad.jit(printed).lower, "vmap": tangrad.vmap(printed),
    "grad": lambda x: tangrad.grad(lambda y: printed(y).sum())(x), "pure": called, "jit pure": tangrad.jit(called),
    "scan": lambda x: lax.scan(lambda c, y: (printed(c), y), 0.0, x),
    "cond": lambda x: lax.cond(True, printed, printed, x),
    "jit of cond": tangrad.jit(lambda x: lax.cond(x[0] > 0, printed, called, x)),
    "pmap": lambda x: tangrad.pmap(printed)(x[None]),
}
for name, function in tried.items():
    try:
        function(x)
    except RefusedError as error:
        assert type(error).__name__ == "CallbackRefused", error
        assert "no callbacks in production (refused by plugin acme-policy:tangrad.hooks:policy, 1.0)" in str(error)
    else:
        raise AssertionError(f"{name} was not refused")
with tangrad.disable_jit():
    try:
        tangrad.jit(printed)(x)
    except RefusedError:
        pass
    else:
        raise AssertionError("not refused without jit")
assert tangrad.jit(tangrad.grad(lambda x: (np.sin(x) * x + x[0]).sum()))(x).shape == (3,)  # all else goes on
print(len(tried), "refused")
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_installed_policy_keeps_callbacks_out(tmp_path: Path, backend: str) -> None:
    site = Site(tmp_path / "site")
    hooks = {"tangrad.hooks": {"policy": "acme_policy:policy"}}
    site.add("acme-policy", hooks, modules={"acme_policy.py": NO_CALLBACKS})
    done = site.run(TRIED, TANGRAD_BACKEND=backend)
    assert done.returncode == 0 and done.stdout == "11 refused\n", done.stdout + done.stderr
    free = site.run(TRIED, TANGRAD_BACKEND=backend, TANGRAD_DENY="acme-policy")
    assert "eager was not refused" in free.stderr


def refusing(*hooks: str) -> Any:
    def refuse() -> None:
        raise RefusedError("not here")

    return types.SimpleNamespace(**{hook: hookimpl(refuse, specname=hook) for hook in hooks})


# Hook -> what asks it.
ASKED: dict[str, Callable[[], Any]] = {
    "tangrad_jaxpr_pass": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_traced": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_lowered": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_compiled": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_cache_miss": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_before_apply": lambda: np.arange(3.0) + 1,
    "tangrad_api": lambda: tangrad.jacfwd,
    "tangrad_primitives": lambda: primitive_set("elementwise"),
    "tangrad_rule_kind": lambda: find_rule_kind("jvp"),
    "tangrad_rules": lambda: tangrad.jvp(np.sin, (1.0,), (1.0,)),
    "tangrad_backend": lambda: get_backend("numpy"),
    "tangrad_setting": lambda: tangrad.config.no_such_setting,
    "tangrad_array_attribute": lambda: np.zeros(3).T,
    "tangrad_entry": lambda: composition().find("tangrad.samples", "elementwise"),
    "tangrad_commands": lambda: composition().manager.contributions("tangrad.commands", ""),
    "tangrad_names": lambda: composition().names("tangrad.api"),
}


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    assert _asking not in _watchers


@pytest.mark.parametrize("hook", list(ASKED))
def test_every_hook_may_refuse_and_is_not_set_aside(hook: str) -> None:
    np.sin(np.zeros(3))  # so that what creates an array is not what is refused
    with register(refusing(hook), group="hooks", name="guard") as handle:
        for _ in range(2):
            with pytest.raises(RefusedError, match=r"^not here \(refused by plugin \(by hand\):tangrad.hooks:guard\)"):
                ASKED[hook]()
        assert handle.plugins[0].status == "loaded"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_wrapper_refuses_a_composition(when: str) -> None:
    class Veto:
        @hookimpl(wrapper=True)
        def tangrad_rules(self, kind: str, family: str) -> Any:
            if when == "before" and kind == "jvp":
                raise RefusedError("no derivatives")
            contributions = yield
            if kind == "jvp":
                raise RefusedError("no derivatives")
            return contributions

    x = np.arange(3.0)
    with register(Veto(), group="hooks", name="veto"):
        for _ in range(2):
            with pytest.raises(
                RefusedError, match=r"no derivatives \(refused by plugin \(by hand\):tangrad.hooks:veto\)"
            ):
                tangrad.jvp(np.cos, (x,), (x,))
        assert np.sin(x).shape == (3,)
    assert tangrad.jvp(np.cos, (x,), (x,))[1].shape == (3,)


def test_a_policy_sees_operations_programs_and_the_programs_in_them() -> None:
    seen: list[tuple[str, bool]] = []

    class Watch:
        @hookimpl
        def tangrad_before_apply(self, primitive: Any, avals: Any, params: Any, context: Any) -> None:
            assert all(hasattr(aval, "shape") for aval in avals) and isinstance(params, dict)
            seen.append((primitive.name, bool(context.options.get("eager"))))

    x = np.arange(3.0)
    compiled = tangrad.jit(lambda x: lax.cond(x[0] > 0, np.cos, np.exp, x))
    with register(Watch(), group="hooks", name="watch"):
        assert float(np.sin(x)[0]) == 0.0
        assert ("sin", True) in seen
        compiled(x)
        assert {("cond", False), ("cos", False), ("exp", False)} <= set(seen)
        seen.clear()
        compiled(x)
        assert not any(name in ("cos", "exp") for name, _ in seen)  # a compiled program is not asked about again
        with tangrad.debug_nans(True):
            np.sin(x)
        assert ("sin", True) in seen
    count = len(seen)
    np.sin(x)
    assert len(seen) == count


def test_a_policy_that_fails_stops_the_operation_and_says_how_to_refuse() -> None:
    x = np.arange(3.0)
    bad = types.SimpleNamespace(tangrad_before_apply=hookimpl(lambda primitive: 1 / 0))
    words = "ZeroDivisionError.*raises tangrad[.]core[.]RefusedError.*TANGRAD_DENY"
    with register(bad, group="hooks", name="bad"), pytest.raises(BrokenPluginError, match=words):
        np.sin(x)


def test_a_refusal_keeps_its_plugin_when_it_is_pickled() -> None:
    refusal = RefusedError("no")
    assert str(refusal) == "no" and refusal.plugin is None
    refusal.plugin = "acme:tangrad.hooks:policy, 1.0"
    assert str(pickle.loads(pickle.dumps(refusal))) == "no (refused by plugin acme:tangrad.hooks:policy, 1.0)"
