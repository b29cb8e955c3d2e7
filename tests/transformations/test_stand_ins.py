"""Objects that stand for arrays and pass on every attribute to them, such as variables of neural networks."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


class Variable:
    """Holds an array; what it does not know itself the array answers, `aval` and the backend's own slots included."""

    def __init__(self, held):
        self.held = held

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "held"), name)

    def __jax_array__(self):
        return self.held

    def __mul__(self, other):
        return self.held * other


SQUARE = numpy.linspace(0.2, 1.0, 9, dtype="float32").reshape(3, 3)
PROGRAMS = {
    "unary": lambda v, x: np.sin(v),
    "unary of lax": lambda v, x: lax.sin(v),
    "activation": lambda v, x: tangrad.nn.relu(v) + tangrad.nn.silu(v),
    "on the right": lambda v, x: x + v,
    "on the left": lambda v, x: v * x,
    "function of two": lambda v, x: np.maximum(v, x) + np.add(v, v),
    "of a number": lambda v, x: np.multiply(v, 2.0) + np.power(v, 2),
    "binary of lax": lambda v, x: lax.mul(x, lax.add(v, v)),
    "product": lambda v, x: x @ v,
    "matmul": lambda v, x: np.matmul(v, x),
    "dot": lambda v, x: np.dot(x, v),
    "einsum": lambda v, x: np.einsum("ij,jk->ik", x, v),
    "where": lambda v, x: np.where(x > 0.5, v, x),
    "select": lambda v, x: lax.select(x > 0.5, v, x),
    "sum": lambda v, x: np.sum(v, axis=0) + np.mean(v) + np.max(v),
    "stack": lambda v, x: np.stack([v, x]),
    "shapes": lambda v, x: np.reshape(np.transpose(v), -1) + lax.reshape(v, (9,)),
    "take": lambda v, x: np.take(v, 1, axis=0) + np.clip(v, 0.3, 0.8),
    "softmax": lambda v, x: tangrad.nn.softmax(v),
    "solve": lambda v, x: np.linalg.norm(v),
    "asarray": lambda v, x: np.asarray(v) + np.float32(1),
    "round": lambda v, x: np.round(v, 1) + np.var(v),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_the_arrays_that_they_represent(name):
    program = PROGRAMS[name]
    x = np.asarray(SQUARE)

    def by_variable(w):
        return program(Variable(w), x)

    def by_array(w):
        return program(w, x)

    for transform in (
        lambda f: f,
        tangrad.jit,
        lambda f: tangrad.grad(lambda w: np.sum(f(w))),
        lambda f: tangrad.jit(tangrad.grad(lambda w: np.sum(f(w)))),
        lambda f: lambda w: tangrad.jvp(f, (w,), (w,))[1],
        lambda f: lambda w: tangrad.vmap(f)(np.stack([w, 2 * w])),
    ):
        for _ in range(2):  # the second call of an operation takes a shorter way
            found, expected = transform(by_variable)(x + 1), transform(by_array)(x + 1)
        numpy.testing.assert_allclose(found, expected, rtol=1e-6)
