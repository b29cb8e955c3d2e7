"""Rules as authors write them: what they return, of which types, and the trace that calls them."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.core import (
    PrimitiveSet,
    RuleSet,
    RuleTrace,
    RuleTracer,
    ShapedArray,
    current_trace,
    holding,
    register,
    run_traced,
    thread,
)
from tangrad.core.transformations import call_under
from tangrad.errors import LeakedTracerError

# --- Rules that return something else than they must ---


X = numpy.array([1.0, 2.0, 3.0], "float32")


def doubled(kind, rule, decompose=None):
    """A primitive of one array with one rule, and what registers both."""
    family = PrimitiveSet("going_wrong", api=1)
    primitive = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="doubled", decompose=decompose)
    rules = RuleSet(kind, api=1)
    rules.rule(primitive)(rule)
    return primitive, family, rules


def wrong_with(kind, rule, error, words, program, decompose=lambda x: lax.mul(x, 2.0)):
    primitive, family, rules = doubled(kind, rule, decompose)
    with (
        register(family),
        register(rules),
        pytest.raises(error, match=f"(?s){kind} rule of 'going_wrong.doubled'.*{words}"),
    ):
        program(primitive)


@pytest.mark.parametrize(
    "rule, error, words",
    [
        (lambda p, t: (p[0], t[0].sum()), ValueError, r"tangent of shape \(\) for a primal of shape \(3,\)"),
        (lambda p, t: (p[0].sum(), t[0]), ValueError, r"tangent of shape \(3,\) for a primal of shape \(\)"),
        (lambda p, t: (p[0], lax.convert_element_type(t[0], "int32")), TypeError, r"type i32\[3\].*f32\[3\]"),
        (lambda p, t: (p[0], None), TypeError, "as tangent, None"),
        (lambda p, t: ((p[0],), (t[0],)), TypeError, "as primal, .* of type tuple"),
        (lambda p, t: p[0], TypeError, "must return"),
    ],
)
def test_jvp_rules(rule, error, words):
    for program in (
        lambda f: tangrad.jvp(f, (X,), (X,)),
        lambda f: tangrad.grad(lambda x: f(x).sum())(X),
        lambda f: tangrad.jit(tangrad.grad(lambda x: f(x).sum()))(X),
    ):
        wrong_with("jvp", rule, error, words, program)


def test_a_jvp_rule_may_return_numpy_arrays():
    primitive, family, rules = doubled("jvp", lambda p, t: (numpy.full(3, 2.0, "float32"), t[0]), lambda x: x)
    with register(family), register(rules):
        assert tangrad.grad(lambda x: primitive(x).sum())(X).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "rule, error, words",
    [
        (lambda ct, x: (ct.sum(),), ValueError, r"shape \(\) for an argument of shape \(3,\)"),
        (lambda ct, x: (lax.convert_element_type(ct, "int32"),), TypeError, r"type i32\[3\].*f32\[3\]"),
        (lambda ct, x: ("nothing",), TypeError, "'nothing' of type str"),
        (lambda ct, x: ct, TypeError, "must return"),
    ],
)
def test_transpose_rules(rule, error, words):
    wrong_with("transpose", rule, error, words, lambda f: tangrad.linear_transpose(f, X)(X), None)


@pytest.mark.parametrize(
    "rule, error, words",
    [
        (lambda args, dims, *, axis_info: (np.ones((5, 3)), 0), ValueError, r"f32\[5,3\].*axis 0.*of size 2"),
        (lambda args, dims, *, axis_info: (args[0], 7), ValueError, "axis 7"),
        (lambda args, dims, *, axis_info: (args[0], -2), ValueError, "axis -2"),
        (lambda args, dims, *, axis_info: (args[0], "first"), TypeError, "'first' as the mapped axis"),
        (lambda args, dims, *, axis_info: ((args[0],), (0,)), TypeError, "of type tuple"),
        (lambda args, dims, *, axis_info: args[0], TypeError, "must return"),
    ],
)
def test_batch_rules(rule, error, words):
    for program in (tangrad.vmap, lambda f: tangrad.jit(tangrad.vmap(f))):
        wrong_with("batch", rule, error, words, lambda f, program=program: program(f)(np.ones((2, 3))))


# --- What plugins' decompositions and lowerings give is held against the primitive's own inference of types ---


wrong = PrimitiveSet("wrong", api=1)
TYPED = numpy.ones((2, 3), "float32")


@wrong.primitive(decompose=lambda x: np.sum(x, axis=-1))
def shrinks(x):
    """Says that it keeps the shape."""
    return x


@wrong.primitive(multiple_results=True, decompose=lambda x: (x, x > 0))
def two(x):
    """Says that both results are of x's dtype."""
    return x, x


