"""Each module of each distribution is imported as the first of ours in a process of its own."""

import os
import subprocess
import sys

import pytest

from tools.contracts import CORE
from tools.workspace import distributions

PARTS = distributions()
# The parent of the processes imports what is not ours, once; each module is then imported in a fork of it.
PARENT = """
import importlib, os, sys, traceback
import numpy, pluggy
for name in ("jaxlib", "jaxlib.xla_client", "ml_dtypes"):
    try:
        importlib.import_module(name)
    except ImportError:
        pass
failed = []
for name in sys.argv[1:]:
    assert not [one for one in sys.modules if one.partition(".")[0] == "tangrad"]
    child = os.fork()
    if not child:
        try:
            importlib.import_module(name)
            code = 0
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stderr.flush()
        os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        failed.append(name)
print(*failed)
"""


def failures(modules: list[str]) -> str:
    """The modules that cannot be imported first, with the errors."""
    done = subprocess.run(
        [sys.executable, "-c", PARENT, *modules], capture_output=True, text=True, timeout=900, check=True
    )
    return f"{done.stdout}{done.stderr}" if done.stdout.strip() else ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks keep it short")
@pytest.mark.parametrize(
    "part", [name if name == CORE else pytest.param(name, marks=pytest.mark.slow) for name in PARTS]
)
def test_every_module_can_be_the_first(part):
    modules = sorted(PARTS[part].modules)
    assert modules and not failures(modules)


def test_what_cannot_be_the_first_is_found(tmp_path, monkeypatch):
    for name, text in (("one", "from circle.two import y\nx = 1"), ("two", "from circle.one import x\ny = 1")):
        (tmp_path / "circle").mkdir(exist_ok=True)
        (tmp_path / "circle" / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "circular import" in failures(["circle.one"])
