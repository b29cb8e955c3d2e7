"""Callbacks against JAX: results, what callbacks saw and in which order, what was printed, and kinds of errors."""

import contextlib
import importlib
import io
import logging

import numpy as np
import pytest

import tangrad
from tangrad import use_backend as backend_setting
from tangrad.core.settings import SETTINGS
from tests.transformations.callback_programs import FAILING, PROGRAMS

jax = pytest.importorskip("jax")
importlib.import_module("jax.experimental")
for part in ("effects", "failing"):
    importlib.import_module(f"tests.transformations.callback_programs_{part}")

BACKENDS = ("numpy", "xla")


def plain(value):
    """A value that was recorded, without the API it came from."""
    if isinstance(value, (str, tuple, list, type(None), int)):
        return value
    array = np.asarray(value)
    return str(array.dtype), array.shape, np.round(array.astype(np.float64), 5).tolist()


class Run:
    """A program run once: results, record and output; or the error."""

    def __init__(self, api, program, mode):
        self.record, self.output = [], io.StringIO()
        function = program.make(api, self._take)
        if mode == "jit":
            function = api.jit(function)
        with contextlib.redirect_stdout(self.output):
            for _ in range(program.calls):
                self.result = function(*[api.numpy.asarray(arg) for arg in program.args])
                api.block_until_ready(self.result)
            api.effects_barrier()

    def _take(self, tag, *values):
        self.record.append((tag, *[plain(value) for value in values]))

    def seen(self, ordered):
        lines = self.output.getvalue().splitlines()
        return (self.record, lines) if ordered else (sorted(map(str, self.record)), sorted(lines))


def assert_same(ours, theirs):
    mine, other = tangrad.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(mine) == len(other)
    for x, y in zip(mine, other):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "mode"), [(name, mode) for name, program in PROGRAMS.items() for mode in program.modes]
)
def test_as_in_jax(name, mode):
    program = PROGRAMS[name]
    expected = Run(jax, program, mode)
    for backend in BACKENDS:
        with backend_setting(backend), SETTINGS["check_jaxprs"](True):
            found = Run(tangrad, program, mode)
        assert_same(found.result, expected.result)
        assert found.seen(program.ordered) == expected.seen(program.ordered), backend


def kind_of(error):
    """The nearest of Python's own classes."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


@pytest.mark.parametrize(
    ("name", "mode"), [(name, mode) for name, program in FAILING.items() for mode in program.modes]
)
def test_fails_as_in_jax(name, mode):
    program = FAILING[name]
    logging.getLogger("jax").setLevel(logging.CRITICAL)
    with pytest.raises(Exception) as theirs:  # whatever JAX raises is what we compare with
        Run(jax, program, mode)
    with contextlib.suppress(Exception):
        jax.effects_barrier()
    for backend in BACKENDS:
        with backend_setting(backend), SETTINGS["check_jaxprs"](True):
            with pytest.raises(kind_of(theirs.value)):
                Run(tangrad, program, mode)
            with contextlib.suppress(RuntimeError):
                tangrad.effects_barrier()
            assert float(tangrad.jit(lambda x: x + 1)(1.0)) == 2
