"""Small programs with callbacks, written once against names that `jax` and `tangrad` share.

Each is a function of an API and of `record`, which returns a function of arrays; beside it stand its arguments. What
callbacks are called with goes into the record, `record(tag, *values)`; what is printed is compared as well.
"""

import functools

import numpy as np

PROGRAMS = {}
FAILING = {}


class Program:
    """A program, its arguments, and how it is run.

    Attributes:
        modes: "eager", "jit", or both.
        ordered: whether what is recorded and printed has an order; else it is compared as a set.
        calls: how many times it is called.
    """

    def __init__(self, make, args, modes=("eager", "jit"), ordered=True, calls=1):
        self.make = make
        self.args = args
        self.modes = modes
        self.ordered = ordered
        self.calls = calls


def program(*args, table=PROGRAMS, **options):
    """Register a program."""

    def register(make):
        assert make.__name__ not in table
        table[make.__name__] = Program(make, args, **options)
        return make

    return register


failing = functools.partial(program, table=FAILING)

ONE = np.float32(0.7)
THREE = np.arange(3, dtype=np.float32)
ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
INT = np.int32(4)


def like(api, x):
    return api.ShapeDtypeStruct(x.shape, x.dtype)


def scalar(api, dtype="float32"):
    return api.ShapeDtypeStruct((), dtype)


def report(api, record, tag, x, ordered=True):
    api.experimental.io_callback(lambda x: record(tag, x), None, x, ordered=ordered)


def note(api, record, tag, x, ordered=True):
    api.debug.callback(lambda x: record(tag, x), x, ordered=ordered)
