"""Every public name is documented, and the examples in the docstrings run.

The public names are the entry points of `tangrad.api`; the list is not kept here.
"""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
import warnings

import pytest

from tangrad.core.settings import SETTINGS
from tests.docs.test_examples import OPTIONS
from tools.generate_api import public_api
from tools.workspace import distributions

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
