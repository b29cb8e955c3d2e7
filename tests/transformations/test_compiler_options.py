"""Options for the compiler, and how much effort it spends."""

import copy
import pickle

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.core import backend_names, hookimpl, register
from tangrad.core.settings import SETTINGS

# --- Options for the compiler: handed on by `jit` and by `compile`, refused where they cannot be had ---


FAST = {"xla_cpu_enable_fast_math": True, "xla_cpu_fast_math_honor_nans": False}
X = numpy.linspace(0, 1, 8, dtype="float32")


@pytest.fixture
def xla():
    pytest.importorskip("tangrad._backend_xla.backend")
    with tangrad.use_backend("xla"):
        yield


def plus_one(x):
    return x + 1


def used(monkeypatch):
    """The options that programs are compiled with from now on."""
    from tangrad._backend_xla import jaxlib_api

    seen = []
    make = jaxlib_api.make_compile_options
    monkeypatch.setattr(
        jaxlib_api,
        "make_compile_options",
        lambda *args, **kwargs: [seen.append(kwargs["overrides"]), make(*args, **kwargs)][1],
    )
    return seen


def test_they_reach_the_compiler(xla, monkeypatch):
    seen = used(monkeypatch)
    fast = tangrad.jit(lambda x: np.sin(x) + 1, compiler_options=FAST)
    numpy.testing.assert_allclose(fast(X), numpy.sin(X) + 1, rtol=1e-5)
    assert seen == [FAST]


def test_of_a_lowered_program_beside_those_of_jit(xla, monkeypatch):
    seen = used(monkeypatch)
    lowered = tangrad.jit(lambda x: np.cos(x), compiler_options=FAST).lower(X)
    compiled = lowered.compile({"xla_cpu_fast_math_honor_nans": True})
    numpy.testing.assert_allclose(compiled(X), numpy.cos(X), rtol=1e-5)
    lowered.compile()
    assert seen == [{**FAST, "xla_cpu_fast_math_honor_nans": True}, FAST]


def test_they_have_an_effect(xla):
    def function(x):
        return np.tanh(x) * 2 + 1

    plain = tangrad.jit(function).lower(X)
    unfused = plain.compile(
        compiler_options={
            "xla_backend_optimization_level": 0,
            "xla_disable_hlo_passes": "fusion,cpu-instruction-fusion",
        }
    )
    assert plain.compile().as_text().count(" fusion(") < unfused.as_text().count(" fusion(")


def test_levels_of_effort_are_options_too(xla, monkeypatch):
    from tangrad._backend_xla import jaxlib_api

    made = []
    make = jaxlib_api.make_compile_options
    monkeypatch.setattr(
        jaxlib_api, "make_compile_options", lambda *args, **kwargs: [made.append(make(*args, **kwargs)), made[-1]][1]
    )
    given = {"optimization_level": "O1", "memory_fitting_level": 9, "exec_time_optimization_effort": 0.5, **FAST}
    numpy.testing.assert_allclose(tangrad.jit(lambda x: x + 1, compiler_options=given)(X), X + 1)
    tangrad.jit(lambda x: x + 2)(X)
    levels = [made[0].executable_build_options, made[1].executable_build_options]
    assert [each.optimization_level for each in levels] == [19, 0]
    assert [each.memory_fitting_level for each in levels] == [9, 29]
    assert [each.exec_time_optimization_effort for each in levels] == [0.5, 0]
    assert made[0].env_option_overrides == list(FAST.items())
    with pytest.raises(ValueError, match=r"one of the compiler_options \{'optimization_level': 'O9'\}"):
        tangrad.jit(lambda x: x, compiler_options={"optimization_level": "O9"})(X)


def test_functions_with_other_options_have_other_programs(xla):
    def function(x):
        return x + 1

    one, other = tangrad.jit(function, compiler_options=FAST), tangrad.jit(function)
    one(X)
    assert (one._cache_size(), other._cache_size()) == (1, 0)
    assert pickle.loads(pickle.dumps(tangrad.jit(plus_one, compiler_options=FAST)))(0.0) == 1


def test_what_the_compiler_does_not_have_is_an_error(xla):
    with pytest.raises(ValueError, match=r"one of the compiler_options \{'xla_nonsense': True\}"):
        tangrad.jit(lambda x: x, compiler_options={"xla_nonsense": True})(X)
    with pytest.raises(ValueError, match="xla_nonsense"):
        tangrad.jit(lambda x: x + 2).lower(X).compile({"xla_nonsense": 1})
    with pytest.raises(ValueError, match="xla_cpu_enable_fast_math"):
        tangrad.jit(lambda x: x + 3, compiler_options={"xla_cpu_enable_fast_math": "perhaps"})(X)


def test_the_numpy_backend_has_none():
    with tangrad.use_backend("numpy"):
        with pytest.raises(ValueError, match="has no compiler_options"):
            tangrad.jit(lambda x: x, compiler_options=FAST)(X)
        with pytest.raises(ValueError, match="has no compiler_options"):
            tangrad.jit(lambda x: x).lower(X).compile(compiler_options=FAST)
        assert tangrad.jit(lambda x: x, compiler_options={})(1.0) == 1


def test_they_are_those_of_a_whole_program():
    inner = tangrad.jit(lambda x: x * x, compiler_options=FAST)
    for call in (
        lambda: tangrad.jit(lambda x: inner(x) + 1)(1.0),
        lambda: tangrad.grad(inner)(1.0),
        lambda: tangrad.vmap(inner)(X),
    ):
        with pytest.raises(ValueError, match="outermost jit"):
            call()


@pytest.mark.parametrize("given", [3, "fast", ["x"], {1: True}, {"x": None}, {"x": [1]}])
def test_what_are_no_options(given):
    with pytest.raises(TypeError, match="jit: compiler_options"):
        tangrad.jit(lambda x: x, compiler_options=given)
    with pytest.raises(TypeError, match="compile: compiler_options"):
        tangrad.jit(lambda x: x).lower(X).compile(given)


@pytest.mark.parametrize(("backend", "dialect"), [("numpy", "jaxpr"), ("xla", None), ("xla", "stablehlo")])
def test_text_that_says_which_line_made_it(backend, dialect):
    pytest.importorskip(f"tangrad._backend_{backend}.backend")
    with tangrad.use_backend(backend):
        lowered = tangrad.jit(lambda x: np.sin(x)).lower(X)
        assert __file__.rpartition("/")[2] in lowered.as_text(dialect, debug_info=True)
        assert __file__.rpartition("/")[2] not in lowered.as_text(dialect)


@pytest.mark.parametrize(("backend", "dialect"), [("numpy", None), ("numpy", "python"), ("xla", "hlo")])
def test_text_that_cannot_say_it(backend, dialect):
    pytest.importorskip(f"tangrad._backend_{backend}.backend")
    with tangrad.use_backend(backend), pytest.raises(ValueError, match="dialect"):
        tangrad.jit(lambda x: np.sin(x)).lower(X).as_text(dialect, debug_info=True)


def test_options_that_are_refused_are_errors_of_the_runtime_too(xla):
    with pytest.raises(tangrad.errors.JaxRuntimeError, match="nonsense") as found:
        tangrad.jit(plus_one, compiler_options={"nonsense": 1})(X)
    assert isinstance(found.value, ValueError)


# --- How much effort the compiler spends ---


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
