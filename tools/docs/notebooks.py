"""Examples in Markdown, and the tutorial as notebooks, a step each: `python -m tools.docs.notebooks FOLDER` makes them.

Every step runs by itself: what it uses of earlier ones stands in a cell at its beginning. Sessions become cells with
what the tutorial says they print; a cell that is meant to raise is marked, so that notebooks run to their end.
"""

from __future__ import annotations

import ast
import doctest
import json
import re
import symtable
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import metadata
from tools.workspace import ROOT

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A# (?P<path>[\w./-]+\.(py|toml))\n")


# --- Examples in Markdown files: fenced blocks of Python ---
# Three kinds of block, distinguished by how they begin:
# - `>>> ...`: a session; its output is compared (`...` matches anything, runs of blanks are equal);
# - `# some/path.py`: the contents of a file that the text asks the reader to write; the guide's own test writes it;
# - anything else: a program, run as it stands.
# The blocks of one page share their names, in the order of the page: a reader types them one after the other.


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and where it stands."""

    language: str
    text: str
    line: int

    @property
    def is_session(self) -> bool:
        return self.language == "python" and self.text.lstrip().startswith(">>>")

    @property
    def file(self) -> str | None:
        """The path of the file whose contents this is, or None."""
        found = FILE.match(self.text)
        return found["path"] if found else None

    @property
    def is_program(self) -> bool:
        return self.language == "python" and not self.is_session and self.file is None


def blocks(page: Path) -> list[Block]:
    """Return every fenced block of a Markdown page, in order."""
    return blocks_of(page.read_text())


def blocks_of(text: str) -> list[Block]:
    """Return every fenced block of Markdown, in order."""
    found = []
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        body = "".join(line[indent:] if line.strip() else line for line in match["body"].splitlines(keepends=True))
        found.append(Block(match["language"], body, text.count("\n", 0, match.start()) + 1))
    return found


# --- The tutorial as notebooks ---

TUTORIAL = ROOT / "docs" / "tutorial.md"
FOLDER = "notebooks"
PAGE = "notebooks.md"
TITLE = "The tutorial as notebooks"
LAST = "From here"  # links alone
BRANCH = "gh-pages"  # where `.github/workflows/site.yml` puts the site, these files in it
COLAB = "https://colab.research.google.com/github"
CODE_HOST = "https://github.com/"
RAISES = "raises-exception"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
INSTALL = """import importlib.util

if importlib.util.find_spec("tangrad") is None:
    %pip install --quiet "tangrad[xla] @ git+{home}\""""
Cell = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """A part of the tutorial: its title, and its Markdown without the heading."""

    number: int
    title: str
    text: str
    before: list[Block] = field(repr=False)  # the blocks of all steps before it

    @property
    def file(self) -> str:
        """The name of its notebook."""
        return f"{self.number:02}-{re.sub(r'[^a-z]+', '-', self.title.lower()).strip('-')}.ipynb"


