"""The programs of the documentation: the examples, the comparison of libraries, the page on Flax."""

import importlib
import importlib.util
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import tangrad
from tests.install.environments import new_environment, run
from tools.docs.notebooks import blocks
from tools.workspace import ROOT

# --- The examples at small sizes: they run on both backends, which agree, and make their pictures ---


FOLDER = ROOT / "docs" / "examples"
# Program: its arguments at a small size, and the numbers that do not hang on the last bits of chaotic paths.
PROGRAMS = {
    "bayesian_model": (["--chains=2", "--draws=60", "--warm-up=40", "--leapfrog-steps=8"], ()),
    "character_transformer": (["--steps=12", "--batch=4", "--context=16", "--width=16"], ("first", "last", "held out")),
    "image_batch_norm": (["--steps=8", "--batch=16", "--held-out=32", "--rate=0.01"], ("first", "last")),
    "neural_ode": (["--steps=2", "--batch=2", "--length=5", "--tolerance=1e-3"], ("first", "last")),
    "wave_inversion": (["--size=14", "--sources=2", "--times=60", "--steps=3"], ("first", "last", "error")),
}


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in [*PROGRAMS, "pictures"]:
        sys.modules.pop(name, None)


def test_every_program_is_here():
    others = {
        "parallel_transformer",
        "pictures",
        "six_libraries",
        "train_digits",
    }  # tested otherwise, or by `make demo`
    assert {path.stem for path in FOLDER.glob("*.py")} == {*PROGRAMS} | others


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_on_both_backends(name, examples, tmp_path):
    arguments, comparable = PROGRAMS[name]
    found = {}
    for backend in ("numpy", "xla"):
        with tangrad.use_backend(backend):
            found[backend] = examples(name).main([*arguments, "--output", str(tmp_path / backend)])
        (picture,) = (tmp_path / backend).iterdir()
        root = ElementTree.parse(picture).getroot()
        assert root.tag.endswith("svg") and len(root.findall("{*}g")) >= 3
    assert all(math.isfinite(value) for numbers in found.values() for value in numbers.values())
    for key in comparable:
        assert math.isclose(found["numpy"][key], found["xla"][key], rel_tol=2e-2, abs_tol=1e-4), (key, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_with_the_import_of_jax(name, examples, tmp_path):
    pytest.importorskip("jax")
    arguments, comparable = PROGRAMS[name]
    source = (FOLDER / f"{name}.py").read_text()
    theirs = source.replace("import tangrad as jax", "import jax").replace("import tangrad.numpy", "import jax.numpy")
    program = {"__name__": f"{name}_on_jax", "__file__": str(FOLDER / f"{name}.py")}
    exec(compile(theirs, f"{name} on JAX", "exec"), program)
    expected = program["main"]([*arguments, "--output", str(tmp_path / "jax")])
    with tangrad.use_backend("xla"):
        found = examples(name).main([*arguments, "--output", str(tmp_path / "tangrad")])
    assert found.keys() == expected.keys()
    for key in comparable:
        assert math.isclose(found[key], expected[key], rel_tol=2e-2, abs_tol=1e-4), (key, found, expected)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_only_the_imports_name_tangrad(name):
    """With `tangrad` for `jax` in its imports a program is one for JAX."""
    source = (FOLDER / f"{name}.py").read_text()
    code = source.split('"""', 2)[2]
    named = [line for line in code.splitlines() if "tangrad" in line.lower() and not line.strip().startswith("#")]
    assert named == ["import tangrad as jax", "import tangrad.numpy as jnp"]


# --- The programs of the page that compares libraries ---


SIX_LIBRARIES = ROOT / "docs" / "examples" / "six_libraries.py"
PAGE = (ROOT / "docs" / "beside-others.md").read_text()
LIBRARIES = re.findall(r"^def with_(\w+)", SIX_LIBRARIES.read_text(), re.MULTILINE)
EXPECTED = re.search(r"^loss .*$", PAGE, re.MULTILINE)[0]


def test_the_page_has_a_row_for_each_program():
    assert set(re.findall(r"^\| `with_(\w+)`", PAGE, re.MULTILINE)) == set(LIBRARIES)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_program_prints_what_the_page_says(library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", SIX_LIBRARIES, library],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout.strip() == EXPECTED, done.stderr


# --- The page "Train a network with Flax and Optax": its lines and its program, on both backends ---


FLAX_PAGE = ROOT / "docs" / "train-with-flax.md"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """What the page's lines install."""
    made = new_environment(tmp_path_factory.mktemp("flax") / "environment")
    made.install("tangrad[compat,xla]")
    made.install("flax", "optax")
    return made


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("without_lines", [False, True])
def test_it_learns(environment, backend, without_lines):
    program, wanted = [block.text for block in blocks(FLAX_PAGE) if block.language in ("py", "text")]
    file = environment.folder / "ring.py"
    command = [str(environment.python), str(file)]
    if without_lines:
        program = re.sub(r"^import tangrad.*\n+tangrad.*\n", "", program, flags=re.MULTILINE)
        command[1:1] = ["-m", "tangrad.compat.jax"]
    assert without_lines == ("tangrad.compat" not in program)
    file.write_text(program)
    variables = environment._variables({"TANGRAD_BACKEND": backend})
    assert run(command, cwd=environment.folder, env=variables).stdout == wanted.splitlines()[1] + "\n"
