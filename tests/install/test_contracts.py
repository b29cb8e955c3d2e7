"""The import contracts, on an install from wheels; and that the checker finds each kind of breach."""

import textwrap
from pathlib import Path

import pytest

from tests.install.environments import unpack
from tools import contracts
from tools.import_graph import cycles, read_imports
from tools.workspace import ROOT, distributions, owners


@pytest.fixture(scope="module")
def house(wheels, tmp_path_factory) -> contracts.House:
    """The house as installed from wheels into one folder."""
    site = tmp_path_factory.mktemp("contracts")
    unpack(wheels, site)
    return contracts.House(site=site)


@pytest.mark.parametrize("check", contracts.CHECKS, ids=lambda check: check.__name__)
def test_contract(house, check):
    problems = check(house)
    assert not problems, "\n".join(problems)


def test_the_graph_holds_every_distribution(house):
    assert house.files.keys() == owners().keys()
    assert {house.owner[name] for name in house.files} == distributions().keys()


def test_no_module_has_the_name_of_a_public_object(house):
    # Importing the module `tangrad.jit` would replace the function `tangrad.jit`. A public module names itself.
    clashes = {
        name: value
        for name, (_, value) in house.api.items()
        if f"tangrad.{name}" in house.files and value != f"tangrad.{name}"
    }
    assert not clashes


def test_every_public_package_says_that_it_is_typed():
    for part in distributions().values():
        top = [path for name, path in part.modules.items() if path.name == "__init__.py" and name != "tangrad.backends"]
        shallowest = min(top, key=lambda path: len(path.parts))
        assert (shallowest.parent / "py.typed").exists(), f"{part.name}: no py.typed beside {shallowest}"


def test_every_distribution_has_the_same_skeleton():
    license_text = (ROOT / "LICENSE").read_text()
    for part in distributions().values():
        assert (part.folder / "LICENSE").read_text() == license_text, part.name
        assert (part.folder / "README.md").read_text().startswith(f"# {part.name}\n"), part.name
        assert part.project["license"] == "Apache-2.0", part.name
        assert part.project["version"], part.name
        assert not (part.folder / "tangrad" / "__init__.py").exists() or part.name == contracts.CORE
        for requirement in part.project["dependencies"]:
            assert not requirement.startswith("tangrad") or "==0.1.*" in requirement, f"{part.name}: {requirement}"


# --- the checker itself, on small houses of its own ------------------------------------------------------------------


def write(folder: Path, name: str, text: str = "") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


def project(name: str, requires: str = "", groups: dict[str, str] | None = None) -> str:
    required = ", ".join(f'"{item}==0.1.*"' if item.startswith("tangrad") else f'"{item}"' for item in requires.split())
    lines = ["[project]", f'name = "{name}"', 'version = "0.1.0"', f"dependencies = [{required}]"]
    for group, entry in (groups or {}).items():
        lines += [f'[project.entry-points."{group}"]', entry]
    return "\n".join(lines) + "\n"


COMPOSED = "from tangrad.core.api import public_package\n__getattr__, __dir__ = public_package(__name__)\n"


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    """A sound house: core, a transformation with one rule kind, primitives with a rule of that kind, a library."""
    monkeypatch.setattr(contracts, "LAZY", {"tangrad.core.api": "resolves public names"})
    write(tmp_path, "core/pyproject.toml", project("tangrad-core", "numpy"))
    for module in ("core/__init__", "core/api", "core/plugins"):
        write(tmp_path, f"core/tangrad/{module}.py")
    write(tmp_path, "core/tangrad/__init__.py", COMPOSED)
    write(tmp_path, "core/tangrad/core/types.py", "import numpy")
    write(
        tmp_path,
        "plugins/autodiff/pyproject.toml",
        project(
            "tangrad-autodiff",
            "tangrad-core",
            {
                "tangrad.transformations": 'autodiff = "tangrad.autodiff:it"',
                "tangrad.rule_kinds": 'jvp = "tangrad.autodiff:jvp"',
                "tangrad.api": 'grad = "tangrad.autodiff.api:grad"',
            },
        ),
    )
    write(tmp_path, "plugins/autodiff/tangrad/autodiff/__init__.py")
    write(tmp_path, "plugins/autodiff/tangrad/autodiff/api.py", "from tangrad.core.types import x")
    write(
        tmp_path,
        "primitives/lax/pyproject.toml",
        project(
            "tangrad-lax",
            "tangrad-core",
            {
                "tangrad.primitives": 'elementwise = "tangrad.lax.elementwise:primitives"',
                "tangrad.rules.jvp": 'elementwise = "tangrad.lax.jvp:rules"',
                "tangrad.api": '"lax.sin" = "tangrad.lax.elementwise:sin"',
            },
        ),
    )
    write(tmp_path, "primitives/lax/tangrad/lax/__init__.py", COMPOSED)
    write(tmp_path, "primitives/lax/tangrad/lax/elementwise.py", "from tangrad.core import types")
    write(
        tmp_path, "primitives/lax/tangrad/lax/jvp.py", "import tangrad.autodiff\nfrom tangrad.lax import helpers, sin"
    )
    write(tmp_path, "primitives/lax/tangrad/lax/helpers.py", "from tangrad.autodiff import api")
    write(tmp_path, "plugins/nn/pyproject.toml", project("tangrad-nn", "tangrad-core tangrad-lax"))
    write(tmp_path, "plugins/nn/tangrad/nn/__init__.py", "from tangrad import lax\nf = lambda x: lax.sin(x)")
    return tmp_path


