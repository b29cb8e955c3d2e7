"""`print` of a tracer, and `repr` as a debugger asks for it: what is known, in every transformation; never an error."""

import numpy
import pytest

import tangrad
from tangrad import lax, use_backend
from tangrad._core.kernel.value_texts import LONG, tracer_text, value_text
from tangrad.core import Tracer
from tangrad.core.settings import SETTINGS

np = tangrad.numpy
X = numpy.arange(3, dtype="float32")
HUGE = numpy.ones((200, 300), "float32")


def seen(transformed, *args):
    """What each tracer that comes by prints, and that `str` and format say the same."""
    texts = []

    def look(x):
        assert isinstance(x, Tracer) and repr(x) == str(x) == f"{x}"
        texts.append(repr(x))
        return lax.mul(x, lax.full_like(x, 2))

    transformed(look)(*args)
    return texts


def jvp(f):
    return lambda x: tangrad.jvp(f, (x,), (np.ones_like(x),))


def grad(f):
    return tangrad.grad(lambda x: np.sum(f(x)))


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with use_backend(request.param):
        yield request.param


@pytest.mark.parametrize(
    ("transformed", "arg", "text"),
    [
        (jvp, numpy.float32(6), "JVPTracer(primal=6.0, tangent=1.0)"),
        (jvp, X, "JVPTracer(primal=[0., 1., 2.]:f32[3], tangent=[1., 1., 1.]:f32[3])"),
        (jvp, HUGE, "JVPTracer(primal=f32[200,300], tangent=f32[200,300])"),
        (grad, 6.0, "GradientTracer(primal=6.0)"),
        (grad, X, "GradientTracer(primal=[0., 1., 2.]:f32[3])"),
        (grad, HUGE, "GradientTracer(primal=f32[200,300])"),
        (tangrad.vmap, X, "BatchTracer<f32[]>(value=[0., 1., 2.]:f32[3], dim=0)"),
        (tangrad.vmap, HUGE, "BatchTracer<f32[300]>(value=f32[200,300], dim=0)"),
        (lambda f: tangrad.vmap(f, 1), HUGE, "BatchTracer<f32[200]>(value=f32[200,300], dim=1)"),
        (tangrad.vmap, numpy.array([1, 2], "int32"), "BatchTracer<i32[]>(value=[1, 2]:i32[2], dim=0)"),
        (tangrad.jit, X, "StagingTracer<f32[3]>"),
        (tangrad.make_jaxpr, X, "StagingTracer<f32[3]>"),
        (
            lambda f: lambda x: tangrad.linearize(f, x),
            numpy.float32(6),
            "LinearizeTracer(primal=6.0, tangent=TapeTracer<f32[]>)",
        ),
        (lambda f: lambda x: tangrad.linear_transpose(f, x)(x), X, "TapeTracer<f32[3]>"),
        (lambda f: tangrad.checkpoint(f, concrete=True), X, "ConcreteTracer(value=[0., 1., 2.]:f32[3])"),
        (
            lambda f: grad(lambda x: tangrad.vmap(f)(x)),
            X,
            "BatchTracer<f32[]>(value=GradientTracer(primal=[0., 1., 2.]:f32[3]), dim=0)",
        ),
        (
            lambda f: jvp(tangrad.grad(f)),
            numpy.float32(6),
            "LinearizeTracer(primal=JVPTracer(primal=6.0, tangent=1.0), tangent=TapeTracer<f32[]>)",
        ),
    ],
)
def test_what_is_known(transformed, arg, text):
    assert seen(transformed, arg) == [text]


def test_a_padded_value():
    masked = tangrad.mask(lambda x: (texts.append(repr(x)), np.sum(x))[1], in_shapes=["n"], out_shape="")
    texts = []
    masked([numpy.arange(5.0, dtype="float32")], {"n": 3})
    (text,) = texts
    assert text == "MaskTracer<f32[n]>(value=[0., 1., 2., 0., 0.]:f32[5])"


def test_a_key():
    texts = []
    keys = tangrad.random.split(tangrad.random.key(0), 3)
    tangrad.vmap(lambda key: (texts.append(repr(key)), tangrad.random.normal(key, ()))[1])(keys)
    assert texts == ["BatchTracer<key<fry>[]>(value=key<fry>[3], dim=0)"]


def test_transformations_within_each_other_stay_short():
    def deep(f):
        for transformation in (tangrad.grad, jvp, tangrad.grad) * 4:
            f = (lambda g: lambda x: np.sum(tangrad.tree.leaves(g(x))[0]))(transformation(f))
        return f

    texts = seen(deep, numpy.float32(2))
    assert texts and all([len(text) <= LONG for text in texts])


def test_a_tracer_whose_trace_has_ended():
    kept = []
    with SETTINGS["check_tracer_leaks"](False):
        for transformed in (jvp, grad, tangrad.vmap, tangrad.jit):
            transformed(lambda x: (kept.append(x), lax.mul(x, x))[1])(X)
    assert [repr(tracer).partition("Tracer")[0] for tracer in kept] == ["JVP", "Gradient", "Batch", "Staging"]


def test_values_that_are_gone_leave_their_types():
    values = [np.asarray(X), np.asarray(X)]
    texts = []

    def look(x):
        values[0].delete()
        texts.append(repr(x))
        return x

    tangrad.jvp(look, (values[0],), (values[1],))
    assert texts == ["JVPTracer(primal=f32[3], tangent=[0., 1., 2.]:f32[3])"]


def test_what_is_half_made_and_what_raises():
    class Odd(Tracer):
        __slots__ = ()

        def known(self):
            raise ZeroDivisionError

    half = object.__new__(Odd)
    assert repr(half) == "Odd" == tracer_text(half)


def test_what_is_no_array_is_cut():
    assert len(value_text("x" * 1000)) == 80
    assert value_text((1, 2)) == "(1, 2)"


def test_symbolic_sizes():
    texts = []
    (n,) = tangrad.export.symbolic_shape("n")
    tangrad.jit(lambda x: (texts.append(repr(x)), x)[1]).trace(tangrad.ShapeDtypeStruct((n, 2), "float32"))
    assert texts == ["StagingTracer<f32[n,2]>"]
