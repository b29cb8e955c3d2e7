"""Finding mistakes: tracers in print, `debug.breakpoint`, `debug_nans` and `debug_infs`."""

import io

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, use_backend
from tangrad._console.explanations.value_texts import LONG, tracer_text, value_text
from tangrad.core import Tracer
from tangrad.core.settings import SETTINGS

# --- `print` of a tracer, and `repr` as a debugger asks for it ---


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


# --- `debug.breakpoint`: a prompt in running programs that shows the variables of that run ---


HERE = __file__


def session(function, *args, commands="c", **options):
    """What a prompt in `function(stop, *args)` answers, line by line, without the prompts themselves."""
    shown = io.StringIO()

    def stop():
        return {"stdin": io.StringIO(commands), "stdout": shown, **options}

    result = function(stop, *args)
    tangrad.effects_barrier()
    return result, shown.getvalue().replace("(tangrad) ", "").splitlines()


def doubled(stop, x):
    y = 2 * x
    tangrad.debug.breakpoint(**stop())
    return y


def test_variables_have_the_values_of_the_run():
    f = lambda stop, x: tangrad.jit(lambda x: doubled(stop, x))(x)
    result, lines = session(f, np.array([1.0, 2.0]), commands="p y + 1\ny.shape\nc")
    assert result.tolist() == [2, 4]
    assert lines == ["Array([3., 5.], dtype=float32)", "(2,)"]


def test_frames_are_walked_through():
    result, lines = session(doubled, np.float32(3), commands="u\np 6 * 7\nd\nd\nwhere\nlocals\nc", num_frames=2)
    assert float(result) == 6
    assert lines[0].startswith(HERE) and lines[0].endswith(" session")
    assert lines[1] == "42"
    assert lines[2].endswith(" doubled") and lines[3] == "this is the innermost frame"
    assert lines[4].startswith("  ") and lines[4].endswith(" session")
    assert lines[5].startswith("> ") and lines[5].endswith(" doubled")
    assert [line.split(" = ")[0] for line in lines[6:]] == ["stop", "x", "y"]


def test_the_lines_around_are_shown():
    _, lines = session(doubled, 1.0, commands="list\nc")
    (current,) = [line for line in lines if line.startswith("->")]
    assert current.endswith("tangrad.debug.breakpoint(**stop())")


def test_under_transformations():
    mapped = lambda stop, x: tangrad.vmap(lambda x: doubled(stop, x))(x)
    _, lines = session(mapped, np.arange(3.0), commands="float(y)\nc\n" * 3)
    assert lines == ["0.0", "2.0", "4.0"]
    gradient = lambda stop, x: tangrad.jit(tangrad.grad(lambda x: doubled(stop, x)))(x)
    result, lines = session(gradient, 1.5, commands="float(y)\nc")
    assert float(result) == 2 and lines == ["3.0"]


def test_an_expression_that_fails_is_reported():
    _, lines = session(doubled, 1.0, commands="unknown\np (\n\nc")
    assert lines[0] == "NameError: name 'unknown' is not defined"
    assert lines[1].startswith("SyntaxError")


def test_quit_ends_the_program():
    with pytest.raises(Exception, match=r"ended at a breakpoint in .*doubled"):
        session(doubled, 1.0, commands="quit")


def test_tracers_that_have_ended_are_shown_as_text():
    kept = []
    tangrad.make_jaxpr(lambda x: kept.append(x) or x)(1.0)

    def f(stop, old):
        tangrad.debug.breakpoint(**stop())

    _, lines = session(f, kept[0], commands="type(old).__name__\nc", num_frames=1)
    assert lines == ["'str'"]


def test_variables_that_are_no_trees_of_arrays_are_handed_over_as_they_are():
    def f(stop, x):
        kind, mixed, text = type(x), {1: x, "a": x}, "ninety"
        tangrad.debug.breakpoint(**stop())
        return kind, mixed, text

    _, lines = session(f, np.float32(1), commands="kind is type(x)\nsorted(map(str, mixed))\ntext\nc", num_frames=1)
    assert lines == ["True", "['1', 'a']", "'ninety'"]


@pytest.mark.parametrize(
    ("options", "message"), [({"backend": "web"}, "prompt is 'cli'"), ({"num_frames": 0}, "1 or more, got 0")]
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        tangrad.debug.breakpoint(**options)


# --- `debug_nans` and `debug_infs` ---


CHECKED_X = (-1.0, 0.0, 1.0, 4.0)


def positive(x):
    return lax.cond(x > 0, np.log, lambda y: y, x)


def halved(x):
    """A square root as long as it is worth it: never of a negative number."""
    return lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, np.sqrt(c[1])), (np.where(x < 0, 2, 0), x))


def switched(x):
    return lax.switch((x > 0).astype(int) + (x > 2), [lambda y: y, np.log, lambda y: np.log(y - 2)], x)


