"""Solves whose derivatives are those of what they solve: `custom_implicit_solve` against formulas, and what is refused.

`custom_root` and `custom_linear_solve` are held against JAX in tests/differential.
"""

import re

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


X = numpy.linspace(0.5, 2.0, 4, dtype="float32")
MATRIX = numpy.array([[4.0, 1.0, 0.5], [0.2, 5.0, 1.0], [0.3, 0.1, 6.0]], "float32")
B = numpy.array([1.0, -2.0, 3.0], "float32")


def residual_of_root(a, x):
    return x**2 - a


def newton(residual, a, x):
    """A loop of a length that is not known: it could not be differentiated in reverse."""

    def step(state):
        i, x = state
        value, slope = tangrad.jvp(lambda y: residual(a, y), (x,), (np.ones_like(x),))
        return i + 1, x - value / slope

    return lax.while_loop(lambda state: state[0] < 12, step, (0, x))[1]


def richardson(linear, b):
    return lax.while_loop(
        lambda state: state[0] < 60, lambda state: (state[0] + 1, state[1] + (b - linear(state[1])) / 6.0), (0, b)
    )[1]


def square_root(a):
    one = lambda linear, b: b / linear(np.ones_like(b))
    return lax.custom_implicit_solve(residual_of_root, a, np.ones_like(a), newton, one)


def residual_of_system(operands, x):
    matrix, b = operands["matrix"], operands["b"]
    return matrix @ x + 0.1 * x**3 - b * operands["times"]


def solve_system(residual, operands, x):
    step = lambda state: (state[0] + 1, state[1] - residual(operands, state[1]) / 6.0)
    return lax.while_loop(lambda state: state[0] < 80, step, (0, x))[1]


def system(matrix, b):
    operands = {"matrix": matrix, "b": b, "times": 2}
    return lax.custom_implicit_solve(residual_of_system, operands, np.zeros_like(b), solve_system, richardson)


def close(found, expected, tolerance=1e-4):
    assert numpy.allclose(found, expected, rtol=tolerance, atol=tolerance), (found, expected)


def test_derivatives_of_all_orders():
    slope = lambda a: 0.5 / numpy.sqrt(a)
    for wrap in (lambda f: f, tangrad.jit):
        close(wrap(square_root)(X), numpy.sqrt(X))
        close(wrap(tangrad.grad(square_root))(2.0), slope(2.0))
        close(wrap(tangrad.grad(tangrad.grad(square_root)))(2.0), -0.25 * 2.0**-1.5)
        close(wrap(tangrad.grad(tangrad.grad(tangrad.grad(square_root))))(2.0), 0.375 * 2.0**-2.5)
        close(wrap(lambda a: tangrad.jvp(tangrad.grad(square_root), (a,), (1.0,))[1])(2.0), -0.25 * 2.0**-1.5)
        close(wrap(lambda a: tangrad.jvp(square_root, (a,), (a,)))(X), (numpy.sqrt(X), slope(X) * X))


def test_mapped_scanned_and_checkpointed():
    slopes = 0.5 / numpy.sqrt(X)
    close(tangrad.vmap(tangrad.grad(square_root))(X), slopes)
    close(tangrad.grad(lambda a: tangrad.vmap(square_root)(a).sum())(X), slopes)
    close(tangrad.jit(tangrad.vmap(tangrad.vmap(square_root)))(X.reshape(2, 2)), numpy.sqrt(X).reshape(2, 2))
    close(tangrad.grad(tangrad.checkpoint(square_root))(2.0), 0.5 / 2**0.5)
    chain = lambda a: lax.scan(lambda total, x: (total + square_root(a * x), None), 0.0, X)[0]
    close(tangrad.jit(tangrad.grad(chain))(2.0), (0.5 * numpy.sqrt(X / 2.0)).sum())
    nested = lambda a: square_root(square_root(a))
    close(tangrad.grad(nested)(2.0), 0.25 * 2.0**-0.75)


