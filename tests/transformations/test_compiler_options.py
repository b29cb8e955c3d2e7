"""Options for the compiler: handed on by `jit` and by `compile`, refused where they cannot be had."""

import pickle

import numpy
import pytest

import tangrad
import tangrad.numpy as np

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
