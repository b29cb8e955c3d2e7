"""The public names of JAX's modules: each is here, or the documentation says why not."""

import importlib
import pkgutil
import types
from fnmatch import fnmatch

import pytest

from tools.docs import missing

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.skipif(
    not jax.__version__.startswith("0.10."), reason="the table is of JAX 0.10, and another release is installed"
)

SCIPY = """cluster cluster.vq fft integrate interpolate linalg ndimage optimize signal sparse sparse.linalg spatial
spatial.transform special stats"""
MODULES = [
    *["lax", "lax.linalg", "nn", "nn.initializers", "random", "numpy", "numpy.linalg", "numpy.fft", "ops", "image"],
    *["scipy", *[f"scipy.{name}" for name in SCIPY.split()]],
]
# Names that modules of JAX have without meaning to: what they import for themselves.
PRIVATE = {"Array", "annotations"}


def distributions():
    path = importlib.import_module("jax.scipy.stats").__path__
    return [f"scipy.stats.{found.name}" for found in pkgutil.iter_modules(path)]


def public_names(module):
    found = importlib.import_module(f"jax.{module}")

    def is_public(name):
        value = getattr(found, name)
        imported = isinstance(value, types.ModuleType) and value.__name__ != f"jax.{module}.{name}"
        return not (name.startswith("_") or name in PRIVATE or imported)

    return [name for name in dir(found) if is_public(name)]


def is_here(module, name):
    try:
        getattr(importlib.import_module(f"tangrad.{module}"), name)
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("module", [*MODULES, *distributions()])
def test_every_name_is_here_or_has_a_reason(module):
    patterns = missing.reasons().get(module, {})
    absent = [name for name in public_names(module) if not is_here(module, name)]
    unexplained = [name for name in absent if not any(fnmatch(name, pattern) for pattern in patterns)]
    assert not unexplained
    unneeded = [pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in absent)]
    assert not unneeded, "the reasons are for names that are here, or that JAX does not have"


def test_reasons_are_for_modules_that_are_compared():
    assert set(missing.reasons()) <= set(MODULES)
