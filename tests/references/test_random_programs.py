"""Random programs with references: the results of the same programs without, and of JAX's references."""

from types import SimpleNamespace

import numpy as np
import pytest

import tangrad
from tangrad import numpy as tnp
from tests.references.programs import by_references, by_values, draw_program, has_while

OURS = SimpleNamespace(new_ref=tangrad.new_ref, ref=tangrad.ref, lax=tangrad.lax, numpy=tnp, jit=tangrad.jit)
X = np.array([0.3, -0.8, 1.1, 0.6], "float32")
ROWS = np.stack([X, X[::-1], X * 0.5])

FORWARD = {
    "eager": lambda f: f(X),
    "jit": lambda f: tangrad.jit(f)(X),
    "vmap": lambda f: tangrad.vmap(f)(ROWS),
    "jacfwd": lambda f: tangrad.jacfwd(f)(X),
    "jit of vmap": lambda f: tangrad.jit(tangrad.vmap(f))(ROWS),
    "scan": lambda f: tangrad.lax.scan(lambda c, x: (c + f(x), c), 0.0, ROWS),
    "cond": lambda f: tangrad.lax.cond(X[0] > 0, f, lambda x: 0.0, X),
}
REVERSE = {
    "grad": lambda f: tangrad.grad(f)(X),
    "jit of grad": lambda f: tangrad.jit(tangrad.grad(f))(X),
    "grad of jit": lambda f: tangrad.grad(tangrad.jit(f))(X),
    "vmap of grad": lambda f: tangrad.vmap(tangrad.grad(f))(ROWS),
    "grad of vmap": lambda f: tangrad.grad(lambda xs: tnp.sum(tangrad.vmap(f)(xs)))(ROWS),
    "grad of checkpoint": lambda f: tangrad.grad(tangrad.checkpoint(f))(X),
    "hessian": lambda f: tangrad.hessian(f)(X),
}


def check_equal(one, other):
    for mine, right in zip(tangrad.tree.leaves(one), tangrad.tree.leaves(other), strict=True):
        np.testing.assert_allclose(mine, right, rtol=2e-4, atol=2e-5)


def check_program(seed):
    program = draw_program(seed)
    mine, right = by_references(OURS, program), by_values(OURS, program)
    ways = FORWARD if has_while(program) else FORWARD | REVERSE
    for run in ways.values():
        check_equal(run(mine), run(right))


@pytest.mark.parametrize("seed", range(6))
def test_programs_have_the_results_of_those_without_references(seed):
    with tangrad.use_backend("numpy"):
        check_program(seed)


def test_a_program_on_xla():
    with tangrad.use_backend("xla"):
        check_program(3)


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("seed", range(6, 18))
def test_many_programs_have_the_results_of_those_without_references(seed, backend):
    with tangrad.use_backend(backend):
        check_program(seed)


@pytest.mark.parametrize("seed", range(4))
def test_programs_have_the_results_of_jax(seed):
    jax = pytest.importorskip("jax")
    if not hasattr(jax, "new_ref"):
        pytest.skip("this release of jax has no references")
    theirs = SimpleNamespace(new_ref=jax.new_ref, ref=jax.ref, lax=jax.lax, numpy=jax.numpy, jit=jax.jit)
    program = draw_program(seed)
    right = jax.jit(by_references(theirs, program))(jax.numpy.asarray(X))
    check_equal(tangrad.jit(by_references(OURS, program))(X), right)
