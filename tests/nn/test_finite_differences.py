"""Derivatives of every function of `nn` against finite differences, and their maps against loops."""

import inspect

import numpy as np
import pytest

import tangrad
from tangrad import enable_x64, nn, use_backend
from tests.primitives import reference

POINTS = np.linspace(-4.3, 4.4, 12)  # beside all kinks
ABOVE = np.abs(POINTS)
ROWS = POINTS.reshape(3, 4)
HEADS = reference.normal((2, 3, 2, 4), "float64")  # batches, places, heads, features
# Function -> a program and its arguments.
PROGRAMS = {
    **{
        name: (getattr(nn, name), POINTS)
        for name in (
            *("celu", "elu", "gelu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu"),
            *("log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus"),
            *("sparse_plus", "sparse_sigmoid", "squareplus", "swish", "tanh"),
        )
    },
    "log1mexp": (nn.log1mexp, ABOVE),
    "glu": (nn.glu, ROWS),
    "softmax": (nn.softmax, ROWS),
    "log_softmax": (nn.log_softmax, ROWS),
    "logsumexp": (lambda x: nn.logsumexp(x, axis=1, b=ROWS**2), ROWS),
    "logmeanexp": (lambda x: nn.logmeanexp(x, axis=1), ROWS),
    "standardize": (nn.standardize, ROWS),
    "dot_product_attention": (
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True),
        HEADS,
        HEADS[:, ::-1],
        HEADS * 2,
    ),
}
# Its logits are of single precision whatever its operands are, as in JAX: the ends of differences must be far apart.
WIDE_STEPS = {"dot_product_attention": {"step": 3e-3, "slack": 30}}
IN_SHORT = ("gelu", "log_softmax", "softplus")  # on XLA, where compiling takes long; the others there in the sweep
# What makes arrays of indices, and what multiplies numbers of eight bits: test_normalization and test_attention.
WITHOUT_SLOPES = {"one_hot", "scaled_matmul"}


def test_every_function_is_here():
    public = {name for name in dir(nn) if not name.startswith("_") and callable(getattr(nn, name))}
    assert {name for name in public if not inspect.ismodule(getattr(nn, name))} == {*PROGRAMS} | WITHOUT_SLOPES


ON_XLA = [pytest.param(name, "xla", marks=() if name in IN_SHORT else pytest.mark.sweep) for name in PROGRAMS]


@pytest.mark.parametrize("name, backend", [*[(name, "numpy") for name in PROGRAMS], *ON_XLA])
def test_derivatives_and_maps(name, backend):
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    program, *args = PROGRAMS[name]
    with enable_x64(True), use_backend(backend):
        reference.check_finite_differences(program, args, **WIDE_STEPS.get(name, {}))
        slopes = tangrad.grad(lambda *args: program(*args).sum(), tuple(range(len(args))))
        options = WIDE_STEPS.get(name, {"step": 1e-5, "slack": 10})
        reference.check_finite_differences(lambda *args: slopes(*args)[0], args, **options)
        slack = 1e5 if name in WIDE_STEPS else 1
        reference.check_mapped(program, args, (0,) * len(args), slack=slack)
        reference.check_mapped(lambda *args: list(slopes(*args)), args, (0,) * len(args), slack=slack)
