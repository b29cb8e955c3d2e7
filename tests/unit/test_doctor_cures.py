"""What the doctor says to paste cures: everything that can be wrong with an installation at once, then each line of it.

One site has all the plugins, one shell gets all the lines. What needs pip is tested in `tests/install`.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Reference
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tangrad._console.report.requirements import applies, is_within, normal_name, parse_requirement, parse_version
from tests.unit.plugin_site import Site

SETS = """
from tangrad.core import PrimitiveSet, RuleKind, RuleSet, ShapedArray, find_primitive

def rules(primitives, kind="jvp", api=1, override=False):
    made = RuleSet(kind, api=api, override=override)
    for name in primitives.split():
        made.add(find_primitive(name), lambda primals, tangents, **params: (primals[0], tangents[0]))
    return made

own = PrimitiveSet("cures_own", api=1)
other = PrimitiveSet("cures_other", api=1)
for family in (own, other):
    for name in ("one", "two", "three", "four"):
        family.primitive(lambda x: x, name=name)
ALL = "cures_own.one cures_own.two cures_own.three cures_own.four"
"""
FAMILIES = {"tangrad.primitives": {"cures_own": "cures_sets:own", "cures_other": "cures_sets:other"}}
# Distribution -> its entry points, and the module that they are in. Each is sick in one way.
SICK = {
    "claims-name": ({"tangrad.api": {"cures_name": "claims_name:x"}}, "x = 1"),
    "claims-name-too": ({"tangrad.api": {"cures_name": "claims_name_too:x"}}, "x = 2"),
    "claims-command": ({"tangrad.commands": {"cures": "claims_command:main"}}, "def main(arguments): pass"),
    "claims-command-too": ({"tangrad.commands": {"cures": "claims_command_too:main"}}, "def main(arguments): pass"),
    "claims-rule": ({"tangrad.rules.jvp": {"cures_other": "claims_rule:jvp"}}, "jvp = rules('cures_other.one')"),
    "claims-rule-too": (
        {"tangrad.rules.jvp": {"cures_other": "claims_rule_too:jvp"}},
        "jvp = rules('cures_other.one')",
    ),
    "overrides": ({"tangrad.rules.jvp": {"cures_own": "overrides:jvp"}}, "jvp = rules(ALL, override=True)"),
    "overrides-too": ({"tangrad.rules.jvp": {"cures_own": "overrides_too:jvp"}}, "jvp = rules(ALL, override=True)"),
    "raises": ({"tangrad.api": {"cures_raises": "raises:x"}}, "raise OSError('no such device')"),
    "old": ({"tangrad.primitives": {"cures_old": "old:old"}}, "old = PrimitiveSet('cures_old', api=0)"),
    "numberless": (
        {"tangrad.rules.jvp": {"cures_own.numberless": "numberless:jvp"}},
        "jvp = rules('cures_own.one', api=None)",
    ),
    "shadow": ({"tangrad.api": {"lax": "shadow:x"}}, "x = 1"),
    "foreign": ({"tangrad.rules.batch": {"cures_own": "foreign:batch"}}, "batch = rules('cures_other.one', 'batch')"),
    "homeless": ({"tangrad.api": {"no_such_package.x": "homeless:x"}}, "x = 1"),
    "misplaced": ({"tangrad.api": {"jitting.x": "misplaced:x"}}, "x = 1"),
    "group-slip": ({"tangrad.primitive": {"cures_slip": "group_slip:own"}}, "own = PrimitiveSet('cures_slip', api=1)"),
    "kind-slip": ({"tangrad.rules.bacth": {"cures_own": "kind_slip:batch"}}, "batch = rules('cures_own.two', 'batch')"),
    "family-slip": ({"tangrad.rules.batch": {"elementwse": "family_slip:batch"}}, "batch = RuleSet('batch', api=1)"),
    "package-slip": ({"tangrad.api": {"nunpy.cures": "package_slip:x"}}, "x = 1"),
    "kind-mix": ({"tangrad.rules.batch": {"cures_own.mix": "kind_mix:jvp"}}, "jvp = rules('cures_own.three')"),
    "renamed": ({"tangrad.primitives": {"cures_renamed": "renamed:x"}}, "x = PrimitiveSet('cures_x', api=1)"),
    "twice-named": ("[tangrad.api]\ncures_twice = twice_named:x\ncures_twice = twice_named:y\n", "x = y = 1"),
    "valueless": ({"tangrad.api": {"cures_valueless": "not a module"}}, ""),
    "half-listed": (
        {"tangrad.rules.transpose": {"cures_own": "half_listed:transpose"}},
        "transpose = rules('cures_own.one cures_other.one', 'transpose')",
    ),
    "asleep": ({"tangrad.backends": {"asleep": "asleep:backend"}}, "from asleep_backend import backend"),
    "hookless": ({"tangrad.hooks": {"hookless": "hookless:x"}}, "x = 1"),
}
ASLEEP = """
from tangrad.core import Array, Backend

