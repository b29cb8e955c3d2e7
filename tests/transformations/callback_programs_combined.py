"""Programs with callbacks inside of several transformations at once; see callback_support.py."""

import numpy as np

from tests.transformations.callback_support import INT, ONE, THREE, note, program


def noting(api, record, function, tag="x"):
    """A function whose argument is recorded."""

    def noted(x, *rest):
        note(api, record, tag, x)
        return function(x, *rest)

    return noted


@program(ONE)
def hessian(api, record):
    return api.hessian(noting(api, record, lambda x: x**3))


@program(THREE)
def both_jacobians(api, record):
    f = noting(api, record, lambda x: x**2)
    return lambda x: (api.jacrev(f)(x), api.jacfwd(f)(x))


@program(ONE)
def transposed(api, record):
    return lambda x: api.linear_transpose(noting(api, record, lambda x: 2 * x), x)(x)


@program(THREE)
def mapped_in_order(api, record):
    f = noting(api, record, lambda x: x * 2)
    return lambda x: (api.lax.map(f, x), api.lax.map(f, x, batch_size=2))


@program(THREE)
def scans_of_branches_mapped(api, record):
    def step(c, y):
        api.lax.cond(y > 1, lambda: note(api, record, "large", c), lambda: None)
        return c + y, None

    return api.vmap(lambda x: api.lax.scan(step, x, np.arange(3, dtype="float32"))[0])


@program(ONE, INT)
def gradient_of_a_switch(api, record):
    branches = [noting(api, record, lambda x, k=k: x**k, f"branch {k}") for k in (1, 2, 3)]
    return lambda x, n: api.grad(lambda x: api.lax.switch(n - 3, branches, x))(x)


@program(ONE)
def unrolled_scan(api, record):
    step = lambda c, y: (noting(api, record, lambda y: c + y)(y), None)
    return lambda x: api.lax.scan(step, x, np.arange(5, dtype="float32"), unroll=2)


@program(ONE)
def tangents_of_loops(api, record):
    double = noting(api, record, lambda c: c * 2)

    def f(x):
        grown = api.lax.while_loop(lambda c: c < 3, double, x)
        return api.lax.scan(lambda c, y: (double(c) * y, c), grown, np.arange(1, 4, dtype="float32"))

    return lambda x: api.jvp(f, (x,), (2 * x,))


@program(THREE)
def linear_solve(api, record):
    def solve(a, b):
        return api.lax.custom_linear_solve(
            noting(api, record, lambda v: a * v), b, lambda _, b: b / a, lambda _, b: b / a
        )

    return lambda x: (solve(x + 1, x), api.grad(lambda a: api.numpy.sum(solve(a, x)))(x + 1))


@program(ONE)
def root(api, record):
    def solve(f, x):
        return api.lax.fori_loop(0, 3, lambda _, v: v - f(v) / (2 * v), x)

    f = noting(api, record, lambda v: v**2 - 2)
    return lambda x: api.lax.custom_root(f, x, solve, lambda g, y: y / g(np.float32(1)))


@program(ONE)
def checkpoint_in_a_checkpoint(api, record):
    inner = api.checkpoint(noting(api, record, api.numpy.sin))
    return api.grad(api.checkpoint(lambda x: inner(x) * x))


@program(ONE)
def jitted_function_in_a_checkpoint(api, record):
    inner = api.jit(noting(api, record, api.numpy.cos))
    return api.grad(api.checkpoint(lambda x: api.numpy.cos(inner(x))))


@program(ONE)
def branch_in_a_checkpoint(api, record):
    inner = lambda x: api.lax.cond(x > 0, noting(api, record, api.numpy.cos), lambda x: x, x)
    return api.grad(api.checkpoint(lambda x: api.numpy.cos(inner(x))))


@program(ONE)
def scan_in_a_checkpoint(api, record):
    step = lambda c, _: (noting(api, record, api.numpy.cos)(c), None)
    inner = lambda x: api.lax.scan(step, x, None, length=2)[0]
    return api.grad(api.checkpoint(lambda x: api.numpy.cos(inner(x))))
