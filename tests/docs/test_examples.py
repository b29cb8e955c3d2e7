"""The examples of pages, docstrings and notebooks run and print what they say; every public name has a docstring."""

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import json
import math
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import tangrad
from tangrad.core.settings import SETTINGS
from tests.install.environments import new_environment
from tools import metadata
from tools.docs import notebooks
from tools.docs.notebooks import blocks, blocks_of
from tools.generate_api import public_api
from tools.workspace import ROOT, distributions

# --- Every Python example of the README and of the pages in `docs/` runs, and prints what the page says ---


PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("contrib/*/README.md")),
]
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


# --- Every public name is documented, and the examples in the docstrings run ---
# The public names are the entry points of `tangrad.api`; the list is not kept here.


PARTS = distributions()
API = {name: value for name, (_, value) in public_api(PARTS.values()).items()}


def public_object(value: str) -> object:
    """Return what `module:attribute` names."""
    module, _, attribute = value.partition(":")
    found = importlib.import_module(module)
    for name in attribute.split(".") if attribute else ():
        found = getattr(found, name)
    return found


def documented_itself(found: object) -> bool:
    """Constants (dtypes as scalar types, `pi`, `newaxis`) have the documentation of their type, and need none."""
    return callable(found) or inspect.ismodule(found)


@pytest.mark.parametrize("name", sorted(API))
def test_public_name_is_documented(name):
    found = public_object(API[name])
    if documented_itself(found):
        text = inspect.getdoc(found) or ""
        assert text.strip(), f"tangrad.{name} ({API[name]}) has no docstring"
        assert len(text.split("\n")[0]) <= 120, f"tangrad.{name}: the docstring's first line is a summary"


SECTION = re.compile(r"(Args|Arguments|Attributes|Members|Raises|Returns|Yields)( \([^)]*\))?:")


def misplaced(text: str) -> list[str]:
    """Return the lines of sections that are not where the tree has them: items at 4 spaces, what goes on at 4 or 8.

    `text` is a docstring without the indentation of its function. A header without a line below it counts too.
    """
    found, allowed = [], None
    for line in [*text.split("\n"), ""]:
        indentation = len(line) - len(line.lstrip())
        if allowed and indentation not in allowed:
            found.append(line)
        if SECTION.fullmatch(line):
            allowed = (4,)
        elif allowed:
            allowed = (0, 4, 8) if indentation else None
    return found


def documented_parts(found: object) -> list[object]:
    """Return the object and, for a class of ours, the public methods and properties that it defines."""
    members = vars(found).items() if inspect.isclass(found) and found.__module__.startswith("tangrad") else ()
    return [found, *(member for name, member in members if not name.startswith("_") and inspect.getdoc(member))]


def test_misplaced_lines_are_found():
    assert misplaced("Do.\n\nArgs:\n    x: an array,\n        any.\n    y: another.\n\nReturns:\n    all.") == []
    assert misplaced("Do.\n\nArgs:\n  x: an array.") == ["  x: an array."]
    assert misplaced("Do.\n\nArgs:\n    x: an array,\n      any.") == ["      any."]
    assert misplaced("Do.\n\nRaises:\n\nMore.") == [""]


@pytest.mark.parametrize("name", sorted(API))
def test_sections_of_public_name_are_indented_alike(name):
    found = public_object(API[name])
    if documented_itself(found):
        lines = [line for part in documented_parts(found) for line in misplaced(inspect.getdoc(part) or "")]
        assert not lines, f"tangrad.{name} ({API[name]}): 4 spaces before items, 8 before what goes on: {lines}"


MODULES = sorted(
    name
    for part in PARTS.values()
    for name, path in part.modules.items()
    if ">>> " in path.read_text() and not name.startswith("tangrad._backend_xla")
)

#: Their examples put an alias in jax's place, which they refuse to do where another test has imported jax.
ALONE = [name for name in MODULES if name.startswith("tangrad._compat.")]


def failures_of_module(module: str) -> str:
    """Run the examples of a module; return what doctest reports of those that fail."""
    found = importlib.import_module(module)
    names = dict(vars(found))
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    # Without the note about frames that are left out: doctest takes a note for the message.
    with warnings.catch_warnings(), SETTINGS["traceback_filtering"]("off"):
        warnings.simplefilter("error")
        for test in doctest.DocTestFinder(exclude_empty=True).find(found, module, globs=names):
            runner.run(test, out=report.append)
    return "".join(report)


@pytest.mark.parametrize("module", [name for name in MODULES if name not in ALONE])
def test_examples_of_module(module):
    report = failures_of_module(module)
    assert not report, report


@pytest.mark.parametrize("module", ALONE)
def test_examples_of_module_in_a_process_of_its_own(module):
    code = f"import sys; from {__name__} import failures_of_module as run; sys.exit(run({module!r}) or 0)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr


def test_failing_examples_are_reported():
    module = type(sys)("failing")
    module.__doc__ = ">>> 1 + 1\n3"
    sys.modules["failing"] = module
    try:
        assert "Got:\n    2" in failures_of_module("failing")
    finally:
        del sys.modules["failing"]


