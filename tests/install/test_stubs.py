"""What editors and type checkers see of an installed Tangrad: every public name, with its type, and no other."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.install.environments import CommandError, unpack
from tools.generate_api import public_api
from tools.workspace import distributions

PUBLIC = sorted(public_api(distributions().values()))


@pytest.fixture(scope="module")
def checked(wheels, tmp_path_factory):
    """A function that type-checks a program against the unpacked wheels and returns what mypy reports, line by line."""
    folder = tmp_path_factory.mktemp("stubs")
    unpack(wheels, folder / "site")

    def check(program: str) -> list[str]:
        source = folder / "program.py"
        source.write_text(program)
        options = ["--cache-dir", str(folder / "cache"), "--config-file", "", "--follow-imports", "silent"]
        command = [sys.executable, "-m", "mypy", *options, "--ignore-missing-imports", str(source)]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env={"MYPYPATH": "site", "PATH": ""}, timeout=300
        )
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return [line for line in done.stdout.splitlines() if line.startswith(Path(source).name)]

    return check


@pytest.mark.slow
def test_every_public_name_is_known(checked):
    packages = sorted({f"tangrad.{name}".rpartition(".")[0] for name in PUBLIC})
    program = [f"import {package}" for package in packages] + [f"tangrad.{name}" for name in PUBLIC]
    assert checked("\n".join(program) + "\n") == []


@pytest.mark.slow
def test_names_of_others_are_known_once_stubs_are_written(make_environment):
    """As its user sees it: mypy looks at the environment, in which a sample package adds `tangrad.lax.horner`."""
    environment = make_environment("tangrad", Path(__file__).parent / "packages" / "horner")
    (environment.site / "sample_horner" / "py.typed").touch()
    source = environment.folder / "program.py"
    source.write_text("from tangrad import lax\nreveal_type(lax.horner)\nreveal_type(lax.sin)\nlax.nothing\n")

    def report() -> str:
        options = ["--config-file=", "--cache-dir", str(environment.folder / "mypy"), "--follow-imports", "silent"]
        command = [sys.executable, "-m", "mypy", *options, "--python-executable", str(environment.python), str(source)]
        return subprocess.run(command, cwd=environment.folder, capture_output=True, text=True, timeout=300).stdout

    assert 'has no attribute "horner"' in report()
    assert "lax/__init__.pyi" in environment.command("tangrad", "stubs")
    after = report()
    assert "Found 1 error" in after and 'has no attribute "nothing"' in after and after.count("def (") == 2, after
    assert "nothing to change" in environment.command("tangrad", "stubs", "--check")
    for folder in environment.site.glob("sample_horner*"):
        shutil.rmtree(folder)
    with pytest.raises(CommandError, match=r"are\s+those\s+of other installed distributions"):
        environment.command("tangrad", "doctor")
    assert "deleted: " in environment.command("tangrad", "stubs")
    assert not (environment.site / "tangrad-stubs").exists()
    assert "No problems found." in environment.command("tangrad", "doctor")


@pytest.mark.slow
def test_an_unknown_name_is_reported(checked):
    report = checked("import tangrad\ntangrad.no_such_name\n")
    assert len(report) == 1 and 'Module has no attribute "no_such_name"' in report[0], report


@pytest.mark.slow
def test_types_come_through(checked):
    functions = [name for name in ("grad", "jit", "vmap", "lax.sin", "numpy.einsum") if name in PUBLIC]
    assert functions
    program = "import tangrad\n" + "".join(f"reveal_type(tangrad.{name})\n" for name in functions)
    report = checked(program)
    assert len(report) == len(functions), report
    assert all('Revealed type is "def ' in line or "Overload" in line for line in report), report
