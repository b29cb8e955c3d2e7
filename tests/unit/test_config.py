"""Settings: read and set by name, for a block, for the calls of a function, in one thread; and by modules."""

import os
import re
import subprocess
import sys
import threading

import pytest

import tangrad
from tangrad import config
from tools.workspace import distributions

# --- Settings: read and set by name, for a block, for the calls of a function, in one thread ------------------------


def test_settings_by_name():
    before = config.read("debug_nans")
    config.update("debug_nans", True)
    try:
        assert config.read("debug_nans") is config.read("tangrad_debug_nans") is config.debug_nans is True
        assert config.values["debug_nans"] is True
    finally:
        config.update("debug_nans", before)
    assert config.values["debug_nans"] is before
    with tangrad.debug_infs(True):
        assert config.values["debug_infs"] is True
    for call in (lambda: config.read("colour"), lambda: config.update("colour", True), lambda: config.colour):
        with pytest.raises(AttributeError, match="no setting 'colour'"):
            call()


def test_a_bad_value_changes_nothing():
    for name, value in (("enable_x64", "maybe"), ("debug_nans", None), ("numpy_rank_promotion", "sometimes")):
        before = config.read(name)
        with pytest.raises((TypeError, ValueError), match=name):
            config.update(name, value)
        with pytest.raises((TypeError, ValueError), match=name), getattr(tangrad, name)(value):
            pass
        assert config.read(name) == before


def test_settings_of_a_block_are_undone_after_errors():
    with tangrad.enable_x64(True):
        with pytest.raises(KeyError), tangrad.enable_x64(False):
            assert not config.enable_x64
            raise KeyError
        assert config.enable_x64
    assert not config.enable_x64


def test_settings_of_the_calls_of_a_function():
    @tangrad.enable_x64(True)
    def count(n):
        """Counts down."""
        return [config.enable_x64, *(count(n - 1) if n else [])]

    assert count(2) == [True] * 3
    assert (count.__name__, count.__doc__) == ("count", "Counts down.")
    assert not config.enable_x64


def test_calls_of_one_function_in_two_threads_do_not_disturb_each_other():
    inside, leave = threading.Event(), threading.Event()
    seen = []

    @tangrad.enable_x64(True)
    def wait():
        inside.set()
        assert leave.wait(300)
        return config.enable_x64

    def run():
        seen.append(wait())
        seen.append(config.enable_x64)

    thread = threading.Thread(target=run)
    thread.start()
    assert inside.wait(300)
    with tangrad.enable_x64(False):
        leave.set()
        assert wait() is True
        assert not config.enable_x64
    thread.join()
    assert seen == [True, False]
    assert not config.enable_x64


def test_an_environment_variable_that_says_nothing_is_named_and_the_default_serves():
    code = """
import tangrad
assert tangrad.config.enable_x64 is False and tangrad.config.debug_nans is True
from tangrad._console.report.surroundings import list_problems, variable_problems, variables
import os
from tangrad.core import composition
problems = [*variable_problems(variables(os.environ)), *list_problems(composition())]
assert any("TANGRAD_ENABLE_X64='maybe'" in problem.what and "False" in problem.what for problem in problems), problems
assert any("TANGRAD_PREFER: 'nonsense'" in problem.what for problem in problems), problems
assert not any("DEBUG_NANS" in problem.what for problem in problems), problems
"""
    variables = {"TANGRAD_ENABLE_X64": "maybe", "TANGRAD_PREFER": "nonsense", "TANGRAD_DEBUG_NANS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **variables}, capture_output=True, text=True, timeout=120
    )
    assert found.returncode == 0, found.stderr
    assert (
        "TANGRAD_ENABLE_X64='maybe': expected one of" in found.stderr and "the default, False, is used" in found.stderr
    )
    assert "'nonsense' is not 'kind:primitive=distribution'; it is ignored" in found.stderr


# --- What modules of plugins read of the thread is there whichever of them is imported first ------------------------


SOURCES = {
    name: path.read_text()
    for part in distributions().values()
    if part.name != "tangrad-core"
    for name, path in part.modules.items()
}
DEFINED = {
    setting: module for module, text in SOURCES.items() for setting in re.findall(r'define_\w+\(\s*"(\w+)"', text)
}
READ = sorted(
    (module, setting)
    for module, text in SOURCES.items()
    for setting in DEFINED.keys() & set(re.findall(r"\bthread\.(\w+)", text))
    if DEFINED[setting] != module
)


def test_some_modules_read_settings_of_others():
    assert ("tangrad._numpy.fusing", "numpy_rank_promotion") in READ


@pytest.mark.parametrize(("module", "setting"), READ)
def test_a_module_brings_the_settings_that_it_reads(module, setting):
    code = f"import {module}; from tangrad.core import thread; thread.{setting}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
