"""The page "Publish it", followed to the letter: every command and every file of it, in an empty folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.install.environments import HAVE_UV, NOT_HANDED_ON, UV
from tools.docs.examples import blocks
from tools.workspace import ROOT

pytestmark = [
    pytest.mark.sweep,
    pytest.mark.skipif(os.name != "posix", reason="commands for a POSIX shell"),
]
LIMIT = 1800  # seconds for one block of commands
# What pip takes minutes for, jaxlib among it, uv links in seconds: environments get a `pip` that hands on to it.
WITH_UV = """#!/bin/sh
if [ "$1" != -m ] || [ "$2" != venv ]; then exec {python} "$@"; fi
{uv} venv --quiet --python {python} "$3"
printf '#!/bin/sh\\nexec {uv} pip "$@" --quiet --python %s/bin/python\\n' "$PWD/$3" > "$3/bin/pip"
chmod +x "$3/bin/pip"
"""
ALONE = '#!/bin/sh\nexec {python} "$@"\n'


def reader(folder: Path, wheels: Path) -> dict[str, str]:
    """The variables of a user whose `python` is the running one, and whose index has the tree's wheels."""
    commands = folder / "bin"
    commands.mkdir()
    text = (WITH_UV if HAVE_UV else ALONE).format(python=sys.executable, uv=" ".join(UV))
    (commands / "python").write_text(text)
    (commands / "python").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_HANDED_ON)}
    return kept | {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_QUIET": "1",
        "UV_FIND_LINKS": str(wheels),
        "UV_REFRESH": "1",  # wheels of the same version as last time are others
        "TANGRAD_CACHE_DIR": str(folder / "cache"),
    }


def test_to_the_letter(wheels, tmp_path):
    variables = reader(tmp_path, wheels)
    work = tmp_path / "work"
    work.mkdir()
    printed = []
    for block in blocks(ROOT / "docs/publish.md"):
        if block.file:
            (work / block.file).write_text(block.text)
        elif block.language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", block.text]
            done = subprocess.run(command, cwd=work, env=variables, capture_output=True, text=True, timeout=LIMIT)
            assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"
            printed.append(done.stdout)
    made, tested, checked, built, _, used = printed
    assert "Wrote tangrad-discounting" in made and " passed" in tested
    assert " 0 failed" in checked or "matrix.html" in checked
    assert "No hole in the matrix." in checked and "No problems found." in checked
    assert all(name in built for name in ("py.typed", "entry_points.txt", "discounting/primitives.py"))
    assert "[1.5 1.  2. ]" in used and "dormant" in used and "No problems found." in used
    assert {path.suffix for path in (work / "shelf").iterdir()} == {".whl", ".gz"}
