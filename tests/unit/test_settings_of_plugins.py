"""What modules of plugins read of the thread is there whichever of them is imported first."""

import re
import subprocess
import sys

import pytest

from tools.workspace import distributions

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
