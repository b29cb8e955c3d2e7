"""Tracebacks of what users do show their lines alone; eager operations, methods, derivatives, at any depth."""

import inspect
import pickle
import traceback
import warnings
from pathlib import Path
from types import FunctionType

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.core import composition, find_primitive
from tangrad.diagnostics.public_boundaries import with_boundary

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
    "update": lambda x, y: x.at[0].set(y),
    "part": lambda x, y: x.at[1, 2].get(),
    "scalar type": lambda x, y: np.int32("one"),
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


# --- public functions: a boundary for each signature ----------------------------------------------------------------


LIBRARIES = (str(Path(numpy.__file__).parent), str(Path(inspect.__file__).parent))


class Nothing:
    """No function takes it for an array, a shape or a key."""


def public_functions():
    for name in composition().names("tangrad.api"):
        package, _, own = name.rpartition(".")
        if package in ("", "numpy", "lax", "random", "nn", "numpy.linalg", "lax.linalg"):
            found = getattr(getattr_path(package), own)
            if isinstance(found, FunctionType):
                yield name, found


def getattr_path(package):
    found = tangrad
    for part in filter(None, package.split(".")):
        found = getattr(found, part)
    return found


def shown(function, *args):
    """The files of the frames that an error shows, but for those of Python and NumPy; None where there is no error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args)
        except Exception as error:
            files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
            return [file for file in files if not file.startswith(LIBRARIES)]
    return None


def test_errors_of_every_public_function_show_the_line_of_the_user():
    asked, silent = 0, []
    for name, function in public_functions():
        count = sum(one.default is one.empty for one in inspect.signature(function).parameters.values())
        files = [shown(function, *[Nothing()] * number) for number in (count, count + 1, 1, 2)]
        asked += any(files)
        silent += [] if any(files) else [name]
        assert all(found is None or set(found) == {__file__} for found in files), (name, files)
    assert asked > 500 and len(silent) < 80, silent


def test_public_functions_keep_what_they_are():
    from tangrad.numpy import joining

    assert np.concatenate is np.concatenate is not joining.concatenate
    assert inspect.signature(np.concatenate) == inspect.signature(joining.concatenate)
    assert inspect.unwrap(np.concatenate) is joining.concatenate and np.concatenate.__doc__
    assert np.concatenate.__module__ == "tangrad.numpy" and np.concatenate.__name__ == "concatenate"
    assert pickle.loads(pickle.dumps(np.concatenate)) is np.concatenate
    bounded = [(name, one) for name, one in public_functions() if ("tangrad." + name).startswith(one.__module__ + ".")]
    assert len(bounded) > 400
    assert [name for name, one in bounded if pickle.loads(pickle.dumps(one)) is not one] == []


def test_a_boundary_has_every_kind_of_parameter():
    def given(a, b, /, c, d=4, *rest, e, f=6, **others):
        return a, b, c, d, rest, e, f, others

    def plain():
        return 1

    def numbered():
        yield 1

    code = given.__code__.replace(co_filename=np.__file__)
    boundary = with_boundary(FunctionType(code, globals(), "given", given.__defaults__), "somewhere", "given")
    boundary.__kwdefaults__ = given.__kwdefaults__
    assert boundary(1, 2, 3, e=5) == given(1, 2, 3, e=5)
    assert boundary(1, 2, 3, 7, 8, 9, e=5, f=0, g=1) == given(1, 2, 3, 7, 8, 9, e=5, f=0, g=1)
    assert boundary(1, 2, c=3, e=5, a=0) == given(1, 2, c=3, e=5, a=0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'c'"):
        boundary(1, 2, e=5)
    assert with_boundary(plain, "somewhere", "plain") is plain, "the functions of others show as they are"
    ours = FunctionType(numbered.__code__.replace(co_filename=np.__file__), globals())
    assert with_boundary(ours, "somewhere", "numbered") is ours


def test_warnings_name_the_line_of_the_user():
    for warned in (
        lambda: np.asarray(THREE + 1j).astype("float32"),
        lambda: tangrad.lax.convert_element_type(THREE + 1j, "float32"),
        lambda: np.astype(np.asarray(THREE + 1j), "float32"),
        lambda: tangrad.nn.one_hot(THREE, 3),
        lambda: np.asarray([1, 2]).at[0].set(0.5),
        lambda: np.zeros(3, "float64"),
    ):
        with pytest.warns(Warning) as caught:
            warned()
        assert caught[0].filename == __file__, caught[0]
