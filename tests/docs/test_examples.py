"""Every Python example of the README and of the pages in `docs/` runs, and prints what the page says."""

import doctest
import math
import re
from pathlib import Path

import pytest

import tangrad
from tools.docs.examples import blocks
from tools.workspace import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ON_NUMPY_ALONE = {"several-processes.md"}  # XLA joins processes before its devices are used, and tests use them
SAME_DIGITS = {"tutorial.md", "README.md", "index.md"}  # what newcomers type, whatever they have installed
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_session(text: str, names: dict, page: Path, line: int, checker: doctest.OutputChecker | None = None) -> None:
    """Run a `>>>` session; a difference in its output is an AssertionError with doctest's own report."""
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
    test.globs = names  # get_doctest copies: later blocks of the page must see what this one defines
    report: list[str] = []
    doctest.DocTestRunner(checker, optionflags=OPTIONS, verbose=False).run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)


NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.\d*(?:e[-+]?\d+)?(?!\w)")


class NearlyEqual(doctest.OutputChecker):
    """Takes an output whose numbers differ in the last digits alone, as those of two backends do."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = NUMBER.findall(want), NUMBER.findall(got)
        same_text = super().check_output(NUMBER.sub("0.0", want), NUMBER.sub("0.0", got), optionflags)
        return same_text and len(wanted) == len(found) and all(map(self._near, wanted, found))

    @staticmethod
    def _near(wanted: str, found: str) -> bool:
        return math.isclose(float(wanted), float(found), rel_tol=1e-5, abs_tol=1e-6)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_page(page, tmp_path, monkeypatch):
    run_page(page, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in ON_NUMPY_ALONE],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_examples_of_page_on_xla(page, tmp_path, monkeypatch):
    pytest.importorskip("jaxlib")
    with tangrad.use_backend("xla"):
        run_page(page, tmp_path, monkeypatch, None if page.name in SAME_DIGITS else NearlyEqual())


def run_page(page, tmp_path, monkeypatch, checker=None):
    monkeypatch.chdir(tmp_path)  # an example may write files
    names: dict = {"__name__": "__main__"}
    for block in blocks(page):
        if block.is_session:
            run_session(block.text, names, page, block.line, checker)
        elif block.is_program:
            padding = "\n" * block.line  # so that a traceback points into the page
            exec(compile(padding + block.text, str(page), "exec"), names)


def test_the_readme_has_a_first_program():
    assert any(block.is_program or block.is_session for block in blocks(ROOT / "README.md"))


def test_blocks_are_distinguished(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 1\n```\n\n1. item\n\n    ```python\n    >>> x\n    1\n    ```\n\n"
        "```python\n# package/module.py\ny = 2\n```\n\n```toml\n# pyproject.toml\n```\n\n```\nplain\n```\n"
    )
    program, session, file, toml, plain = blocks(page)
    assert program.is_program and program.text == "x = 1\n" and program.line == 1
    assert session.is_session and session.text == ">>> x\n1\n"
    assert file.file == "package/module.py" and not file.is_program
    assert toml.file == "pyproject.toml" and not plain.is_program


def test_a_wrong_output_fails(tmp_path):
    with pytest.raises(AssertionError, match="Expected"):
        run_session(">>> 1 + 1\n3\n", {}, tmp_path / "page.md", 0)


def test_sessions_of_one_page_share_names(tmp_path):
    names: dict = {}
    run_session(">>> x = 2\n", names, tmp_path / "page.md", 0)
    run_session(">>> x * 2\n4\n", names, tmp_path / "page.md", 3)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_that_install_tangrad_say_where_from(page):
    text = page.read_text()
    if re.search(r"pip install [^\n]*(?<![\w/])\"?tangrad\b(?!-\w+ *`? *\|)", text):
        assert "PIP_FIND_LINKS" in text or "installation.md" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_target_that_is_named_exists(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in re.findall(r"^(?:\$ )?make((?: [a-z-]+)+)", page.read_text(), re.MULTILINE):
        assert set(line.split()) <= targets, f"make{line}"
