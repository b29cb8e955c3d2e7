"""Entries of the group `tangrad.api` that are modules, under the name of a module of ours."""

from pathlib import Path

import pytest

from tests.unit.plugin_site import Site

OURS, THEIRS, CONFLICT = "tangrad.numpy", "acme_numpy", "conflict"
WORDS = "'numpy' of group 'tangrad.api' is provided by tangrad-numpy (the module tangrad.numpy) and acme 1.0 ("
# However users come to the module, and whatever came before them.
WAYS = {
    "attribute": "import tangrad\nfound = tangrad.numpy",
    "import as": "import tangrad.numpy as found",
    "from import": "from tangrad import numpy as found",
    "import": "import tangrad.numpy\nfound = tangrad.numpy",
    "after ours": "import tangrad.nn\nassert float(tangrad.nn.relu(2.0)) == 2\nfound = tangrad.numpy",
    "after a name": "import tangrad\nassert float(tangrad.grad(lambda x: x * x)(1.0)) == 2\nfound = tangrad.numpy",
}
DECIDED = {
    "none": ({}, CONFLICT),
    "deny theirs": ({"TANGRAD_DENY": "acme"}, OURS),
    "deny the entry": ({"TANGRAD_DENY": "acme:api:numpy"}, OURS),
    "allow ours": ({"TANGRAD_ALLOW": "tangrad-*"}, OURS),
    "prefer theirs": ({"TANGRAD_PREFER": "api:numpy=acme"}, THEIRS),
    "prefer ours": ({"TANGRAD_PREFER": "api:numpy=tangrad-numpy"}, OURS),
}
REPORT = """
import importlib
from tangrad.errors import PluginConflictError
try:
    names = {}
    exec(WAY, names)
    print(names["found"].__name__)
except PluginConflictError as error:
    assert error.cell == "api:numpy" and error.claimants == ("tangrad-numpy", "acme"), error
    print("conflict", error)
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


CASES = [
    *[("none", "acme_numpy", way) for way in WAYS],
    *[("prefer theirs", "acme_numpy", way) for way in WAYS],
    *[(decided, "acme_numpy", "import as") for decided in DECIDED],
    *[(decided, "acme_parts:module", "attribute") for decided in DECIDED],
]


@pytest.mark.parametrize(("decided", "value", "way"), sorted(set(CASES)))
def test_modules_are_in_conflict_and_decided_as_names_are(site: Site, decided: str, value: str, way: str) -> None:
    modules = {"acme_numpy.py": "sin = 5\n", "acme_parts.py": "import acme_numpy as module\n"}
    site.add("acme", {"tangrad.api": {"numpy": value}}, modules=modules)
    environment, expected = DECIDED[decided]
    done = site.run(f"WAY = {WAYS[way]!r}\n{REPORT}", **environment)
    assert done.returncode == 0 and done.stdout.startswith(expected), done.stdout + done.stderr
    if expected == CONFLICT:
        assert f"{WORDS}{value})" in done.stdout and "api:numpy=tangrad-numpy" in done.stdout


def test_what_is_registered_and_decided_later_counts(site: Site) -> None:
    code = """
import types, tangrad, tangrad.numpy
from tangrad.core import register
from tangrad.core.tools import configure_plugins
from tangrad.errors import PluginConflictError
ours, theirs = tangrad.numpy, types.ModuleType("mine")
with register(theirs, group="api", name="numpy", override=True):
    assert tangrad.numpy is theirs
    assert float(tangrad.nn.relu(2.0)) == 2.0
assert tangrad.numpy is ours
with register(theirs, group="api", name="numpy"):
    try:
        tangrad.numpy
    except PluginConflictError:
        print("conflict")
    configure_plugins(prefer={"api:numpy": "tangrad-numpy"})
    assert tangrad.numpy is ours
    configure_plugins()
assert tangrad.numpy is ours and float(tangrad.numpy.sin(0.0)) == 0.0
"""
    done = site.run(code)
    assert done.returncode == 0 and done.stdout == "conflict\n", done.stdout + done.stderr


def test_modules_within_packages_too(site: Site) -> None:
    site.add("acme", {"tangrad.api": {"numpy.linalg": "acme_linalg"}}, modules={"acme_linalg.py": "x = 1\n"})
    code = "import tangrad.numpy as np\nfound = np.linalg"
    for environment, expected in (({}, "conflict"), ({"TANGRAD_PREFER": "api:numpy.linalg=acme"}, "acme_linalg")):
        report = REPORT.replace("api:numpy", "api:numpy.linalg")
        done = site.run(f"WAY = {code!r}\n{report}", **environment)
        assert done.returncode == 0 and done.stdout.startswith(expected), done.stdout + done.stderr


def test_a_module_of_a_name_that_is_free_is_no_conflict(site: Site) -> None:
    site.add("acme", {"tangrad.api": {"acme_things": "acme_module"}}, modules={"acme_module.py": "x = 7\n"})
    assert site.run("import tangrad; print(tangrad.acme_things.x)").stdout == "7\n"