ruled = tangrad.custom_jvp(positive)
ruled.defjvps(lambda tangent, answer, x: tangent)


SELECTED_AWAY = {
    "cond": lambda x: tangrad.vmap(positive)(x),
    "quotient": lambda x: tangrad.vmap(lambda y: lax.cond(y != 0, lambda z: 1 / z, lambda z: z, y))(x),
    "switch": lambda x: tangrad.vmap(switched)(x),
    "while": lambda x: tangrad.vmap(halved)(x),
    "count of turns": lambda x: tangrad.vmap(lambda n, y: lax.fori_loop(0, n, lambda _, c: np.log(c), y))(
        np.array([0, 0, 1, 1]), x
    ),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [np.log, lambda y: 3 * y]),
    "cond in a scan": lambda x: tangrad.vmap(lambda y: lax.scan(lambda c, _: (c, positive(y)), 0.0, None, length=2))(x),
    "cond in cond": lambda x: tangrad.vmap(lambda y: lax.cond(y > 0, positive, lambda z: z, y))(x),
    "mapped twice": lambda x: tangrad.vmap(tangrad.vmap(positive))(x[None]),
    "inner program": lambda x: tangrad.vmap(tangrad.jit(positive))(x),
    "recomputed": lambda x: tangrad.vmap(tangrad.checkpoint(positive))(x),
    "rule of its own": lambda x: tangrad.vmap(ruled)(x),
    "taken one by one": lambda x: lax.map(positive, x),
    "loop": lambda x: lax.scan(lambda c, y: (c, np.where(y > 0, np.log(y), y)), 0.0, x),
    "forward": lambda x: tangrad.jvp(tangrad.vmap(positive), (x,), (x,)),
    "reverse": lambda x: tangrad.grad(lambda y: tangrad.vmap(positive)(y).sum())(x),
    "each gradient": lambda x: tangrad.vmap(tangrad.grad(positive))(x),
}
REACHES = {
    "operation": lambda x: np.log(x - 2),
    "chosen row": lambda x: tangrad.vmap(lambda y: lax.cond(y < 1, lambda z: np.log(z - 1), lambda z: z, y))(x),
    "row of a switch": lambda x: tangrad.vmap(lambda y: lax.switch(0, [lambda z: np.log(z - 5), np.exp], y))(x),
    "turn": lambda x: tangrad.vmap(lambda y: lax.fori_loop(0, 2, lambda _, c: np.log(c), y))(x),
    "piece": lambda x: np.piecewise(x, [x < 0], [np.log, lambda y: y]),
    "taken branch": lambda x: lax.cond(x[0] < 0, lambda y: np.log(y), lambda y: y, x),
    "slice": lambda x: lax.scan(lambda c, y: (c, np.log(y)), 0.0, x),
    "inner program": lambda x: tangrad.jit(lambda y: np.log(y))(x),
    "gradient": lambda x: tangrad.grad(lambda y: np.sqrt(y * 0.0).sum())(x),
}
UNDER = {"eager": lambda f: f, "jit": tangrad.jit}


@pytest.mark.parametrize("setting", [tangrad.debug_nans, tangrad.debug_infs], ids=["nans", "infs"])
@pytest.mark.parametrize("under", UNDER)
@pytest.mark.parametrize("name", SELECTED_AWAY)
def test_what_is_selected_away(name, under, setting):
    x = np.array(CHECKED_X)
    program = UNDER[under](SELECTED_AWAY[name])
    expected = tangrad.tree.map(lambda leaf: leaf.tolist(), program(x))
    with setting(True):
        found = program(x)
    assert str(tangrad.tree.map(lambda leaf: leaf.tolist(), found)) == str(expected)
    assert "nan" not in str(expected) and "inf" not in str(expected)


@pytest.mark.parametrize("under", UNDER)
@pytest.mark.parametrize("name", REACHES)
def test_what_reaches_a_result(name, under):
    program = UNDER[under](REACHES[name])
    with tangrad.debug_nans(True), tangrad.debug_infs(True), pytest.raises(FloatingPointError, match="invalid value"):
        program(np.array(CHECKED_X))
    program(np.array(CHECKED_X))


def test_the_operation_is_named():
    x = np.array(CHECKED_X)
    with tangrad.debug_nans(True):
        for program in (lambda: lax.scan(lambda c, y: (c, np.log(y)), 0.0, x), lambda: tangrad.jit(np.log)(x)):
            with pytest.raises(FloatingPointError, match=r"made by primitive 'log'"):
                program()


def test_after_an_error_everything_is_looked_at_again():
    x = np.array(CHECKED_X)

    def broken(y):
        raise KeyError(y.shape)

    with tangrad.debug_nans(True):
        with pytest.raises(KeyError):
            np.piecewise(x, [x > 0], [broken])
        with pytest.raises(FloatingPointError):
            np.log(x)
