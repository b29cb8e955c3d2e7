"""The tools of the workspace: what they generate is current, and they refuse what contradicts itself."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import numpy
import pytest

from tests.install.test_contracts import COMPOSED, project, write
from tools import generate_api
from tools.build_wheels import build_source, tree_state
from tools.metadata import configuration
from tools.workspace import ROOT, distributions, left_behind, owners, requirement_name, supported_pythons, umbrella


def test_generated_files_are_current():
    done = subprocess.run(
        [sys.executable, "-m", "tools.generate_api", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_umbrella_names_no_distribution_that_is_not_in_the_tree():
    project = umbrella().project
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    named = set(map(requirement_name, [*project["dependencies"], *extras]))
    assert named - {"tangrad"} <= distributions().keys()
    assert "tangrad-backend-xla" not in umbrella().requirements, "the standard set goes where jaxlib cannot"


def test_what_was_installed_from_a_folder_that_has_gone_is_found(tmp_path):
    write(tmp_path, "tree/plugins/here/pyproject.toml", project("tangrad-here"))
    for name, url in (("here", "plugins/here"), ("gone", "plugins/gone"), ("other", "../elsewhere")):
        folder = (tmp_path / "tree" / url).resolve()
        write(tmp_path, f"site/tangrad_{name}-0.1.0.dist-info/METADATA", f"Name: tangrad-{name}\nVersion: 0.1.0\n")
        write(tmp_path, f"site/tangrad_{name}-0.1.0.dist-info/direct_url.json", f'{{"url": "{folder.as_uri()}"}}')
    write(tmp_path, "site/numpy-2.0.dist-info/METADATA", "Name: numpy\nVersion: 2.0\n")
    assert left_behind(tmp_path / "tree", [str(tmp_path / "site")]) == ["tangrad-gone"]
    assert left_behind() == []


def test_wheels_hold_the_sources_the_types_and_nothing_else(wheels):
    for name, part in {**distributions(), "tangrad": umbrella()}.items():
        (wheel,) = wheels.glob(f"{name.replace('-', '_')}-0*.whl")
        with zipfile.ZipFile(wheel) as archive:
            held = {item for item in archive.namelist() if ".dist-info/" not in item}
        shipped = {
            path.relative_to(part.folder).as_posix()
            # `tangrad_pytest` stands beside the namespace: pytest loads it before the environment is set up.
            for path in part.folder.glob("tangrad*/**/*")
            if path.is_file() and path.suffix != ".pyc"
        }
        assert held == (shipped if name != "tangrad" else set()), name


def test_the_state_of_the_tree_follows_its_files(tmp_path):
    write(tmp_path, "pyproject.toml", project("tangrad"))
    write(tmp_path, "README.md")
    write(tmp_path, "core/pyproject.toml", project("tangrad-core"))
    write(tmp_path, "core/README.md")
    write(tmp_path, "core/tangrad/__init__.py", COMPOSED)
    before = tree_state(tmp_path)
    write(tmp_path, "core/tangrad/__pycache__/x.pyc", "anything")
    assert tree_state(tmp_path) == before
    write(tmp_path, "core/tangrad/types.py", "x = 1")
    assert tree_state(tmp_path) != before


@pytest.fixture
def small(tmp_path):
    """A tree of two distributions: core, and a library with a composed package."""
    write(
        tmp_path,
        "core/pyproject.toml",
        project("tangrad-core", "numpy", {"tangrad.api": 'typeof = "tangrad.core:typeof"'}),
    )
    write(tmp_path, "core/tangrad/__init__.py", COMPOSED)
    write(tmp_path, "core/tangrad/core/__init__.py")
    write(tmp_path, "core/tangrad/tree.py")
    names = (
        '"lax.sin" = "tangrad.lax.api:sin"',
        '"lax.asin" = "tangrad.lax.api:arcsin"',
        '"lax.CLIP" = "tangrad.lax.api:M.CLIP"',
    )
    groups = {
        "tangrad.api": "\n".join(names),
        "tangrad.primitives": 'elementwise = "tangrad.lax.api:it"',
        "tangrad.rule_kinds": 'jvp = "tangrad.lax.api:jvp"',
    }
    write(tmp_path, "primitives/lax/pyproject.toml", project("tangrad-lax", "tangrad-core", groups))
    write(tmp_path, "primitives/lax/tangrad/lax/__init__.py", COMPOSED)
    write(tmp_path, "primitives/lax/tangrad/lax/api.py")
    return tmp_path


def generated(root) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): text for path, text in generate_api.generate(root).items()}


def test_stubs_name_every_public_object(small):
    files = generated(small)
    stub = files["primitives/lax/tangrad/lax/__init__.pyi"]
    assert "from tangrad.lax.api import arcsin as asin, sin\n" in stub
    assert "CLIP = _CLIP_owner.CLIP" in stub
    names: dict = {}
    exec(stub[stub.index("__all__") :], names)
    assert names["__all__"] == ["CLIP", "api", "asin", "sin"]
    assert "from tangrad.core import typeof\n" in files["core/tangrad/__init__.pyi"]
    assert "from tangrad import core, lax, tree\n" in files["core/tangrad/__init__.pyi"]


def test_the_catalogue_names_the_owner_of_everything(small):
    names: dict = {}
    exec(generated(small)["plugins/console/tangrad/_console/explanations/catalogue_data.py"], names)
    assert names["PUBLIC"] == {"tangrad-core": {"": "typeof"}, "tangrad-lax": {"lax": "CLIP asin sin"}}
    assert names["MODULES"] == {"tangrad-lax": "tangrad.lax"}
    assert names["FAMILIES"] == {"tangrad-lax": "elementwise"}
    assert names["RULE_KINDS"] == {"tangrad-lax": "jvp"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('typeof = "tangrad.nn:typeof"', "claimed by both tangrad-core and tangrad-nn"),
        ('"fft.fft" = "tangrad.nn:fft"', "needs a module tangrad.fft, which no one has"),
        ('"tree.map" = "tangrad.nn:map"', "tangrad.tree does not compose its names"),
    ],
)
def test_contradictions_are_refused(small, entry, message):
    write(small, "plugins/nn/pyproject.toml", project("tangrad-nn", "tangrad-core", {"tangrad.api": entry}))
    write(small, "plugins/nn/tangrad/nn/__init__.py")
    with pytest.raises(generate_api.ApiError, match=message):
        generated(small)


def test_two_owners_of_one_module_are_refused(small):
    write(small, "plugins/nn/pyproject.toml", project("tangrad-nn", "tangrad-core"))
    write(small, "plugins/nn/tangrad/lax/api.py")
    with pytest.raises(ValueError, match=r"tangrad\.lax\.api is shipped by both tangrad-nn and tangrad-lax"):
        owners(small)


def test_every_distribution_names_the_same_versions_of_python():
    parts = [*distributions().values(), umbrella()]
    built = {part.name: configuration(part.folder)["project"]["classifiers"] for part in parts}
    named = {name: [line for line in lines if ":: Python :: 3" in line] for name, lines in built.items()}
    assert len({tuple(lines) for lines in named.values()}) == 1, named
    assert {part.project["requires-python"] for part in parts} == {f">={supported_pythons()[0]}"}


def test_a_library_is_bounded_above_and_in_one_way():
    bounds: dict[str, set[str]] = {}
    for part in distributions().values():
        for requirement in part.foreign_requirements:
            assert ">=" in requirement and "<" in requirement, f"{part.name}: {requirement}"
            bounds.setdefault(requirement_name(requirement), set()).add(requirement)
    assert bounds.keys() >= {"numpy", "pluggy", "jaxlib", "ml_dtypes", "scipy"}
    assert {name: lines for name, lines in bounds.items() if len(lines) > 1} == {}


def test_the_stub_of_arrays_has_methods_properties_and_operators(tmp_path):
    long = ", ".join(f"argument_{number}=None" for number in range(8))
    entries = ("__add__", "T", "reshape", "long", "made", "at")
    groups = {"tangrad.array": "\n".join(f'{name} = "tangrad.core.methods:{name.strip("_")}"' for name in entries)}
    write(tmp_path, "core/pyproject.toml", project("tangrad-core", "numpy", groups))
    write(tmp_path, "core/tangrad/__init__.py", COMPOSED)
    write(tmp_path, "core/tangrad/core/__init__.py")
    write(tmp_path, "core/tangrad/_core/kernel/array_members.py")
    functions = (
        "def reshape(x: int, /, *shape: int, order: str = 'C', size: Any = SIZE) -> Array: ...",
        "@property\ndef T(self) -> Array: ...",
        "def add(x, y): ...",
        f"def long(self, {long}): ...",
        "made = unary('made')",
        "class Places:\n    def __init__(self, array: Any) -> None: self._array = array",
        "    def set(self, values: ArrayLike, **options: Any) -> Array: ...",
        "at = property(places)",
        "def places(x: Any) -> Places: ...",
    )
    write(tmp_path, "core/tangrad/core/methods.py", "\n".join(functions))
    stub = generated(tmp_path)["core/tangrad/_core/kernel/array_members.pyi"]
    assert '    def reshape(self, *shape: int, order: str = "C", size: Any = ...) -> Array: ...\n' in stub
    assert "    @property\n    def T(self) -> Array: ...\n" in stub and "    def made(self) -> Array: ...\n" in stub
    assert "    def __add__(self, other: ArrayLike, /) -> Array: ...\n" in stub and "    def __radd__(" in stub
    assert "    def long(\n        self,\n        argument_0=None,\n" in stub
    assert "class Places:\n    def set(self, values: ArrayLike, **options: Any) -> Array: ...\n" in stub
    assert "    @property\n    def at(self) -> Places: ...\n" in stub


def test_a_type_that_the_stub_of_arrays_does_not_know_is_refused(tmp_path):
    groups = {"tangrad.array": 'view = "tangrad.core.methods:view"'}
    write(tmp_path, "core/pyproject.toml", project("tangrad-core", "numpy", groups))
    write(tmp_path, "core/tangrad/__init__.py", COMPOSED)
    write(tmp_path, "core/tangrad/core/__init__.py")
    write(tmp_path, "core/tangrad/_core/kernel/array_members.py")
    write(tmp_path, "core/tangrad/core/methods.py", "def view(x: Any) -> View: ...")
    with pytest.raises(ValueError, match=r"does not know where the type View in methods\.py is from"):
        generated(tmp_path)


@pytest.mark.skipif(shutil.which("make") is None, reason="the Makefile is read by make")
@pytest.mark.parametrize(("home", "own"), [("writable", False), ("/dev/null", True), ("", True)])
def test_uv_has_a_cache_where_the_home_folder_cannot_be_written(home, own, tmp_path):
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path) if home == "writable" else home}
    command = ["make", "--no-print-directory", "--print-data-base", "--dry-run", "help"]
    printed = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True, timeout=300)
    assert (f"UV_CACHE_DIR := {ROOT}/build/uv-cache" in printed.stdout) == own


def test_fragments_of_the_changelog_are_of_a_kind():
    kinds = {
        kind["directory"] for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    }
    fragments = [path.name for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
    wrong = [
        name for name in fragments if name.split(".")[-2:-1] not in [[kind] for kind in kinds] or name[-3:] != ".md"
    ]
    assert not wrong and kinds == set(
        re.findall(r"^\| `(\w+)` \|", (ROOT / "changes/README.md").read_text(), re.MULTILINE)
    )


def test_what_has_stubs_makes_them_when_it_is_built():
    made = {path for path in generate_api.generate() if path.suffix == ".pyi"}
    for part in distributions().values():
        build = tomllib.loads((part.folder / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
        has = any(path.is_relative_to(part.folder) for path in made)
        named = build.get("hooks", {}).get("custom", {}).get("path")
        assert (build.get("artifacts"), named and (part.folder / named).resolve()) == (
            (["*.pyi"], ROOT / "tools" / "build_hook.py") if has else (None, None)
        ), part.name


def test_a_source_distribution_has_the_stubs_and_no_hook(tmp_path):
    with tarfile.open(build_source(ROOT / "plugins" / "nn", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        (project,) = (archive.extractfile(name) for name in archive.getnames() if name.endswith("/pyproject.toml"))
        assert "hooks" not in tomllib.loads(project.read().decode())["tool"]["hatch"]["build"]
    assert {"tangrad/nn/__init__.pyi", "tangrad/extend/nn.pyi"} <= names


DRAW = numpy.random.default_rng(0)
FIRST = numpy.random.default_rng(0).random()


@pytest.mark.parametrize("turn", range(2))
def test_each_draws_the_first_number(turn: int) -> None:
    assert DRAW.random() == FIRST
