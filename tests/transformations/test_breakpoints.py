"""`debug.breakpoint`: a prompt in running programs that shows the variables of that run."""

import io

import pytest

import tangrad
import tangrad.numpy as np

HERE = __file__


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


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
