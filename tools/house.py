"""The house in figures: how much there is, how it hangs together, how it is typed.

    python -m tools.house        (or `make house`)

Read from the tracked files alone; nothing is imported. Shipped files are those of distributions, `contrib/` apart.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from tools import words
from tools.contracts import CORE, House, executed, fields_set, is_inner
from tools.docs.rooms import code_lines
from tools.import_graph import cycles
from tools.workspace import ROOT

SHORT = 15  # lines: a shorter file needs a reason
_FORWARDING = (ast.Import, ast.ImportFrom, ast.Expr)


class Figures:
    """What is counted, each as a method whose docstring is the line's text."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.house = House(root)
        self.tracked = subprocess.run(
            ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    @cached_property
    def texts(self) -> dict[str, str]:
        """Module -> text, of everything that is shipped."""
        return {name: path.read_text() for name, path in self.house.files.items()}

    def _named(self, name: str) -> int:
        return len([path for path in self.tracked if Path(path).name == name])

    def tracked_files(self) -> int:
        """tracked files"""
        return len(self.tracked)

    def distributions(self) -> int:
        """distributions, contrib apart"""
        return len(self.house.parts) + 1  # with the one that requires the usual ones

    def projects(self) -> int:
        """files pyproject.toml"""
        return self._named("pyproject.toml")

    def licences(self) -> int:
        """files LICENSE"""
        return self._named("LICENSE")

    @cached_property
    def _short(self) -> list[str]:
        return [name for name, text in self.texts.items() if 0 < text.count("\n") < SHORT]

    def short_files(self) -> int:
        """shipped files of fewer than 15 lines, empty ones apart"""
        return len(self._short)

    def short_without_reason(self) -> int:
        """of these neither at a public path nor named by an entry point"""
        return len([name for name in self._short if is_inner(name) and name not in self._entered])

    @cached_property
    def _entered(self) -> set[str]:
        """The modules that entry points name: rules, samples and hooks are loaded alone, old paths lead to packages."""
        groups = [group for part in self.house.parts.values() for group in part.entry_points.values()]
        return {value.partition(":")[0] for group in groups for value in group.values()}

    def forwarding(self) -> int:
        """__init__ files that only forward to one module, where no old path leads to the package"""
        doors = [name for name, path in self.house.files.items() if path.name == "__init__.py" and _forwards(path)]
        return len([name for name in doors if name not in self._entered])

    def lines(self) -> int:
        """shipped lines"""
        return sum([text.count("\n") for text in self.texts.values()])

    def core_lines(self) -> int:
        """lines of code of core/, without blanks and comments"""
        core = [path for name, path in self.house.files.items() if self.house.owner.get(name) == CORE]
        return sum(map(code_lines, core))

    def import_cycles(self) -> int:
        """import cycles, as Python executes the modules"""
        return len(cycles({name: executed(name, self.house) for name in self.house.imports}))

    def kernel_names(self) -> int:
        """names of the kernel's door"""
        return len(self.house.exports.names["tangrad.core"])

    def inner_imports(self) -> int:
        """imports of other distributions' inner modules, the kernel's apart"""
        return sum([1 for name in self.house.imports for _ in self._taken_from_others(name)])

    def _taken_from_others(self, name: str) -> Iterator[str]:
        for target in self.house.imports[name].modules:
            owner = self.house.owner.get(target)
            if is_inner(target) and owner not in (None, CORE, self.house.owner.get(name)):
                yield target

    def anys(self) -> int:
        """uses of Any"""
        return sum([len(re.findall(r"\bAny\b", text)) for text in self.texts.values()])

    def returning_any(self) -> int:
        """public functions that return Any"""
        functions = [one for text in self.texts.values() for one in _public_functions(ast.parse(text))]
        return len([one for one in functions if isinstance(one.returns, ast.Name) and one.returns.id == "Any"])

    def ignored(self) -> int:
        """type: ignore"""
        return sum([text.count("type: ignore") for text in self.texts.values()])

    def traces_set(self) -> int:
        """assignments to the current trace outside the kernel"""
        beside = [text for name, text in self.texts.items() if self.house.owner.get(name) != CORE]
        return len([field for text in beside for field, _ in fields_set(ast.parse(text)) if field == "trace"])

    def private_words(self) -> int:
        """private words in tracked text"""
        return len(words.problems(self.root))

    def lines_of_the_report(self) -> dict[str, Callable[[], int]]:
        """Text -> what counts it, in the order in which they are defined."""
        return {
            (method.__doc__ or ""): getattr(self, name)
            for name, method in vars(Figures).items()
            if not name.startswith("_") and callable(method) and name != "lines_of_the_report"
        }


def _forwards(path: Path) -> bool:
    """Whether a package does nothing but hand on what one module has."""
    body = ast.parse(path.read_text()).body
    sources = {statement.module for statement in body if isinstance(statement, ast.ImportFrom)}
    return bool(body) and len(sources) == 1 and all([isinstance(statement, _FORWARDING) for statement in body])


def _public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and not statement.name.startswith("_"):
            yield statement


def main(root: Path = ROOT) -> None:
    """Print the figures."""
    for text, count in Figures(root).lines_of_the_report().items():
        print(f"{count():>8,}  {text}")


if __name__ == "__main__":
    main()
