"""What a function returns beside its output comes back as it was returned."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np

AUXILIARY = {
    "grad": lambda f: tangrad.grad(f, has_aux=True)(2.0)[1],
    "value_and_grad": lambda f: tangrad.value_and_grad(f, has_aux=True)(2.0)[0][1],
    "jvp": lambda f: tangrad.jvp(f, (2.0,), (1.0,), has_aux=True)[2],
    "vjp": lambda f: tangrad.vjp(f, 2.0, has_aux=True)[2],
    "linearize": lambda f: tangrad.linearize(f, 2.0, has_aux=True)[2],
    "jacfwd": lambda f: tangrad.jacfwd(f, has_aux=True)(2.0)[1],
    "jacrev": lambda f: tangrad.jacrev(f, has_aux=True)(2.0)[1],
    "hessian": lambda f: tangrad.hessian(f, has_aux=True)(2.0)[1],
}


@pytest.mark.parametrize("name", sorted(AUXILIARY))
def test_values_that_hold_no_tracer_come_back_as_they_were(name):
    counts = numpy.array([2**40, 1])
    auxiliary = AUXILIARY[name](lambda x: (x**2, {"n": 3, "on": True, "rate": 0.1, "counts": counts, "text": "a"}))
    assert auxiliary["counts"] is counts
    assert type(auxiliary["n"]) is int and type(auxiliary["on"]) is bool and type(auxiliary["rate"]) is float
    assert auxiliary["rate"] == 0.1 and auxiliary["text"] == "a"


@pytest.mark.parametrize("name", sorted(AUXILIARY))
def test_traced_values_come_back_as_arrays(name):
    auxiliary = AUXILIARY[name](lambda x: (x**2, [x * 3, 5, np.arange(2)]))
    assert isinstance(auxiliary[0], tangrad.Array) and auxiliary[0] == 6
    assert auxiliary[1] == 5 and auxiliary[2].tolist() == [0, 1]


def test_they_pass_through_jit_and_vmap():
    f = tangrad.grad(lambda x: (x**2, (x, 3)), has_aux=True)
    slope, (x, three) = tangrad.jit(f)(2.0)
    assert slope == 4 and x == 2 and isinstance(three, tangrad.Array) and three == 3
    slope, (x, three) = tangrad.vmap(f)(np.arange(2.0))
    assert slope.tolist() == [0, 2] and x.tolist() == [0, 1] and three.tolist() == [3, 3]
