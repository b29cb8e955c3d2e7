"""Loops run twice: compiled by numba, and in the backend's own code."""

import contextlib
import random
import sys

import numpy as np

import tangrad

VALUES = {
    "f": [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.0,
        -1.5,
        2.5,
        3.7,
        -7.25,
        1e-6,
        40.0,
        -90.0,
        130.0,
        3e6,
        -1e9,
        np.inf,
        -np.inf,
        np.nan,
    ],
    "i": [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 33, 63, 64, 100, -100],
    "u": [0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 100, 200, 255],
    "b": [False, True],
}


@contextlib.contextmanager
def loops(mode):
    """Programs that are made inside have their loops compiled as the setting says."""
    before = tangrad.config.numba_loops
    tangrad.config.update("numba_loops", mode)
    try:
        with tangrad.use_backend("numpy"):
            yield
    finally:
        tangrad.config.update("numba_loops", before)


def values_of(dtype):
    """Numbers of a dtype at which functions are special, with its bounds."""
    dtype = np.dtype(dtype)
    values = list(VALUES[dtype.kind])
    if dtype.kind in "iu":
        values += [np.iinfo(dtype).min, np.iinfo(dtype).max]
        values = [value for value in values if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max]
    return np.array(values, dtype)


def both(function, *arguments):
    """The results of a fresh jitted function with compiled loops, and without."""
    with loops("always"):
        compiled = tangrad.jit(lambda *xs: function(*xs))(*arguments)
    with loops(False):
        ordinary = tangrad.jit(lambda *xs: function(*xs))(*arguments)
    return compiled, ordinary


def check_equal(compiled, ordinary, tolerance=2e-6):
    """Whole numbers are equal; others to a tolerance, with NaN and infinities at the same places."""
    for mine, right in zip(tangrad.tree.leaves(compiled), tangrad.tree.leaves(ordinary), strict=True):
        mine, right = np.asarray(mine), np.asarray(right)
        assert mine.dtype == right.dtype and mine.shape == right.shape
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, right, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(mine, right)


def check(function, *arguments, tolerance=2e-6, count=1):
    """Whether a function has the results of the ordinary code, with `count` loops that numba compiled."""
    with counted() as made:
        compiled, ordinary = both(function, *arguments)
    errors = [one for one in made if isinstance(one, Exception)]
    assert len(made) - len(errors) >= count, f"not compiled: {errors}"
    check_equal(compiled, ordinary, tolerance)


@contextlib.contextmanager
def counted():
    """A list of what was compiled inside, and of the errors that kept something from it."""
    from tangrad._numba import compiled

    made, before = [], compiled.loop_function

    def noting(*arguments):
        try:
            function = before(*arguments)
        except Exception as error:
            made.append(error)
            raise
        made.append(arguments[0])
        return function

    compiled.loop_function = noting
    try:
        yield made
    finally:
        compiled.loop_function = before


def is_loaded():
    """Whether numba is imported."""
    return "numba" in sys.modules


# --- Random bodies of loops over a few arrays, as functions of `(numpy, lax, arrays)` ---


SHAPES = ((3, 4), (4,), (3, 1, 4), ())


def draw_body(seed, dtype, length=8):
    """A function from (iteration, arrays of `SHAPES`) to arrays of the same shapes, from its number."""
    draw = random.Random(seed)
    steps = [(draw.choice(STEPS), [draw.randrange(1000) for _ in range(4)]) for _ in range(length)]

    def body(api, i, arrays):
        known = list(arrays)
        for step, numbers in steps:
            known.append(step(api, i, known, numbers))
        return tuple([_fitted(api, known, shape, k, dtype) for k, shape in enumerate(SHAPES)])

    return body


def _fitted(api, known, shape, place, dtype):
    """The latest value that can be brought to a shape, kept within bounds."""
    np = api.numpy
    value = known[-1 - place % 3]
    total = np.sum(value) if value.ndim != len(shape) or value.shape != shape else value
    mixed = np.broadcast_to(total, shape) + known[place]
    return np.asarray(mixed % 7 if dtype.startswith(("int", "uint")) else mixed / (1 + np.abs(mixed)), dtype)


