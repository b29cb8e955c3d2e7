"""`tangrad doctor` on metadata that is half there, on overrides, and on conflicts with who was there before."""

import json
from pathlib import Path
from typing import Any

import pytest

from tangrad._console.explanations import catalogue
from tangrad.errors import PluginConflictError
from tests.unit.plugin_site import Site

RULES = """
from tangrad.core import RuleSet
from tangrad._lax.elementwise.primitives import cos_p, sin_p
jvp = RuleSet("jvp", api=1, override={override})
for primitive in (sin_p, cos_p):
    jvp.add(primitive, lambda primals, tangents: (primals[0], tangents[0]))
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


def report(site: Site) -> Any:
    done = site.run("", "-m", "tangrad", "doctor", "--json", TANGRAD_BACKEND="numpy")
    assert done.stdout.startswith("{"), done.stderr
    return json.loads(done.stdout)


def test_broken_headers_and_missing_names_are_reported_once(site: Site) -> None:
    site.add("no-bracket", "[tangrad.api\nx = no_bracket:x\n")
    site.add("no-opening", "tangrad.api]\nx = no_opening:x\n")
    site.add("with-comment", "[tangrad.api] # names\nx = with_comment:x\n")
    site.add("nameless", {"tangrad.api": {"nameless_name": "os:path"}})
    (site.folder / "nameless-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nVersion: 1.0\n\nName: no\n"
    )
    problems = report(site)["problems"]
    found = {problem["what"].partition(":")[0]: problem for problem in problems}
    assert set(found) == {"no-bracket", "no-opening", "with-comment", "nameless"} and len(problems) == 4, problems
    assert "'[tangrad.api' is no header of a section, such as [tangrad.api]" in found["no-bracket"]["what"]
    assert "states no name" in found["nameless"]["what"]
    assert found["nameless"]["paste"] == "pip install --force-reinstall nameless"


DAMAGED = {
    "no name of an entry": "[tangrad.api]\n = damaged:x\n",
    "no value": "[tangrad.api]\nx =\n",
    "no equals sign": "[tangrad.api]\nx\n",
    "a tab within": "[tangrad.api]\nx\ty = damaged:x\n",
    "cut in a header": "[tangrad.api]\ncut = os:path\n[tangrad.pri",
    "no UTF-8": b"[tangrad.api]\nx = damaged:\xff\xfe\n",
    "UTF-16": "[tangrad.api]\nx = damaged:x\n".encode("utf-16"),
    "an opening bracket": "[tangrad.api]\n[x = damaged:x\n",
}


def test_what_is_damaged_has_one_cure_each(site: Site) -> None:
    names = [f"damaged-{place}" for place in range(len(DAMAGED))]
    for name, text in zip(names, DAMAGED.values(), strict=True):
        site.add(name, text)
    found = [(one["what"].partition(":")[0], one["paste"]) for one in report(site)["problems"]]
    assert sorted(found) == [(name, f"pip install --force-reinstall {name}") for name in names], found


def test_overrides_of_the_rules_of_others_are_listed(site: Site) -> None:
    rules = {"tangrad.rules.jvp": {"elementwise.acme": "acme_rules:jvp"}}
    site.add("acme", rules, modules={"acme_rules.py": RULES.format(override=True)})
    listed = {"kind": "jvp", "family": "elementwise", "used": "acme", "instead": "tangrad-lax"}
    assert report(site)["overrides"] == [{**listed, "primitives": ["sin", "cos"]}]
    text = site.run("", "-m", "tangrad", "doctor", TANGRAD_BACKEND="numpy").stdout
    assert "Overrides" in text and "in place of" in text


def test_the_choice_that_a_conflict_shows_is_who_was_there_before(site: Site) -> None:
    rules = {
        "tangrad.rules.jvp": {"elementwise.acme": "acme_rules:jvp"},
        "tangrad.api": {"numpy.sin": "acme_rules:jvp"},
    }
    site.add("acme", rules, modules={"acme_rules.py": RULES.format(override=False)})
    owner = catalogue.distribution_of("numpy.sin")
    problems = report(site)["problems"]
    assert len(problems) == 2, problems
    for problem, line in zip(problems, (f"api:numpy.sin={owner}", "jvp:elementwise.*=tangrad-lax"), strict=True):
        assert line in problem["paste"].replace("'", ""), problem
    conflict = PluginConflictError.between("it", "jvp:sin", ["alpha", "beta", "tangrad-lax"], owner="beta")
    assert conflict.claimants == ("beta", "tangrad-lax", "alpha")
