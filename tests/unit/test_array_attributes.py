"""What arrays can do: entries of the group `tangrad.array`, each loaded at its first use."""

import inspect
import subprocess
import sys

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad._console.explanations import catalogue
from tangrad._core.composition.attributes import ATTRIBUTES_GROUP, attributes
from tangrad._core.composition.plugin import _NOTHING
from tangrad._core.kernel.array import Array
from tangrad.core import register
from tangrad.errors import BrokenPluginError, MissingDistributionError, PluginConflictError, PluginWarning

X = np.arange(3.0)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_operator_is_loaded_without_the_others():
    code = """
import sys, tangrad, tangrad.numpy as np
x = np.arange(3.0)
x + x
assert not [name for name in ("indexing", "at", "products", "methods") if f"tangrad.numpy.{name}" in sys.modules]
x[0]
assert "tangrad._numpy.indexing" in sys.modules and "tangrad._numpy.products" not in sys.modules
"""
    run(code)


def test_a_method_of_ones_own():
    def doubled(self):
        return self + self

    with register(doubled, group="tangrad.array", name="doubled"):
        assert X.doubled().tolist() == [0, 2, 4] and "doubled" in dir(X)
        assert tangrad.jit(lambda x: x.doubled())(X).tolist() == [0, 2, 4]
    assert not hasattr(X, "doubled") and "doubled" not in dir(X)


def test_a_property_of_ones_own():
    with register(property(lambda self: self * 0), group="tangrad.array", name="nothing"):
        assert X.nothing.tolist() == [0, 0, 0]


def test_an_operator_of_another_type():
    def times(x, y):
        return ("times", x, y)

    with register(times, group="tangrad.array", name="__mul__", override=True):
        assert (X * 2)[0] == "times" and (2 * X)[1:] == (2, X)
    assert (X * 2).tolist() == [0, 2, 4]


def test_two_methods_of_one_name_are_a_conflict():
    with register(lambda self: 1, group="tangrad.array", name="ravel"):
        with pytest.raises(PluginConflictError, match=r"'ravel' of group 'tangrad\.array' is provided by"):
            X.ravel()
        assert X.sum() == 3  # what does not need it goes on
    assert X.ravel().tolist() == [0, 1, 2]


def test_what_cannot_be_bound_is_refused():
    with pytest.raises(TypeError, match="expected a function of the array, or a property, got 3 of type int"):
        register(3, group="tangrad.array", name="three")


def test_a_method_that_does_not_exist():
    with pytest.raises(AttributeError, match="an array has no attribute 'nonsense'"):
        X.nonsense
    assert not hasattr(X, "nonsense") and not hasattr(X, "__nonsense__")


def test_a_method_whose_distribution_is_not_installed(monkeypatch):
    monkeypatch.setattr(catalogue, "ARRAY_ATTRIBUTES", {"tangrad-imaginary": "frobnicate __add__"})
    with pytest.raises(
        MissingDistributionError, match=r"'frobnicate' is in the distribution tangrad-imaginary.*pip install"
    ):
        X.frobnicate()
    assert not hasattr(X, "frobnicate")


def test_a_broken_method_is_set_aside(monkeypatch):
    plugin = next(one for one in tangrad.core.composition().entries(ATTRIBUTES_GROUP) if one.name == "tobytes")
    monkeypatch.setattr(plugin, "value", "tangrad._numpy.methods:no_such_function")
    monkeypatch.setattr(plugin, "_object", _NOTHING)
    monkeypatch.setattr(plugin, "cause", None)  # and again after the test
    attributes.pop("tobytes", None)
    with pytest.warns(PluginWarning, match="tobytes"), pytest.raises(BrokenPluginError, match="no_such_function"):
        X.tobytes()
    assert X.tolist() == [0, 1, 2]


def test_all_operators_are_named_by_python():
    names = [plugin.name for plugin in tangrad.core.composition().entries(ATTRIBUTES_GROUP) if "__" in plugin.name]
    assert names and all(name in vars(Array) or name in dir(Array) for name in names)


# --- what the class shows -------------------------------------------------------------------------------------------


def test_the_class_has_the_methods_of_plugins():
    assert {"reshape", "T", "astype", "flat", "shape"} <= set(dir(tangrad.Array))
    assert "shape" in inspect.signature(tangrad.Array.reshape).parameters
    assert tangrad.Array.sum(np.ones(3)) == 3 and isinstance(tangrad.Array.T, property)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        tangrad.Array.colour


def test_elements_one_after_the_other():
    x = np.arange(4).reshape(2, 2)
    assert [int(element) for element in x.flat] == [0, 1, 2, 3]
    assert x.flat[2] == 2 and len(x.flat) == 4


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_protocols_of_other_libraries(backend):
    pytest.importorskip(f"tangrad._backend_{backend}.backend")
    with tangrad.use_backend(backend):
        x = np.arange(3.0)
        assert not hasattr(x, "__cuda_array_interface__")
        names = {"stream", "max_version", "dl_device", "copy"}
        assert inspect.signature(x.__dlpack__).parameters.keys() == names
        device = x.__dlpack_device__()
        assert numpy.from_dlpack(x).tolist() == [0, 1, 2]
        assert x.__dlpack__(stream=None, max_version=(1, 0), dl_device=device, copy=True) is not None
        assert np.__name__ == x.__array_namespace__().__name__