def problems(root: Path) -> list[str]:
    house = contracts.House(root)
    return [problem for check in contracts.CHECKS for problem in check(house)]


def test_a_sound_house_passes(small):
    assert problems(small) == []


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("core/tangrad/core/types.py", "from tangrad import lax", "tangrad-core does not require tangrad-lax"),
        ("core/tangrad/core/types.py", "from tangrad.core import types2", None),
        ("core/tangrad/core/types.py", "import scipy", "imports scipy, which tangrad-core does not require"),
        ("core/tangrad/core/types.py", "def f():\n    from tangrad.core import api", "inside a function"),
        (
            "core/tangrad/core/types.py",
            "def f(n):\n    return import_module(n)",
            "import_module(...) inside a function",
        ),
        ("core/tangrad/core/types.py", "from tangrad.core import api", None),
        ("core/tangrad/core/types.py", "def f():\n    import json", None),
        ("core/tangrad/core/types.py", "def f():\n    return import_module('ml_dtypes')", None),
        ("core/tangrad/core/types.py", "def f():\n    return import_module('tangrad.core.api')", "inside a function"),
        ("core/tangrad/core/api.py", "def f():\n    from tangrad.core import types", None),
        ("core/tangrad/core/types.py", "x = 1\n" * 501, "has 501 lines"),
        ("plugins/autodiff/tangrad/autodiff/api.py", "import tangrad.lax", "does not require tangrad-lax"),
        (
            "plugins/nn/tangrad/nn/__init__.py",
            "import tangrad\nf = lambda: tangrad.grad",
            "not require tangrad-autodiff",
        ),
        ("plugins/nn/tangrad/nn/__init__.py", "from tangrad import grad", "does not require tangrad-autodiff"),
        ("plugins/nn/tangrad/nn/__init__.py", "import tangrad.lax.jvp", "imports the rule file tangrad.lax.jvp"),
        ("primitives/lax/tangrad/lax/elementwise.py", "import tangrad.autodiff", "does not require tangrad-autodiff"),
        ("primitives/lax/tangrad/lax/elementwise.py", "from tangrad.lax import helpers", "tangrad-autodiff"),
        ("plugins/nn/tangrad/nn/__init__.py", "import jaxlib", "only tangrad.backends.xla.jaxlib_api"),
        ("plugins/nn/tangrad/nn/__init__.py", "import tangrad.nn.extra", None),
    ],
)
def test_breaches_are_found(small, file, text, expected):
    write(small, file, text)
    found = problems(small)
    if expected is None:
        assert found == []
    else:
        assert any(expected in problem for problem in found), found


def test_cycles_are_found_through_composed_names(small):
    write(small, "core/tangrad/core/api.py", "from tangrad.core import plugins")
    write(small, "core/tangrad/core/plugins.py", "from tangrad.core.types import x")
    write(small, "core/tangrad/core/types.py", "import tangrad.core.api")
    expected = "tangrad.core.api -> tangrad.core.plugins -> tangrad.core.types -> tangrad.core.api"
    assert f"import cycle: {expected}" in problems(small)


def test_imports_for_type_checkers_make_no_cycle(small):
    write(
        small,
        "core/tangrad/core/api.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tangrad.core.types",
    )
    write(small, "core/tangrad/core/types.py", "import tangrad.core.api")
    assert problems(small) == []


def test_a_backend_may_require_nothing_but_core(small):
    groups = {"tangrad.backends": 'toy = "tangrad.backends.toy:it"'}
    write(small, "backends/toy/pyproject.toml", project("tangrad-backend-toy", "tangrad-core tangrad-lax", groups))
    write(small, "backends/toy/tangrad/backends/toy.py")
    assert "tangrad-backend-toy (backend) requires tangrad-lax (primitives)" in problems(small)


def test_missing_and_foreign_modules_are_found(small, tmp_path):
    site = tmp_path / "site"
    for module in ("core/__init__", "stray"):
        write(site, f"tangrad/{module}.py")
    found = contracts.check_graph(contracts.House(small, site))
    assert "tangrad-lax: module tangrad.lax is missing from the graph" in found
    assert "module tangrad.stray belongs to no distribution" in found


def test_relative_imports_and_aliases_are_read(tmp_path):
    write(tmp_path, "m.py", "from . import b\nfrom .c import d\nimport tangrad.lax as q\nf = lambda: q.sin")
    modules = {"tangrad.a", "tangrad.a.b", "tangrad.a.c", "tangrad.lax"}
    imports = read_imports("tangrad.a.m", tmp_path / "m.py", modules, {"tangrad.lax"})
    assert imports.modules == {"tangrad.a.b": 1, "tangrad.a.c": 2, "tangrad.lax": 3}
    assert imports.attributes == {"tangrad.lax.sin": 4}


def test_cycles_report_each_component_once():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"d"}, "e": {"a", "f"}, "f": set()}
    assert cycles(graph) == [["a", "b", "c", "a"], ["d", "d"]]
