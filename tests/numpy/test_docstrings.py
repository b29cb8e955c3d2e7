"""The examples of functions that makers made, which the test of all docstrings does not find in their modules."""

import doctest
import importlib
import inspect
import warnings

import pytest

from tools.generate_api import public_api
from tools.workspace import distributions

NAMES = {
    name: value
    for name, (owner, value) in public_api(distributions().values()).items()
    if owner == "tangrad-numpy" and name.startswith("numpy.")
}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


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
        doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(test, out=report.append)
    assert not report, "".join(report)