# --- The examples of functions that makers made, which the test of all docstrings does not find in their modules ---


NAMES = {
    name: value
    for name, (owner, value) in public_api(distributions().values()).items()
    if owner == "tangrad-numpy" and name.startswith("numpy.")
}
DOCSTRINGS_OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("name", sorted(NAMES))
def test_function_has_an_example_that_runs(name):
    module, _, attribute = NAMES[name].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if not inspect.isfunction(found):
        return
    text = inspect.getdoc(found) or ""
    assert "Returns:" in text or "Raises:" in text or ">>>" in text, f"{name}: the docstring says little"
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert test.examples, f"{name} has no example"
    report: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doctest.DocTestRunner(optionflags=DOCSTRINGS_OPTIONS, verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


STEPS = notebooks.steps()
BY_FILE = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.file)
SAME = doctest.OutputChecker().check_output
KERNEL = """
import sys, nbclient, nbformat
for path in sys.argv[1:]:
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    print(path.rpartition("/")[2], len(outputs), sum(output.output_type == "error" for output in outputs))
"""


def run_cell(source: str, names: dict) -> str:
    """Run a cell as a notebook does, and return what it prints: text, then the value of its last expression."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(last, "cell", "eval"), names) if last is not None else None
        if value is not None:
            print(repr(value))
    return printed.getvalue()


def run_notebook(notebook: dict) -> None:
    """Run all cells; what they print is compared with what the notebook says, as are errors."""
    names: dict = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        wanted = "".join(output.get("text", "") for output in cell["outputs"])
        if notebooks.RAISES in cell["metadata"].get("tags", ()):
            (error,) = cell["outputs"]
            with pytest.raises(Exception) as raised:
                run_cell(cell["source"], names)
            assert raised.typename == error["ename"].rpartition(".")[2]
            assert SAME(error["evalue"] + "\n", f"{raised.value}\n".split("\n")[0] + "\n", OPTIONS)
        else:
            found = run_cell(cell["source"], names)
            assert not wanted or SAME(wanted, found, OPTIONS), f"{cell['source']}\n{found}"


@BY_FILE
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_a_notebook_runs_by_itself(step, backend, tmp_path, monkeypatch):
    if backend == "xla":
        pytest.importorskip("jaxlib")
    monkeypatch.chdir(tmp_path)
    with tangrad.use_backend(backend):
        run_notebook(notebooks.notebook(step))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_kernels_of_jupyter_run_them(backend, tmp_path):
    environment = new_environment(tmp_path / "environment")
    environment.install("tangrad" if backend == "numpy" else "tangrad[xla]", "nbclient", "ipykernel")
    paths = [tmp_path / "environment" / step.file for step in STEPS]
    for path, text in zip(paths, notebooks.notebooks().values()):
        path.write_text(text)
    program = f"import sys\nsys.argv[1:] = {[str(path) for path in paths]!r}\nimport warnings\n"
    program += "warnings.simplefilter('default')\n" + KERNEL  # those of Jupyter are not ours
    printed = environment.run(program, variables={"TANGRAD_BACKEND": backend, "JUPYTER_PLATFORM_DIRS": "1"})
    assert [line.split()[0] for line in printed.splitlines()] == [step.file for step in STEPS]
    raising = {step.file: sum("Traceback" in block for block in step.text.split("```")[1::2]) for step in STEPS}
    errors = {line.split()[0]: int(line.split()[2]) for line in printed.splitlines()}
    assert all((errors[name] > 0) == (count > 0) for name, count in raising.items())


def test_steps_are_those_of_the_tutorial():
    assert [step.title for step in STEPS][:3] == ["Arrays", "Derivatives", "Compilation"]
    assert STEPS[6].file == "07-a-model-that-learns.ipynb"


@BY_FILE
def test_nothing_of_the_text_is_lost(step):
    sources = "\n".join(cell["source"] for cell in notebooks.notebook(step)["cells"])
    prose = re.sub(r"```.*?```|!\[.*?\]\(.*?\)|\]\(.*?\)", " ", step.text, flags=re.DOTALL)
    assert not [word for word in prose.replace("[", " ").split() if word not in sources]
    assert not [block for block in blocks_of(step.text) if block.is_program and block.text.strip() not in sources]


def test_colab_opens_them_where_it_can(monkeypatch):
    monkeypatch.setattr(metadata, "home", lambda: "")
    assert notebooks.colab("a.ipynb") == "" and "Colab |" not in notebooks.page()
    assert "pip install ." in json.dumps(notebooks.notebook(STEPS[0]))
    monkeypatch.setattr(metadata, "home", lambda: "https://github.com/owner/it")
    assert "/github/owner/it/blob/gh-pages/notebooks/01-arrays.ipynb) |" in notebooks.page()
    install = notebooks.notebook(STEPS[0])["cells"][1]
    assert "git+https://github.com/owner/it" in install["source"] and install["metadata"]["tags"] == ["install"]
    monkeypatch.setattr(metadata, "home", lambda: "https://example.org/it")
    assert notebooks.colab("a.ipynb") == ""
