"""What editors and type checkers see of an installed Tangrad: every public name with its type, and users' programs."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tangrad._conformance.scaffold import KINDS, names_for, render
from tests.install.environments import CommandError, unpack
from tools.generate_api import public_api
from tools.workspace import ROOT, distributions

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


PROGRAM = Path(__file__).parent / "typed" / "user.py"
MODULES = re.compile(r"\b(?:[a-z_]\w*\.)+(?=\w)")


def expected(program: str) -> dict[int, str]:
    """Line -> the type that its comment states."""
    lines = enumerate(program.splitlines(), 1)
    return {number: line.split("  # ")[1] for number, line in lines if line.startswith("reveal_type(")}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with all distributions side by side, as an installer puts them."""
    folder = tmp_path_factory.mktemp("types") / "site"
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
    """All that mypy says of programs in a folder, line by line; what it knows of the site is kept beside that."""
    command = [sys.executable, "-m", "mypy", *MYPY, f"--cache-dir={site.parent / 'cache'}", *programs]
    environment = {**os.environ, "MYPYPATH": str(site)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == int(": error:" in done.stdout), done.stdout + done.stderr
    return done.stdout.splitlines()


def pyright_says(site: Path, folder: Path, programs: list[str], **options: str) -> list[dict[str, Any]]:
    """All that pyright says of programs in a folder, as records."""
    (folder / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(site)], **PYRIGHT, **options}))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, *programs]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == len(programs), done.stdout
    return list(found["generalDiagnostics"])


def mypy_errors(site: Path, folder: Path, programs: list[str]) -> list[str]:
    return [line for line in mypy_says(site, folder, programs) if ": error:" in line]


def pyright_errors(site: Path, folder: Path, programs: list[str], **options: str) -> list[str]:
    return [
        f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: {one['message']}"
        for one in pyright_says(site, folder, programs, **options)
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


# Functions of which a checker knows nothing, and what users do with the results.
UNTYPED_PROGRAM = """# pyright: standard
from typing import Any

import tangrad
import tangrad.numpy as np
from tangrad import Array, lax, tree


def use(g: Any) -> None:
    for transform in (tangrad.jit, tangrad.vmap, tangrad.checkpoint):
        transform(g)
    for mapped in (tangrad.jit(g), tangrad.vmap(g), tangrad.grad(g), tangrad.checkpoint(g), tangrad.pmap(g)):
        mapped(1.0)
    lax.scan(g, 1.0, np.ones(3))
    lax.cond(True, g, g, 1.0)
    lax.while_loop(g, g, 1.0)
    tree.map(g, [1])


@tangrad.jit(static_argnums=1)
def scaled(x: Array, n: int) -> Array:
    return x * n


slope = tangrad.grad(lambda x: x * 2.0)(3.0) + 1
by_names = tangrad.grad(lambda p, x: p["w"] * x)({"w": 1.0}, 2.0)["w"]
value, gradients = tangrad.value_and_grad(lambda p: (p["w"] ** 2).sum())({"w": np.ones(3)})
curvature = tangrad.hessian(scaled)(np.ones(3), 2)
products = tangrad.jit(tangrad.vmap(lambda x, y: x @ y))(np.ones((3, 3)), np.ones((3, 3)))
count, doubled = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, 1.0))
total, sums = lax.scan(lambda c, x: (c + x, c * x), np.zeros(()), np.ones(3))
sums = tree.map(lambda a, b: a + b, {"w": np.ones(3)}, {"w": np.ones(3)})["w"].sum()
"""


@pytest.mark.slow
@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_functions_without_types_are_taken(checker, site, tmp_path):
    assert checker(site, tmp_path, UNTYPED_PROGRAM) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("checker", "words"),
    [
        (by_mypy, ("[assignment]", "[arg-type]", 'has no attribute "typo"')),
        (by_pyright, ('is not assignable to "int"', 'parameter "x"', 'Attribute "typo" is unknown')),
    ],
)
def test_a_wrong_program_is_reported(checker, words, site, tmp_path):
    program = PROGRAM.read_text() + '\nwrong: int = np.ones(3)\nupdate(x, "y", x)\nx.typo\n'
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pyright_passes_what_the_scaffold_writes(site, tmp_path, kind):
    """With its standard checks; mypy's strict ones: `test_scaffold.py`."""
    for path, text in render(kind, names_for("sample")).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    written = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py")]
    assert len(written) > 2
    assert pyright_errors(site, tmp_path, written, typeCheckingMode="standard") == []


