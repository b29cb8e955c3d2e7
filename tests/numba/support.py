"""Loops run twice: compiled by numba, and in the backend's own code."""

import contextlib
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
