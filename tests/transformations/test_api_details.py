"""Details of the transformations' interfaces that programs of the field rely on: what is taken, handed on, let go."""

import collections
import copy
import enum
import gc
import pickle
import warnings

import numpy
import pytest

import tangrad
import tangrad.numpy as np

FLOAT0 = tangrad.dtypes.float0


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


def twice(x):
    return x * 2


# --- autodiff ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transformation", [tangrad.grad, tangrad.value_and_grad, tangrad.jacfwd, tangrad.jacrev])
@pytest.mark.parametrize("argnums", [(0, 0), (1, -1)])
def test_an_argument_named_twice_is_refused(transformation, argnums):
    with pytest.raises(ValueError, match="twice"):
        transformation(lambda x, y: x * y, argnums=argnums)(1.0, 2.0)


def test_a_pair_with_auxiliary_output_may_be_a_list():
    assert tangrad.grad(lambda x: [x * x, "aux"], has_aux=True)(3.0)[1] == "aux"
    assert float(tangrad.vjp(lambda x: [x * x, x], 3.0, has_aux=True)[2]) == 3.0
    assert float(tangrad.jvp(lambda x: [x * x, x], (3.0,), (1.0,), has_aux=True)[2]) == 3.0


def test_primals_and_tangents_are_both_tuples_or_both_lists():
    assert float(tangrad.jvp(twice, [1.0], [1.0])[1]) == 2.0
    with pytest.raises(TypeError, match="tuple and list"):
        tangrad.jvp(twice, (1.0,), [1.0])


def test_cotangents_of_integer_outputs():
    outs, pull = tangrad.vjp(lambda x: {"value": x * x, "count": np.int32(3)}, 2.0)
    for cotangents in (tangrad.tree.map(np.ones_like, outs), {"value": 1.0, "count": numpy.zeros((), FLOAT0)}):
        assert float(pull(cotangents)[0]) == 4.0
    with pytest.raises(TypeError, match="float0"):
        pull({"value": 1.0, "count": 1.0})
    with pytest.raises(ValueError, match="shape"):
        pull({"value": 1.0, "count": np.ones(2, int)})


def test_derivatives_by_integers_under_other_transformations():
    f = tangrad.grad(lambda i, x: i * x, argnums=(0, 1), allow_int=True)
    mapped = tangrad.vmap(f)(numpy.arange(3), numpy.ones(3))
    assert (mapped[0].dtype, mapped[0].shape, mapped[1].tolist()) == (FLOAT0, (3,), [0.0, 1.0, 2.0])
    assert tangrad.vmap(f, out_axes=(-1, 0))(numpy.arange(3), numpy.ones(3))[0].shape == (3,)
    compiled = tangrad.jit(f)(3, 2.0)
    assert (compiled[0].dtype, float(compiled[1])) == (FLOAT0, 3.0)
    jvp = lambda x, t: tangrad.jvp(twice, (x,), (t,))
    assert tangrad.vmap(jvp)(numpy.arange(3), numpy.zeros(3, FLOAT0))[0].tolist() == [0, 2, 4]
    assert tangrad.jit(jvp)(3, compiled[0])[1].dtype == FLOAT0
    assert tangrad.jacfwd(lambda x: (np.int32(x), x))(1.5)[0].dtype == FLOAT0


def test_a_tracer_of_an_ended_transformation_is_no_argument():
    kept = []
    tangrad.grad(lambda x: kept.append(x) or x)(1.0)
    for function in (lambda x: x, twice):
        with pytest.raises(tangrad.errors.UnexpectedTracerError):
            tangrad.grad(function)(kept[0])
    for device in (None, tangrad.devices()[0]):
        with pytest.raises(tangrad.errors.UnexpectedTracerError):
            tangrad.device_put(kept[0], device)


