"""Callable objects as functions, whatever they have under the names that functions have."""

import pytest

import tangrad
import tangrad.numpy as np


class Answering:
    """Has something under every name, as configurations and recorders do."""

    def __getattr__(self, name):
        if name in ("__jax_array__", "__array__", "__wrapped__", "__signature__", "__code__"):
            raise AttributeError(name)
        return {"what": name}

    def __call__(self, x):
        return x * x


@pytest.mark.parametrize(
    "transform",
    [
        tangrad.jit,
        tangrad.grad,
        tangrad.value_and_grad,
        tangrad.vmap,
        tangrad.checkpoint,
        tangrad.jacfwd,
        tangrad.jacrev,
        tangrad.make_jaxpr,
        lambda f: lambda x: tangrad.lax.cond(True, f, f, x),
        lambda f: lambda x: tangrad.jvp(f, (x,), (x,)),
    ],
)
def test_names_that_are_no_text_are_no_names(transform):
    function = transform(Answering())
    x = np.ones(2) if transform in (tangrad.vmap, tangrad.jacfwd, tangrad.jacrev) else 2.0
    assert function(x) is not None
    assert isinstance(getattr(function, "__name__", ""), str)


def test_the_gradient_of_an_object():
    assert tangrad.grad(Answering())(3.0) == 6
    assert tangrad.vmap(Answering())(np.arange(3.0)).tolist() == [0, 1, 4]
