"""What type checkers know of a user's program: no expression is Any, in mypy's and in pyright's strict mode."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.generate_api import public_api
from tools.workspace import ROOT, distributions

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


MYPY = ["--strict", "--config-file=", "--follow-imports=silent"]
PYRIGHT = {"typeCheckingMode": "strict", "reportMissingModuleSource": False}


def mypy_says(site: Path, folder: Path, programs: list[str]) -> list[str]:
    """All that mypy says of programs in a folder, line by line."""
    command = [sys.executable, "-m", "mypy", *MYPY, f"--cache-dir={folder / 'cache'}", *programs]
    environment = {**os.environ, "MYPYPATH": str(site)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == int(": error:" in done.stdout), done.stdout + done.stderr
    return done.stdout.splitlines()


def pyright_says(site: Path, folder: Path, programs: list[str]) -> list[dict[str, Any]]:
    """All that pyright says of programs in a folder, as records."""
    (folder / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(site)], **PYRIGHT}))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, *programs]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == len(programs), done.stdout
    return list(found["generalDiagnostics"])


def mypy_errors(site: Path, folder: Path, programs: list[str]) -> list[str]:
    return [line for line in mypy_says(site, folder, programs) if ": error:" in line]


def pyright_errors(site: Path, folder: Path, programs: list[str]) -> list[str]:
    return [
        f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: {one['message']}"
        for one in pyright_says(site, folder, programs)
        if one["severity"] != "information"
    ]


def by_mypy(site: Path, folder: Path, program: str) -> dict[int, str]:
    """Line -> type. Fails for anything but revealed types."""
    (folder / "program.py").write_text(program)
    lines = mypy_says(site, folder, ["program.py"])
    assert not any(": error:" in line for line in lines), "\n".join(lines)
    found = re.findall(r'program\.py:(\d+): note: Revealed type is "(.*)"', "\n".join(lines))
    return {int(number): MODULES.sub("", text) for number, text in found}


def by_pyright(site: Path, folder: Path, program: str) -> dict[int, str]:
    """Line -> type. Fails for anything but revealed types."""
    (folder / "program.py").write_text(program)
    said = pyright_says(site, folder, ["program.py"])
    errors = [one["message"] for one in said if one["severity"] != "information"]
    assert not errors, "\n".join(errors)
    texts = {one["range"]["start"]["line"] + 1: one["message"] for one in said}
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


# The programs of the documentation.
EXAMPLES = (
    "bayesian_model", "character_transformer", "image_batch_norm", "neural_ode", "pictures", "train_digits",
    "wave_inversion",
)  # fmt: skip
# Modules without types that they take pictures and data from: whatever is installed, checkers see names of any kind.
UNTYPED = ("matplotlib", "matplotlib.pyplot", "sklearn", "sklearn.datasets", "tqdm")
ANY_NAME = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"


@pytest.fixture
def programs(tmp_path):
    """The examples and the README's program in a folder of their own, and their names."""
    for name in EXAMPLES:
        shutil.copy(ROOT / "docs" / "examples" / f"{name}.py", tmp_path)
    for module in UNTYPED:
        path = tmp_path / module.replace(".", "/")
        file = (
            path / "__init__.pyi"
            if any(other.startswith(f"{module}.") for other in UNTYPED)
            else path.with_suffix(".pyi")
        )
        file.parent.mkdir(exist_ok=True)
        file.write_text(ANY_NAME)
    first = (ROOT / "README.md").read_text().partition("## A first program")[2]
    (tmp_path / "readme.py").write_text(first.split("```python\n")[1].split("```")[0])
    return [*[f"{name}.py" for name in EXAMPLES], "readme.py"]


@pytest.mark.slow
@pytest.mark.parametrize("checker", [mypy_errors, pyright_errors])
def test_the_examples_have_types(checker, site, programs, tmp_path):
    assert checker(site, tmp_path, programs) == []


@pytest.mark.slow
@pytest.mark.parametrize("checker", [mypy_errors, pyright_errors])
def test_a_wrong_call_in_an_example_is_reported(checker, site, programs, tmp_path):
    path = tmp_path / "neural_ode.py"
    text = path.read_text().replace("pieces(key, seen, times,", 'pieces(key, seen, "times",')
    assert text != path.read_text()
    path.write_text(text)
    (fault,) = checker(site, tmp_path, programs)
    assert "neural_ode.py" in fault and '"pieces"' in fault


# Packages whose functions all state what they return, but for those of the table.
STATED = ("numpy", "random", "nn", "ops", "numpy.fft", "image", "scipy.fft", "scipy.ndimage")
STATED += ("numpy.linalg", "lax.linalg", "scipy.linalg", "scipy.special")
OF_ANY_KIND = {
    "numpy.get_printoptions": "a dictionary, of NumPy's",
    "numpy.gradient": "an array, or a list of them for several axes",
    "numpy.intersect1d": "an array, or three with return_indices",
    "numpy.load": "an array, or what holds several, as the file says",
    "numpy.printoptions": "a context manager, of NumPy's",
    "numpy.unique": "an array, or up to four, as the arguments say",
    "numpy.vectorize": "a function, of the signature that its text says",
    "scipy.linalg.eigh_tridiagonal": "an array, or a pair without eigvals_only",
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
