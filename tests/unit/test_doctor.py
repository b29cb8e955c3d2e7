"""`tangrad doctor`: each thing that can be wrong is found, with its cure; each in a process of its own."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tangrad._console.explanations import catalogue
from tangrad._console.report.requirements import is_met, parse_requirement
from tangrad._console.report.surroundings import cache_problems, caches, variable_problems, variables
from tangrad.errors import PluginConflictError
from tests.unit.plugin_site import Site

# --- `tangrad doctor`: each thing that can be wrong is found, with its cure; each in a process of its own -----------


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


def examine(site: Site, **environment: str) -> tuple[dict, dict[str, str]]:
    """The report's data, and its problems: what is wrong -> cure; line to paste."""
    result = site.run("", "-m", "tangrad", "doctor", "--json", **environment)
    assert result.stderr == ""
    data = json.loads(result.stdout)
    assert result.returncode == (1 if data["problems"] else 0)
    return data, {problem["what"]: f"{problem['cure']}; {problem['paste']}" for problem in data["problems"]}


def only(problems: dict[str, str], *words: str) -> str:
    (cure,) = [cure for what, cure in problems.items() if all(word in what for word in words)]
    return cure


def test_plugins_conflicts_and_metadata(site: Site) -> None:
    site.add("good-plugin", {"tangrad.api": {"cli_good": "good:x"}}, "1.5", {"good.py": "x = 1"})
    site.add("good-plugin2", {"tangrad.api": {"cli_good": "other:x"}})
    site.add("bad-plugin", {"tangrad.api": {"one": "bad:x"}}, modules={"bad.py": "raise ValueError('<b>no</b>')"})
    site.add("worse", {"tangrad.api": dict.fromkeys(("two", "three", "four"), "bad:x")})
    site.add("unreadable", b"[tangrad.api]\n\xff")
    family = "from tangrad.core import PrimitiveSet\nold = PrimitiveSet('doctor_old', api=0)"
    site.add("old-fashioned", {"tangrad.primitives": {"doctor_old": "old:old"}}, modules={"old.py": family})
    data, problems = examine(site)
    assert "TANGRAD_PREFER" in only(problems, "'cli_good' of group 'tangrad.api' is provided by good-plugin 1.5")
    assert ',}"bad-plugin:tangrad.api:one' in only(problems, "bad-plugin", "ValueError: <b>no</b>")
    assert ',}"worse' in only(problems, "and 2 more are set aside: ValueError: <b>no</b>")
    assert "pip install --force-reinstall unreadable" in only(problems, "is not UTF-8")
    assert "of one extension API (this core: 1)" in only(problems, "ApiVersionError", "extension API 0")
    assert data["versions"]["good-plugin"] == "1.5" and "numpy" in data["versions"]
    page = site.run("", "-m", "tangrad", "doctor", "--html").stdout
    assert "ValueError: &lt;b&gt;no&lt;/b&gt;" in page and "<b>no" not in page
    text = site.run("", "-m", "tangrad", "doctor").stdout
    assert f"{len(problems)} problems found." in text and "  cure: " in text


def test_requirements_that_are_not_met(site: Site) -> None:
    file = site.add("needy", {"tangrad.api": {"needy": "needy:x"}}, "2.0", {"needy.py": "x = 1"})
    needs = ["numpy>=99", "absent-thing>=1", "scipy>99; extra == 'more'", "pluggy>99; python_version < '3'"]
    lines = ["Metadata-Version: 2.1", "Name: needy", "Version: 2.0", "Requires-Python: >=3.99"]
    (file.parent / "METADATA").write_text("\n".join([*lines, *[f"Requires-Dist: {need}" for need in needs]]) + "\n")
    data, problems = examine(site)
    assert only(problems, "numpy", "does not do: needy 2.0 needs numpy>=99").endswith("; pip install 'numpy>=99'")
    assert only(problems, "absent-thing is not installed; needy 2.0") == "install it; pip install 'absent-thing>=1'"
    assert "on a Python that is >=3.99" in only(problems, "python", "does not do for needy 2.0")
    assert not any("scipy" in what or "pluggy" in what for what in problems)
    (needy,) = [one for one in data["distributions"] if one["name"] == "needy"]
    assert needy["needs"] == ["numpy>=99", "absent-thing>=1"] and needy["python"] == ">=3.99"