# Public names of whose results a checker knows nothing, whichever form of the call it sees, and why that is so.
_SPARSE = "a function of trees in which any leaf may be sparse, and whose results are such trees"
_TREES = "a function whose results are a tree like that of the types that it is given"
_RULE = "a rule of a backend, of that backend's values"
OF_ANY_KIND = {
    "example_libraries.optimizers.unpack_optimizer_state": "a tree of the structure of the parameters",
    "experimental.buffer_callback.buffer_callback": _TREES,
    "experimental.pallas.pallas_call": _TREES,
    "experimental.sparse.grad": _SPARSE,
    "experimental.sparse.jacfwd": _SPARSE,
    "experimental.sparse.jacobian": _SPARSE,
    "experimental.sparse.jacrev": _SPARSE,
    "experimental.sparse.sparsify": _SPARSE,
    "ffi.ffi_lowering": _RULE,
    "ffi.host_lowering": _RULE,
    "xla_computation": "a function that returns what jaxlib has for a computation",
}
OF_ANYTHING = {"Any", "def (*Any, **Any) -> Any"}


def forms(revealed: str) -> list[str]:
    """What each form of a function returns, of the type that mypy reveals; for what is no function the type itself."""
    depth, returned, start = 0, [], 0
    text = revealed.removeprefix("Overload(").removesuffix(")") if revealed.startswith("Overload(") else revealed
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and text.startswith(", def ", place):
            returned.append(text[start:place])
            start = place + 2
    return [_returned(form) for form in [*returned, text[start:]]]


def _returned(form: str) -> str:
    if not form.startswith("def "):
        return form
    depth, opened = 0, form.index("(", form.index("] (") if form.startswith("def [") else 0)
    for place in range(opened, len(form)):
        depth += (form[place] in "([{") - (form[place] in ")]}")
        if depth == 0:
            return form[place + 1 :].removeprefix(" -> ") or "None"
    raise AssertionError(form)


@pytest.mark.parametrize(
    ("revealed", "returned"),
    [
        ("Any", ["Any"]),
        ("def (x: Any) -> Any", ["Any"]),
        ("def (f: def (Any) -> Any)", ["None"]),
        ("def [P, R] (fun: def (*P.args) -> R) -> def (*P.args) -> R", ["def (*P.args) -> R"]),
        ("Overload(def (x: Any) -> Array, def (x: def (Any) -> Any, y: int) -> Any)", ["Array", "Any"]),
    ],
)
def test_results_are_found_in_what_is_revealed(revealed, returned):
    assert forms(revealed) == returned


@pytest.mark.slow
def test_public_functions_state_their_results(site, tmp_path):
    names = sorted(public_api(distributions().values()))
    packages = sorted({name.rpartition(".")[0] for name in names} - {""})
    program = ["import tangrad"] + [f"reveal_type(tangrad.{name})" for name in names]
    program += [f"import tangrad.{package}" for package in packages]
    found = by_mypy(site, tmp_path, "\n".join([*program, ""]))
    unknown = {name for number, name in enumerate(names, 2) if set(forms(found[number])) <= OF_ANYTHING}
    assert len(names) > 1300
    assert not unknown ^ set(OF_ANY_KIND), sorted(unknown ^ set(OF_ANY_KIND))
