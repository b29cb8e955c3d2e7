"""Each distribution in the environment of its requirements alone; each module as the first of ours in a process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.install.test_subsets import BACKEND, SUBSETS, closure
from tools.contracts import CORE
from tools.workspace import distributions

PARTS = distributions()

# --- Its functions run, and the doctor is content ---

PROGRAM = Path(__file__).with_name("alone.py").read_text()
DOCTOR = "import sys\nfrom tangrad._console.cli import main\nsys.exit(main(['doctor', '--json']))"


def parts_for(name: str) -> set[str]:
    """What a distribution requires of ours; with a backend, since to run is what functions are for."""
    return closure((name,) if name.startswith("tangrad-backend-") else (name, BACKEND))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PARTS))
def test_its_public_functions_run(make_layer, name):
    environment = make_layer(parts_for(name))
    found = json.loads(environment.run(PROGRAM.replace("sys.argv[1]", repr(name))).splitlines()[-1])
    assert found.keys() == PARTS[name].entry_points.get("tangrad.api", {}).keys()
    wrong = {public: what for public, what in found.items() if what not in ("ran", "constant")}
    assert not wrong, "\n".join(f"{public}: {what}" for public, what in wrong.items())


@pytest.mark.slow
@pytest.mark.parametrize("parts", [*sorted(PARTS), *SUBSETS], ids=str)
def test_the_doctor_finds_nothing(make_layer, parts):
    """In what a distribution requires alone, and in every subset that is asked for together."""
    names = parts_for(parts) if isinstance(parts, str) else closure(parts.requirements)
    environment = make_layer(names | closure(("tangrad-console",)))
    assert json.loads(environment.run(DOCTOR))["problems"] == []


# --- Each module is imported as the first of ours in a process of its own ---


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
