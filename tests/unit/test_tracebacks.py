"""Tracebacks of what users do show their lines alone; eager operations, methods, derivatives, at any depth."""

import traceback

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.core import find_primitive

THREE, FOUR = numpy.ones(3, "float32"), numpy.ones(4, "float32")


def other_shapes(x):
    return x + np.asarray(FOUR)


MISTAKES = {
    "operator": lambda x, y: x + y,
    "reflected operator": lambda x, y: [1] - x,
    "comparison": lambda x, y: x == y,
    "negative of booleans": lambda x, y: -(x > 0),
    "function of two": lambda x, y: np.add(x, y),
    "function of one": lambda x, y: np.sin("x"),
    "matrix product": lambda x, y: x @ y,
    "index": lambda x, y: x[1, 2],
    "method": lambda x, y: x.reshape(7),
    "no such attribute": lambda x, y: x.no_such_method,
    "primitive": lambda x, y: find_primitive("elementwise.add").bind(x, y),
    "gradient": lambda x, y: tangrad.grad(lambda z: z)(x),
    "value and gradient": lambda x, y: tangrad.value_and_grad(lambda z: z)(x),
    "vjp": lambda x, y: tangrad.vjp(lambda z: z * 2, x)[1](y),
    "jvp": lambda x, y: tangrad.jvp(lambda z: z, (x,), (y,)),
    "linearize": lambda x, y: tangrad.linearize(lambda z: z * 2, x)[1](y),
    "linear transpose": lambda x, y: tangrad.linear_transpose(lambda z: z * 2, x)(y),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_line_of_the_user_is_the_last(name):
    x, y = np.asarray(THREE), np.asarray(FOUR)
    mistake = MISTAKES[name]
    with pytest.raises((TypeError, ValueError, IndexError, AttributeError)) as caught:
        mistake(x, y)
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert files == [__file__, __file__]
    assert len(traceback.extract_tb(caught.value.unfiltered_traceback)) >= 1


TRANSFORMATIONS = {
    "grad": tangrad.grad,
    "value_and_grad": tangrad.value_and_grad,
    "jit": tangrad.jit,
    "vmap": lambda f: lambda x: tangrad.vmap(f)(x[None]),
    "grad of jit": lambda f: tangrad.grad(tangrad.jit(f)),
    "jit of vmap of grad": lambda f: tangrad.jit(lambda x: tangrad.vmap(tangrad.grad(f))(x[None])),
    "jvp": lambda f: lambda x: tangrad.jvp(f, (x,), (x,)),
    "jacfwd": tangrad.jacfwd,
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_functions_under_transformations(name):
    transformed = TRANSFORMATIONS[name](other_shapes)
    with pytest.raises(ValueError, match="broadcast") as caught:
        transformed(np.asarray(THREE))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__} and frames[-1].name == "other_shapes"
    assert caught.value.__notes__.count(caught.value.__notes__[0]) == 1
    whole = traceback.extract_tb(caught.value.unfiltered_traceback)
    assert any("tangrad" in frame.filename and frame.filename != __file__ for frame in whole)
    assert "other_shapes" in [frame.name for frame in whole]
