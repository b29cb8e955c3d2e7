"""Versions, ranges and markers as the doctor reads them, against the library that pip reads them with."""

import json
import os
import platform
import re
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
