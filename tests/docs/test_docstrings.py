"""Every public name is documented, and the examples in the docstrings run.

The public names are the entry points of `tangrad.api`; the list is not kept here.
"""

import doctest
import importlib
import inspect
import warnings

import pytest

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


MODULES = sorted(
    name
    for part in PARTS.values()
    for name, path in part.modules.items()
    if ">>> " in path.read_text() and not name.startswith("tangrad.backends.xla")
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_module(module):
    found = importlib.import_module(module)
    names = dict(vars(found))
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for test in doctest.DocTestFinder(exclude_empty=True).find(found, module, globs=names):
            runner.run(test, out=report.append)
    assert not report, "".join(report)
