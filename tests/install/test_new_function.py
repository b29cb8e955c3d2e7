"""A new function of one variable is the four edits that CONTRIBUTING has: in a copy of the tree, from its wheels."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.install.environments import layer, new_environment, wheel_folder
from tools.docs.notebooks import blocks
from tools.workspace import GROUPS_OF_PARTS, ROOT, distributions

pytestmark = pytest.mark.slow

EDITS = [block for block in blocks(ROOT / "CONTRIBUTING.md") if block.file]
COPIED = ("core", *GROUPS_OF_PARTS, "tools", "pyproject.toml", "README.md", "LICENSE")

PROGRAM = """
import numpy
import tangrad
import tangrad.numpy as np
from tangrad import grad, jit, lax, vmap

x = numpy.linspace(-3, 3, 7, dtype="float32")
exact, slope = 1 - numpy.cos(x), numpy.sin(x)
close = lambda found, expected: numpy.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-7)
for versine in (lax.versine, np.versine):
    close(versine(np.asarray(x)), exact)
    close(jit(versine)(x), exact)
    close(vmap(versine)(x), exact)
    close(vmap(grad(versine))(x), slope)
    close(jit(vmap(grad(versine)))(x), slope)
    close(jit(vmap(grad(grad(versine))))(x), numpy.cos(x))
    close(tangrad.jvp(versine, (x,), (2 * x,))[1], 2 * x * slope)
    assert versine.__doc__.startswith("1 - cos(x), accurate near 0.") and versine.__name__ == "versine"
assert np.versine(np.ones(2, "int32")).dtype == "float32"
assert float(lax.versine(numpy.float32(1e-4))) > 0
try:
    lax.versine(x.astype("complex64"))
except TypeError as error:
    assert "versine does not accept dtype complex64 for x; expected floating" in str(error), error
else:
    raise AssertionError("complex numbers were taken")
assert {"versine"} <= set(dir(lax)) & set(dir(np))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy of the tree with the edits, each at the end of its file, and what `make dev-refresh` writes for them."""
    copy = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    for edit in EDITS:
        with open(copy / edit.file, "a", encoding="utf-8") as file:
            file.write("\n\n" + edit.text)
    folders = [copy, *(part.folder for part in distributions(copy).values())]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    for options in ([], ["--check"]):
        command = [sys.executable, "-m", "tools.generate_api", *options]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    return copy


@pytest.fixture(scope="module")
def installed(tree, tmp_path_factory):
    base = new_environment(tmp_path_factory.mktemp("base") / "it")
    base.install("tangrad[xla]", "tangrad-conformance")
    names = set(distributions(tree))
    return layer(tmp_path_factory.mktemp("layer") / "it", base, names, wheel_folder(tree))


def test_it_is_four_edits_of_four_files():
    assert len(EDITS) == len({edit.file for edit in EDITS}) == 4
    assert all((ROOT / edit.file).is_file() for edit in EDITS)
    assert not any("versine" in (ROOT / edit.file).read_text() for edit in EDITS)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_it_is_everywhere(installed, backend):
    installed.run(PROGRAM, variables={"TANGRAD_BACKEND": backend})


def test_the_conformance_kit_checks_it(installed):
    """In both dtypes, on both backends, against the formula; with a derivative that is wrong it would not pass."""
    program = """
import re, runpy, sys
sys.argv[1:] = ["elementwise.versine"]
try:
    runpy.run_module("tangrad.conformance", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
"""
    printed = installed.run(program)
    assert int(re.search(r"(\d+) cells", printed)[1]) > 100, printed


def test_checkers_know_it(tree):
    for stub in ("primitives/lax/tangrad/lax/__init__.pyi", "plugins/numpy/tangrad/numpy/__init__.pyi"):
        imports = [line for line in (tree / stub).read_text().splitlines() if line.startswith("from ")]
        assert [line for line in imports if "versine" in line.partition(" import ")[2].split(", ")]
    made = [path for path in tree.rglob("analytic.pyi") if "def versine(x: ArrayLike" in path.read_text()]
    assert len(made) == 2
