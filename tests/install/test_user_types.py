"""What type checkers know of a user's program: no expression is Any, in mypy's and in pyright's strict mode."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.generate_api import public_api
from tools.workspace import distributions

PROGRAM = Path(__file__).parent / "typed" / "user.py"
MODULES = re.compile(r"\b(?:[a-z_]\w*\.)+(?=\w)")


def expected(program: str) -> dict[int, str]:
    """Line -> the type that its comment states."""
    lines = enumerate(program.splitlines(), 1)
    return {number: line.split("  # ")[1] for number, line in lines if line.startswith("reveal_type(")}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with all distributions side by side, as an installer puts them."""
    folder = tmp_path_factory.mktemp("site")
    for part in distributions().values():
        shutil.copytree(
            part.folder / "tangrad",
            folder / "tangrad",
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    return folder


def by_mypy(site: Path, folder: Path, program: str) -> dict[int, str]:
    """Line -> type. Fails for anything but revealed types."""
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent"]
    command += [f"--cache-dir={folder / 'cache'}", "program.py"]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "MYPYPATH": str(site)}, capture_output=True, text=True, timeout=300
    )
    assert ": error:" not in done.stdout and done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r'program\.py:(\d+): note: Revealed type is "(.*)"', done.stdout)
    return {int(number): MODULES.sub("", text) for number, text in found}


def by_pyright(site: Path, folder: Path, program: str) -> dict[int, str]:
    """Line -> type. Fails for anything but revealed types."""
    (folder / "program.py").write_text(program)
    settings = {"extraPaths": [str(site)], "typeCheckingMode": "strict"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    reported = json.loads(done.stdout)["generalDiagnostics"]
    errors = [one["message"] for one in reported if one["severity"] != "information"]
    assert not errors, "\n".join(errors)
    texts = {one["range"]["start"]["line"] + 1: one["message"] for one in reported}
    return {number: text.rpartition('" is "')[2].rstrip('"') for number, text in texts.items()}


def same(found: str, stated: str) -> bool:
    # mypy writes a named tuple as the tuple of its fields.
    return found == stated or re.sub(r"tuple\[Array, Array, fallback=Params\]", "Params", found) == stated


@pytest.mark.slow
@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_every_expression_has_its_type(checker, site, tmp_path):
    program = PROGRAM.read_text()
    stated, found = expected(program), checker(site, tmp_path, program)
    assert len(stated) > 35
    assert {n: found.get(n) for n, kind in stated.items() if not same(found.get(n, ""), kind)} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("checker", "words"),
    [(by_mypy, ("[assignment]", "[arg-type]")), (by_pyright, ('is not assignable to "int"', 'parameter "x"'))],
)
def test_a_wrong_program_is_reported(checker, words, site, tmp_path):
    program = PROGRAM.read_text() + '\nwrong: int = np.ones(3)\nupdate(x, "y", x)\n'
    with pytest.raises(AssertionError) as caught:
        checker(site, tmp_path, program)
    reported = str(caught.value)
    assert all(word in reported for word in words), reported


# Packages whose functions all state what they return, but for those of the table.
STATED = ("numpy", "random", "nn", "ops", "numpy.fft", "image", "scipy.fft", "scipy.ndimage")
OF_ANY_KIND = {
    "nn.dot_product_attention": "a pair with return_residual",
    "nn.logsumexp": "a pair with return_sign",
    "numpy.get_printoptions": "a dictionary, of NumPy's",
    "numpy.gradient": "an array, or a list of them for several axes",
    "numpy.indices": "an array, or a tuple of them with sparse",
    "numpy.intersect1d": "an array, or three with return_indices",
    "numpy.load": "an array, or what holds several, as the file says",
    "numpy.polyfit": "an array, or a tuple with full or cov",
    "numpy.printoptions": "a context manager, of NumPy's",
    "numpy.unique": "an array, or up to four, as the arguments say",
    "numpy.vectorize": "a function, of the signature that its text says",
}


@pytest.mark.slow
def test_functions_of_whole_packages_state_their_results(site, tmp_path):
    names = [name for name in sorted(public_api(distributions().values())) if name.rpartition(".")[0] in STATED]
    program = ["import tangrad"] + [f"reveal_type(tangrad.{name})" for name in names]
    program += [f"import tangrad.{package}" for package in STATED]
    found = by_mypy(site, tmp_path, "\n".join([*program, ""]))
    unknown = {
        name
        for number, name in enumerate(names, 2)
        if found[number] == "Any" or re.search(r"\) -> Any$", found[number])
    }
    assert len(names) > 500
    assert unknown == set(OF_ANY_KIND)
