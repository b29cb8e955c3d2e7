"""The doctor's lines that install something, pasted in an environment that lacks it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.install.environments import TIME_OUT, UV, Environment, wheel_folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="lines for a POSIX shell"),
]
# Words of each problem, and the line that is to cure it.
PROBLEMS = {
    "tangrad-lax is not installed; tangrad-numpy": "pip install 'tangrad-lax<0.3,>=0.1'",
    "tangrad-batching: ": "pip install --force-reinstall tangrad-batching",
    "environment variable TANGRAD_THREEFRY_PARTITIONABLE": "pip install tangrad-random",
    "there is no backend 'numpy'": "pip install tangrad-backend-numpy",
}


@pytest.fixture
def sick(make_environment) -> Environment:
    """Of one distribution the files are gone, of another the entry points are damaged, two were never installed."""
    environment = make_environment("tangrad-console", "tangrad-numpy")
    for path in (*environment.site.glob("tangrad_lax-*"), environment.site / "tangrad" / "lax"):
        shutil.rmtree(path)
    (entries,) = environment.site.glob("tangrad_batching-*/entry_points.txt")
    entries.unlink()  # it may be a link to the installer's cache
    entries.write_bytes(b"[tangrad.api]\nvmap = \xff\n")
    installer = environment.python.parent / "pip"  # as users have it, but for where it looks
    command = [*UV, "pip", "install", "--quiet", "--offline", "--find-links", str(wheel_folder())]
    installer.write_text(f'#!/bin/sh\nshift\nexec {" ".join(command)} --python {environment.python} "$@"\n')
    installer.chmod(0o755)
    return environment


def examine(environment: Environment, lines: list[str]) -> dict[str, str]:
    """What is wrong after these lines were pasted, and the line for it."""
    script = "\n".join(["set -e", *lines, f"exec {environment.python} -m tangrad doctor --json"])
    variables = environment._variables({"TANGRAD_BACKEND": "numpy", "TANGRAD_THREEFRY_PARTITIONABLE": "1"})
    variables["PATH"] = f"{Path(environment.python).parent}{os.pathsep}{variables['PATH']}"
    done = subprocess.run(["bash", "-c", script], env=variables, capture_output=True, text=True, timeout=TIME_OUT)
    assert done.returncode in (0, 1), done.stderr
    return {problem["what"]: problem["paste"] for problem in json.loads(done.stdout)["problems"]}


def test_what_is_missing_is_installed_by_the_line(sick):
    found = examine(sick, [])
    lines = {words: [line for what, line in found.items() if words in what] for words in PROBLEMS}
    assert lines == {words: [line] for words, line in PROBLEMS.items()}
    assert examine(sick, [line for (line,) in lines.values()]) == {}
