"""The examples at small sizes: they run on both backends, which agree, and make their pictures."""

import importlib
import math
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import tangrad
from tools.workspace import ROOT

FOLDER = ROOT / "docs" / "examples"
# Program: its arguments at a small size, and the numbers that do not hang on the last bits of chaotic paths.
PROGRAMS = {
    "bayesian_model": (["--chains=2", "--draws=60", "--warm-up=40", "--leapfrog-steps=8"], ()),
    "character_transformer": (["--steps=12", "--batch=4", "--context=16", "--width=16"], ("first", "last", "held out")),
    "image_batch_norm": (["--steps=8", "--batch=16", "--held-out=32", "--rate=0.01"], ("first", "last")),
    "neural_ode": (["--steps=4", "--batch=4", "--tolerance=1e-3"], ("first", "last")),
    "wave_inversion": (["--size=14", "--sources=2", "--times=60", "--steps=3"], ("first", "last", "error")),
}


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in [*PROGRAMS, "pictures"]:
        sys.modules.pop(name, None)


def test_every_program_is_here():
    others = {"parallel_transformer", "pictures", "train_digits"}  # with tests of their own, or run by `make demo`
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