class Asleep(Backend):
    name, platform, lowering_kind, api, array_type = "asleep", "cpu", "lower.numpy", 1, Array
    def devices(self):
        raise OSError("the driver is asleep")

backend = Asleep()
"""
# Words of a problem, for each thing that is wrong.
WORDS = {
    **{name: (name,) for name in SICK if not name.endswith("-too") and not name.startswith(("claims", "overrides"))},
    "foreign": ("plugin foreign:", "of family 'cures_other'"),
    "raises": ("plugin raises:", "no such device"),
    "old": ("plugin old:", "extension API 0"),
    "homeless": ("homeless has 'no_such_package.x'",),
    "name claimed twice": ("'cures_name'", "claims-name 1.0", "claims-name-too 1.0"),
    "command claimed twice": ("'cures'", "claims-command 1.0", "claims-command-too 1.0"),
    "rule claimed twice": ("two rules of kind 'jvp' for primitive 'cures_other.one'",),
    "rival overrides": ("4 primitives of family 'cures_own'", "each to override all others"),
    "asleep": ("'asleep' does not start", "the driver is asleep"),
    "left over": ("homeless-0.9.dist-info is what another version",),
    "installed twice": ("raises is installed twice",),
    "misspelt variable": ("TANGRAD_DEBUG_NAN is read by nothing",),
    "unknown variable": ("TANGRAD_UNHEARD_OF is read by nothing",),
    "denied nothing": ("'no-such-plugin' matches no installed plugin",),
    "denied no rule": ("'jvp:no_such_primitive' matches no rule",),
    "prefers no installed one": ("jvp:sin=absent",),
    "damaged cache": ("1 file in the cache folder",),
    "open cache": ("can be written to by other users",),
    "absent backend": ("there is no backend 'nowhere'",),
}
# What their authors have to write: these cures are edits of entry points.
EDITED = ("group-slip", "kind-slip", "family-slip", "package-slip", "half-listed")


class Patient:
    """A sick installation: its site, and the environment of a shell in it."""

    def __init__(self, folder: Path) -> None:
        self.site = Site(folder / "site")
        for name, (entry_points, source) in SICK.items():
            module = name.replace("-", "_") + ".py"
            self.site.add(name, entry_points, modules={module: f"from cures_sets import *\n{source}\n"})
        modules = {"cures_sets.py": SETS, "asleep_backend.py": ASLEEP}
        self.site.add("families", FAMILIES, modules=modules)
        self.site.add("homeless", SICK["homeless"][0], "0.9")
        other = Site(folder / "other")
        other.add("raises", SICK["raises"][0], "3.0")
        cache, compiled = folder / "cache", folder / "compiled"
        (cache / "discovery").mkdir(parents=True)
        (cache / "discovery" / "0123456789abcdef.txt").write_text("garbage")
        compiled.mkdir()
        compiled.chmod(0o777)
        self.environment = {
            **os.environ,
            "PYTHONPATH": f"{self.site.folder}{os.pathsep}{other.folder}",
            "TANGRAD_BACKEND": "nowhere",
            "TANGRAD_CACHE_DIR": str(cache),
            "TANGRAD_COMPILATION_CACHE_DIR": str(compiled),
            "TANGRAD_DENY": "no-such-plugin,jvp:no_such_primitive,jvp:tanh",
            "TANGRAD_PREFER": "jvp:sin=absent",
            "TANGRAD_DEBUG_NAN": "0",
            "TANGRAD_UNHEARD_OF": "1",
        }

    def examine(self, lines: Sequence[str] = ()) -> list[dict[str, str]]:
        """The problems that are left after these lines were pasted into a shell."""
        script = "\n".join(["set -e", *lines, f"exec {sys.executable} -m tangrad doctor --json"])
        command = ["bash", "-c", script]
        result = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)
        assert result.returncode in (0, 1), result.stderr
        return json.loads(result.stdout)["problems"]


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Patient:
    return Patient(tmp_path_factory.mktemp("sick"))


@pytest.fixture(scope="module")
def found(patient: Patient) -> list[dict[str, str]]:
    return patient.examine()


@pytest.fixture(scope="module")
def left(patient: Patient, found: list[dict[str, str]]) -> list[dict[str, str]]:
    return patient.examine([problem["paste"] for problem in found])


def about(name: str, problems: list[dict[str, str]]) -> list[dict[str, str]]:
    return [problem for problem in problems if all(word in problem["what"] for word in WORDS[name])]


@pytest.mark.skipif(os.name != "posix", reason="lines for a POSIX shell")
@pytest.mark.parametrize("name", WORDS)
def test_what_is_wrong_is_found_and_its_line_cures(name: str, found: list, left: list) -> None:
    (problem,) = about(name, found)
    assert problem["paste"] and "\n" not in problem["paste"], problem
    assert about(name, left) == [], problem


def test_nothing_else_is_found_and_nothing_is_left(found: list, left: list) -> None:
    known = [problem for name in WORDS for problem in about(name, found)]
    assert [problem for problem in found if problem not in known] == []
    assert left == []


def test_what_authors_have_to_write(tmp_path: Path) -> None:
    """The edits that cures name, done to the letter in the entry points of each."""
    site = Site(tmp_path / "site")
    site.add("families", FAMILIES, modules={"cures_sets.py": SETS})
    for name in EDITED:
        source = f"from cures_sets import *\n{SICK[name][1]}\n"
        site.add(name, SICK[name][0], modules={name.replace("-", "_") + ".py": source})
    before = json.loads(site.run("", "-m", "tangrad", "doctor", "--json").stdout)["problems"]
    assert len(before) == len(EDITED)
    for problem in before:
        (name,) = [name for name in EDITED if name in problem["what"]]
        file = next(site.folder.glob(f"{name.replace('-', '_')}-*.dist-info")) / "entry_points.txt"
        text = file.read_text()
        group = re.search(
            r'write \[project.entry-points."(.*?)"\] in place of \[project.entry-points."(.*?)"\]', problem["cure"]
        )
        line = re.search(r'write (\S+) = "(\S+)" below \[project.entry-points."(.*?)"\]', problem["cure"])
        entry = re.search(r"write (\S+) in place of (\S+);", problem["cure"])
        if group:
            text = text.replace(f"[{group[2]}]", f"[{group[1]}]")
        elif line:
            text = text.replace(f"[{line[3]}]\n", f"[{line[3]}]\n{line[1]} = {line[2]}\n")
        else:
            text = text.replace(f"{entry[2]} = ", f"{entry[1]} = ")
        assert text != file.read_text()
        file.write_text(text)
    assert json.loads(site.run("", "-m", "tangrad", "doctor", "--json").stdout)["problems"] == []


# --- Versions, ranges and markers as the doctor reads them, against the library that pip reads them with ------------


NUMBERS = st.sampled_from(["0", "1", "2", "10"])
RELEASES = st.lists(NUMBERS, min_size=1, max_size=3).map(".".join)
SUFFIXES = st.tuples(
    st.sampled_from(["", "", "a1", "b", "-rc.1", "_alpha2", ".pre0", "c3", "preview"]),
    st.sampled_from(["", "", ".post1", "-1", "rev2", "-r", ".post"]),
    st.sampled_from(["", "", ".dev0", "dev1", "-dev"]),
)
PUBLIC = st.builds(
    lambda epoch, release, parts: epoch + release + "".join(parts),
    st.sampled_from(["", "", "", "1!", "v"]),
    RELEASES,
    SUFFIXES,
)
LOCAL = st.sampled_from(["", "", "+cpu", "+1", "+a.1", "+A-1", "+cu12_2"])
VERSIONS = st.builds(str.__add__, PUBLIC, LOCAL)
OPERATORS = st.sampled_from(["==", "!=", "<=", ">=", "<", ">", "~=", "==="])
CLAUSES = st.one_of(
    st.builds(lambda operator, version: f"{operator}{version}", OPERATORS, VERSIONS),
    st.builds(lambda operator, release: f"{operator} {release}.*", OPERATORS, RELEASES),
)
RANGES = st.lists(CLAUSES, max_size=3).map(",".join)
NAMES = st.sampled_from(["os_name", "sys_platform", "platform_machine", "implementation_name"])
TEXTS = st.sampled_from(['"posix"', "'linux linux2'", "'cpython'", "'x86_64'", "''"])
NUMBERED = st.sampled_from(["python_version", "python_full_version", "implementation_version"])


def compared(variables, texts, operators):
    """Comparisons of a variable and a text, either of which may be first."""
    pairs = st.one_of(st.tuples(variables, texts), st.tuples(texts, variables))
    return st.builds(lambda pair, operator: f" {operator} ".join(pair), pairs, st.sampled_from(operators))


COMPARISONS = st.one_of(
    compared(NAMES, TEXTS, ["==", "!=", "in", "not in"]),
    compared(NUMBERED, st.sampled_from(["'3'", "'3.11'", "'3.12.1'", "'4.0rc1'"]), ["==", "!=", "<", "<=", ">", ">="]),
)
MARKERS = st.recursive(
    st.one_of(COMPARISONS, st.just("extra == 'x'")),
    lambda inner: st.one_of(
        st.builds("{} and {}".format, inner, inner),
        st.builds("{} or {}".format, inner, inner),
        st.builds("({})".format, inner),
    ),
    max_leaves=5,
)


def outcome(function, *errors):
    """The result, or that there is none."""
    try:
        return function()
    except errors:
        return "none"


@given(VERSIONS, VERSIONS)
def test_versions_are_ordered_as_pip_orders_them(one, other):
    expected = Version(one) < Version(other), Version(one) == Version(other)
    assert (parse_version(one) < parse_version(other), parse_version(one) == parse_version(other)) == expected


@given(RANGES, VERSIONS)
def test_ranges_hold_what_pip_lets_in(versions, installed):
    expected = outcome(lambda: SpecifierSet(versions).contains(Version(installed), prereleases=True), InvalidSpecifier)
    assert outcome(lambda: is_within(versions, installed), ValueError) == expected


@given(st.text("0123456789.abcdevprost+-_!* ", max_size=12))
def test_what_is_no_version_is_known(text):
    is_version = outcome(lambda: Version(text), InvalidVersion) != "none"
    assert (outcome(lambda: parse_version(text), ValueError) != "none") is is_version


@given(MARKERS)
def test_markers_hold_where_pip_lets_them(marker):
    errors = InvalidMarker, UndefinedComparison, UndefinedEnvironmentName
    expected = outcome(lambda: Marker(marker).evaluate({"extra": ""}), *errors)
    found = outcome(lambda: applies(marker), ValueError)
    assert found == expected


@given(
    st.sampled_from(["a", "Typing_Extensions", "a.b--c", "x9"]),
    st.sampled_from(["", "[cuda]", "[a, b]", " [x]"]),
    st.sampled_from(["", ">=1", " (>=1,<2)", "==1.*, !=1.2", " ~=1.4", " @ https://example.org/a.whl", ">=", "(>=1"]),
    st.sampled_from(["", "; os_name == 'posix'", " ; extra == 'x'", "; nonsense", ";python_version<'3'"]),
)
def test_lines_of_metadata_are_read_as_pip_reads_them(name, extras, versions, marker):
    line = name + extras + versions + marker

    def expected():
        read = Reference(line)
        if read.marker is not None and not read.marker.evaluate({"extra": ""}):
            return None
        return canonicalize_name(read.name), str(read.specifier)

    found = parse_requirement(line)
    assert found == (None if outcome(expected, InvalidRequirement) == "none" else expected())


@pytest.mark.parametrize(
    "marker", ["", "os_name ==", "(os_name == 'posix'", "os_name == 'posix' 'x'", "unknown == '1'", "%"]
)
def test_what_is_no_marker_is_known(marker):
    with pytest.raises(ValueError, match=re.escape(repr(marker))):
        applies(marker)


def test_markers_are_of_this_environment():
    assert applies(f"os_name == '{os.name}' and python_version >= '3.11'")
    assert normal_name("A.b__c-D") == canonicalize_name("A.b__c-D")


# --- `tangrad doctor` on releases: which are tested, and libraries that no longer fit each other --------------------


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


def examine(site: Site) -> tuple[dict, dict[str, str]]:
    result = site.run("", "-m", "tangrad", "doctor", "--json")
    data = json.loads(result.stdout)
    return data, {problem["what"]: problem["paste"] for problem in data["problems"]}


def install(site: Site, name: str, version: str, *needs: str) -> None:
    """Metadata of a distribution without plugins or modules."""
    file = site.add(name, {}, version)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *[f"Requires-Dist: {n}" for n in needs]]
    (file.parent / "METADATA").write_text("\n".join(lines) + "\n")


def test_what_is_found_is_compared_with_what_is_tested(site: Site) -> None:
    data, _ = examine(site)
    python, numpy = data["releases"]["python"], data["releases"]["numpy"]
    assert python == {"found": platform.python_version(), "tested": "3.11, 3.12, 3.13, 3.14", "is_tested": True}
    assert numpy["found"] == np.__version__ and numpy["is_tested"] is True and ">=1.26" in numpy["tested"]
    text = site.run("", "-m", "tangrad", "doctor").stdout
    assert "Releases" in text and "tested are" in text


def test_a_newer_release_is_not_called_tested(site: Site) -> None:
    install(site, "pluggy", "3.1")
    data, problems = examine(site)
    assert data["releases"]["pluggy"]["found"] == "3.1" and data["releases"]["pluggy"]["is_tested"] is False
    (cure,) = [cure for what, cure in problems.items() if what.startswith("pluggy 3.1 does not do: tangrad-core")]
    assert cure.startswith("pip install 'pluggy") and ">=1.5" in cure and "<2" in cure


def test_jax_and_jaxlib_of_different_releases(site: Site) -> None:
    install(site, "jax", "0.10.2", "jaxlib<=0.10.2,>=0.10.1", "absent; extra == 'tpu'")
    install(site, "jaxlib", "0.12.0.1", "numpy>=99")
    _, problems = examine(site)
    assert problems["jaxlib 0.12.0.1 does not do: jax 0.10.2 needs jaxlib<=0.10.2,>=0.10.1"] == (
        'pip install "jax==0.12.*"'
    )
    what = f"numpy {np.__version__} does not do: jaxlib 0.12.0.1 needs numpy>=99"
    assert problems[what] == 'pip install --upgrade "jaxlib" "numpy"'


def test_those_that_fit_are_no_problem(site: Site) -> None:
    install(site, "jax", "0.12.1", "jaxlib<=0.12.1,>=0.12.0")
    install(site, "jaxlib", "0.12.0.1")
    assert not [what for what in examine(site)[1] if "jax" in what]
