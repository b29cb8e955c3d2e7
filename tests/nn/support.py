"""What the tests of `tangrad.nn` share: a function and its derivatives, by Tangrad and by JAX."""

import contextlib
import importlib

import numpy as np
import pytest

import tangrad

settings = importlib.import_module("tangrad._core.settings.config")

BACKENDS = ("numpy", "xla")
TOLERANCES = {"float16": 3e-3, "bfloat16": 3e-2, "float32": 5e-6, "complex64": 5e-6, "float64": 1e-12}


def reference():
    """JAX with its `nn`, or the test is skipped."""
    jax = pytest.importorskip("jax", reason="the reference is not installed")
    importlib.import_module("jax.nn")
    return jax


@contextlib.contextmanager
def using(backend):
    """Run with a backend, every jaxpr checked."""
    with settings.backend(backend), settings.check_jaxprs(True):
        yield


def close(ours, theirs, slack=1.0, weak=True):
    """Equal trees of arrays: shapes, dtypes, weak types, and values within the tolerance of their dtype."""
    ours, theirs = tangrad.tree.leaves(ours), reference().tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        if weak and isinstance(one, tangrad.Array):
            assert one.weak_type == other.weak_type
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        near = TOLERANCES.get(one.dtype.name, 0) * slack
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(one.astype(wide), other.astype(wide), rtol=near, atol=near)


def with_derivatives(function):
    """A program of an API and a float array: the value, a cotangent, and the tangent of a gradient."""

    def program(api):
        def run(x):
            value, pull = api.vjp(lambda x: function(api, x), x)
            weights = np.cos(np.arange(value.size, dtype="float32")).reshape(value.shape).astype(value.dtype)

            def loss(x):
                return (function(api, x) * weights).sum()

            return value, pull(weights)[0], api.jvp(api.grad(loss), (x,), (x * 0 + 1,))[1]

        return run

    return program


def check(function, *arrays, slack=1.0):
    """`function(api, x)` and its first two derivatives agree with JAX's: on NumPy eager and jitted, on XLA jitted."""
    jax = reference()
    program = with_derivatives(function)
    theirs = jax.jit(program(jax))
    for x in arrays:
        expected = theirs(x)
        for backend in BACKENDS:
            with using(backend):
                close(tangrad.jit(program(tangrad))(x), expected, slack, weak=False)
                if backend == "numpy":
                    close(program(tangrad)(x), expected, slack, weak=False)
