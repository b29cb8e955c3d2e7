"""The import contracts, on an install from wheels; and that the checker finds each kind of breach."""

import re
import textwrap
from pathlib import Path

import pytest

import tangrad.core as kernel
from tangrad._conformance.scaffold import KINDS, names_for, render
from tangrad._core.composition.policy import DEPRECATED
from tests.install.environments import unpack
from tools import contracts
from tools.docs.rooms import code_lines
from tools.import_graph import cycles, read_imports
from tools.metadata import configuration
from tools.release import range_of
from tools.workspace import ROOT, distributions, owners

PACKAGES = Path(__file__).parent / "packages"


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


def test_the_package_says_that_it_is_typed():
    """Once, in the kernel's distribution: all others install into the same package."""
    found = [path.parent for part in distributions().values() for path in part.folder.rglob("py.typed")]
    assert found == [distributions()[contracts.CORE].folder / "tangrad"]


def test_notices_are_in_the_root_too():
    """What the licences of numbers from elsewhere want said is said of the whole, and of the wheel with the numbers."""
    notice = (ROOT / "NOTICE").read_text()
    owners = [part for part in distributions().values() if (part.folder / "NOTICE").exists()]
    assert [part.name for part in owners] == ["tangrad-backend-numpy"]
    for part in owners:
        own = (part.folder / "NOTICE").read_text()
        assert own.split("\n\n", 1)[1] in notice, f"{part.name}: its NOTICE is not part of that in the root"
        named = re.findall(r"^(tangrad/\S+\.py):", own, re.MULTILINE)
        assert named and all((part.folder / path).exists() for path in named), "a file that it names is elsewhere"


def test_every_distribution_has_the_same_skeleton():
    license_text = (ROOT / "LICENSE").read_text()
    for part in distributions().values():
        built = configuration(part.folder)["project"]
        assert built["readme"]["text"].startswith(f"# {part.name}\n"), part.name
        assert built["license"] == "Apache-2.0", part.name
        has_notice = (part.folder / "NOTICE").exists()
        # In the wheels one copy of the text serves all: that of the kernel, which each of them requires.
        whole = ["NOTICE"] if has_notice else ["LICENSE"] if part.name == contracts.CORE else []
        assert built["license-files"] == whole, part.name
        assert [file.read_text() for file in part.folder.glob("LICENSE")] == [license_text] * ("LICENSE" in whole)
        assert part.name == contracts.CORE or any(one.startswith("tangrad-") for one in part.project["dependencies"])
        assert part.project["version"], part.name
        assert not (part.folder / "tangrad" / "__init__.py").exists() or part.name == contracts.CORE
        for requirement in part.project["dependencies"]:
            one_of_ours = requirement.startswith("tangrad")
            assert not one_of_ours or requirement.endswith(range_of(part.project["version"])), (
                f"{part.name}: {requirement}"
            )


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


