"""Which backend is used where nobody chooses: that of the highest priority which can be loaded."""

import subprocess
import sys

import pytest

import tangrad
from tangrad.core import Array, Backend, backend_names, configure_plugins, get_backend, register
from tangrad.errors import BackendError


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
def nobody_chooses():
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
    with pytest.raises(
        BackendError, match=r"there is no backend 'abacus'; installed: .*\. Install one: pip install tangrad-"
    ):
        get_backend("abacus")


def test_whoever_chooses_loads_no_other_backend():
    code = """
import sys, tangrad, tangrad.numpy as np
np.sin(np.arange(3.0))
assert not [name for name in sys.modules if name.startswith(("tangrad.backends.xla", "jaxlib"))]
"""
    environment = {"TANGRAD_BACKEND": "numpy", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_backend_that_is_not_used_does_not_load_its_compiler():
    code = """
import sys, tangrad
tangrad.default_backend()
assert "tangrad.backends.numpy.lowering" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
