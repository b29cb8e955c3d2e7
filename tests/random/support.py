"""What the tests of random numbers share: the same draw by Tangrad and by JAX, and how far two floats are apart."""

import contextlib
import importlib

import numpy as np
import pytest

import tangrad
from tangrad import random

settings = importlib.import_module("tangrad._core.settings.config")

BACKENDS = ("numpy", "xla")


def reference():
    """JAX, or the test is skipped."""
    return pytest.importorskip("jax", reason="the reference is not installed")


@contextlib.contextmanager
def using(backend, x64=False, partitionable=True):
    """Run with a backend and settings, every jaxpr checked; JAX, where it is installed, with the same settings."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(settings.backend(backend))
        stack.enter_context(settings.enable_x64(x64))
        stack.enter_context(tangrad.threefry_partitionable(partitionable))
        stack.enter_context(settings.check_jaxprs(True))
        if importlib.util.find_spec("jax") is not None:
            import jax

            stack.enter_context(jax.enable_x64(x64))
            stack.enter_context(jax.threefry_partitionable(partitionable))
        yield


def contents(tree):
    """A tree of arrays as NumPy arrays; keys as their words."""
    return tangrad.tree.map(_contents, tree)


def _contents(leaf):
    if "key" in str(leaf.dtype):
        module = random if isinstance(leaf, tangrad.Array) else reference().random
        leaf = module.key_data(leaf)
    return np.asarray(leaf)


def same(ours, theirs, where=""):
    """Equal shapes, dtypes and bits."""
    one, other = contents(ours), contents(theirs)
    assert (one.dtype, one.shape) == (other.dtype, other.shape), where
    assert one.tobytes() == other.tobytes(), f"{where}: {one} and {other}"


def units_apart(ours, theirs, floor=0.0):
    """The greatest distance in units in the last place of the second, or of `floor` where that is greater."""
    one, other = np.asarray(ours), np.asarray(theirs)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    if one.dtype.kind == "c":
        return max(units_apart(one.real, other.real, floor), units_apart(one.imag, other.imag, floor))
    if one.dtype.kind in "iub":
        return float(np.max(one != other, initial=0))
    step = np.maximum(np.spacing(np.abs(other)), np.spacing(np.asarray(floor, other.dtype)))
    apart = np.abs(one.astype(np.float64) - other.astype(np.float64)) / step.astype(np.float64)
    return float(np.max(np.where(one == other, 0, apart), initial=0))


def slow_but(usual, names):
    """The names as parameters of a test, marked slow but for the usual ones: compiling for XLA takes long."""
    return [name if name in usual else pytest.param(name, marks=pytest.mark.slow) for name in names]
