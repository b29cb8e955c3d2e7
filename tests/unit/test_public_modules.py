"""The public modules of distributions: doors, what they list, who else claims their names, and stubs."""

import importlib
import subprocess
import sys
import warnings
from importlib import metadata
from pathlib import Path

import numpy
import pytest

import tangrad
from tangrad._console.stubs import NAME, differing, write
from tangrad.core import door
from tests.unit.plugin_site import Site
from tools.generate_api import door_names
from tools.workspace import distributions

# --- The public modules of distributions: names of inner modules, loaded one by one ---------------------------------


DOORS = {
    module: door_names(path)
    for part in distributions().values()
    for module, path in part.modules.items()
    if door_names(path)
}


@pytest.mark.parametrize("module", DOORS)
def test_every_name_is_there_and_is_listed(module):
    loaded = importlib.import_module(module)
    for name, inner in DOORS[module].items():
        assert getattr(loaded, name) is getattr(importlib.import_module(inner), name)
    assert dir(loaded) == sorted(DOORS[module])


def test_a_door_loads_what_is_taken_alone():
    code = (
        "import sys, tangrad.extend.lax as lax\n"
        "assert not any(name.startswith('tangrad._lax') for name in sys.modules)\n"
        "lax.Precision\n"
        "assert 'tangrad._lax.contractions.precision' in sys.modules\n"
        "assert 'tangrad._lax.windows.primitives' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match=r"module 'tangrad\.extend\.lax' has no attribute 'nowhere'"):
        importlib.import_module("tangrad.extend.lax").nowhere
    with pytest.raises(ImportError, match="nowhere"):
        exec("from tangrad.extend.lax import nowhere")


def test_former_names_warn_and_give_the_new_one():
    with pytest.warns(DeprecationWarning, match=r"write tangrad\.autodiff\.current_typed_axes"):
        from tangrad.autodiff import told_axes
    from tangrad.autodiff import current_typed_axes

    assert told_axes is current_typed_axes


def test_a_module_that_is_being_imported_is_no_missing_name(tmp_path, monkeypatch):
    (tmp_path / "half_of_it.py").write_text("import a_door\na_door.x\nx = 1\n")
    (tmp_path / "a_door.py").write_text(
        "from tangrad.core import door\n__getattr__, __dir__ = door(__name__, {'half_of_it': 'x'})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"half_of_it\.x is not there yet: half_of_it is being imported"):
        importlib.import_module("half_of_it")


def test_the_table_decides():
    getter, lister = door("tangrad.core", {"math": "pi tau"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lister() == ["pi", "tau"]
        with pytest.raises(AttributeError, match="no attribute 'e'"):
            getter("e")


# --- Modules of the kernel that users import by name ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["errors", "dtypes", "tree", "tree_util", "typing"])
def test_a_module_is_an_attribute_too(name):
    assert importlib.import_module(f"tangrad.{name}") is getattr(tangrad, name)


def test_every_public_error_can_be_caught_by_its_short_name():
    from tangrad._core.diagnostics import errors

    public = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert public <= set(dir(tangrad.errors))


def test_types_for_annotations():
    from tangrad.typing import ArrayLike, DTypeLike

    arrays = [tangrad.numpy.ones(2), numpy.ones(2), numpy.float32(1), numpy.bool_(True), True, 1, 1.0, 1j]
    assert all(isinstance(x, ArrayLike) for x in arrays)
    assert tangrad.jit(lambda x: x + isinstance(x, ArrayLike))(1.0) == 2.0
    assert not any(isinstance(x, ArrayLike) for x in ([1.0], "a", None, numpy.dtype("float32")))
    assert DTypeLike | None  # both are unions, which others may extend


def test_the_version_is_that_of_the_distribution():
    assert tangrad.__version__ == metadata.version("tangrad-core")


def test_dtypes():
    from tangrad.dtypes import bfloat16, finfo

    assert finfo(bfloat16).bits == 16 and finfo(numpy.float32).bits == 32
    with pytest.raises(AttributeError, match="float17"):
        tangrad.dtypes.float17


# --- Entries of the group `tangrad.api` that are modules, under the name of a module of ours ------------------------


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


# --- where `tangrad stubs` writes: its own files are brought up to date, and nothing else is changed ----------------

ADDED = "\n# Added by `tangrad stubs`: what other distributions provide.\nfrom a import b as b\n\n__all__ = ['b']\n"
FILES = {f"{NAME}/lax/__init__.pyi": ADDED, f"{NAME}/py.typed": "partial\n"}


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_it_wrote_is_changed_and_deleted(tmp_path: Path) -> None:
    write(FILES, tmp_path)
    assert contents(tmp_path) == FILES and differing(FILES, tmp_path) == []
    later = {f"{NAME}/numpy/__init__.pyi": ADDED, f"{NAME}/py.typed": "partial\n"}
    assert differing(later, tmp_path) == [f"{NAME}/lax/__init__.pyi", f"{NAME}/numpy/__init__.pyi"]
    write(later, tmp_path)
    assert contents(tmp_path) == later and not (tmp_path / NAME / "lax").exists()
    write({}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_stay(tmp_path: Path) -> None:
    theirs = {f"{NAME}/notes.txt": "mine", f"{NAME}/lax/own.pyi": "x: int\n", f"{NAME}/nn/__init__.pyi": "x: int\n"}
    for path, text in theirs.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / NAME / "empty").mkdir()
    write(FILES, tmp_path)
    assert contents(tmp_path) == theirs | FILES and differing(FILES, tmp_path) == []
    write({}, tmp_path)
    assert contents(tmp_path) == theirs and (tmp_path / NAME / "empty").is_dir()


def test_what_it_did_not_write_is_not_overwritten(tmp_path: Path) -> None:
    write(FILES, tmp_path)
    stub = tmp_path / NAME / "numpy" / "__init__.pyi"
    stub.parent.mkdir()
    stub.write_text("x: int\n")
    before = contents(tmp_path)
    with pytest.raises(FileExistsError, match=r"numpy/__init__\.pyi is not of this command's making"):
        write({f"{NAME}/numpy/__init__.pyi": ADDED}, tmp_path)
    assert contents(tmp_path) == before