def test_a_distribution_that_is_there_twice(site: Site, tmp_path: Path) -> None:
    site.add("twice", {"tangrad.api": {"doctor_twice": "twice:x"}}, "2.0", {"twice.py": "x = 1"})
    site.add("twice", {"tangrad.api": {"doctor_twice": "twice:x"}}, "1.0")
    other = Site(tmp_path / "other")
    other.add("twice", {"tangrad.api": {"doctor_twice": "twice:x"}}, "3.0")
    _, problems = examine(site, PYTHONPATH=f"{site.folder}{os.pathsep}{other.folder}")
    assert "rm -r " in only(problems, "twice-1.0.dist-info is what another version of it left")
    assert "off PYTHONPATH" in only(problems, "installed twice", "twice-2.0.dist-info", "twice-3.0.dist-info")


def test_lists_and_variables(site: Site) -> None:
    site.add("good-plugin", {"tangrad.api": {"cli_good": "good:x"}}, "1.5", {"good.py": "x = 1"})
    data, problems = examine(
        site,
        TANGRAD_DENY="no-such-plugin,good-plugin,jvp:no_such_primitive,jvp:tanh",
        TANGRAD_PREFER="jvp:sin=absent",
        TANGRAD_BAKCEND="numpy",
        TANGRAD_DEBUG_NANS="1",
        tangrad_no_such="1",
    )
    assert "correct it" in only(problems, "'no-such-plugin' matches no installed plugin")
    assert "correct it" in only(problems, "'jvp:no_such_primitive' matches no rule")
    assert only(problems, "the preference jvp:sin=absent")
    cure = "TANGRAD_BACKEND=numpy is probably meant; export TANGRAD_BACKEND=numpy; unset TANGRAD_BAKCEND"
    assert only(problems, "TANGRAD_BAKCEND is read by nothing") == cure
    assert "known are: TANGRAD_ALLOW" in only(problems, "tangrad_no_such")
    assert not any("jvp:tanh" in what or "'good-plugin'" in what or "DEBUG_NANS" in what for what in problems)
    assert {"from": "TANGRAD_DENY: none of", "what": "jvp:tanh"} in data["lists"]
    meanings = {one["name"]: one["meaning"] for one in data["environment"]}
    assert meanings["TANGRAD_BAKCEND"] is None and "NaN" in meanings["TANGRAD_DEBUG_NANS"]


BACKEND = """
import numpy
from tangrad.core import Array, Backend, Device, ShapedArray

class Broken(Backend):
    name, platform, lowering_kind, api = "broken", "quantum", "lower.numpy", 1
    def devices(self):
        raise OSError("the driver is asleep")

class Liar(Backend):
    name, platform, lowering_kind, api = "liar", "cpu", "lower.numpy", 1
    def devices(self):
        return [Device(self, 0, "cpu")]
    def put(self, value, aval, device=None):
        return LiarArray()

class LiarArray(Array):
    aval = ShapedArray((3,), numpy.dtype("float32"))
    def to_numpy(self):
        return numpy.zeros(3)

broken, liar = Broken(), Liar()
Broken.array_type, Liar.array_type = Array, LiarArray
LiarArray.backend = liar
"""


def test_backends(site: Site) -> None:
    entries = {"broken": "doctor_backends:broken", "liar": "doctor_backends:liar"}
    site.add("odd-backends", {"tangrad.backends": entries}, modules={"doctor_backends.py": BACKEND})
    data, problems = examine(site, TANGRAD_BACKEND="nowhere")
    assert "'*:backends:broken'" in only(problems, "'broken' does not start: the driver is asleep")
    assert only(problems, "'liar' does not start: it does not give back the array")
    assert "set TANGRAD_BACKEND to" in only(problems, "there is no backend 'nowhere'")
    backends = {one["name"]: one for one in data["backends"]}
    assert backends["numpy"]["usable"] and backends["numpy"]["devices"] == ["numpy:cpu:0"]
    assert not backends["liar"]["usable"] and backends["broken"]["state"] == "does not start"
    data, problems = examine(site, TANGRAD_BACKEND="numpy", TANGRAD_DENY="*:backends:broken,*:backends:liar")
    backends = {one["name"]: one for one in data["backends"]}
    assert backends["numpy"]["default"] and backends["broken"]["state"] == "denied"
    assert not any("does not start" in what for what in problems)


# --- caches, in this process ----------------------------------------------------------------------------------------


def test_a_damaged_cache(tmp_path: Path) -> None:
    folder = tmp_path / "discovery"
    folder.mkdir(mode=0o755)
    record, notes = folder / "0123456789abcdef.txt", folder / "notes.txt"
    record.write_text("garbage")
    notes.write_text("mine")
    found = caches({"TANGRAD_CACHE_DIR": str(tmp_path)})
    assert (found[0].state, found[0].files, found[0].size) == ("in order", 1, 7)
    (problem,) = cache_problems(found)
    assert "1 file in the cache folder" in problem.what and "0123456789abcdef.txt" in problem.what
    assert problem.paste == f"rm -f {shlex.quote(str(record))}"


