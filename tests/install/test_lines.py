"""Every line of the pages that installs something: typed in a clean environment, against the wheels of the tree."""

import re
import shlex
from dataclasses import dataclass

import pytest

from tests.install.environments import UV, run
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
