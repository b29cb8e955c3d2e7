"""Compiled loops: the results of the ordinary code, for random programs and those that have gone wrong elsewhere."""

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tests.numba.programs import SHAPES, draw_body
from tests.numba.support import check

pytest.importorskip("numba", reason="numba is not installed: loops run in the ordinary code")

np_ = tangrad.numpy


def arrays(dtype, seed=0):
    draw = np.random.default_rng(seed)
    drawn = [draw.normal(size=shape) for shape in SHAPES]
    return tuple(
        [np.asarray(x * 10 if np.dtype(dtype).kind in "iu" else x).astype("int8").astype(dtype) for x in drawn]
    )


def check_program(seed, dtype):
    body = draw_body(seed, dtype)
    kind = seed % 3
    if kind == 0:
        run = lambda *xs: lax.fori_loop(0, 5, lambda i, c: body(tangrad, i, c), xs)
    elif kind == 1:
        run = lambda *xs: lax.scan(
            lambda c, i: (body(tangrad, i, c), c[1] + c[0][0]), xs, np_.arange(4), reverse=seed % 2
        )
    else:
        run = lambda *xs: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, body(tangrad, c[0], c[1])), (0, xs))
    check(run, *arrays(dtype, seed), tolerance=2e-4 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("seed", range(9))
def test_random_programs(seed):
    with tangrad.enable_x64():
        check_program(seed, ("float32", "int32", "float64")[seed // 3])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(9, 50))
def test_more_random_programs(seed):
    with tangrad.enable_x64():
        check_program(seed, ("float32", "int32", "float64", "uint8", "int64")[seed % 5])


# --- programs of one kind each ---------------------------------------------------------------------------------------


def swapped(x, y):
    """Carries that change places, one of which stays as it is too."""
    return lax.fori_loop(0, 5, lambda i, c: (c[1], c[0], c[0] + c[1], c[3]), (x, y, x, y))


def shifted(x, y):
    """Each element from its neighbour: nothing may be written before it is read."""
    return lax.fori_loop(0, 5, lambda i, c: np_.concatenate([c[1:], c[:1]]) + 1, x)


def written(x, y):
    """Rows written in place, while a part of what was there is read afterwards."""

    def body(i, c):
        old = c[0]
        return lax.dynamic_update_index_in_dim(c, c[1] * 2, i % 2, 0) + old * 0.1

    return lax.fori_loop(0, 5, body, np_.stack([x, y]))


def rows(x, y):
    """Results written in place, one row an iteration."""
    fill = lambda i, c: lax.dynamic_update_index_in_dim(c, x * i + c[0], i, 0)
    return lax.fori_loop(0, 6, fill, np_.zeros((6, *x.shape), x.dtype))


def stacked(x, y):
    """What a carry was before it changed, and what it is then."""
    return lax.scan(lambda c, row: (c + row, (c, c + row, row, 1)), x, np_.stack([y, x, y]), reverse=True)


def far(x, y):
    """Sine and cosine of numbers that need all digits of pi."""
    return lax.fori_loop(0, 3, lambda i, c: np_.sin(c * 1e7) + np_.cos(c * 1e30) + np_.sin(c / 0 * 0), x)


def newton(x, y):
    """A loop that ends by its values."""
    ends = lambda c: (np_.abs(c[1] * c[1] - abs(y[0]) - 2) > 1e-3) & (c[0] < 40)
    return lax.while_loop(ends, lambda c: (c[0] + 1, (c[1] + (abs(y[0]) + 2) / c[1]) / 2), (0, x[0] * x[0] + 1))


def nothing(x, y):
    """No iteration, and arrays without elements."""
    none = x[:0]
    never = lax.while_loop(lambda c: c[0] > 9, lambda c: (c[0] + 1, c[1] * 2), (0, x))
    return lax.fori_loop(3, 3, lambda i, c: c * 2, x), lax.fori_loop(0, 3, lambda i, c: c + none.sum(), none), never


PROGRAMS = (swapped, shifted, written, rows, stacked, far, newton, nothing)
X, Y = np.linspace(-1, 2, 6, dtype="float32"), np.array([3, -1, 0.5, 2, 7, -4], "float32")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    check(program, X, Y)


@pytest.mark.parametrize("program", [rows, stacked, written])
def test_gradients(program):
    total = lambda x, y: sum([np_.sum(np_.sin(leaf)) for leaf in tangrad.tree.leaves(program(x, y))])
    check(tangrad.grad(total, (0, 1)), X, Y, tolerance=2e-5, count=2)


@pytest.mark.parametrize("program", [rows, newton, swapped])
def test_mapped_programs(program):
    check(tangrad.vmap(program), np.stack([X, Y]), np.stack([Y, X]))


def test_arrays_that_are_views_and_read_only():
    x = np.arange(24, dtype="float32").reshape(4, 6)
    with tangrad.use_backend("numpy"):
        x = tangrad.device_put(x)
    run = lambda x: lax.scan(lambda c, row: (c + row, c * row), np_.zeros(4), x.T[::2])
    check(run, x)


def test_constants_of_the_loop():
    table = np.arange(12, dtype="float32").reshape(4, 3)
    check(
        lambda x: lax.fori_loop(0, 4, lambda i, c: c + lax.dynamic_index_in_dim(np_.asarray(table), i, 0, False), x),
        X[:3],
    )


# --- what people write -----------------------------------------------------------------------------------------------


def conjugate_gradients(x):
    matrix = np_.outer(x, x) + 3 * np_.eye(x.shape[0], dtype=x.dtype)

    def step(state):
        solution, rest, direction, size = state
        image = matrix @ direction
        length = size / (direction @ image)
        rest = rest - length * image
        return solution + length * direction, rest, rest + (rest @ rest) / size * direction, rest @ rest

    return lax.while_loop(lambda state: state[3] > 1e-6, step, (x * 0, x + 1, x + 1, (x + 1) @ (x + 1)))[0]


def descent(x):
    loss = lambda x: np_.sum((x**2 - 1) ** 2)

    def step(state, i):
        x, mean, square = state
        slope = tangrad.grad(loss)(x)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        return (x - 0.01 * mean / (np_.sqrt(square) + 1e-3), mean, square), loss(x)

    return lax.scan(step, (x, x * 0, x * 0), np_.arange(30))


def sieve(x):
    numbers = np_.arange(64) + x.astype("int32")[0]
    strike = lambda i, left: left & ((numbers % i != 0) | (numbers == i))
    return lax.fori_loop(2, 9, strike, np_.ones(64, bool))


def jacobian(x):
    return tangrad.jacfwd(lambda x: lax.fori_loop(0, 5, lambda i, c: np_.tanh(c * x), x))(x)


def hessian(x):
    return tangrad.hessian(lambda x: lax.scan(lambda c, i: (np_.sin(c * x), None), x, np_.arange(4))[0].sum())(x)


def ends_at_different_times(x):
    turn = lambda c: (c[0] + 1, c[1] * 0.9 + x[0])
    return tangrad.vmap(lambda end: lax.while_loop(lambda c: c[0] < end * 5, turn, (0.0, end)))(x)


ALGORITHMS = (conjugate_gradients, descent, sieve, jacobian, hessian, ends_at_different_times)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.__name__)
def test_algorithms(algorithm):
    check(algorithm, X, tolerance=2e-4)