def test_solvers_that_are_loops_serve_reverse_mode():
    """The derivatives of the system against those of a Newton iteration that is differentiated itself."""

    def unrolled(matrix, b):
        def step(_, x):
            jacobian = matrix + np.diag(0.3 * x**2)
            improved = lambda _, inverse: inverse @ (2 * np.eye(3) - jacobian @ inverse)
            inverse = lax.fori_loop(0, 8, improved, np.eye(3) / 6.0)
            return x - inverse @ (matrix @ x + 0.1 * x**3 - 2 * b)

        return lax.fori_loop(0, 8, step, np.zeros_like(b))

    close(system(MATRIX, B), unrolled(MATRIX, B))
    loss = lambda solve: lambda matrix, b: (solve(matrix, b) ** 2).sum()
    for transform in (
        lambda f: tangrad.grad(f, (0, 1)),
        lambda f: tangrad.jit(tangrad.grad(f, (0, 1))),
        lambda f: tangrad.jit(tangrad.grad(lambda m, b: tangrad.grad(f)(m, b).sum(), 1)),
    ):
        ours, theirs = transform(loss(system))(MATRIX, B), transform(loss(unrolled))(MATRIX, B)
        for one, other in zip(tangrad.tree.leaves(ours), tangrad.tree.leaves(theirs), strict=True):
            close(one, other, 2e-3)
    many = numpy.stack([B, 2 * B, -B])
    mapped = tangrad.jit(tangrad.vmap(tangrad.grad(loss(system), 1), (None, 0)))(MATRIX, many)
    close(mapped, [tangrad.grad(loss(system), 1)(MATRIX, b) for b in many], 1e-3)


def test_auxiliary_values_and_closures():
    def solve(residual, a, x):
        return newton(residual, a, x), {"guess": x, "steps": 12}

    def root(a, shift):
        residual = lambda a, x: x**2 - a - shift
        return lax.custom_implicit_solve(
            residual, a, np.ones_like(a), solve, lambda linear, b: b / linear(1.0), has_aux=True
        )

    x, slopes = tangrad.value_and_grad(lambda *args: root(*args)[0], (0, 1))(2.0, 1.0)
    close(x, 3.0**0.5)
    close(slopes, (0.5 / 3**0.5,) * 2)
    _, aux = tangrad.jit(root)(2.0, 1.0)
    assert int(aux["steps"]) == 12 and float(aux["guess"]) == 1.0
    mapped, aux = tangrad.vmap(root, (0, None), out_axes=(0, {"guess": 0, "steps": None}))(X, 1.0)
    close(mapped, numpy.sqrt(X + 1.0))
    assert int(aux["steps"]) == 12


def test_module_level_functions_are_traced_once():
    traced = []

    def residual(a, x):
        traced.append(1)
        return x - a

    direct = lambda residual, a, x: x - residual(a, x)
    same = lambda linear, b: linear(b)
    run = lambda a: lax.custom_implicit_solve(residual, a, np.zeros_like(a), direct, same)
    close(run(1.0), 1.0)
    count = len(traced)
    close((run(2.0), tangrad.grad(run)(3.0), tangrad.grad(run)(4.0)), (2.0, 1.0, 1.0))
    assert len(traced) == count
    run(numpy.float16(1.0))
    assert len(traced) > count


def test_unused_results_and_operands_go():
    def f(d, b, unused):
        solve = lambda matvec, y: (y / d, unused * 2.0)
        return lax.custom_linear_solve(lambda x: d * x, b, solve, has_aux=True)[0]

    from tangrad.core import dce_jaxpr

    closed = tangrad.make_jaxpr(f)(B, B, B)
    jaxpr, used = dce_jaxpr(closed.jaxpr, [True])
    assert used == [True, True, False]
    (eqn,) = jaxpr.eqns
    assert len(eqn.outvars) == 1 and len(eqn.params["solve"].out_avals) == 1
    assert dce_jaxpr(closed.jaxpr, [False])[0].eqns == []
    root = lambda a: lax.custom_root(lambda x: x - a, a, lambda f, x: (x, x + 1.0), lambda g, y: y, has_aux=True)[0]
    (eqn,) = dce_jaxpr(tangrad.make_jaxpr(root)(1.0).jaxpr, [True])[0].eqns
    assert len(eqn.outvars) == 1


def test_the_jaxpr_shows_the_programs():
    text = str(tangrad.make_jaxpr(square_root)(2.0))
    assert re.search(r"custom_root\[\s*f=\{ lambda", text) and "tangent_solve={" in text
    assert "custom_linear_solve" in text


# --- what is refused --------------------------------------------------------------------------------------------------

ONE = numpy.float32(1)
PAIR = {"a": ONE, "b": B}


def implicit(residual, solve=lambda r, a, x: x, tangent=lambda g, b: b, guess=ONE, **options):
    return lax.custom_implicit_solve(residual, ONE, guess, solve, tangent, **options)


def root(f, solve=lambda f, x: x, tangent=lambda g, b: b, guess=ONE, **options):
    return lax.custom_root(f, guess, solve, tangent, **options)


