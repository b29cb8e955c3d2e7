"""How much effort the compiler spends: the setting, the argument of `jit`, and what they mean to a backend."""

import copy
import pickle

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.core import backend_names, hookimpl, register
from tangrad.core.settings import SETTINGS

BACKENDS = backend_names()
XLA = pytest.mark.skipif("xla" not in BACKENDS, reason="XLA is not installed")


@pytest.fixture(params=BACKENDS)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


class Watch:
    """Remembers what the compilations of one function were asked for."""

    def __init__(self, name):
        self.name, self.asked = name, []

    @hookimpl
    def tangrad_compiled(self, context, executable, seconds):
        if context.function_name == self.name:
            self.asked.append(context.options.get("compile_effort"))


def program(x):
    return (np.sin(x) @ x.T).sum() * 2.0


def test_the_argument_reaches_the_compiler(backend):
    x = np.ones((3, 4))
    watch = Watch("program")
    with register(watch):
        usual = tangrad.jit(program)(x)
        fast = tangrad.jit(program, compile_effort="fast")(x)
        full = tangrad.jit(program, compile_effort="full")(x)
    assert watch.asked == [None, "fast", None]
    numpy.testing.assert_allclose(usual, fast, rtol=1e-6)
    assert usual == full


def test_the_setting_counts_where_the_argument_is_silent(backend):
    def effort_by_setting(x):
        return x + 1.0

    silent = tangrad.jit(effort_by_setting)
    watch = Watch("effort_by_setting")
    with register(watch):
        silent(1.0)
        with SETTINGS["compile_effort"]("fast"):
            silent(1.0)
            tangrad.jit(effort_by_setting, compile_effort="full").lower(1.0).compile()
            silent.lower(1.0).compile()
        silent(1.0)  # in memory
    assert watch.asked == [None, "fast", None, "fast"]


@pytest.mark.parametrize(("value", "error"), [("quick", ValueError), ("", ValueError), (3, (TypeError, ValueError))])
def test_other_values_are_refused_with_the_choices(value, error):
    with pytest.raises(error, match=r"jit: compile_effort: .*'full'.*'fast'"):
        tangrad.jit(program, compile_effort=value)
    with pytest.raises(error, match=r"'full'.*'fast'"):
        tangrad.config.compile_effort = value
    assert tangrad.config.compile_effort == "full"


def test_it_is_an_option_like_the_others():
    fast = tangrad.jit(program, compile_effort="fast")
    assert copy.copy(fast) is fast
    assert pickle.loads(pickle.dumps(fast))._options.compile_effort == "fast"
    decorated = tangrad.jit(compile_effort="fast")(program)
    assert decorated._options == fast._options


def test_of_functions_that_call_each_other_the_outermost_decides(backend):
    inner = tangrad.jit(program, compile_effort="fast")

    def outer(x):
        return inner(x) + 1.0

    watch = Watch("outer")
    with register(watch):
        tangrad.jit(outer)(np.ones((2, 2)))
        tangrad.jit(outer, compile_effort="fast")(np.ones((2, 2)))
    assert watch.asked == [None, "fast"]


@XLA
def test_on_xla_it_means_options_which_those_of_the_user_go_before():
    from tangrad._backend_xla.compiler_options import FAST, with_effort

    fast = {"compile_effort": "fast"}
    ((name, value),) = FAST["cpu"].items()
    assert with_effort(fast, "cpu") == {name: value}
    assert with_effort(fast, "elsewhere") == {}
    given = {"xla_cpu_enable_fast_math": True}
    assert with_effort({**fast, "compiler_options": given}, "cpu") == {name: value, **given}
    assert with_effort({**fast, "compiler_options": {name: value + 1}}, "cpu") == {name: value + 1}


@XLA
@pytest.mark.parametrize("platform", ["cpu", "cuda", "rocm"])
def test_xla_has_the_options_of_every_platform(platform):
    from tangrad._backend_xla.compiler_options import FAST

    with tangrad.use_backend("xla"):
        fun = tangrad.jit(lambda x: x * 2.0, compiler_options=FAST[platform])
        assert fun(3.0) == 6.0


@XLA
def test_effort_is_part_of_the_key_of_the_cache_on_disk(tmp_path):
    def kept(x):
        return np.cos(x) + 0.125

    with (
        tangrad.use_backend("xla"),
        SETTINGS["compilation_cache_dir"](str(tmp_path)),
        SETTINGS["xla_cache_min_compile_seconds"](0.0),
    ):
        origins = [
            tangrad.jit(kept, compile_effort=effort).lower(1.0).compile().report().stages[3].origin
            for effort in ("full", "fast", "fast", "full")
        ]
    assert origins == ["made", "made", "disk", "disk"]
