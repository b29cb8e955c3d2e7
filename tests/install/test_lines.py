"""Every line that installs something: of the pages, typed in a clean environment, against the wheels of the tree; and
of the doctor, pasted in an environment that lacks it.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.install.environments import TIME_OUT, UV, Environment, run, wheel_folder
from tools.checkout import build_wheel
from tools.docs.notebooks import blocks_of
from tools.workspace import ROOT

PAGES = [
    *[ROOT / name for name in ("README.md", "CONTRIBUTING.md")],
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "contrib").glob("*/README.md")),
]
INSTALLS = re.compile(r"\bpip install(?P<arguments>(?: [^\n`#;]*)?)")
IN_TEXT = re.compile(r"```.*?```|`(?P<code>[^`\n]+)`", re.DOTALL)
# What is not typed here, and why: the arguments, as a whole.
NOT_HERE = {
    ".[cuda]": "gigabytes of NVIDIA's libraries, which only a GPU can try",
    ".[cuda12]": "the same, of CUDA 12",
    "-e .[test]": "within a package that `tangrad new` has written: tests/install/test_scaffold.py and test_publish.py",
    "./lambertw": "a package that the reader writes: tests/install/test_third_party.py",
    "--force-reinstall --no-deps ./lambertw": "the same",
    "tangrad[authors,xla] build": "the page is followed to the letter: tests/install/test_publish.py",
    "--find-links shelf tangrad-discounting": "the same",
    "tangrad-discounting": "what a user types once the reader's package is on an index",
    "--no-index --find-links .": "on a board without a network: its folder holds what the line before it has fetched",
    ".[compat,xla]": "tests/examples/test_programs.py",
    "flax optax": "the same",
    "./contrib/torch": "needs PyTorch: `make contrib`",
    "./backends/kernels": "needs a compiler of C++: tests/kernels/conftest.py compiles it, `make kernels` installs it",
    "tangrad[libraries]": "a gigabyte: `make libraries`, tests/kernels/test_vendors.py",
}
# What shows that a distribution works, where it has been installed.
WORKS = {
    "tangrad": "import tangrad; assert tangrad.grad(lambda x: x * x)(3.0) == 6.0",
    "tangrad-backend-numpy": "from tangrad.core import get_backend; assert get_backend('numpy').devices()",
    "tangrad-backend-xla": "import tangrad; assert tangrad.jit(lambda x: x + 1, backend='xla')(1.0) == 2.0",
    "tangrad-compat": "import tangrad.compat.jax as c; c.install(); import jax.scipy.stats, jax.experimental.checkify",
    "tangrad-conformance": "import tangrad.conformance",
    "tangrad-kernels": "import tangrad, tangrad.numpy as np; assert tangrad.jit(np.cumsum)(np.ones(9999))[-1] == 9999",
    "tangrad-masking": "import tangrad; tangrad.mask",
    "tangrad-numba": "import sys, tangrad; from tangrad import lax\n"
    "many = tangrad.jit(lambda x: lax.fori_loop(0, 20_000, lambda i, x: x * 0.5 + 1.0, x), backend='numpy')\n"
    "assert many(0.0) == 2.0 and 'numba' in sys.modules",
    "tangrad-runtime": "import tangrad.runtime",
    "tangrad-scipy": "import tangrad.scipy.special as s; assert s.expit(0.0) == 0.5",
    "tangrad-sparse": "import tangrad.experimental.sparse",
    "tangrad-taylor": "import tangrad_taylor",
}
QUICK = (".", "tangrad-runtime")


@dataclass(frozen=True)
class Line:
    """A line that installs something: what follows `pip install`, and the pages that have it."""

    arguments: str
    pages: tuple[str, ...]


def lines() -> list[Line]:
    """Return every distinct line of the pages."""
    found: dict[str, list[str]] = {}
    for page in PAGES:
        text = page.read_text()
        spans = [block.text for block in blocks_of(text) if block.language in ("sh", "text", "")]
        spans += [match["code"] for match in IN_TEXT.finditer(text) if match["code"]]
        for match in (match for span in spans for match in INSTALLS.finditer(span)):
            arguments = " ".join(shlex.split(match["arguments"]))
            if arguments:
                found.setdefault(arguments, []).append(str(page.relative_to(ROOT)))
    return [Line(arguments, tuple(dict.fromkeys(pages))) for arguments, pages in sorted(found.items())]


LINES = lines()
TYPED = [line.arguments for line in LINES if line.arguments not in NOT_HERE]


@pytest.mark.parametrize(
    "arguments", [pytest.param(one, id=one, marks=() if one in QUICK else pytest.mark.slow) for one in TYPED]
)
def test_a_line_installs_what_it_says(arguments, environment, tmp_path):
    parts = arguments.split()
    assert not [part for part in parts if part.startswith("-")], "options: say in NOT_HERE how they are tried"
    wanted = [str(ROOT / part) if part.startswith("./") else part for part in parts]
    of_checkout = re.fullmatch(r"\.(\[.*\])?", arguments)
    if of_checkout:  # as pip does: the wheel of the checkout, which says where its neighbours are
        wheel = tmp_path / build_wheel(str(tmp_path))
        wanted = [f"tangrad{of_checkout[1] or ''} @ {wheel.as_uri()}"]
    environment.install(*wanted, find_ours=not of_checkout)
    run([*UV, "pip", "check", "--quiet", "--python", str(environment.python)])
    installed = environment.installed()
    tried = [program for name, program in WORKS.items() if name in installed]
    assert tried, f"nothing in WORKS shows that {arguments} works"
    environment.run("\n".join(tried))
    if "tangrad-console" in installed:
        environment.command("tangrad", "doctor")


def test_the_pages_have_lines():
    found = {line.arguments: line.pages for line in LINES}
    assert {".", ".[xla]", "tangrad-runtime", "tangrad[authors,xla]"} <= set(found)
    assert "README.md" in found["."] and "docs/installation.md" in found[".[scipy]"]


def test_what_is_not_typed_is_on_some_page():
    assert set(NOT_HERE) <= {line.arguments for line in LINES}


# --- The doctor's lines -----------------------------------------------------------------------------------------------


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


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="lines for a POSIX shell")
def test_what_is_missing_is_installed_by_the_line(sick):
    found = examine(sick, [])
    lines = {words: [line for what, line in found.items() if words in what] for words in PROBLEMS}
    assert lines == {words: [line] for words, line in PROBLEMS.items()}
    assert examine(sick, [line for (line,) in lines.values()]) == {}
