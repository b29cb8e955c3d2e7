"""Derivatives of programs that were written and read: every order that `vjp_order` promises, backwards and forwards."""

import subprocess
import sys

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import export

X = numpy.linspace(0.2, 1.4, 6, dtype="float32").reshape(3, 2)
COUNT, WEIGHTS = numpy.int32(3), {"w": numpy.linspace(1, 2, 4, dtype="float32")}


def program(x, count, weights):
    """Floats and integers on both sides, and a result that depends on none of the floats."""
    return {"a": np.sin(x) * weights["w"].sum() * count, "next": count + 1}, np.exp(-x.sum(0))


def loss(call):
    def total(x):
        return sum(np.sum(leaf**2) for leaf in tangrad.tree.leaves(call(x, COUNT, WEIGHTS)) if leaf.dtype == "float32")

    return total


def along(f):
    """The derivative in a fixed direction, forwards."""
    return lambda x: tangrad.jvp(f, (x,), (np.ones_like(x),))[1]


def square(f):
    return lambda x: np.sum(f(x) ** 2)


# A derivative of a loss, and the order that a file must have for it.
DERIVATIVES = {
    "grad": (lambda f: tangrad.grad(f), 1),
    "vjp": (lambda f: lambda x: tangrad.vjp(f, x)[1](np.float32(2))[0], 1),
    "grad of grad": (lambda f: tangrad.grad(square(tangrad.grad(f))), 2),
    "jvp": (along, 2),
    "linearize": (lambda f: lambda x: tangrad.linearize(f, x)[1](np.ones_like(x)), 2),
    "grad of jvp": (lambda f: tangrad.grad(along(f)), 3),
    "jvp of grad": (lambda f: along(tangrad.grad(f)), 3),
    "third": (lambda f: tangrad.grad(square(tangrad.grad(square(tangrad.grad(f))))), 3),
    "jvp of jvp": (lambda f: along(along(f)), 4),
    "in a loop": (
        lambda f: tangrad.grad(lambda x: tangrad.lax.scan(lambda c, _: (c + f(c), f(c)), x, None, 2)[1].sum()),
        1,
    ),
    "recomputed": (lambda f: tangrad.grad(tangrad.checkpoint(f)), 1),
}


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib")
    with tangrad.use_backend(request.param):
        yield request.param


def read(order):
    return export.deserialize(export.export(tangrad.jit(program))(X, COUNT, WEIGHTS).serialize(vjp_order=order))


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_orders_that_are_promised(name, wrap, backend):
    derivative, order = DERIVATIVES[name]
    found, expected = [wrap(derivative(loss(call)))(np.asarray(X)) for call in (read(order).call, program)]
    numpy.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)


# In a process that has not exported it: here the program that was written is known with all its derivatives.
REFUSED = """
import sys, numpy, tangrad
from tests.export.test_derivatives import COUNT, DERIVATIVES, WEIGHTS, X, loss
from tangrad import export
for order in (0, 1, 2):
    with open(sys.argv[1] + str(order), "rb") as file:
        read = export.deserialize(file.read())
    for name, (derivative, needed) in DERIVATIVES.items():
        try:
            derivative(loss(read.call))(X)
        except ValueError as error:
            print(order, name, error, sep="\t")
        else:
            print(order, name, "done", sep="\t")
"""


def test_orders_beyond_are_refused_and_the_cure_named(tmp_path, backend):
    for order in (0, 1, 2):
        made = export.export(tangrad.jit(program))(X, COUNT, WEIGHTS)
        (tmp_path / f"program{order}").write_bytes(made.serialize(vjp_order=order))
    code = f"import tangrad\ntangrad.config.update('backend', {backend!r})\n{REFUSED}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "program")], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        order, name, outcome = line.split("\t")
        assert outcome == "done" if int(order) >= DERIVATIVES[name][1] else "vjp_order=" in outcome, line
    assert len(done.stdout.splitlines()) == 3 * len(DERIVATIVES)


def test_a_derivative_is_made_once(backend):
    made = export.export(tangrad.jit(program))(X, COUNT, WEIGHTS)
    assert made.vjp() is made.vjp() and made.vjp().vjp() is made.vjp().vjp()
