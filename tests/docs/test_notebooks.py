"""The tutorial as notebooks: each runs by itself, on both backends, and prints what the tutorial says."""

import ast
import contextlib
import doctest
import io
import json
import re

import pytest

import tangrad
from tests.docs.test_examples import OPTIONS
from tests.install.environments import new_environment
from tools import metadata
from tools.docs import notebooks
from tools.docs.examples import blocks_of

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
