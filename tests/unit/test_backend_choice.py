"""Which backend is used by default: that of the highest priority which can be loaded; and what one has by default."""

import subprocess
import sys

import numpy
import pytest

import tangrad
from tangrad._console.explanations.missing import explanations
from tangrad._console.report.backends import _does_not_start
from tangrad.core import Array, Backend, backend_names, composition, get_backend, register
from tangrad.core.tools import configure_plugins
from tangrad.errors import BackendError

# --- Which backend is used by default: that of the highest priority which can be loaded -----------------------------


class Imaginary(Backend):
    """A backend that computes nothing."""

    array_type = Array
    api = 1

    def __init__(self, name, priority=0):
        self.name = name
        self.priority = priority

    def plugin_entries(self):
        return [("tangrad.backends", self.name)]


@pytest.fixture(autouse=True)
def no_backend_is_chosen():
    with tangrad.use_backend(None):
        yield


def test_the_highest_priority_is_the_default():
    best = max(get_backend(name).priority for name in backend_names())
    with register(Imaginary("better", best + 1)), register(Imaginary("best", best + 2)):
        assert get_backend().name == tangrad.default_backend() == "best"
    assert get_backend().name != "best"


def test_without_a_priority_a_backend_is_used_only_where_it_is_chosen():
    usual = get_backend().name
    with register(Imaginary("a_humble_one")):
        assert get_backend().name == usual and get_backend("a_humble_one").name == "a_humble_one"
        with tangrad.use_backend("a_humble_one"):
            assert get_backend().name == "a_humble_one"


def test_of_equals_the_first_by_name_is_used():
    best = max(get_backend(name).priority for name in backend_names()) + 1
    with register(Imaginary("zebra", best)), register(Imaginary("aardvark", best)):
        assert get_backend().name == "aardvark"


def test_what_cannot_be_used_is_passed_over():
    usual = get_backend().name
    others = [get_backend(name) for name in backend_names() if name != usual]
    try:
        configure_plugins(deny=[f"*:backends:{usual}"])
        if others:
            assert get_backend().name == max(others, key=lambda backend: backend.priority).name
        else:
            with pytest.raises(BackendError, match="no backend is usable"):
                get_backend()
    finally:
        configure_plugins()
    assert get_backend().name == usual


def test_what_is_not_installed_is_named():
    with pytest.raises(BackendError, match=r"there is no backend 'abacus'; installed: .*\.") as raised:
        get_backend("abacus")
    assert not any(f"tangrad-backend-{name}" in str(raised.value) for name in backend_names())


@pytest.mark.parametrize("name", ["cuda", "gpu"])
def test_a_missing_platform_is_cured_by_the_extra_that_brings_it(name):
    if devices_of_platform(name):
        pytest.skip("there is such a device here")
    words = rf'there is no backend {name!r}; .* pip install "tangrad\[cuda\]"'
    for ask in (tangrad.devices, tangrad.use_backend, get_backend):
        with pytest.raises(BackendError, match=words) as raised:
            ask(name)
        assert "tangrad-backend" not in str(raised.value)


def test_the_doctor_installs_a_plugin_that_is_missing():
    why = "'cuda' did not start: no plugin for cuda is installed: pip install 'tangrad[cuda]', or 'tangrad[cuda12]'"
    assert _does_not_start("xla", why).paste == 'pip install "tangrad[cuda]"'
    assert "TANGRAD_DENY" in _does_not_start("xla", "the driver is too old").paste


def devices_of_platform(name):
    try:
        return tangrad.devices(name)
    except BackendError:
        return []


@pytest.mark.parametrize(
    ("missing", "cure"), [("tangrad-backend-numpy", "tangrad-backend-numpy"), ("tangrad-backend-xla", '"tangrad[xla]"')]
)
def test_a_missing_backend_is_cured_by_what_brings_it(monkeypatch, missing, cure):
    monkeypatch.setattr(type(composition().index), "has_distribution", lambda _, name: name != missing)
    assert (
        explanations.backends_to_install()
        == explanations.backends_to_install("abacus")
        == f" Install one: pip install {cure}"
    )
    assert explanations.backends_to_install("xla") == ' Install one: pip install "tangrad[xla]"'


@pytest.mark.parametrize("choose", [tangrad.use_backend, lambda name: tangrad.config.update("backend", name)])
def test_a_backend_that_is_not_there_is_refused_where_it_is_chosen(choose):
    before = tangrad.config.backend
    with pytest.raises(BackendError, match="there is no backend 'abacus'"):
        choose("abacus")
    with pytest.raises(TypeError, match="setting 'backend' does not take 3"):
        choose(3)
    assert tangrad.config.backend == before
    with tangrad.use_backend(None), tangrad.use_backend(backend_names()[0]):
        assert get_backend().name == backend_names()[0]


def test_a_chosen_backend_loads_no_other():
    code = """
import sys, tangrad, tangrad.numpy as np
np.sin(np.arange(3.0))
assert not [name for name in sys.modules if name.startswith(("tangrad._backend_xla", "jaxlib"))]
"""
    environment = {"TANGRAD_BACKEND": "numpy", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_backend_that_is_not_used_does_not_load_its_compiler():
    code = """
import sys, tangrad
tangrad.default_backend()
assert "tangrad._backend_numpy.lowering" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- What a backend has that says nothing else ----------------------------------------------------------------------


class Recording(Backend):
    """A backend whose arrays are what it was asked to put."""

    name = "recording"

    def put(self, value, aval, device=None):
        return value, aval.str_short(), device


def test_arrays_of_other_libraries_are_put():
    external = numpy.arange(3, dtype="int16")
    contents, kind, device = Recording().from_dlpack(external, "somewhere")
    numpy.testing.assert_array_equal(contents, external)
    assert (kind, device) == ("i16[3]", "somewhere")
    assert Recording().from_dlpack(external, copy=True)[2] is None


def test_memory_that_cannot_be_shared_is_not_copied_against_the_callers_will():
    with pytest.raises(BufferError, match="'recording' shares no memory with other libraries"):
        Recording().from_dlpack(numpy.arange(3), copy=False)