@pytest.mark.parametrize("transformation", [tangrad.linearize, tangrad.vjp, tangrad.jvp, "grad", "pull", "jit", "vmap"])
def test_nothing_waits_for_the_garbage_collector(transformation):
    """Residuals in a cycle of references would keep their memory."""
    x = np.ones(3)
    f = lambda x: np.sin(x).sum()
    jitted = tangrad.jit(tangrad.grad(f))
    run = {
        "grad": lambda: tangrad.grad(f)(x),
        "jit": lambda: jitted(x),
        "vmap": lambda: tangrad.vmap(np.sin)(x),
        "pull": lambda: tangrad.vjp(f, x)[1](1.0),
        tangrad.jvp: lambda: tangrad.jvp(f, (x,), (x,)),
    }.get(transformation, lambda: transformation(f, x))
    run()
    gc.collect()
    run()
    assert gc.collect() == 0


# --- vmap ----------------------------------------------------------------------------------------------------------


def test_arguments_that_are_not_mapped_may_be_any_object():
    Box = collections.namedtuple("Box", ["function", "name"])
    apply = lambda f, x: f(x)
    assert tangrad.vmap(apply, (None, 0))(lambda x: x + 1, numpy.arange(3)).tolist() == [1, 2, 3]
    call = lambda box, x: box.function(x) * len(box.name)
    assert tangrad.vmap(call, (None, 0))(Box(twice, "abc"), numpy.arange(2)).tolist() == [0, 6]
    nested = tangrad.vmap(tangrad.vmap(apply, (None, 0)), (None, 0))
    assert tangrad.jit(lambda x: nested(twice, x))(np.ones((2, 2))).tolist() == [[2, 2], [2, 2]]
    with pytest.raises(TypeError, match=r"args\[0\]"):
        tangrad.vmap(apply, (0, 0))(twice, numpy.arange(3))


@pytest.mark.parametrize("axes", [(numpy.array([1.0]),), numpy.array([0]), ("0",), 0.0, True])
def test_axes_are_integers(axes):
    for keyword in ("in_axes", "out_axes"):
        with pytest.raises(TypeError, match=keyword):
            tangrad.vmap(twice, **{keyword: axes})(np.ones(2))


# --- jit and values ------------------------------------------------------------------------------------------------


def test_jitted_functions_are_copied_and_pickled():
    f = tangrad.jit(twice, donate_argnums=(), inline=True)
    assert copy.copy(f) is f
    assert copy.deepcopy({"f": f})["f"] is f
    # As a part of a larger object; the name `twice` stays that of the plain function.
    assert float(pickle.loads(pickle.dumps(f))(3.0)) == 6.0
    power = pickle.loads(pickle.dumps(tangrad.jit(pow, static_argnums=1)))
    assert float(power(3.0, 2)) == 9.0


def test_traced_values_are_copied():
    f = lambda x: copy.deepcopy({"x": x})["x"] + copy.copy(x)
    assert float(tangrad.jit(f)(1.0)) == 2.0
    assert float(tangrad.grad(f)(1.0)) == 2.0
    assert tangrad.vmap(f)(np.ones(2)).tolist() == [2.0, 2.0]