COMPOSED = "from tangrad.core import public_package\n__getattr__, __dir__ = public_package(__name__)\n"


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    """A sound house: core, a transformation with one rule kind, primitives with a rule of that kind, a library."""
    monkeypatch.setattr(contracts, "LAZY", {"tangrad._core.composition.api": "resolves public names"})
    write(tmp_path, "core/pyproject.toml", project("tangrad-core", "numpy"))
    for module in (
        "core/__init__",
        "_core/composition/__init__",
        "_core/composition/api",
        "_core/composition/registry",
    ):
        write(tmp_path, f"core/tangrad/{module}.py")
    write(tmp_path, "core/tangrad/__init__.py", COMPOSED.replace("core", "_core.composition.api"))
    write(
        tmp_path,
        "core/tangrad/core/__init__.py",
        "from tangrad._core.composition.api import public_package as public_package\n"
        "from tangrad.core.types import x as x",
    )
    write(tmp_path, "core/tangrad/_core/kernel/array.py", "import numpy")
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
    write(tmp_path, "plugins/autodiff/tangrad/autodiff/api.py", "from tangrad.core import x")
    write(
        tmp_path,
        "primitives/lax/pyproject.toml",
        project(
            "tangrad-lax",
            "tangrad-core",
            {
                "tangrad.primitives": 'elementwise = "tangrad.lax.elementwise:primitives"',
                "tangrad.rules.jvp": 'elementwise = "tangrad.lax.jvp:rules"\nmore = "tangrad.lax.rules:jvp"',
                "tangrad.rules.batch": 'more = "tangrad.lax.rules:batch"',
                "tangrad.api": '"lax.sin" = "tangrad.lax.elementwise:sin"',
            },
        ),
    )
    write(tmp_path, "primitives/lax/tangrad/lax/__init__.py", COMPOSED)
    write(tmp_path, "primitives/lax/tangrad/lax/elementwise.py", "from tangrad.core import x")
    write(
        tmp_path, "primitives/lax/tangrad/lax/jvp.py", "import tangrad.autodiff\nfrom tangrad.lax import helpers, sin"
    )
    write(tmp_path, "primitives/lax/tangrad/lax/rules.py", "from tangrad.core import x")
    write(tmp_path, "primitives/lax/tangrad/lax/helpers.py", "from tangrad.autodiff import api")
    write(tmp_path, "plugins/nn/pyproject.toml", project("tangrad-nn", "tangrad-core tangrad-lax"))
    write(tmp_path, "plugins/nn/tangrad/nn/layers.py", "from tangrad import lax\nf = lambda x: lax.sin(x)")
    write(tmp_path, "plugins/nn/tangrad/nn/__init__.py")
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
        ("core/tangrad/core/types.py", "from tangrad._core.composition import types2", None),
        ("core/tangrad/core/types.py", "import pandas", "imports pandas, which tangrad-core does not require"),
        ("core/tangrad/core/types.py", "def f():\n    from tangrad._core.composition import api", "inside a function"),
        (
            "core/tangrad/core/types.py",
            "def f(n):\n    return import_module(n)",
            "import_module(...) inside a function",
        ),
        ("core/tangrad/core/types.py", "from tangrad._core.composition import api", None),
        ("core/tangrad/core/types.py", "def f():\n    import json", None),
        ("core/tangrad/core/types.py", "def f():\n    return import_module('ml_dtypes')", None),
        (
            "core/tangrad/core/types.py",
            "def f():\n    return import_module('tangrad._core.composition.api')",
            "inside a function",
        ),
        ("core/tangrad/core/types.py", "from tangrad._core.composition import api", None),
        ("core/tangrad/_core/kernel/types.py", "from tangrad._core.composition import api", None),
        ("core/tangrad/_core/composition/api.py", "def f():\n    from tangrad._core.dtypes import kinds", None),
        ("core/tangrad/_core/composition/api.py", "def f():\n    from tangrad.core import types", "which is above it"),
        ("core/tangrad/_core/dtypes/objects.py", "from tangrad._core.composition import api", "which is above it"),
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
        ("primitives/lax/tangrad/lax/rules.py", "import tangrad.autodiff", "does not require tangrad-autodiff"),
        ("plugins/nn/tangrad/nn/__init__.py", "import jaxlib", "only tangrad._backend_xla.jaxlib_api"),
        ("plugins/nn/tangrad/nn/__init__.py", "import tangrad.nn.extra", None),
        ("plugins/nn/tangrad/nn/__init__.py", "from tangrad.core import x, public_package", None),
        ("plugins/nn/tangrad/nn/__init__.py", "import tangrad\nf = lambda: tangrad.core.x", None),
        ("plugins/nn/tangrad/nn/__init__.py", "from tangrad.core.types import x", "a room of the kernel"),
        ("plugins/nn/tangrad/nn/__init__.py", "from tangrad.core import types", "tangrad.core.types, which is a room"),
        ("plugins/nn/tangrad/nn/__init__.py", "import tangrad._core.composition.registry", "a room of the kernel"),
        (
            "plugins/nn/tangrad/nn/__init__.py",
            "from tangrad.core import y",
            "takes y from tangrad.core",
        ),
        (
            "plugins/nn/tangrad/nn/__init__.py",
            "from tangrad import core\nf = lambda: core.y",
            "takes y from tangrad.core",
        ),
        (
            "plugins/nn/tangrad/nn/__init__.py",
            "import tangrad\nf = lambda: tangrad.core.y",
            "takes y from tangrad.core",
        ),
        (
            "plugins/nn/tangrad/nn/__init__.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tangrad.core.types import x",
            "a room of the kernel",
        ),
    ],
)
def test_breaches_are_found(small, file, text, expected):
    write(small, file, text)
    found = problems(small)
    if expected is None:
        assert found == []
    else:
        assert any(expected in problem for problem in found), found