@wrong.primitive
def lowered(x):
    """Keeps shape and dtype."""
    return x


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    with tangrad.use_backend(request.param), register(wrong):
        yield request.param


TRANSFORMED = {
    "eager": lambda f: f(TYPED),
    "jit": lambda f: tangrad.jit(f)(TYPED),
    "vmap": lambda f: tangrad.vmap(f)(TYPED),
    "jvp": lambda f: tangrad.jvp(f, (TYPED,), (TYPED,)),
    "grad": lambda f: tangrad.grad(lambda x: np.sum(tangrad.tree.leaves(f(x))[0]))(TYPED),
    "linear_transpose": lambda f: tangrad.linear_transpose(lambda x: tangrad.tree.leaves(f(x))[0], TYPED)(TYPED),
}


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_decomposition_of_another_shape(name):
    with pytest.raises(
        TypeError, match=r"decomposition of primitive 'wrong.shrinks' gives .* abstract evaluation gives"
    ):
        TRANSFORMED[name](shrinks.bind)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("name", ["eager", "jit", "vmap", "jvp"])
def test_a_decomposition_of_another_dtype(name):
    with pytest.raises(TypeError, match=r"gives \(f32\[.*\], bool\[.*\]\) .* evaluation gives \(f32\[.*\], f32"):
        TRANSFORMED[name](two.bind)


@pytest.mark.parametrize("run", [lambda f: f(TYPED), lambda f: tangrad.jit(f)(TYPED)])
def test_a_lowering_of_another_shape(run, backend):
    for_numpy, for_xla = RuleSet("lower.numpy", api=1), RuleSet("lower.xla", api=1)
    for_numpy.add(lowered, lambda ctx, x: x.sum())
    for_xla.add(lowered, lambda ctx, x: ctx.constant(numpy.zeros((), "float32")))
    words = "returned an array of shape" if backend == "numpy" else "the lowering rule gave a value of type"
    with register(for_numpy), register(for_xla), pytest.raises(TypeError, match=words) as caught:
        run(lowered.bind)
    assert "wrong.lowered" in str(caught.value) + "".join(getattr(caught.value, "__notes__", []))


# --- The kit for transformations, by one that counts how many operations stand between an argument and a result ---


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
def each_backend(request):
    pytest.importorskip(f"tangrad._backend_{request.param}.backend")
    with tangrad.use_backend(request.param):
        yield request.param


def test_ten_lines_make_a_transformation(each_backend):
    value, found = depth(chain)(0.5)
    assert found == 3 and float(value) == pytest.approx(float(chain(np.asarray(0.5))))
    assert depth(lambda x: x)(0.5)[1] == 0
    assert depth(lambda x: np.cos(np.asarray(1.0)))(0.5)[1] == 0  # nothing of the trace in it: done below


@pytest.mark.parametrize("around", [tangrad.jit, tangrad.vmap, lambda f: tangrad.grad(lambda x: f(x).sum())])
def test_it_composes_with_others(each_backend, around):
    found = []

    def function(x):
        value, how_deep = depth(chain)(x)
        found.append(how_deep)
        return value

    x = np.linspace(0.1, 0.9, 4)
    assert np.allclose(around(function)(x), around(chain)(x), atol=1e-6)
    assert found == [3]


def test_others_within_it(each_backend):
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
