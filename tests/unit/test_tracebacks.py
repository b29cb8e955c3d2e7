"""Tracebacks of what users do show their lines alone; eager operations, methods, derivatives, at any depth."""

import inspect
import pickle
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from types import FunctionType, ModuleType

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad._core.diagnostics.source_info import is_internal
from tangrad._core.diagnostics.tracebacks import with_boundary
from tangrad.core import class_boundary, composition, find_primitive

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
    "Python number": lambda x, y: float(x),
    "truth": lambda x, y: bool(x),
    "iteration": lambda x, y: list(x[0]),
    "assignment": lambda x, y: x.__setitem__(0, 1),
    "element": lambda x, y: x.item(7),
    "NumPy array": lambda x, y: numpy.asarray(tangrad.random.key(0)),
    "setting": lambda x, y: tangrad.enable_x64("perhaps"),
    "config.update": lambda x, y: tangrad.config.update("enable_x64", "perhaps"),
    "unknown setting": lambda x, y: tangrad.config.no_such_setting,
    "value of a setting": lambda x, y: setattr(tangrad.config, "enable_x64", "perhaps"),
    "custom_jvp without a rule": lambda x, y: tangrad.custom_jvp(np.sin)(x),
    "arguments of custom_vjp": lambda x, y: tangrad.custom_vjp(3),
    "arguments of a compiled program": lambda x, y: tangrad.jit(np.sin).lower(x).compile()(y),
    "arguments of lower": lambda x, y: tangrad.jit(np.sin).lower(object()),
    "kind of text": lambda x, y: tangrad.jit(np.sin).lower(x).as_text("no such kind"),
    "mesh": lambda x, y: tangrad.sharding.Mesh(3, 4),
    "shape of a part": lambda x, y: tangrad.sharding.SingleDeviceSharding(tangrad.devices()[0]).shard_shape(("a",)),
    "r_": lambda x, y: np.r_["no such directive", 3],
    "vectorized": lambda x, y: np.vectorize(np.add, signature="(n),(n)->(n)")(x, y),
    "shape and dtype": lambda x, y: tangrad.ShapeDtypeStruct((3,), "no such dtype"),
    "public name": lambda x, y: np.no_such_function,
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_line_of_the_user_is_the_last(name):
    x, y = np.asarray(THREE), np.asarray(FOUR)
    mistake = MISTAKES[name]
    errors = (TypeError, ValueError, IndexError, AttributeError)
    with suppress(*errors):  # operators are looked up when they are first used, and called directly after that
        mistake(x, y)
    with pytest.raises(errors) as caught:
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


# Comparing, hashing, printing and copying raise nothing that users cause.
NOT_CALLED_BY_USERS = {
    *(
        "__hash__",
        "__eq__",
        "__ne__",
        "__repr__",
        "__str__",
        "__dir__",
        "__delattr__",
        "__init_subclass__",
        "__post_init__",
    ),
    *("__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__", "__getnewargs__", "__getstate__", "__setstate__"),
}
# A look at what an array holds, at the price of an attribute; and what NumPy asks for one protocol after the other.
WITHOUT = {(tangrad.Array, "to_numpy"), (tangrad.Array, "__getattr__")}


def public_classes():
    """The classes that have a public name, and those of public objects, such as settings, with one of the names."""
    found = {}
    for name in composition().names("tangrad.api"):
        package, _, own = name.rpartition(".")
        value = getattr(getattr_path(package), own)
        kind = value if isinstance(value, type) else type(value)
        if kind is not FunctionType and not isinstance(value, ModuleType):
            found.setdefault(kind, name)
    return found


def methods_of(kind):
    """The functions of ours that calls of the class and its methods run."""
    for name in {name for base in kind.__mro__ for name in vars(base)}:
        value = inspect.getattr_static(kind, name)
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        hidden = name.startswith("_") and not (name.startswith("__") and name.endswith("__"))
        if isinstance(function, FunctionType) and is_internal(function.__code__.co_filename) and not hidden:
            yield name, function


def test_errors_of_every_public_class_show_the_line_of_the_user():
    asked = set()
    for kind, public in public_classes().items():
        calls = {"()": kind} | {n: f for n, f in methods_of(kind) if n not in NOT_CALLED_BY_USERS}
        for name, function in calls.items():
            if (kind, name) not in WITHOUT and not inspect.isgeneratorfunction(inspect.unwrap(function)):
                files = [shown(function, *[Nothing()] * number) for number in (1, 2, 3)]
                assert all(found is None or set(found) == {__file__} for found in files), (public, name, files)
                asked |= {(public, name)} if any(files) else set()
    assert len({public for public, _ in asked}) > 25 and len(asked) > 120, sorted(asked)


def test_classes_keep_what_they_are():
    assert inspect.signature(tangrad.custom_jvp).parameters.keys() == {"fun", "nondiff_argnums", "nondiff_argnames"}
    assert tangrad.custom_jvp.defjvp.__qualname__ == "custom_jvp.defjvp" and tangrad.custom_jvp.defjvp.__doc__
    mesh = tangrad.sharding.Mesh(numpy.array(tangrad.devices()[:1]), ("x",))
    assert pickle.loads(pickle.dumps(mesh.shape_tuple)) == (("x", 1),)

    @class_boundary
    class Mine(type(mesh)):
        def plain(self):
            return 1

    assert Mine.plain.__code__.co_filename == __file__, "the functions of others show as they are"


def test_public_functions_keep_what_they_are():
    from tangrad._numpy import joining

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
