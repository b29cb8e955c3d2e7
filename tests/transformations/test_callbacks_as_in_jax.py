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
from tests.transformations.callback_programs import FAILING, ONE, PROGRAMS, THREE, failing, like, report, scalar

jax = pytest.importorskip("jax")
importlib.import_module("jax.experimental")
importlib.import_module("tests.transformations.callback_programs_effects")

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


# --- Programs that go wrong ---


def fails(x):
    raise ValueError("the message of the user")


@failing(THREE)
def pure_raises(api, record):
    return lambda x: api.pure_callback(fails, like(api, x), x)


@failing(THREE)
def io_raises(api, record):
    return lambda x: api.experimental.io_callback(fails, like(api, x), x, ordered=True)


@failing(THREE)
def debug_raises(api, record):
    return lambda x: api.debug.callback(fails, x)


@failing(THREE)
def wrong_shape(api, record):
    return lambda x: api.pure_callback(lambda x: np.zeros(2, "float32"), like(api, x), x)


@failing(THREE)
def wrong_dtype(api, record):
    return lambda x: api.pure_callback(lambda x: np.zeros(3, "int32"), like(api, x), x)


@failing(THREE)
def too_few_results(api, record):
    return lambda x: api.pure_callback(lambda x: (x,), (like(api, x), like(api, x)), x)


@failing(THREE)
def too_many_results(api, record):
    return lambda x: api.pure_callback(lambda x: (x, x), like(api, x), x)


@failing(THREE)
def no_result(api, record):
    return lambda x: api.pure_callback(lambda x: None, like(api, x), x)


@failing(THREE)
def a_result_where_none_is_declared(api, record):
    return lambda x: api.experimental.io_callback(lambda x: x, None, x)


@failing(THREE)
def a_result_that_is_no_array(api, record):
    return lambda x: api.pure_callback(lambda x: "text", like(api, x), x)


@failing(THREE)
def an_integer_for_a_float(api, record):
    return lambda x: api.pure_callback(lambda x: 1, scalar(api), x)


@failing(THREE)
def a_format_that_does_not_fit_when_it_runs(api, record):
    return lambda x: api.debug.print("{:.2f}", x)


@failing(ONE)
def pure_without_a_rule(api, record):
    return api.grad(lambda x: api.pure_callback(np.sin, scalar(api), x))


@failing(ONE)
def io_under_a_gradient(api, record):
    return api.grad(lambda x: api.experimental.io_callback(np.sin, scalar(api), x))


@failing(THREE)
def pure_without_a_way_to_map(api, record):
    return api.vmap(lambda x: api.pure_callback(np.sin, scalar(api), x))


@failing(THREE)
def ordered_io_mapped(api, record):
    return api.vmap(lambda x: report(api, record, "x", x))


@failing(THREE)
def io_in_a_mapped_branch(api, record):
    return api.vmap(lambda x: api.lax.cond(x > 1, lambda: report(api, record, "x", x, False), lambda: None))


@failing(ONE)
def io_in_a_checkpoint(api, record):
    def f(x):
        return x * api.experimental.io_callback(lambda x: x, scalar(api), api.lax.stop_gradient(x))

    return api.grad(api.checkpoint(f))


@failing(THREE)
def an_argument_that_is_no_array(api, record):
    return lambda x: api.pure_callback(lambda x, y: x, like(api, x), x, "text")


@failing(THREE)
def results_of_64_bits(api, record):
    return lambda x: api.pure_callback(np.sin, api.ShapeDtypeStruct((3,), "float64"), x)


@failing(THREE)
def an_unknown_way_to_map(api, record):
    return lambda x: api.pure_callback(np.sin, like(api, x), x, vmap_method="rows")


@failing(THREE)
def print_without_place(api, record):
    return lambda x: api.debug.print("text", x)


@failing(THREE)
def print_without_place_by_name(api, record):
    return lambda x: api.debug.print("text", x=x)


@failing(THREE)
def print_without_argument(api, record):
    return lambda x: api.debug.print("{} {}", x)


@failing(THREE)
def print_without_argument_by_name(api, record):
    return lambda x: api.debug.print("{y}", x=x)


@failing(THREE)
def debug_of_what_is_no_function(api, record):
    return lambda x: api.debug.callback(3, x)


@failing(THREE)
def debug_in_two_calls_with_arguments(api, record):
    return lambda x: api.debug.callback(ordered=True, note=x)


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