def test_core_keeps_its_size(small):
    # Comments and blank lines do not count; in which room code is does not matter.
    rooms, most = small / "core/tangrad", contracts.CORE_LINES
    there = sum(map(code_lines, rooms.rglob("*.py")))
    count, rest = divmod(most - there, 450)
    for number in range(count):
        write(rooms, f"{('core', 'composition')[number % 2]}/part{number}.py", "x = 1\n# why\n\n" + "x = 1\n" * 449)
    write(rooms, "core/rest.py", "x = 1\n" * (rest + 1))
    assert problems(small) == [f"tangrad-core has {most + 1} lines of code, more than {most}"]
    write(rooms, "core/rest.py", "x = 1\n" * rest)
    assert problems(small) == []


def cycle(*names):
    return f"import cycle: {' -> '.join(f'tangrad._core.{name}' for name in names)}"


def test_inner_modules_of_others_are_refused(small):
    write(small, "primitives/lax/tangrad/_lax/checks.py", "x = 1")
    write(small, "plugins/nn/tangrad/nn/__init__.py", "from tangrad._lax.checks import x")
    (problem,) = problems(small)
    assert "imports tangrad._lax.checks, which is tangrad-lax's own: take it from its door" in problem
    table = '{"tangrad._lax.checks": "x"}'
    write(
        small,
        "primitives/lax/tangrad/extend/lax.py",
        f"from tangrad.core import door\n__getattr__, __dir__ = door(__name__, {table})\n",
    )
    write(small, "core/tangrad/core/__init__.py", "from tangrad.core.types import door as door, x as x")
    write(small, "core/tangrad/core/types.py", "def door(*_): ...\nx = 1")
    write(small, "plugins/nn/tangrad/nn/__init__.py", "from tangrad.extend.lax import x")
    assert not [problem for problem in problems(small) if "door" in problem or "nn" in problem]


def test_the_state_of_a_thread_is_its_owners(small):
    write(small, "plugins/nn/tangrad/nn/__init__.py", "from tangrad.core import x as thread\nthread.trace = 1")
    assert "tangrad.nn:2 assigns thread.trace: use holding" in problems(small)
    write(small, "plugins/nn/tangrad/nn/__init__.py", "from os import path as thread\nthread.sep = 1")
    assert problems(small) == []


def test_cycles_are_found_through_composed_names(small):
    write(small, "core/tangrad/_core/kernel/api.py", "from tangrad._core.kernel import registry")
    write(small, "core/tangrad/_core/kernel/registry.py", "from tangrad._core.kernel.types import x")
    write(small, "core/tangrad/_core/kernel/types.py", "import tangrad._core.kernel.api")
    assert problems(small) == [cycle("kernel.api", "kernel.registry", "kernel.types", "kernel.api")]


