"""The kit for transformations, by one that counts how many operations stand between an argument and a result."""

import pytest

import tangrad
import tangrad.numpy as np
from tangrad.core import RuleTrace, RuleTracer, current_trace, holding, run_traced, thread
from tangrad.core.transformations import call_under
from tangrad.errors import LeakedTracerError


class Depth(RuleTrace):
    """A value's extra: the length of the longest chain of operations behind it; 0 for what is not traced."""

    absent = staticmethod(lambda value: 0)

    def apply(self, primitive, values, extras, params):
        outs = primitive.bind(*values, **params)
        if primitive.multiple_results:
            return tuple([self.tracer(out, 1 + max(extras)) for out in outs])
        return self.tracer(outs, 1 + max(extras))


def depth(function):
    """`function` with its results' depths beside them."""

    def traced(*args):
        def run(trace):
            outs = function(*[trace.tracer(np.asarray(arg), 0) for arg in args])
            return trace.split(outs)

        value, found = run_traced(run, Depth)
        return value, found or 0

    return traced


def chain(x):
    return np.sin(np.cos(x)) * x


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    pytest.importorskip(f"tangrad._backend_{request.param}.backend")
    with tangrad.use_backend(request.param):
        yield request.param


def test_ten_lines_make_a_transformation(backend):
    value, found = depth(chain)(0.5)
    assert found == 3 and float(value) == pytest.approx(float(chain(np.asarray(0.5))))
    assert depth(lambda x: x)(0.5)[1] == 0
    assert depth(lambda x: np.cos(np.asarray(1.0)))(0.5)[1] == 0  # nothing of the trace in it: done below


@pytest.mark.parametrize("around", [tangrad.jit, tangrad.vmap, lambda f: tangrad.grad(lambda x: f(x).sum())])
def test_it_composes_with_others(backend, around):
    found = []

    def function(x):
        value, how_deep = depth(chain)(x)
        found.append(how_deep)
        return value

    x = np.linspace(0.1, 0.9, 4)
    assert np.allclose(around(function)(x), around(chain)(x), atol=1e-6)
    assert found == [3]


def test_others_within_it(backend):
    x = np.linspace(0.1, 0.9, 4)
    value, found = depth(tangrad.vmap(chain))(x)
    assert found == 3 and np.allclose(value, chain(x))
    assert depth(tangrad.grad(chain))(0.5)[1] >= 3


def test_the_trace_around_is_restored_whatever_is_raised():
    before = current_trace()
    with pytest.raises(ZeroDivisionError):
        depth(lambda x: 1 // 0)(1.0)
    assert current_trace() is before
    with pytest.raises(TypeError):
        depth(lambda x: np.dot(x, "text"))(1.0)
    assert current_trace() is before


def test_call_under():
    outside = current_trace()

    def run(trace):
        assert current_trace() is trace
        assert call_under(outside, current_trace) is outside
        assert current_trace() is trace
        with pytest.raises(KeyError):
            call_under(outside, {}.__getitem__, "missing")
        assert current_trace() is trace

    run_traced(run, Depth)


def test_a_value_that_is_kept_is_a_leak():
    kept = []
    with tangrad.check_tracer_leaks(True), pytest.raises(LeakedTracerError):
        depth(lambda x: kept.append(x) or x)(1.0)


def test_a_value_of_a_trace_that_has_ended_is_refused():
    kept = []
    depth(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(tangrad.errors.UnexpectedTracerError):
        np.sin(kept[0])


def test_the_tracer_is_the_kit_s():
    seen = []
    depth(lambda x: seen.append(type(x)) or x)(1.0)
    assert seen == [RuleTracer]


def test_fields_of_a_thread_are_held_for_a_while():
    before = thread.axis_environment
    with holding(axis_environment=(("i", 3),)):
        assert dict(thread.axis_environment) == {"i": 3}
        with pytest.raises(ZeroDivisionError), holding(axis_environment=()):
            assert thread.axis_environment == ()
            raise ZeroDivisionError
        assert dict(thread.axis_environment) == {"i": 3}
    assert thread.axis_environment == before
    with pytest.raises(AttributeError, match="no_such_field"), holding(no_such_field=1):
        pass
