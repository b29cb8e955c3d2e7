"""The programs of the page that compares libraries: those whose library is installed print what the page says."""

import importlib.util
import re
import subprocess
import sys

import pytest

from tools.workspace import ROOT

FOLDER = ROOT / "docs" / "examples" / "beside"
PAGE = (ROOT / "docs" / "beside-others.md").read_text()
LIBRARIES = [path.stem.removeprefix("with_") for path in sorted(FOLDER.glob("with_*.py"))]
EXPECTED = re.search(r"^loss .*$", PAGE, re.MULTILINE)[0]


def test_the_page_has_a_row_for_each_program():
    assert set(re.findall(r"\(examples/beside/with_(\w+)\.py\)", PAGE)) == set(LIBRARIES)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_program_prints_what_the_page_says(library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", FOLDER / f"with_{library}.py"], capture_output=True, text=True, timeout=600
    )
    assert done.stdout.strip() == EXPECTED, done.stderr
