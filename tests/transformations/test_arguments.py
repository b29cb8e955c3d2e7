"""What transformations take: positions of arguments, devices, callable objects, results, donations."""

import inspect
import warnings

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import tree
from tangrad.sharding import PartitionSpec as P

# --- Positions of arguments (`argnums`, `static_argnums`, `donate_argnums`) as integers of NumPy, or in arrays.


X = np.arange(3.0)
ONE = [1, numpy.int64(1), numpy.uint8(1), numpy.array(1), -1, numpy.array(-1)]
SEVERAL = [(0, 1), [0, 1], (numpy.int32(0), numpy.int64(1)), numpy.array([0, 1]), numpy.uint8([0, 1])]
NONE = [1.0, numpy.float32(1), numpy.array([1.0]), "1", numpy.array([[1]])]


def product(a, b):
    return (a**2 * b).sum()


DERIVATIVES = {
    "grad": lambda numbers: tangrad.grad(product, numbers)(X, X),
    "value_and_grad": lambda numbers: tangrad.value_and_grad(product, numbers)(X, X)[1],
    "jacfwd": lambda numbers: tangrad.jacfwd(product, numbers)(X, X),
    "jacrev": lambda numbers: tangrad.jacrev(product, numbers)(X, X),
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("numbers", ONE, ids=repr)
def test_one_is_one_derivative(name, numbers):
    assert DERIVATIVES[name](numbers).tolist() == [0, 1, 4]


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("numbers", SEVERAL, ids=repr)
def test_several_are_a_tuple(name, numbers):
    assert tree.map(np.ndarray.tolist, DERIVATIVES[name](numbers)) == ([0, 2, 8], [0, 1, 4])


@pytest.mark.parametrize("numbers", [numpy.array(1), numpy.array([1])], ids=repr)
def test_hessian(numbers):
    assert np.asarray(tree.leaves(tangrad.hessian(product, numbers)(X, X))[0]).tolist() == [[0] * 3] * 3


@pytest.mark.parametrize("numbers", [*ONE, numpy.array([1])], ids=repr)
def test_static_and_donated(numbers):
    assert tangrad.jit(lambda a, n: a * 2 if n == 3 else a, static_argnums=numbers)(X, 3).tolist() == [0, 2, 4]
    given = np.arange(3.0)
    assert tangrad.jit(lambda a, b: a + b, donate_argnums=numbers)(X, given).tolist() == [0, 2, 4]
    assert given.is_deleted() and not X.is_deleted()


@pytest.mark.parametrize("numbers", NONE, ids=repr)
def test_what_is_no_position(numbers):
    for make in DERIVATIVES.values():
        with pytest.raises(TypeError, match="argnums must be an integer or a sequence of integers"):
            make(numbers)
    with pytest.raises(TypeError, match="static_argnums"):
        tangrad.jit(product, static_argnums=numbers)


# --- `device=` of functions that make and convert arrays, within transformations: the array is put there, as it can
# be.


FLOATS = numpy.arange(4, dtype=numpy.float32)
FUNCTIONS = {
    "ones": lambda x, device: np.ones(4, device=device) * x,
    "zeros": lambda x, device: np.zeros((4,), device=device) + x,
    "full": lambda x, device: np.full((4,), x.sum(), device=device),
    "full_like": lambda x, device: np.full_like(x, 2.0, device=device) * x,
    "zeros_like": lambda x, device: np.zeros_like(x, device=device) + x,
    "empty_like": lambda x, device: np.empty_like(x, device=device) * 0 + x,
    "arange": lambda x, device: np.arange(4.0, device=device) * x,
    "linspace": lambda x, device: np.linspace(0.0, 1.0, 4, device=device) * x,
    "eye": lambda x, device: np.eye(4, device=device) @ x,
    "fftfreq": lambda x, device: np.fft.fftfreq(4, device=device) * x,
    "rfftfreq": lambda x, device: np.fft.rfftfreq(6, device=device) * x,
    "array": lambda x, device: np.array(x, device=device) * 2,
    "array of numbers": lambda x, device: np.array([1.0, 2.0, 3.0, 4.0], device=device) * x,
    "asarray": lambda x, device: np.asarray(x, device=device) * 2,
    "astype": lambda x, device: x.astype("float32", device=device) * 2,
    "to_device": lambda x, device: x.to_device(device) * 2,
}
TRANSFORMATIONS = {
    "jit": tangrad.jit,
    "grad": lambda f: tangrad.grad(lambda x: f(x).sum()),
    "grad of jit": lambda f: tangrad.grad(tangrad.jit(lambda x: f(x).sum())),
    "vmap": lambda f: lambda x: tangrad.vmap(f)(np.stack([x, 2 * x]))[1],
    "jvp": lambda f: lambda x: tangrad.jvp(f, (x,), (2 * x,))[1],
    "linearize": lambda f: lambda x: tangrad.linearize(f, x)[1](2 * x),
    "scan": lambda f: lambda x: tangrad.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
    "checkpoint": lambda f: tangrad.grad(lambda x: tangrad.checkpoint(f)(x).sum()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_a_device(name: str, backend: str) -> None:
    with tangrad.use_backend(backend):
        function, device = FUNCTIONS[name], tangrad.devices()[0]
        for how, transformed in TRANSFORMATIONS.items():
            x = np.asarray(FLOATS)
            found = transformed(lambda x: function(x, device))(x)
            expected = transformed(lambda x: function(x, None) if name != "to_device" else x * 2)(x)
            numpy.testing.assert_allclose(found, expected, err_msg=how)
            assert found.dtype == expected.dtype
            assert found.devices() == {device}
        assert tangrad.eval_shape(lambda x: function(x, device), FLOATS).shape == (4,)


def test_a_sharding() -> None:
    mesh = tangrad.make_mesh((1,), ("i",))
    sharding = tangrad.sharding.NamedSharding(mesh, P("i"))
    for name in ("ones", "array", "asarray", "astype", "linspace"):
        found = tangrad.jit(lambda x, name=name: FUNCTIONS[name](x, sharding))(FLOATS)
        numpy.testing.assert_allclose(found, FUNCTIONS[name](np.asarray(FLOATS), None))


@pytest.mark.parametrize("name", ["ones", "array", "asarray"])
def test_what_is_no_device(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match="cpu:0"):
        tangrad.jit(lambda x: FUNCTIONS[name](x, "cpu:0"))(FLOATS)


# --- Callable objects as functions, whatever they have under the names that functions have --------------------------


class Answering:
    """Has something under every name, as configurations and recorders do."""

    def __getattr__(self, name):
        if name in ("__jax_array__", "__array__", "__wrapped__", "__signature__", "__code__"):
            raise AttributeError(name)
        return {"what": name}

    def __call__(self, x):
        return x * x


@pytest.mark.parametrize(
    "transform",
    [
        tangrad.jit,
        tangrad.grad,
        tangrad.value_and_grad,
        tangrad.vmap,
        tangrad.checkpoint,
        tangrad.jacfwd,
        tangrad.jacrev,
        tangrad.make_jaxpr,
        lambda f: lambda x: tangrad.lax.cond(True, f, f, x),
        lambda f: lambda x: tangrad.jvp(f, (x,), (x,)),
    ],
)
def test_names_that_are_no_text_are_no_names(transform):
    function = transform(Answering())
    x = np.ones(2) if transform in (tangrad.vmap, tangrad.jacfwd, tangrad.jacrev) else 2.0
    assert function(x) is not None
    assert isinstance(getattr(function, "__name__", ""), str)


def test_the_gradient_of_an_object():
    assert tangrad.grad(Answering())(3.0) == 6
    assert tangrad.vmap(Answering())(np.arange(3.0)).tolist() == [0, 1, 4]


WRAPPERS = {
    "jit": tangrad.jit,
    "grad": tangrad.grad,
    "value_and_grad": tangrad.value_and_grad,
    "vmap": tangrad.vmap,
    "pmap": tangrad.pmap,
    "checkpoint": tangrad.checkpoint,
    "jacfwd": tangrad.jacfwd,
    "hessian": tangrad.hessian,
    "custom_jvp": tangrad.custom_jvp,
    "custom_vjp": tangrad.custom_vjp,
    "pjit": tangrad.experimental.pjit.pjit,
    "jit of vmap": lambda f: tangrad.jit(tangrad.vmap(f)),
    "vmap of jit": lambda f: tangrad.vmap(tangrad.jit(f)),
}


class Layer:
    def __init__(self):
        self.width, self._cache = 3, {}

    def __call__(self, x):
        return x * self.width


@pytest.mark.parametrize("name", sorted(WRAPPERS))
def test_public_attributes_of_a_function_are_there_on_what_is_made_of_it(name):
    def scaled(x):
        return 2.0 * x

    scaled.units = "metres"
    made = WRAPPERS[name](scaled)
    assert made.units == "metres"
    assert WRAPPERS[name](Layer()).width == 3 and not hasattr(WRAPPERS[name](Layer()), "_cache")
    made.units = "feet"  # of its own
    assert scaled.units == "metres"


def test_attributes_of_a_wrapper_are_not_those_of_what_it_wraps():
    function = tangrad.custom_jvp(lambda x: x * 2.0)
    function.defjvp(lambda primals, tangents: (function(*primals), 5.0 * tangents[0]))
    again = tangrad.custom_jvp(function)
    assert again.fun is function and again.jvp is None  # that `function` has a rule does not give `again` one


@pytest.mark.parametrize("name", ["jit", "custom_jvp", "custom_vjp", "pjit"])
def test_signatures_that_are_not_followed(name):
    made = WRAPPERS[name](lambda a, *, b=2: a * b)
    for follow in (True, False):
        assert str(inspect.signature(made, follow_wrapped=follow)) == "(a, *, b=2)"
    assert "fun" in str(inspect.signature(type(made)))  # that of the class is its constructor's


# --- What a function returns beside its output comes back as it was returned ----------------------------------------


AUXILIARY = {
    "grad": lambda f: tangrad.grad(f, has_aux=True)(2.0)[1],
    "value_and_grad": lambda f: tangrad.value_and_grad(f, has_aux=True)(2.0)[0][1],
    "jvp": lambda f: tangrad.jvp(f, (2.0,), (1.0,), has_aux=True)[2],
    "vjp": lambda f: tangrad.vjp(f, 2.0, has_aux=True)[2],
    "linearize": lambda f: tangrad.linearize(f, 2.0, has_aux=True)[2],
    "jacfwd": lambda f: tangrad.jacfwd(f, has_aux=True)(2.0)[1],
    "jacrev": lambda f: tangrad.jacrev(f, has_aux=True)(2.0)[1],
    "hessian": lambda f: tangrad.hessian(f, has_aux=True)(2.0)[1],
}


@pytest.mark.parametrize("name", sorted(AUXILIARY))
def test_values_that_hold_no_tracer_come_back_as_they_were(name):
    counts = numpy.array([2**40, 1])
    auxiliary = AUXILIARY[name](lambda x: (x**2, {"n": 3, "on": True, "rate": 0.1, "counts": counts, "text": "a"}))
    assert auxiliary["counts"] is counts
    assert type(auxiliary["n"]) is int and type(auxiliary["on"]) is bool and type(auxiliary["rate"]) is float
    assert auxiliary["rate"] == 0.1 and auxiliary["text"] == "a"


@pytest.mark.parametrize("name", sorted(AUXILIARY))
def test_traced_values_come_back_as_arrays(name):
    auxiliary = AUXILIARY[name](lambda x: (x**2, [x * 3, 5, np.arange(2)]))
    assert isinstance(auxiliary[0], tangrad.Array) and auxiliary[0] == 6
    assert auxiliary[1] == 5 and auxiliary[2].tolist() == [0, 1]


def test_they_pass_through_jit_and_vmap():
    f = tangrad.grad(lambda x: (x**2, (x, 3)), has_aux=True)
    slope, (x, three) = tangrad.jit(f)(2.0)
    assert slope == 4 and x == 2 and isinstance(three, tangrad.Array) and three == 3
    slope, (x, three) = tangrad.vmap(f)(np.arange(2.0))
    assert slope.tolist() == [0, 2] and x.tolist() == [0, 1] and three.tolist() == [3, 3]


# --- Donated arguments ---


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    with tangrad.use_backend(request.param):
        yield


def floats(*shape):
    return np.ones(shape, "float32") + 1


def outcome(function, *args, **kwargs):
    """Which leaves of the arguments are deleted, and whether a warning said that some could not be used."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        function(*args, **kwargs)
    assert all("Some donated buffers were not usable" in str(one.message) for one in said)
    return [leaf.is_deleted() for leaf in tangrad.tree.leaves((args, kwargs))], bool(said)


FIRST, BOTH, SECOND = {"donate_argnums": 0}, {"donate_argnums": (0, 1)}, {"donate_argnums": 1}
CASES = {
    "a result of its type": (lambda x: x + 1, FIRST, [(3,)], [True], False),
    "of another shape": (lambda x: x.sum(), FIRST, [(3,)], [False], True),
    "of another dtype": (lambda x: x.astype("float16"), FIRST, [(3,)], [False], True),
    "of another dtype and its size": (lambda x: x.astype("int32"), FIRST, [(3,)], [True], False),
    "of as many bytes": (lambda x: x[:2].astype("complex64"), FIRST, [(4,)], [False], True),
    "transposed": (lambda x: x.T, FIRST, [(2, 3)], [True], False),
    "reshaped": (lambda x: x.reshape(-1) + 1, FIRST, [(2, 3)], [True], False),
    "its type comes first": (lambda x, y: (y + 1, x.sum()), BOTH, [(3, 2), (6,)], [False, True], True),
    "a square, transposed": (lambda x: x.T, FIRST, [(3, 3)], [True], False),
    "two for one": (lambda x, y: x + y, BOTH, [(3,), (3,)], [True, False], True),
    "two for two": (lambda x, y: (x + y, x - y), BOTH, [(3,), (3,)], [True, True], False),
    "the second": (lambda x, y: x + y, SECOND, [(3,), (3,)], [False, True], False),
    "the second, in vain": (lambda x, y: x + y.sum(), SECOND, [(3,), (4,)], [False, False], True),
    "unused": (lambda x, y: y + 1, FIRST, [(3,), (3,)], [False, False], False),
    "none used": (lambda x, y: np.zeros(3), BOTH, [(3,), (3,)], [False, False], False),
    "both, one used": (lambda x, y: y + 1, BOTH, [(3,), (3,)], [False, True], False),
    "unused and kept": (lambda x, y: y + 1, {**FIRST, "keep_unused": True}, [(3,), (3,)], [True, False], False),
    "for nothing": (lambda x: None, FIRST, [(3,)], [False], False),
    "a number": (lambda x: x * 2, FIRST, [()], [True], False),
    "empty": (lambda x: x + 1, FIRST, [(0,)], [True], False),
    "large, in vain": (lambda x: (x * 2).sum(), FIRST, [(20000,)], [False], True),
    "inner": (lambda x: tangrad.jit(lambda y: y.sum(), donate_argnums=0)(x), {}, [(3,)], [False], False),
}


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("name", CASES)
def test_what_is_deleted(name):
    function, options, shapes, deleted, warned = CASES[name]
    program = tangrad.jit(function, **options)
    assert outcome(program, *[floats(*shape) for shape in shapes]) == (deleted, warned)
    # The second call finds the program, and says nothing again.
    assert outcome(program, *[floats(*shape) for shape in shapes]) == (deleted, False)


@pytest.mark.usefixtures("backend")
def test_what_is_kept_can_be_used():
    x = floats(20000)
    program = tangrad.jit(lambda y: (y * 3).sum(), donate_argnums=0)
    with pytest.warns(UserWarning, match=r"args\[0\]: float32\[20000\]"):
        total = program(x)
    assert float(total) == 120000 and float(x.sum()) == 40000


@pytest.mark.usefixtures("backend")
def test_one_array_twice():
    x = floats(3)
    add = tangrad.jit(lambda a, b: a + b, donate_argnums=0)
    with pytest.raises(ValueError, match=r"args\[0\] is donated, and its array is both args\[0\] and args\[1\]"):
        add(x, x)
    with pytest.raises(ValueError, match="pass a copy"):
        add.lower(x, x).compile()(x, x)
    assert x.tolist() == [2, 2, 2]


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("options", [FIRST, BOTH])
def test_one_array_twice_that_is_not_overwritten(options):
    """No result has its size, or the program does not use it."""
    for function in (lambda a, b: a.sum() + b.sum(), lambda a, b: np.zeros(3)):
        deleted, _ = outcome(tangrad.jit(function, **options), *[floats(3)] * 2)
        assert deleted == [False, False]
    x = floats(3)
    assert tangrad.jit(lambda a, b: b + 1, **FIRST)(x, x).tolist() == [3, 3, 3]


@pytest.mark.usefixtures("backend")
def test_trees_names_and_static_arguments():
    leaves = {"a": floats(3), "b": floats(2)}
    assert outcome(tangrad.jit(lambda d: {"a": d["a"] + 1}, donate_argnums=0), leaves) == ([True, False], False)
    by_name = tangrad.jit(lambda x, y: y.sum() + x, donate_argnames="y")
    assert outcome(by_name, floats(3), y=floats(2)) == ([False, False], True)
    assert outcome(by_name, floats(1), y=floats(1)) == ([False, True], False)
    sized = tangrad.jit(lambda n, x: x[:n], static_argnums=0, donate_argnums=1)
    x = floats(3)
    with pytest.warns(UserWarning, match="not usable"):
        sized(2, x)
    assert not x.is_deleted()
    sized(3, x)
    assert x.is_deleted()


@pytest.mark.usefixtures("backend")
def test_compiled_ahead():
    with pytest.warns(UserWarning, match="not usable"):
        compiled = tangrad.jit(lambda x: x.sum(), donate_argnums=0).lower(floats(3)).compile()
    assert outcome(compiled, floats(3)) == ([False], False)
    assert outcome(tangrad.jit(lambda x: x + 1, donate_argnums=0).lower(floats(3)).compile(), floats(3))[0] == [True]


@pytest.mark.usefixtures("backend")
def test_nothing_is_deleted_without_programs():
    with tangrad.disable_jit():
        assert outcome(tangrad.jit(lambda x: x + 1, donate_argnums=0), floats(3)) == ([False], False)
    assert outcome(tangrad.vmap(tangrad.jit(lambda x: x.sum(), donate_argnums=0)), floats(2, 3))[0] == [False]
    assert outcome(tangrad.pmap(lambda x: x.sum(), donate_argnums=0), floats(1, 3)) == ([False], True)
