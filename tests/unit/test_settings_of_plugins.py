"""Settings that are declared by the distribution that reads them: found by name before it is loaded."""

import subprocess
import sys

import pytest

import tangrad
from tangrad._console.explanations import catalogue
from tangrad._core.kernel.all_settings import SETTINGS_GROUP, names, setting
from tangrad._core.settings.config import SETTINGS, cache_context, define_flag, thread
from tangrad.core import composition, config
from tangrad.errors import MissingDistributionError
from tests.unit.plugin_site import Site

COLOUR = """
from tangrad.core.settings import define_choice
colour = define_choice("colour", "red", ("red", "blue"), "The colour.")
"""


def painted(site, name="paint", module="paint"):
    entries = {
        "tangrad.settings": {"colour": f"{module}:colour"},
        "tangrad.api": {f"{module}_it": f"{module}_use:paint"},
    }
    use = f"import {module}\nfrom tangrad._core.settings.config import thread\ndef paint():\n    return thread.colour\n"
    site.add(name, entries, modules={f"{module}.py": COLOUR, f"{module}_use.py": use})


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "site")


def ran(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_setting_of_a_third_party(site):
    painted(site)
    code = """
import sys, tangrad
from tangrad import config
assert "colour" in dir(config) and "paint" not in sys.modules
assert config.colour == "red" and "paint" in sys.modules and "paint_use" not in sys.modules
assert config.values["colour"] == "red" and tangrad.paint_it() == "red"
config.update("colour", "blue")
assert tangrad.paint_it() == "blue"
try:
    config.update("colour", "green")
except ValueError as error:
    assert "'colour' does not take 'green'" in str(error)
else:
    raise AssertionError
"""
    ran(site.run(code))


def test_its_environment_variable_is_read_when_it_is_loaded(site):
    painted(site)
    code = "import tangrad; assert tangrad.paint_it() == 'blue'; assert tangrad.config.colour == 'blue'"
    ran(site.run(code, TANGRAD_COLOUR="blue"))
    shown = "import warnings; warnings.simplefilter('always'); "
    found = site.run(shown + "import tangrad; assert tangrad.config.colour == 'red'", TANGRAD_COLOUR="green")
    assert found.returncode == 0, found.stderr
    assert "TANGRAD_COLOUR='green': expected one of 'red', 'blue'; the default, 'red', is used" in found.stderr


def test_a_setting_that_is_declared_twice(site):
    painted(site)
    painted(site, "other-paint", "other")
    code = """
import tangrad, tangrad.numpy as np
from tangrad.errors import PluginConflictError
for act in (lambda: tangrad.config.colour, lambda: tangrad.config.update("colour", "blue")):
    try:
        act()
    except PluginConflictError as error:
        assert "paint 1.0" in str(error) and "other-paint 1.0" in str(error) and "TANGRAD_PREFER" in str(error), error
    else:
        raise AssertionError
assert "colour" not in tangrad.config.values and "enable_x64" in tangrad.config.values
assert float(np.sin(0.0)) == 0.0
"""
    ran(site.run(code))
    ran(site.run("import tangrad; assert tangrad.config.colour == 'red'", TANGRAD_DENY="other-paint"))
    both = """
import tangrad, warnings
assert tangrad.paint_it() == "red"
warnings.simplefilter("ignore")
try:
    tangrad.other_it()
except Exception as error:
    assert "other-paint" in str(error) and "declared twice: in paint, and in other" in str(error), error
else:
    raise AssertionError
assert tangrad.paint_it() == "red"
"""
    ran(site.run(both))


def test_a_setting_of_another_name_than_its_entry(site):
    site.add("paint", {"tangrad.settings": {"color": "paint:colour"}}, modules={"paint.py": COLOUR})
    failed = site.run("import tangrad; tangrad.config.color")
    assert "'colour' is registered under the name 'color'" in failed.stderr


def test_a_setting_whose_owner_is_not_installed(monkeypatch):
    monkeypatch.setattr(catalogue, "SETTINGS", {"tangrad-imaginary": "phase"})
    for act in (lambda: config.phase, lambda: config.read("phase"), lambda: config.update("phase", 1)):
        with pytest.raises(
            MissingDistributionError, match=r"'phase' is in the distribution tangrad-imaginary.*pip install"
        ):
            act()
    assert config.enable_x64 is False


def test_importing_tangrad_loads_no_settings_of_plugins():
    code = """
import sys, tangrad
assert not [name for name in sys.modules if name.endswith(".settings") and name != "tangrad._core.settings"]
assert tangrad.config.threefry_partitionable is True
assert "tangrad._random.settings" in sys.modules and "tangrad._random.functions" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_setting_that_is_loaded_late_changes_no_key():
    before = cache_context()
    late = define_flag("a_setting_of_this_test", "Of no use.", changes_results=True)
    try:
        assert cache_context() == before and cache_context()[0] is before[0]
        late.set(True)
        changed = cache_context()
        assert changed != before and thread.a_setting_of_this_test is True
        late.set(False)
        assert cache_context() == before
        with late(True):
            assert cache_context() != before
        assert cache_context() == before
    finally:
        del SETTINGS["a_setting_of_this_test"]


def test_programs_are_found_by_the_settings_of_plugins():
    import tangrad.numpy as np

    traces = []

    @tangrad.jit
    def f(key):
        traces.append(None)
        return tangrad.random.uniform(key, (8,))

    key = tangrad.random.key(0)
    plain = np.asarray(f(key)).tolist()
    with tangrad.threefry_partitionable(False):
        older = np.asarray(f(key)).tolist()
    assert np.asarray(f(key)).tolist() == plain and len(traces) == 2 and older != plain


def test_every_setting_is_declared():
    for name in names():
        assert setting(name).name == name
    declared = {plugin.name for plugin in composition().entries(SETTINGS_GROUP)}
    own = {name for name, one in SETTINGS.items() if one.defined_in.startswith("tangrad.")}
    assert own <= declared, "a setting without an entry point is not found by name"


def test_the_kernel_has_only_settings_that_it_or_any_backend_reads():
    owners = {plugin.name: plugin.distribution for plugin in composition().entries(SETTINGS_GROUP)}
    assert owners["threefry_partitionable"] == "tangrad-random"
    assert owners["default_matmul_precision"] == "tangrad-lax"
    assert owners["numpy_rank_promotion"] == "tangrad-numpy"
    assert owners["compilation_cache_dir"] == owners["xla_platforms"] == "tangrad-backend-xla"