def test_states_of_caches(tmp_path: Path) -> None:
    assert caches({"TANGRAD_CACHE_DIR": "0"})[0].state == "off"
    assert caches({"TANGRAD_CACHE_DIR": str(tmp_path / "new" / "one")})[0].state == "not made yet"
    (tmp_path / "file").write_text("")
    found = caches({"TANGRAD_CACHE_DIR": str(tmp_path / "file")})
    assert found[0].state == "cannot be made"
    (problem,) = cache_problems(found)
    assert "set TANGRAD_CACHE_DIR to a folder of your own, or to 0" in problem.cure


@pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX")
def test_a_cache_that_others_may_write_to(tmp_path: Path) -> None:
    folder = tmp_path / "discovery"
    folder.mkdir()
    folder.chmod(0o777)
    (problem,) = cache_problems(caches({"TANGRAD_CACHE_DIR": str(tmp_path)}))
    assert problem.paste == f"chmod go-w {shlex.quote(str(folder))}"


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written_to(tmp_path: Path) -> None:
    folder = tmp_path / "discovery"
    folder.mkdir()
    folder.chmod(0o555)
    (problem,) = cache_problems(caches({"TANGRAD_CACHE_DIR": str(tmp_path)}))
    assert "cannot be written to" in problem.what


def test_a_cache_beyond_its_bound(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(bytes(2000))
    tmp_path.chmod(0o700)
    compiled = caches({"TANGRAD_CACHE_DIR": "0"})[1]
    assert compiled.state == "off"
    too_large = compiled._replace(folder=str(tmp_path), state="in order", size=2000, bound=1000)
    (problem,) = cache_problems([too_large])
    assert "holds 2.0 kB, more than its bound of 1.0 kB" in problem.what


def test_variables_close_to_ours_are_found() -> None:
    found = variables({"TANGARD_BACKEND": "xla", "PATH": "x", "XLA_FLAGS": "", "TANGRAD_BACKEND": "numpy"})
    assert [one.name for one in found] == ["TANGARD_BACKEND", "TANGRAD_BACKEND", "XLA_FLAGS"]
    (problem,) = variable_problems(found)
    assert problem.cure == "TANGRAD_BACKEND=xla is probably meant"


# --- requirements ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("versions", "installed", "expected"),
    [
        ("", "1.0", True),
        (">=1.26", "1.26.4", True),
        (">=1.26", "1.25.9", False),
        (">=1.26", "1.26rc1", False),
        ("<0.12,>=0.10", "0.11.2", True),
        ("<0.12,>=0.10", "0.12", False),
        ("==0.1.*", "0.1.7", True),
        ("==0.1.*", "0.10", False),
        ("!=0.1.*", "0.2", True),
        ("==1.0", "1.0.0+cpu", True),
        ("!=1.5", "1.5.0", False),
        ("~=1.4", "1.9", True),
        ("~=1.4.2", "1.5", False),
        ("~=1.4.2", "1.4.10", True),
        (">1.0", "1.0.post1", False),
        ("===odd", "odd", True),
        ("===odd", "1.0", False),
        (">=1.0", "no version", True),
        ("==1.*", "1", True),
    ],
)
def test_versions(versions: str, installed: str, expected: bool) -> None:
    assert is_met(versions, installed) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("numpy", ("numpy", "")),
        ("Typing_Extensions (>=4.10)", ("typing-extensions", ">=4.10")),
        ("tangrad-backend-xla[cuda]==0.1.*", ("tangrad-backend-xla", "==0.1.*")),
        ("thing @ https://example.org/thing.whl", ("thing", "")),
        ("a>=1; python_version >= '3.11' and os_name != 'nowhere'", ("a", ">=1")),
        ("a>=1; python_version < '3'", None),
        ("a>=1; extra == 'x'", None),
        ("a>=1; python_version >= '3' or extra == 'x'", ("a", ">=1")),
        ("!", None),
    ],
)
def test_lines_of_metadata(text: str, expected: tuple[str, str] | None) -> None:
    assert parse_requirement(text) == expected


# --- `tangrad doctor` on metadata that is half there, on overrides, and on conflicts with who was there before.


RULES = """
from tangrad.core import RuleSet
from tangrad._lax.elementwise.primitives import cos_p, sin_p
jvp = RuleSet("jvp", api=1, override={override})
for primitive in (sin_p, cos_p):
    jvp.add(primitive, lambda primals, tangents: (primals[0], tangents[0]))
"""


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