def test_imports_for_type_checkers_make_cycles_too(small):
    later = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tangrad._core.kernel.types"
    write(small, "core/tangrad/_core/kernel/api.py", later)
    write(small, "core/tangrad/_core/kernel/types.py")
    assert problems(small) == []
    write(small, "core/tangrad/_core/kernel/types.py", "import tangrad._core.kernel.api")
    assert problems(small) == [cycle("kernel.api", "kernel.types", "kernel.api")]


def test_imports_inside_functions_make_cycles_too(small):
    write(small, "core/tangrad/_core/composition/api.py", "def f():\n    import tangrad._core.composition.registry")
    write(small, "core/tangrad/_core/composition/registry.py", "import tangrad._core.composition.api")
    assert problems(small) == [cycle("composition.api", "composition.registry", "composition.api")]


def test_a_package_is_executed_before_what_is_in_it(small):
    """`import a.b.c` runs `a.b`: what that imports must not need who imports `a.b.c`."""
    write(small, "core/tangrad/_core/kernel/__init__.py", "from tangrad._core.composition import api")
    write(small, "core/tangrad/_core/kernel/types.py")
    write(small, "core/tangrad/_core/composition/api.py", "import tangrad._core.kernel.types")
    assert cycle("composition.api", "kernel", "composition.api") in problems(small)


def test_a_privilege_has_to_be_needed(small, monkeypatch):
    monkeypatch.setattr(contracts, "PRIVILEGED", {("tangrad.nn", "tangrad.core.types"): "for this test"})
    assert problems(small) == ["PRIVILEGED lists tangrad.nn with tangrad.core.types, which it does not need"]
    write(small, "plugins/nn/tangrad/nn/__init__.py", "from tangrad.core.types import x")
    assert problems(small) == []


def test_sample_packages_and_templates_take_what_the_kernel_exports(house, tmp_path):
    """Third parties are promised that `tangrad.core` is enough: our own samples and scaffolds keep to it.

    Samples are never edited, so they may take names that have become deprecated since.
    """
    files = [*PACKAGES.rglob("*.py"), *(ROOT / "docs").rglob("*.py")]
    assert any(path.parent == ROOT / "docs/examples" for path in files)
    for kind in KINDS:
        for path, text in render(kind, names_for("example")).items():
            if path.endswith(".py"):
                write(tmp_path, f"{kind}/{path}", text)
    files += tmp_path.rglob("*.py")
    assert len(files) > 35
    former = {f"takes {name} from tangrad.core, which does not export it" for name in DEPRECATED}
    breaches = [(path, *breach) for path in files for breach in house.exports.breaches(path)]
    found = [
        f"{path}:{line} {problem}"
        for path, _, line, problem in breaches
        if problem not in former or PACKAGES not in path.parents
    ]
    assert not found, "\n".join(found)


def test_every_name_of_the_kernel_is_there():
    assert all(getattr(kernel, name) is not None for name in dir(kernel))
    with pytest.raises(ImportError, match="cannot import name 'nothing_of_the_kind'"):
        from tangrad.core import nothing_of_the_kind  # noqa: F401


def test_a_backend_may_require_nothing_but_core(small):
    groups = {"tangrad.backends": 'toy = "tangrad.backends.toy:it"'}
    write(small, "backends/toy/pyproject.toml", project("tangrad-backend-toy", "tangrad-core tangrad-lax", groups))
    write(small, "backends/toy/tangrad/backends/toy.py")
    assert "tangrad-backend-toy (backend) requires tangrad-lax (primitives)" in problems(small)


def test_a_requirement_that_nothing_imports_is_found(small):
    write(small, "plugins/nn/pyproject.toml", project("tangrad-nn", "tangrad-core tangrad-lax numpy typing-extensions"))
    write(small, "plugins/nn/tangrad/nn/layers.py", "import numpy")
    assert problems(small) == [
        f"tangrad-nn requires {name}, and none of its modules imports it"
        for name in ("tangrad-lax", "typing-extensions")
    ]


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
