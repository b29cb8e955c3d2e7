"""Allow lists, deny lists, preferences: what they match, and that nothing denied is ever imported."""

import sys
from pathlib import Path

import pytest

from tangrad._console.report.surroundings import list_problems
from tangrad._core.composition.policy import Policy
from tangrad._core.diagnostics.errors import DeniedPluginError, PluginConflictError
from tests.unit.plugin_site import Site

API = "tangrad.api"


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