def pick(known, number):
    return known[number % len(known)]


def matrix(api, known, number):
    """A value as (3, 4)."""
    np, value = api.numpy, pick(known, number)
    return np.broadcast_to(value.reshape(3, 4) if value.size == 12 else np.sum(value), (3, 4)).astype(known[0].dtype)


def binary(api, i, known, numbers):
    x, y = matrix(api, known, numbers[0]), matrix(api, known, numbers[1])
    return (x + y, x - y, x * y, api.numpy.maximum(x, y), api.numpy.where(x > y, x, y))[numbers[2] % 5]


def vector(api, i, known, numbers):
    x = matrix(api, known, numbers[0])
    return (x[1], x.max(0), x.sum(0), x[::2].min(0), x[:, 2:].sum() + x[0])[numbers[1] % 5]


def total(api, i, known, numbers):
    x = matrix(api, known, numbers[0])
    return (x.sum(), x.sum(1), x.max(), x.prod(1), x.min(1, keepdims=True))[numbers[1] % 5]


def moved(api, i, known, numbers):
    x, np = matrix(api, known, numbers[0]), api.numpy
    ways = (
        lambda: x.T,
        lambda: x[::-1],
        lambda: x.reshape(4, 3),
        lambda: np.concatenate([x, x[:1]])[1:],
        lambda: np.pad(x, ((1, 0), (0, 0)))[:3],
        lambda: np.roll(x, 1, 1),
        lambda: x.T.reshape(3, 4),
    )
    return ways[numbers[1] % len(ways)]()


def indexed(api, i, known, numbers):
    x = matrix(api, known, numbers[0])
    row = api.lax.dynamic_slice(x, (i - 1, numbers[2] % 3), (1, 2))
    ways = (
        lambda: row,
        lambda: api.lax.dynamic_update_slice(x, row * 2, (i, numbers[3] % 5)),
        lambda: api.lax.dynamic_index_in_dim(x, i, 0, False),
        lambda: api.lax.dynamic_update_index_in_dim(x, x[0] + 1, i % 3, 0),
    )
    return ways[numbers[1] % len(ways)]()


def branched(api, i, known, numbers):
    x, y = matrix(api, known, numbers[0]), matrix(api, known, numbers[1])
    if numbers[2] % 2:
        return api.lax.cond(x[0, 0] > y[0, 1], lambda: (x + y, x[0])[0], lambda: y * x.T.reshape(3, 4))
    return api.lax.switch(i % 3, [lambda: x, lambda: y[0] + x * 0, lambda: x - y])


def nested(api, i, known, numbers):
    x, y = matrix(api, known, numbers[0]), matrix(api, known, numbers[1])
    ways = (
        lambda: api.lax.fori_loop(0, 3, lambda k, v: v[::-1] + y * k.astype(x.dtype), x),
        lambda: api.lax.scan(lambda c, row: (c + row, c[0] + row), y[0], x)[1],
        lambda: api.lax.scan(lambda c, row: (row, c), y[0], x, reverse=True)[1],
        lambda: api.lax.while_loop(lambda s: s[1] < numbers[3] % 4, lambda s: (s[0] + y, s[1] + 1), (x, 0))[0],
        lambda: api.jit(lambda a, b: a * 2 - b)(x, y),
    )
    return ways[numbers[2] % len(ways)]()


def product(api, i, known, numbers):
    x, y = matrix(api, known, numbers[0]), matrix(api, known, numbers[1])
    return (x @ y.T, x @ y[0], api.numpy.einsum("ij,ij->j", x, y), api.numpy.cumsum(x, numbers[3] % 2))[numbers[2] % 4]


STEPS = (binary, binary, vector, total, moved, indexed, branched, nested, product)