def steps() -> list[Step]:
    """Return the steps of the tutorial."""
    found: list[Step] = []
    before: list[Block] = []
    for part in re.split(r"^## ", TUTORIAL.read_text(), flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        if title != LAST:
            found.append(Step(len(found) + 1, title, text.strip(), list(before)))
            before += [block for block in blocks_of(text) if block.is_session or block.is_program]
    return found


def notebooks() -> dict[str, str]:
    """Return the text of each notebook by its name."""
    return {step.file: json.dumps(notebook(step), indent=1, ensure_ascii=False) + "\n" for step in steps()}


def notebook(step: Step) -> dict[str, Any]:
    """Return a step as a notebook: version 4.5 of the format, which all of Jupyter, Colab and editors read."""
    cells = [
        _markdown(f"# {step.number}. {step.title}\n\n{_how_to_run()}"),
        *_install(),
        *_prelude(step),
        *_cells(step),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    details = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": details, "nbformat": 4, "nbformat_minor": 5}


def page() -> str:
    """Return the Markdown of the page that lists them."""
    lines = [
        f"# {TITLE}",
        "",
        "Each step of [the tutorial](tutorial.md) as a notebook for Jupyter, Colab and editors, with what it needs of",
        "the steps before. They are made of the tutorial (`make notebooks` writes them into `build/notebooks`), and",
        "run as tests on NumPy and on XLA. Jupyter has to run in an environment with Tangrad: see",
        "[installation](installation.md).",
        "",
        "| step | notebook |" + (" Colab |" if colab("") else ""),
        "|---|---|" + ("---|" if colab("") else ""),
    ]
    for step in steps():
        online = f" [open]({colab(step.file)}) |" if colab("") else ""
        anchor = re.sub(r"[^\w-]", "", step.title.lower().replace(" ", "-"))
        lines.append(
            f"| {step.number}. [{step.title}](tutorial.md#{anchor}) | [{step.file}]({FOLDER}/{step.file}) |{online}"
        )
    return "\n".join(lines) + "\n"


def colab(name: str) -> str:
    """Return the address at which Colab opens a notebook; "" where the project has no home that Colab reads from."""
    home = metadata.home()
    place = home.removeprefix(CODE_HOST)
    return f"{COLAB}/{place}/blob/{BRANCH}/{FOLDER}/{name}" if place != home else ""


# --- cells ----------------------------------------------------------------------------------------------------------


def _how_to_run() -> str:
    return "A step of Tangrad's tutorial. Where Tangrad is not installed in this kernel's environment, " + (
        "the next cell installs it." if metadata.home() else "install it first: `pip install .` in a checkout."
    )


def _install() -> list[Cell]:
    home = metadata.home()
    return [_code(INSTALL.format(home=home), tags=["install"])] if home else []


def _prelude(step: Step) -> list[Cell]:
    """What the step uses of the steps before it."""
    needed = needed_before(step)
    return [_markdown("From the steps before:"), _code("\n\n".join(needed))] if needed else []


def _cells(step: Step) -> Iterator[Cell]:
    end = 0
    for match in FENCE.finditer(step.text):
        if text := step.text[end : match.start()].strip():
            yield _markdown(_elsewhere(text))
        (block,) = blocks_of(match[0])
        if block.is_session:
            yield from _session(block.text)
        elif block.is_program:
            yield _code(block.text.strip())
        else:
            yield _markdown(match[0])
        end = match.end()
    if text := step.text[end:].strip():
        yield _markdown(_elsewhere(text))


def _session(text: str) -> Iterator[Cell]:
    """A cell for each statement that prints something, with those before it."""
    silent = ""
    for example in doctest.DocTestParser().get_examples(text):
        source = silent + example.source.rstrip()
        if example.exc_msg:
            yield _code(source, [_error(example.exc_msg.strip())], [RAISES])
        elif example.want:
            yield _code(source, [{"name": "stdout", "output_type": "stream", "text": example.want}])
        silent = "" if example.exc_msg or example.want else source + "\n"
    if silent:
        yield _code(silent.rstrip())


def _error(message: str) -> dict[str, Any]:
    name, _, text = message.partition(": ")
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": [message]}


def _code(source: str, outputs: list[dict[str, Any]] | None = None, tags: list[str] | None = None) -> Cell:
    details = {"tags": tags} if tags else {}
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": details,
        "outputs": outputs or [],
        "source": source,
    }


def _markdown(source: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _elsewhere(text: str) -> str:
    """Links of the page, as they lead from elsewhere: to the home, or nowhere."""
    return metadata.portable(re.sub(r"\]\((?!https?:|#)", "](docs/", text), metadata.home())


# --- what a step uses of those before -------------------------------------------------------------------------------


def needed_before(step: Step) -> list[str]:
    """Return the programs of earlier steps that a step needs, in their order."""
    wanted = _used("".join(_program(block) for block in blocks_of(step.text) if _runs(block)))
    needed: list[str] = []
    for block in reversed(step.before):
        program = _program(block)
        defined = _defined(program)
        if wanted & defined:
            needed.insert(0, program.strip())
            wanted = (wanted - defined) | _used(program)
    return needed


def _runs(block: Block) -> bool:
    return block.is_session or block.is_program


def _program(block: Block) -> str:
    """Return a block as a program: of a session what prints nothing, since the rest only shows."""
    if block.is_program:
        return block.text
    return "".join(one.source for one in doctest.DocTestParser().get_examples(block.text) if not one.exc_msg)


def _defined(program: str) -> set[str]:
    names = symtable.symtable(program, "tutorial", "exec").get_symbols()
    return {name.get_name() for name in names if name.is_assigned() or name.is_imported()}


def _used(program: str) -> set[str]:
    """Return the names that a program reads before it defines them, at the top or within functions."""
    used: set[str] = set()
    defined: set[str] = set()
    for statement in _simple(ast.parse(program).body):
        text = ast.unparse(statement)
        used |= set(_read(symtable.symtable(text, "tutorial", "exec"))) - defined
        defined |= _defined(text)
    return used


def _simple(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body one by one, those within loops and blocks too."""
    for statement in body:
        if isinstance(statement, ast.For):
            yield ast.Assign([statement.target], statement.iter, lineno=statement.lineno)
        elif isinstance(statement, ast.With):
            for item in statement.items:
                yield ast.Assign([item.optional_vars or ast.Name("_")], item.context_expr, lineno=statement.lineno)
        else:
            yield statement
            continue
        yield from _simple(statement.body)


def _read(scope: symtable.SymbolTable) -> Iterator[str]:
    for symbol in scope.get_symbols():
        if symbol.is_referenced() and (scope.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for inner in scope.get_children():
        yield from _read(inner)


def main(arguments: list[str]) -> int:
    """Write the notebooks into a folder."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in notebooks().items():
        (folder / name).write_text(text)
        print(folder / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
