"""Calls under a transfer guard that refuses implicit copies: Tangrad refuses what JAX does, and nothing else."""

import importlib
import warnings

import numpy
import pytest

from tests.differential.guarded_calls import CALLS

jax = pytest.importorskip("jax", reason="the reference is not installed")
tangrad = pytest.importorskip("tangrad")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the table is of JAX 0.10"),
]

DIFFERING = {
    **dict.fromkeys(
        ["T.scipy.stats.norm.pdf(x)", "T.scipy.stats.norm.pdf(x,s,s)"],
        "JAX's densities are not compiled: the constants of their formulas count",
    ),
    "lax.reduce(x,0.0,lax.add,(0,))": "JAX only looks whether the number is what sums begin with, and drops it",
}
VALUES = {
    "x": numpy.float32([1, 2, 3]),
    "m": numpy.eye(3, dtype="float32"),
    "i": numpy.int32([2, 0, 1]),
    "b": numpy.array([True, False, True]),
    "s": numpy.float32(2),
    "j": numpy.int32(1),
}


def names(root):
    """What the calls name, of one of the two packages."""
    for name in ("image", "ops", "scipy.linalg", "scipy.special", "scipy.stats"):
        importlib.import_module(f"{root.__name__}.{name}")
    arrays = {name: root.device_put(value) for name, value in VALUES.items()}
    keys = {"key": root.random.key(0), "old_key": root.random.PRNGKey(0)}
    return {"T": root, "np": root.numpy, "lax": root.lax, "numpy": numpy, "H": VALUES["x"], **arrays, **keys}


def is_refused(root, call, given):
    """Whether a guard refuses a call that has a result without one."""
    eval(call, given)
    with root.transfer_guard("disallow"):
        try:
            eval(call, given)
        except RuntimeError as error:  # that of XLA is one
            if "isallowed" not in str(error):
                raise
            return True
    return False


def differing(calls):
    theirs, ours = names(jax), names(tangrad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {one for one in calls if is_refused(jax, one, theirs) is not is_refused(tangrad, one, ours)}


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_some_calls(backend):
    with tangrad.use_backend(backend):
        assert differing(CALLS[3::25]) == set()


@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_every_call(backend):
    with tangrad.use_backend(backend):
        assert differing(CALLS) == set(DIFFERING)