def test_debug_nans_names_the_operation_where_the_arguments_were_given_away():
    f = tangrad.jit(lambda x: np.log(x) * 2, donate_argnums=0)
    with tangrad.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        f(-np.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numpy.isnan(f(-np.ones(1))).all()


def test_device_get():
    got = tangrad.device_get({"a": np.ones(2), "b": numpy.float64(2), "c": 3, "d": None})
    assert isinstance(got["a"], numpy.ndarray) and isinstance(got["b"], numpy.ndarray)
    assert (got["b"].dtype, got["c"], got["d"]) == (numpy.float64, 3, None)
    assert float(tangrad.jit(tangrad.device_get)(1.0)) == 1.0
    key = tangrad.random.key(3)
    assert tangrad.device_get(key) is key  # the host has no keys: they stay arrays of their dtype


def test_live_arrays(backend):
    def alive(wanted):
        return sum(array is wanted for array in tangrad.live_arrays(backend))

    kept, other = np.arange(3.0), np.zeros(4)
    assert alive(kept) == alive(other) == 1
    assert all(isinstance(array, tangrad.Array) for array in tangrad.live_arrays())
    other.delete()
    assert alive(other) == 0
    place = id(kept)
    del kept
    assert place not in map(id, tangrad.live_arrays(backend))


def test_updating_a_shape_and_a_dtype():
    struct = tangrad.ShapeDtypeStruct((2, 3), "float32", weak_type=True)
    assert struct.update(shape=(4,)) == tangrad.ShapeDtypeStruct((4,), "float32", weak_type=True)
    assert struct.update(dtype="int8", weak_type=False) == tangrad.ShapeDtypeStruct((2, 3), "int8")
    with pytest.raises(TypeError, match="colour"):
        struct.update(colour=1)


def test_named_call():
    def layer(x):
        """A layer."""
        return np.sin(x)

    for named, name in ((tangrad.named_call(layer), "layer"), (tangrad.named_call(layer, name="first"), "first")):
        assert str(tangrad.make_jaxpr(named)(1.0).eqns[0].source_info.name_stack) == name
        assert (named.__name__, named.__doc__) == ("layer", "A layer.")
    assert tangrad.named_call(lambda *args, **kwargs: (args, kwargs))("a", b=None) == (("a",), {"b": None})
    with pytest.raises(TypeError, match="expects a function"):
        tangrad.named_call("layer")
    with pytest.raises(TypeError, match="takes a string"):
        tangrad.named_call(layer, name=3)


def test_the_stages_of_a_jitted_function():
    f = tangrad.jit(lambda x, n: {"a": x["b"] * n}, static_argnums=1)
    traced = f.trace({"b": np.ones(2)}, 3)
    assert [eqn.primitive.name for eqn in traced.jaxpr.eqns] == ["mul"]
    assert traced.out_info == {"a": tangrad.ShapeDtypeStruct((2,), "float32")}
    assert traced.fun_name == "<lambda>" and traced.in_tree == tangrad.tree.structure((({"b": 0},), {}))
    compiled = traced.lower().compile()
    assert compiled({"b": np.ones(2)})["a"].tolist() == [3.0, 3.0]
    for transformation in (tangrad.jit, tangrad.jacfwd, tangrad.vmap):
        with pytest.raises(TypeError, match="arrays only"):
            transformation(lambda x: compiled({"b": x})["a"])(np.ones((2, 2)))


# --- computing at once ---------------------------------------------------------------------------------------------


def test_known_values_are_computed_at_once_within_traced_functions():
    @tangrad.ensure_compile_time_eval()
    def count():
        return int(tangrad.jit(np.sum)(np.arange(3)) + tangrad.vmap(tangrad.grad(lambda x: x**2))(np.ones(1)).sum())

    def f(x):
        with tangrad.ensure_compile_time_eval():
            draw = tangrad.random.normal(tangrad.random.key(0), (2,))
            assert numpy.asarray(draw).shape == (2,)
            doubled = x * 2
        return np.ones(count()) * doubled

    assert count() == 5
    assert tangrad.jit(f)(1.0).tolist() == [2.0] * 5
    assert tangrad.jacrev(f)(1.0).tolist() == tangrad.jit(tangrad.jacfwd(f))(1.0).tolist() == [2.0] * 5
    assert tangrad.vmap(f)(np.ones(2)).shape == (2, 5)
    assert len(tangrad.make_jaxpr(f)(1.0).eqns) == 3


def test_functions_with_rules_see_known_values_at_once():
    def positive(x):
        assert x > 0
        return x * 2

    forward = tangrad.custom_jvp(positive)
    forward.defjvp(lambda primals, tangents: (positive(*primals), tangents[0] * 3))
    backward = tangrad.custom_vjp(positive)
    backward.defvjp(lambda x: (positive(x), None), lambda _, ct: (ct * 3,))

    @tangrad.jit
    def f(x):
        with tangrad.ensure_compile_time_eval():
            return x * int(forward(1.0)) * int(backward(2.0))

    assert float(f(1.0)) == 8.0
    with tangrad.checking_leaks(), tangrad.ensure_compile_time_eval():
        assert float(tangrad.grad(lambda x: forward(x) + backward(x))(1.0)) == 6.0


def test_an_error_ends_computing_at_once():
    def f(x):
        with pytest.raises(KeyError), tangrad.ensure_compile_time_eval():
            raise KeyError
        return np.ones(2) * x

    assert len(tangrad.make_jaxpr(f)(1.0).eqns) == 2
    assert tangrad.float0 == FLOAT0


# --- structs -------------------------------------------------------------------------------------------------------


def test_structs_cannot_be_changed():
    struct = tangrad.ShapeDtypeStruct((2,), "int8", weak_type=True)
    with pytest.raises(AttributeError, match=r"update\(shape=\.\.\.\)"):
        struct.shape = (3,)
    with pytest.raises(AttributeError, match="stays"):
        del struct.dtype
    assert struct.update(shape=(3,)) == tangrad.ShapeDtypeStruct((3,), "int8", weak_type=True)
    assert copy.deepcopy(struct) == pickle.loads(pickle.dumps(struct)) == struct


# --- numbers and shapes --------------------------------------------------------------------------------------------


def test_numbers_of_subclasses_are_weakly_typed():
    Level = enum.IntEnum("Level", ["LOW", "HIGH"])
    kinds = [type(name, (kind,), {}) for name, kind in (("I", int), ("F", float), ("C", complex))]
    for value in (Level.HIGH, *[kind(2) for kind in kinds]):
        for made in (np.array(value), np.asarray(value), tangrad.jit(lambda x: x)(value)):
            assert made.weak_type and made == 2
        assert np.asarray(value, dtype="complex64").dtype == numpy.complex64
    assert (np.ones(2, "float16") * np.array(Level.HIGH)).dtype == numpy.float16
    assert np.array([Level.LOW, Level.HIGH]).tolist() == [1, 2]


@pytest.mark.parametrize("shape", [lambda n: n, lambda n: (n,), lambda n: (n, -1), lambda n: [4 // n, n]])
def test_a_traced_size_of_a_shape_is_named_as_such(shape):
    for make in (np.ones(4).reshape, np.zeros, np.empty):
        with pytest.raises(tangrad.errors.TracerIntegerConversionError):
            tangrad.jit(lambda n, make=make: make(shape(n)))(2)


# --- float0 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transformation", [lambda f: f, tangrad.jit, tangrad.vmap], ids=["eager", "jit", "vmap"])
@pytest.mark.parametrize(
    "make",
    [
        np.zeros_like,
        np.ones_like,
        np.empty_like,
        lambda x: np.full_like(x, 0),
        lambda x: np.zeros(x.shape, x.dtype),
        lambda x: tangrad.lax.full_like(x, 0),
        lambda x: tangrad.lax.full(x.shape, 0, x.dtype),
    ],
)
def test_arrays_like_a_float0_cotangent(transformation, make):
    def cotangent_like(x, i):
        answer, pullback = tangrad.vjp(lambda x, i: x * 2.0, x, i)
        return make(pullback(answer)[1])

    result = transformation(cotangent_like)(np.ones(2), np.ones(2, int))
    assert result.dtype == FLOAT0 and result.shape == (2,)


def test_shapes_of_shapes():
    struct = tangrad.ShapeDtypeStruct((3,), "float32")
    assert tangrad.eval_shape(lambda: struct) == struct
    found = tangrad.eval_shape(lambda x: {"given": struct, "made": x.sum(), "none": None}, struct)
    assert found == {"given": struct, "made": tangrad.ShapeDtypeStruct((), "float32"), "none": None}
    with pytest.raises(TypeError, match="ShapeDtypeStruct"):
        tangrad.jit(lambda: struct)()


def test_tangent_types_of_types():
    real, whole = tangrad.typeof(np.ones(3)), tangrad.typeof(np.arange(3))
    assert real.to_tangent_aval() is real
    assert whole.to_tangent_aval() is tangrad.core.ShapedArray((3,), FLOAT0)


@pytest.mark.parametrize("transform", [lambda f: f, tangrad.jit, lambda f: lambda x: tangrad.vmap(f)(x[None])[0]])
def test_python_numbers_among_residuals_stay_numbers(transform):
    seen = []

    @tangrad.custom_vjp
    def f(x):
        return x * 2

    def backward(residuals, cotangent):
        x, negated, count = residuals
        seen.append((type(negated), type(count)))
        return ((-cotangent if negated else cotangent) * count * x,)

    f.defvjp(lambda x: (f(x), (x, True, 3)), backward)
    assert tangrad.grad(transform(f))(2.0) == -6
    assert seen and set(seen) == {(bool, int)}
