"""The public names of JAX's modules: each is here, or the documentation says why not."""

import importlib
import importlib.util
import pkgutil
import types
import warnings
from fnmatch import fnmatch

import pytest

from tools.docs import tables

jax = pytest.importorskip("jax")
FIRST, LAST = jax.__version__.startswith("0.10."), jax.__version__.startswith("0.12.")
pytestmark = pytest.mark.skipif(
    not (FIRST or LAST), reason=f"the tables are of JAX 0.10 and 0.12, and {jax.__version__} is installed"
)

SCIPY = """cluster cluster.vq fft integrate interpolate linalg ndimage optimize signal sparse sparse.linalg spatial
spatial.transform special stats"""
SINGLE = """custom_batching custom_derivatives debug distributed dlpack dtypes errors export ffi flatten_util monitoring
profiler sharding stages test_util tree tree_util typing"""
EXPERIMENTAL = """checkify mesh_utils multihost_utils ode pjit shard_map sparse sparse.linalg"""
MODULES = [
    *["lax", "lax.linalg", "nn", "nn.initializers", "random", "numpy", "numpy.linalg", "numpy.fft", "ops", "image"],
    *["scipy", *[f"scipy.{name}" for name in SCIPY.split()], *SINGLE.split()],
    *["example_libraries.optimizers", "example_libraries.stax"],
    *["experimental", *[f"experimental.{name}" for name in EXPERIMENTAL.split()]],
]
# Packages whose modules count as names, whether they are imported or not.
PACKAGES = ("", "experimental")
# Names that modules of JAX have without meaning to: what they import for themselves.
PRIVATE = {"Array", "annotations"}
# Modules without `__all__` show all that they import; what comes from here is not theirs.
HELPERS = ("jax._src.util", "jax._src.tree_util", "jax._src.flatten_util")
IMPORTING = ("example_libraries.", "experimental.", "test_util")


def distributions():
    path = importlib.import_module("jax.scipy.stats").__path__
    return [f"scipy.stats.{found.name}" for found in pkgutil.iter_modules(path)]


def public_names(module):
    path = f"jax.{module}".rstrip(".")
    found = importlib.import_module(path)

    def is_public(name):
        value = getattr(found, name)
        if name.startswith("_") or name in PRIVATE:
            return False
        if isinstance(value, types.ModuleType):
            return module != "" and value.__name__ == f"{path}.{name}"
        home = str(getattr(value, "__module__", None) or type(value).__module__)
        foreign = not home.startswith("jax") or home.startswith(HELPERS)
        return not (foreign and module.startswith(IMPORTING))

    return [*filter(is_public, dir(found)), *(submodules(path) if module in PACKAGES else [])]


def submodules(path):
    found = pkgutil.iter_modules(importlib.import_module(path).__path__)
    return [module.name for module in found if not module.name.startswith("_")]


def is_here(module, name):
    path = f"tangrad.{module}".rstrip(".")
    found = importlib.import_module(path)
    with warnings.catch_warnings():
        # A former name is here, and says how the thing is named now.
        warnings.simplefilter("ignore", DeprecationWarning)
        if hasattr(found, name):
            return True
    return module in PACKAGES and importlib.util.find_spec(f"{path}.{name}") is not None


@pytest.mark.parametrize("module", ["", *MODULES, *distributions()])
def test_every_name_is_here_or_has_a_reason(module):
    patterns = tables.reasons().get(module or "jax", {})
    newer = tables.reasons(newer=True).get(module or "jax", {}) if LAST else {}
    absent = [name for name in public_names(module) if not is_here(module, name)]
    unexplained = [name for name in absent if not any(fnmatch(name, pattern) for pattern in [*patterns, *newer])]
    assert not unexplained
    # What JAX has dropped since 0.10 is in the first table all the same.
    unneeded = [
        pattern for pattern in (newer if LAST else patterns) if not any(fnmatch(name, pattern) for name in absent)
    ]
    assert not unneeded, "the reasons are for names that are here, or that JAX does not have"


@pytest.mark.parametrize("newer", [False, True])
def test_reasons_are_for_modules_that_are_compared(newer):
    assert set(tables.reasons(newer)) <= {"jax", *MODULES}
