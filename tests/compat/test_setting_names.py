"""JAX's names of settings: those that are settings here, those that are so anyway, and those that change nothing."""

import subprocess
import sys

import pytest

import tangrad
from tangrad import config
from tangrad._compat import setting_names
from tangrad._compat.setting_names import NAMES, Alias, Fixed, Ignored
from tangrad._core.kernel import all_settings
from tangrad._core.kernel.all_settings import names
from tangrad.errors import MissingDistributionError

ALIASES = {name: known for name, known in NAMES.items() if isinstance(known, Alias)}


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    """Whatever a test sets is undone."""
    monkeypatch.setattr(setting_names, "_said", {})
    before = {known.setting: config.read(known.setting) for known in ALIASES.values() if known.setting in names()}
    yield
    for name, value in before.items():
        config.update(name, value)


def test_every_name_of_jax_is_known():
    pytest.importorskip("jax")
    # In a process of its own: modules of JAX that other tests import add more.
    code = "import jax; print(*jax.config.values)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    names_there = {name for name in printed.stdout.split() if name.startswith(("jax_", "jax2tf_"))}
    assert len(names_there) > 100 and names_there <= NAMES.keys()


def test_names_are_sorted_and_reasons_are_given():
    assert list(NAMES) == sorted(NAMES)
    assert all(known.reason for known in NAMES.values() if not isinstance(known, Alias))
    assert {known.setting for known in ALIASES.values()} <= set(names())


def test_a_setting_by_its_name_there():
    config.update("jax_enable_x64", True)
    assert config.enable_x64 is config.jax_enable_x64 is config.read("jax_enable_x64") is True
    assert tangrad.numpy.ones(2).dtype == "float64"
    config.update("jax_enable_x64", False)
    assert tangrad.numpy.ones(2).dtype == "float32"
    config.jax_debug_nans = True
    assert config.debug_nans is True


@pytest.mark.parametrize(
    ("name", "said", "setting", "value"),
    [
        ("jax_platforms", "cpu", "xla_platforms", ("cpu",)),
        ("jax_platforms", "", "xla_platforms", None),
        ("jax_platform_name", "gpu", "xla_platforms", ("cuda",)),
        ("jax_num_cpu_devices", -1, "num_cpu_devices", None),
        ("jax_traceback_filtering", "remove_frames", "traceback_filtering", "auto"),
        ("jax_compilation_cache_max_size", -1, "compilation_cache_max_size", None),
        ("jax_persistent_cache_min_compile_time_secs", 2.0, "xla_cache_min_compile_seconds", 2.0),
        ("jax_numpy_rank_promotion", "raise", "numpy_rank_promotion", "raise"),
        ("jax_enable_checks", True, "check_jaxprs", True),
    ],
)
def test_values_that_are_called_otherwise(name, said, setting, value):
    config.update(name, said)
    assert config.read(setting) == value
    assert config.read(name) == value


@pytest.mark.parametrize("name", [name for name, known in NAMES.items() if isinstance(known, Fixed)])
def test_what_is_so_anyway_can_be_said_and_nothing_else(name):
    known = NAMES[name]
    for value in (known.value, *known.also):
        config.update(name, value)
        assert config.read(name) == known.value
    with pytest.raises(ValueError, match="cannot be") as error:
        config.update(name, "something else")
    assert known.reason in str(error.value)


@pytest.mark.parametrize("name", [name for name, known in NAMES.items() if isinstance(known, Ignored)])
def test_what_changes_nothing_is_kept(name):
    assert config.read(name) == NAMES[name].default
    config.update(name, 17)
    assert config.read(name) == 17


def test_bad_values_and_unknown_names():
    with pytest.raises(TypeError, match="enable_x64"):
        config.update("jax_enable_x64", "yes")
    for call in (lambda: config.update("jax_colour", 1), lambda: config.jax_colour):
        with pytest.raises(AttributeError, match="no setting 'jax_colour'"):
            call()


def test_a_platform_can_be_said_where_its_backend_is_not_installed():
    def missing(name):
        raise MissingDistributionError(name, "tangrad-backend-xla")

    setting_names.update("jax_platforms", "cpu", missing)
    assert setting_names.read("jax_platforms", missing) == "cpu"
    with pytest.raises(MissingDistributionError, match="tangrad-backend-xla"):
        setting_names.update("jax_platforms", "gpu", missing)


def test_what_understands_the_names_is_named_where_it_is_not_installed(monkeypatch):
    composition = tangrad.core.composition()
    monkeypatch.setattr(all_settings.composition(), "find", lambda group, name: None)
    monkeypatch.setattr(type(composition.index), "has_distribution", lambda self, name: name != "tangrad-compat")
    for call in (lambda: config.update("jax_log_pgle", True), lambda: config.jax_log_pgle):
        with pytest.raises(MissingDistributionError, match="pip install tangrad-compat"):
            call()


def test_what_an_entry_for_names_must_be():
    composition = tangrad.core.composition()
    plugin = composition.find("tangrad.setting_names", "jax")
    with pytest.raises(TypeError, match="expected a ForeignNames"):
        all_settings._check_names(plugin, setting_names)