def linear(matvec, solve=lambda matvec, b: b, b=B, **options):
    return lax.custom_linear_solve(matvec, b, solve, **options)


REFUSED = {
    "implicit: no function": (TypeError, "residual must be a function, got 3 of type int", lambda: implicit(3)),
    "implicit: transpose": (
        TypeError,
        "transpose_solve must be a function, got 3",
        lambda: implicit(lambda a, x: x, transpose_solve=3),
    ),
    "implicit: operands": (
        TypeError,
        r"operands\['a'\]\[1\] is 'text' of type str",
        lambda: lax.custom_implicit_solve(abs, {"a": (1.0, "text")}, ONE, abs, abs),
    ),
    "implicit: integers": (
        TypeError,
        "initial_guess must be of floating-point or complex arrays.*i32",
        lambda: implicit(lambda a, x: x, guess=3),
    ),
    "implicit: residual": (
        TypeError,
        r"custom_implicit_solve: residual, function '<lambda>',.*\n.*\['b'\]: expected f32\[3\], got f32\[\]",
        lambda: implicit(lambda a, x: {"a": x["a"], "b": x["a"]}, guess=PAIR),
    ),
    "implicit: tree": (
        TypeError,
        r"residual, function.*of initial_guess(.|\n)*\['b'\]",
        lambda: implicit(lambda a, x: {"a": x["a"], "b": [x["b"]]}, guess=PAIR),
    ),
    "implicit: solve": (
        TypeError,
        r"solve, function '<lambda>',(.|\n)*expected f32\[\], got f32\[3\]",
        lambda: implicit(lambda a, x: x, lambda r, a, x: B),
    ),
    "implicit: tangent": (
        ValueError,
        r"solve, function '<lambda>',(.|\n)*expected f32\[\], got f32\[3\]",
        lambda: implicit(lambda a, x: x, tangent=lambda g, b: B),
    ),
    "implicit: aux": (
        ValueError,
        r"solve, function.*must return a pair \(solution, auxiliary\)",
        lambda: implicit(lambda a, x: x, has_aux=True),
    ),
    "root: f": (TypeError, r"custom_root: f, function.*\n.*expected f32\[\], got f32\[3\]", lambda: root(lambda x: B)),
    "root: dtype": (TypeError, r"expected f32\[\], got i32\[\]", lambda: root(lambda x: 1)),
    "root: text": (TypeError, r"returned, at result\[0\], 'text' of type str", lambda: root(lambda x: ("text",))),
    "root: aux": (
        TypeError,
        r"returned, at aux\['n'\], 'text'",
        lambda: root(lambda x: x, lambda f, x: (x, {"n": "text"}), has_aux=True),
    ),
    "root: tangent": (
        TypeError,
        "tangent_solve, function.*structure of initial_guess",
        lambda: root(lambda x: x, tangent=lambda g, y: (y,)),
    ),
    "linear: matvec": (ValueError, r"matvec, function.*\n.*expected f32\[3\], got f32\[\]", lambda: linear(np.sum)),
    "linear: count": (ValueError, "as many arrays as b has: 1.*got 2", lambda: linear(lambda x: (x, x))),
    "linear: tree": (TypeError, "matvec, function.*of the structure of b", lambda: linear(lambda x: [x])),
    "linear: dtype": (
        TypeError,
        r"solve, function.*\n.*expected f32\[3\], got f16\[3\]",
        lambda: linear(lambda x: x, lambda matvec, b: b.astype("float16")),
    ),
    "linear: transpose": (
        TypeError,
        "needs transpose_solve, or symmetric=True",
        lambda: tangrad.grad(lambda b: linear(lambda x: x, b=b).sum())(B),
    ),
    "linear: not linear": (
        TypeError,
        "mul: a product of two arguments is not linear",
        lambda: linear(lambda x: x * x, transpose_solve=lambda vecmat, b: vecmat(b)),
    ),
    "linear: aux cotangent": (
        TypeError,
        "auxiliary values are not linear",
        lambda: tangrad.linear_transpose(
            lambda b: linear(lambda x: x, lambda _, b: (b, b), b, symmetric=True, has_aux=True), B
        )((B, B)),
    ),
    "linear: closed over": (
        TypeError,
        "linear in b alone",
        lambda: tangrad.linear_transpose(lambda a: linear(lambda x: a * x, symmetric=True), B)(B),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    error, message, run = REFUSED[case]
    with pytest.raises(error, match=message):
        run()
    close(square_root(4.0), 2.0)


def test_values_of_users_errors_pass():
    def solve(residual, a, x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        implicit(lambda a, x: x, solve)
