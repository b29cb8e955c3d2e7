"""The first use of public names, interrupted, overtaken, and by many threads at once: the next use is whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tangrad._console.explanations import catalogue

PROGRAM = Path(__file__).parent / "first_use.py"
TWICE = Path(__file__).parent / "imported_twice.py"
HOW = ["interrupted", "late", "deep", "full", "nested"]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def run(*command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "TANGRAD_BACKEND": "numpy", **environment},
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )


@pytest.mark.parametrize("how", ["interrupted", "nested"])
def test_a_few_lines_of_a_first_use(how: str) -> None:
    done = run(str(PROGRAM), how, "500", "0", "tangrad-nn")
    assert done.returncode == 0 and ", 0 faults" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.sweep
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("distribution", catalogue.PUBLIC_NAMES)
def test_lines_of_the_first_use_of_all_names_of_a_distribution(distribution: str, how: str) -> None:
    """Each at other lines of what all of them use. `first_use.py` itself looks at more of them, or at every one."""
    seed = [*catalogue.PUBLIC_NAMES].index(distribution) * len(HOW) + HOW.index(how)
    done = run(str(PROGRAM), how, "500", str(seed), distribution)
    assert done.returncode == 0 and ", 0 faults" in done.stdout, done.stdout[-6000:] + done.stderr[-3000:]


@pytest.mark.parametrize(
    "prefixes", [["tangrad._random.distributions.g", "tangrad._lax.sorting"], pytest.param([], marks=pytest.mark.sweep)]
)
def test_modules_are_imported_again_after_an_import_that_failed(prefixes: list[str]) -> None:
    done = run(str(TWICE), *prefixes)
    assert done.returncode == 0 and ", 0 not" in done.stdout, done.stdout[-6000:] + done.stderr[-3000:]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_first_uses_by_eight_threads_at_once(backend: str) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    code = """
import sys, threading
import first_use
from tangrad._console.explanations import catalogue
names = " ".join(catalogue.PUBLIC_NAMES[key] for key in ("tangrad-nn", "tangrad-lax", "tangrad-random")).split()
sys.setswitchinterval(1e-5)
start, answers = threading.Barrier(8), []
def use():
    start.wait()
    answers.append(first_use.uses(names))
threads = [threading.Thread(target=use) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
assert len(answers) == 8 and all(answer == answers[0] for answer in answers)
assert first_use.uses(names) == answers[0]
print("whole")
"""
    done = run("-c", code, PYTHONPATH=str(PROGRAM.parent), TANGRAD_BACKEND=backend)
    assert done.returncode == 0 and done.stdout.strip() == "whole", done.stderr[-3000:]
