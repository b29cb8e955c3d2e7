"""The page "Train a network with Flax and Optax": its lines and its program, on both backends."""

import re

import pytest

from tests.install.environments import new_environment, run
from tools.docs.examples import blocks
from tools.workspace import ROOT

pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "train-with-flax.md"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """What the page's lines install."""
    made = new_environment(tmp_path_factory.mktemp("flax") / "environment")
    made.install("tangrad[compat,xla]")
    made.install("flax", "optax")
    return made


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("without_lines", [False, True])
def test_it_learns(environment, backend, without_lines):
    program, wanted = [block.text for block in blocks(PAGE) if block.language in ("py", "text")]
    file = environment.folder / "ring.py"
    command = [str(environment.python), str(file)]
    if without_lines:
        program = re.sub(r"^import tangrad.*\n+tangrad.*\n", "", program, flags=re.MULTILINE)
        command[1:1] = ["-m", "tangrad.compat.jax"]
    assert without_lines == ("tangrad.compat" not in program)
    file.write_text(program)
    variables = environment._variables({"TANGRAD_BACKEND": backend})
    assert run(command, cwd=environment.folder, env=variables).stdout == wanted.splitlines()[1] + "\n"
