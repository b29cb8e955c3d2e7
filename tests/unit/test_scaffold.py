"""`tangrad new`: names, rendering, files, errors; and that what is rendered is sound as text."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from string import Template

import pytest

from tangrad._conformance.scaffold import KINDS, LONGEST, check_free, names_for, render, write
from tangrad._console.cli import main
from tangrad._console.explanations import catalogue

RULES = "B,C4,E,F,I,ISC,N,PIE,PLE,RUF,SIM,UP,W"
LONG = "abcdefgh_jklmnopqrstuvwxyz"[:LONGEST]


def new(*arguments: str) -> int:
    return main(["new", *map(str, arguments)])


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "name", "distribution", "package", "class_name"),
    [
        ("fresnel", "fresnel", "tangrad-fresnel", "tangrad_fresnel", "Fresnel"),
        ("tangrad-fresnel", "fresnel", "tangrad-fresnel", "tangrad_fresnel", "Fresnel"),
        ("Tangrad_Fresnel.Sine", "fresnel_sine", "tangrad-fresnel-sine", "tangrad_fresnel_sine", "FresnelSine"),
        ("x2", "x2", "tangrad-x2", "tangrad_x2", "X2"),
        ("match", "match", "tangrad-match", "tangrad_match", "Match"),
    ],
)
def test_names(given: str, name: str, distribution: str, package: str, class_name: str) -> None:
    assert names_for(given)[:4] == (name, distribution, package, class_name)


def test_another_distribution() -> None:
    names = names_for("fresnel", "My.Special-Functions")
    assert names[:3] == ("fresnel", "my-special-functions", "my_special_functions")


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ("", {}, "is not a name that a distribution may have"),
        ("a b", {}, "PEP 508"),
        ("-a", {}, "PEP 508"),
        ("größe", {}, "PEP 508"),
        ("../up", {}, "PEP 508"),
        ("a/b", {}, "PEP 508"),
        ("3d", {}, "it would begin with a digit"),
        ("lambda", {}, "lambda is a keyword"),
        ("tangrad-class", {}, "class is a keyword"),
        ("x" * (LONGEST + 1), {}, f"longer than {LONGEST} characters"),
        ("x", {"distribution": "json"}, "'json' would be imported as json, which is another package"),
        ("x", {"distribution": "tangrad"}, "which is another package"),
        ("x", {"distribution": "a b"}, "--distribution 'a b' is not a name"),
        ("x", {"distribution": "9x"}, "it would begin with a digit"),
        ("x", {"license": 'MIT"\nevil = "x'}, "is not an SPDX expression"),
        ("x", {"license": " "}, "is not an SPDX expression"),
    ],
)
def test_names_that_cannot_be(given: str, options: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        names_for(given, **options)


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("primitive", "sin", "tangrad.lax.sin is provided by tangrad-lax"),
        ("primitive", "elementwise", "elementwise in tangrad.primitives is provided by tangrad-lax"),
        ("primitive", "nn", "tangrad-nn is a distribution of Tangrad itself"),
        ("primitive", "core", "tangrad-core is a distribution of Tangrad itself"),
        ("backend", "xla", "lower.xla in tangrad.rule_kinds is provided by tangrad-backend-xla"),
        ("transformation", "vmap", "tangrad.vmap is provided by tangrad-batching"),
        ("transformation", "tree_util", "tangrad.tree_util is provided by tangrad-core"),
        ("transformation", "dce", "dce in tangrad.rule_kinds is provided by tangrad-core"),
    ],
)
def test_names_that_are_taken(kind: str, given: str, words: str) -> None:
    names = names_for(given)
    with pytest.raises(ValueError, match=re.escape(words)):
        check_free(render(kind, names), names)


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_are_free(kind: str) -> None:
    names = names_for("unheard_of")
    check_free(render(kind, names), names)


@pytest.mark.parametrize("name", ["samples", "autodiff", "primitives", "as_operand"])
def test_a_function_must_not_hide_anything_in_its_package(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is the name of something else in the package"):
        render("primitive", names_for(name))


# --- what is rendered -----------------------------------------------------------------------------------------------


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["q", "discounting", LONG])
def folder(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    write(render(kind, names_for(request.param)), folder)
    return folder


def test_everything_is_filled_in(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 5
    for path in files:
        assert "PACKAGE" not in str(path) and "NAME" not in str(path) and "==>" not in path.read_text()
        assert not re.search(r"\$\{?[a-z]", path.read_text()), path


def test_python_is_formatted_and_named_well(folder: Path) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--line-length", "120"]
    done = subprocess.run([*command, "--select", RULES, "."], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout


def test_entry_points_lead_to_what_is_there(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    values = [value for entries in project["entry-points"].values() for value in entries.values()]
    for value in values:
        module, _, attribute = value.partition(":")
        path = folder / (module.replace(".", "/") + ".py")
        path = path if path.exists() else folder / module.replace(".", "/") / "__init__.py"
        defined = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
        defined |= set(re.findall(r"^(\w+) = ", path.read_text(), re.MULTILINE))
        assert attribute in defined or (not attribute and path.exists()), value  # hook objects may be modules
    (package,) = [path.parent.name for path in folder.glob("*/py.typed")]
    loaded = {value.partition(":")[0] for value in values}
    for path in (folder / package).glob("*.py"):
        module = f"{package}.{path.stem}".removesuffix(".__init__")
        named = any(module in other.read_text() for other in (folder / package).glob("*.py") if other != path)
        assert module in loaded or named or path.stem == "__init__", f"nothing loads {module}"


def test_metadata(folder: Path, kind: str) -> None:
    data = tomllib.loads((folder / "pyproject.toml").read_text())
    project = data["project"]
    assert project["license"] == "Apache-2.0" and project["readme"] == "README.md"
    assert kind in project["description"] and "Typing :: Typed" in project["classifiers"]
    first_party = {"tangrad", "tangrad-core", *catalogue.MODULES}
    needs = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    names = [re.match(r"[a-z-]+", need)[0] for need in needs]
    assert "tangrad-core" in names and "tangrad-conformance" in names and "pytest" in names
    assert all(need.endswith(">=0.1") for need, name in zip(needs, names, strict=True) if name in first_party)
    readme = (folder / "README.md").read_text()
    assert readme.startswith(f"# {project['name']}\n") and 'pip install -e ".[test]"' in readme
    for path in re.findall(r"`([a-z_]+/[a-z_]+\.py)`", readme):
        assert (folder / path).exists(), path


def test_templates_have_no_other_placeholders() -> None:
    fields = set(names_for("x")._asdict())
    for path in (Path(sys.modules["tangrad._conformance.scaffold"].__file__).parent / "templates").rglob("*.template"):
        assert set(Template(path.read_text()).get_identifiers()) <= fields, path


@pytest.mark.parametrize("options", [{"license": "MIT OR Apache-2.0", "version": "0.7"}])
def test_license_and_version(kind: str, options: dict[str, str]) -> None:
    project = tomllib.loads(render(kind, names_for("x", **options))["pyproject.toml"])["project"]
    assert project["license"] == "MIT OR Apache-2.0" and "tangrad-core>=0.7" in project["dependencies"]


def test_an_unknown_kind() -> None:
    with pytest.raises(
        ValueError, match="no template for 'sandwich'; there are: primitive, backend, transformation, rules, hooks"
    ):
        render("sandwich", names_for("x"))


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command_writes_a_package(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new(kind, "unheard-of", "--into", tmp_path / "some" / "where", "--license", "MIT") == 0
    folder = tmp_path / "some" / "where" / "tangrad-unheard-of"
    printed = capsys.readouterr().out
    assert f"cd {folder}" in printed and 'python -m pip install -e ".[test]"' in printed
    for path in folder.rglob("*"):
        assert path.is_dir() or str(path) in printed
    assert 'license = "MIT"' in (folder / "pyproject.toml").read_text()
    assert [path.name for path in folder.parent.iterdir()] == ["tangrad-unheard-of"]


def test_here_if_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()  # an empty folder may be there
    assert new("primitive", "unheard-of", "--distribution", "other") == 0
    assert (tmp_path / "other/other/primitives.py").exists()


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tangrad-unheard-of"
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    assert new("primitive", "unheard-of", "--into", tmp_path) == 1
    assert f"{folder} exists already, and nothing in it is overwritten" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]
    (tmp_path / "file").write_text("mine")
    assert new("primitive", "unheard-of", "--into", tmp_path / "file") == 1
    assert (tmp_path / "file").read_text() == "mine"
    assert "Traceback" not in capsys.readouterr().err


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write({"a.txt": "a", "x" * 400: "b"}, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o555)
    assert new("primitive", "unheard-of", "--into", tmp_path) == 1
    assert "Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["primitive", "a b"], "'a b' is not a name"),
        (["primitive", "sin"], "'sin' is taken"),
        (["primitive", "samples"], "the name of something else"),
        (["primitive", "x", "--license", '"'], "SPDX"),
    ],
)
def test_bad_names(arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new(*arguments, "--into", tmp_path) == 2
    error = capsys.readouterr().err
    assert error.startswith("tangrad new: ") and words in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["sandwich", "x"], ["primitive"], ["primitive", "x", "--force"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        new(*arguments)
    assert raised.value.code == 2 and "usage: tangrad new" in capsys.readouterr().err
