"""What programs of the field do, and what they then see: small differences from JAX that were found, each mended."""

import copy
import itertools
import pickle
import traceback
import warnings

import jax
import jax.numpy as jnp
import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax

FLOAT0 = tangrad.dtypes.float0
X = numpy.array([-1.0, 2.0, 0.5], "float32")


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


def close(got, expected, **options):
    got, expected = tangrad.tree.leaves(got), jax.tree.leaves(expected)
    assert len(got) == len(expected)
    for one, other in zip(got, expected):
        numpy.testing.assert_allclose(numpy.asarray(one), numpy.asarray(other), **{"rtol": 1e-5, **options})


# --- control flow hands on what it does not change ------------------------------------------------------------------


def test_a_mapped_conditional_hands_on_an_operand_that_is_not_mapped():
    choose = lambda p, x, y: lax.cond(p, lambda a, b: (a, b), lambda a, b: (2.0 * a, b), x, y)
    mapped = tangrad.vmap(choose, in_axes=(0, 0, None), out_axes=(0, None))
    close(mapped(X > 0, X, 3.0), (numpy.where(X > 0, X, 2 * X), 3.0))
    one = tangrad.vmap(choose, in_axes=(None, 0, None), out_axes=(0, None))
    close(one(True, X, 3.0), (X, 3.0))
    directional = lambda p, x, y: tangrad.jvp(lambda x, y: choose(p, x, y), (x, y), (1.0, y))
    mapped = tangrad.vmap(directional, in_axes=(0, 0, None), out_axes=((0, None), (0, None)))
    close(mapped(X > 0, X, 3.0), ((numpy.where(X > 0, X, 2 * X), 3.0), (numpy.where(X > 0, 1, 2), 3.0)))


def test_an_operand_of_a_conditional_may_be_callable():
    affine = tangrad.tree_util.Partial(lambda a, x: a * x, 2.0)
    call = lambda x, f: f(x)
    for choose in (lax.cond, tangrad.jit(lax.cond, static_argnums=(1, 2))):
        assert float(choose(True, call, lambda x, f: x, 3.0, affine)) == 6.0
        assert float(choose(False, lambda x, f: x, call, 3.0, affine)) == 6.0
    older = tangrad.jit(lambda p, x, y: lax.cond(p, x, lambda x: x + 1.0, y, lambda y: y - 1.0))
    assert (float(older(True, 3.0, 5.0)), float(older(False, 3.0, 5.0))) == (4.0, 4.0)


def test_a_mapped_scan_hands_on_what_is_not_mapped():
    run = lambda c, y: lax.scan(lambda carry, x: ((carry[0] + x, carry[1]), carry[1] * x), (c, y), X)
    mapped = tangrad.vmap(run, in_axes=(0, None), out_axes=((0, None), None))
    close(mapped(X, 2.0), ((X + X.sum(), 2.0), 2 * X))


def test_what_a_loop_or_branch_only_hands_on_is_no_result_of_it():
    scan = tangrad.make_jaxpr(lambda x: lax.scan(lambda c, v: ((c[0] + v, c[1]), v), (x, x * 2.0), X))(1.0)
    (equation,) = [eqn for eqn in scan.jaxpr.eqns if eqn.primitive.name == "scan"]
    assert len(equation.outvars) == 1 and (equation.params["num_consts"], equation.params["num_carry"]) == (1, 1)
    close(tangrad.jit(lambda x: lax.scan(lambda c, v: ((c[0] + v, c[1]), v), (x, x * 2.0), X))(1.0), ((2.5, 2.0), X))
    cond = tangrad.make_jaxpr(lambda p, x: lax.cond(p, lambda a: (a, a + 1.0), lambda a: (a, a), x))(True, 1.0)
    (equation,) = [eqn for eqn in cond.jaxpr.eqns if eqn.primitive.name == "cond"]
    assert len(equation.outvars) == 1


@pytest.mark.parametrize("run", [lambda f: f, tangrad.jit])
def test_a_carry_to_which_a_number_is_added_from_the_left(run):
    add = run(lambda x: lax.scan(lambda c, _: (1.25 + c, None), x, None, length=3)[0])
    for _ in range(3):  # operation by operation first, then compiled
        assert not np.any(np.asarray(1.25) == np.ones((3, 2)))  # these types have a fast way to be compared
        close(add(np.ones((3, 2))), numpy.full((3, 2), 4.75))


def test_functions_are_no_operands():
    with pytest.raises(TypeError, match="a function is no operand: close over it"):
        lax.cond(True, lambda f: f, lambda f: f, numpy.sin)


def test_a_rule_may_differentiate_a_mapped_conditional():
    branch = lambda x: lax.cond(x > 0, lambda y: np.sin(y), lambda y: y * y, x)
    f = tangrad.custom_jvp(branch)
    f.defjvp(lambda primals, tangents: tangrad.jvp(branch, primals, tangents))
    expected = numpy.where(X > 0, numpy.cos(X), 2 * X)
    for transformed in (tangrad.grad(lambda x: tangrad.vmap(f)(x).sum()), tangrad.vmap(tangrad.grad(f))):
        close(transformed(X), expected)
        close(tangrad.jit(transformed)(X), expected)
    along = lambda t: tangrad.vmap(lambda x, t: tangrad.jvp(branch, (x,), (t,))[1])(X, t)
    close(tangrad.linear_transpose(along, X)(np.ones(3))[0], expected)


def test_equal_constants_of_a_program_are_one():
    table = numpy.arange(3.0, dtype="float32")
    program = tangrad.make_jaxpr(lambda x: (x + table) * table - numpy.arange(3.0, dtype="float32"))(X)
    assert len(program.consts) == 1
    other = tangrad.make_jaxpr(lambda x: x * numpy.zeros(3, "float32") + numpy.array([0.0, -0.0, 0.0], "float32"))(X)
    assert len(other.consts) == 2  # the sign of zero is part of a constant


# --- rules of users -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outer", [lambda f: f, tangrad.jit])
@pytest.mark.parametrize(
    "inner", [tangrad.vmap, lambda f: tangrad.jit(tangrad.vmap(f)), lambda f: tangrad.vmap(tangrad.jit(f))]
)
def test_a_constant_function_may_have_a_rule_that_is_not(outer, inner):
    constant = tangrad.custom_jvp(lambda x: numpy.zeros(x.shape, "float32"))
    constant.defjvp(lambda primals, tangents: (constant(*primals), 2.0 * tangents[0]))
    close(outer(tangrad.grad(lambda x: inner(constant)(x).sum()))(X), numpy.full(3, 2.0))


def test_a_rule_that_raises_does_not_stop_who_does_not_differentiate():
    constant = tangrad.custom_jvp(lambda x: numpy.zeros(x.shape, "float32"))

    @constant.defjvp
    def rule(primals, tangents):
        raise RuntimeError("no derivative")

    close(tangrad.jit(tangrad.vmap(constant))(X), numpy.zeros(3))
    with pytest.raises(RuntimeError, match="no derivative"):
        tangrad.jit(tangrad.grad(lambda x: tangrad.vmap(constant)(x).sum()))(X)


@pytest.mark.parametrize("outer", [lambda f: f, tangrad.jit])
def test_rules_with_symbolic_zeros_get_numbers_as_they_were_passed(outer):
    seen = []
    f = tangrad.custom_jvp(lambda x, y: x * y)

    def jvp(primals, tangents):
        seen.append(type(primals[1]))
        return f(*primals), tangents[0] * primals[1]

    f.defjvp(jvp, symbolic_zeros=True)
    g = tangrad.custom_vjp(lambda x, y: x * y)

    def fwd(x, y):
        seen.append(type(y.value))
        return x.value * y.value, y.value

    g.defvjp(fwd, lambda y, ct: (ct * y, None), symbolic_zeros=True)
    assert outer(tangrad.grad(lambda x: f(x, 2)))(3.0) == 2.0 and outer(tangrad.grad(lambda x: f(x, 2.5)))(3.0) == 2.5
    assert outer(tangrad.grad(lambda x: g(x, 2)))(3.0) == 2.0 and outer(tangrad.grad(lambda x: g(x, 2.5)))(3.0) == 2.5
    assert seen == [int, float, int, float]


# --- what functions and arrays look like ----------------------------------------------------------------------------


def documented(x: int, y: "float" = 1.0) -> float:
    """Documented."""
    return x * y


@pytest.mark.parametrize("name", ["jit", "grad", "vmap", "checkpoint", "jacfwd", "custom_jvp", "custom_vjp"])
def test_annotations_are_kept(name):
    wrapped = getattr(tangrad, name)(documented)
    assert wrapped.__annotations__ == documented.__annotations__ and "Documented." in wrapped.__doc__


class Stands:
    def __init__(self, value):
        self.value = value

    def __tangrad_array__(self):
        return self.value


class StandsElsewhere:
    def __jax_array__(self):
        return np.asarray(X)


@pytest.mark.parametrize("value", [Stands(X), StandsElsewhere()])
def test_objects_that_represent_arrays(value):
    close(np.sin(value), numpy.sin(X))
    close(np.asarray(value), X)
    close(np.array(value, "int32"), X.astype("int32"))
    close(np.ones(3) + value, 1 + X)
    close(lax.add(value, value), 2 * X)
    close(tangrad.jit(lambda x: x * 2.0)(value), 2 * X)
    close(tangrad.grad(lambda x: (x * value).sum())(np.ones(3)), X)
    assert np.result_type(value, 1.0) == "float32" and np.shape(value) == (3,)
    close(tangrad.jit(lambda x: np.sum(Stands(x)))(X), X.sum())


def test_an_object_that_represents_no_array():
    with pytest.raises(TypeError, match=r"Stands.__tangrad_array__ must return an array or a number, got 'text'"):
        np.asarray(Stands("text"))


def test_a_warning_names_the_donated_buffers_of_no_use():
    f = tangrad.jit(lambda x, d: (x[:2], d["a"] * 2.0), donate_argnums=(0, 1))
    with pytest.warns(UserWarning, match=r"Some donated buffers were not usable.*: args\[0\]: float32\[3\]$"):
        f(np.ones(3), {"a": np.ones(5)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tangrad.jit(lambda x: x * 2.0, donate_argnums=0)(np.ones(3))


# --- values ---------------------------------------------------------------------------------------------------------


def test_values_as_in_jax():
    poles = numpy.array([-1.0, 2.0], "float32")
    close(lax.digamma(poles), jax.lax.digamma(poles))
    far = numpy.array([1e10 + 1j, -1e10 + 3j, 1 + 1e10j, 500 + 1j, 88 + 2j, 1e30 + 1e30j, 2j], "complex64")
    other = numpy.array([1 + 1j, -1e10 - 3j, 2 - 1e10j, 500 - 2.1415927j, 88 - 1j, -1e30j, 1 - 7j], "complex64")
    close(np.logaddexp(far, other), jnp.logaddexp(far, other), rtol=1e-4)
    close(np.logaddexp2(far, other), jnp.logaddexp2(far, other), rtol=1e-4)
    positions = numpy.array([0, 11, 12, -1, -12, -13, 100])
    for shape in ((3, 4), (2, 0, 3), (), (5,)):
        close(np.unravel_index(positions, shape), jnp.unravel_index(positions, shape))
        close(np.unravel_index(-20, shape), jnp.unravel_index(-20, shape))
    parts = numpy.array([1, 5, -1]), numpy.array([0, 7, -2])
    for mode in ("wrap", "clip"):
        close(np.ravel_multi_index(parts, (3, 4), mode=mode), jnp.ravel_multi_index(parts, (3, 4), mode=mode))
    with pytest.raises(ValueError):
        np.ravel_multi_index(parts, (3, 4))


def test_complex_clamp_compares_real_parts():
    values = numpy.array([1 + 2j, 2 + 1j, 1 - 3j, 0j, -0.0 + 1j, numpy.nan + 1j, 1 + numpy.nan * 1j, -numpy.inf, 2.5])
    low, x, high = [numpy.array(part, "complex64") for part in zip(*itertools.product(values, repeat=3))]
    expected = jax.lax.clamp(low, x, high)
    for clamp in (lax.clamp, tangrad.jit(lax.clamp)):
        close(clamp(low, x, high), expected)
        close(clamp(low[0], x, high[0]), jax.lax.clamp(low[0], x, high[0]))
    low, high, x = numpy.complex64(1 + 1j), numpy.complex64(2 + 2j), numpy.array([0j, 3, 1.5 - 9j], "complex64")
    pulled = tangrad.vjp(lax.clamp, low, x, high)[1](np.ones(3, "complex64"))
    close(pulled[1], numpy.array([0, 0, 1]))
    assert complex(pulled[0]) == complex(pulled[2]) == 1


def test_one_hot_names_a_size_that_is_not_known():
    with pytest.raises(tangrad.errors.ConcretizationTypeError, match="num_classes"):
        tangrad.jit(lambda n: tangrad.nn.one_hot(np.arange(3), n))(3)


def test_complex_tracers_say_so():
    seen = []
    tangrad.jit(lambda x: seen.append((np.iscomplexobj(x), np.isrealobj(x))))(1j)
    tangrad.grad(lambda x: seen.append(np.iscomplexobj(x)) or x)(1.0)
    assert seen == [(True, False), False]


@pytest.mark.parametrize("run", [lambda f: f(), lambda f: tangrad.jit(f)()])
def test_arrays_of_float0(run):
    for shape in ((), (2,)):
        made = run(lambda shape=shape: [make(shape, FLOAT0) for make in (np.zeros, np.ones, np.empty)])
        assert {(array.shape, array.dtype) for array in made} == {(shape, FLOAT0)}
    assert run(lambda: np.zeros_like(numpy.zeros(3, FLOAT0))).dtype == FLOAT0
    for function in (np.floor, np.ceil, np.trunc, np.round, np.sin, np.negative):
        with pytest.raises(TypeError, match="float0"):
            run(lambda function=function: function(numpy.zeros(3, FLOAT0)))


@pytest.mark.parametrize(
    "run",
    [
        lambda f: f(3),
        lambda f: tangrad.jit(f)(3),
        lambda f: tangrad.jit(tangrad.jit(f))(3),
        lambda f: tangrad.jit(f).lower(3).compile()(3),
        lambda f: tangrad.vmap(f)(np.arange(2)),
        lambda f: tangrad.pmap(f)(np.arange(1)),
    ],
)
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_tangents_of_integers_are_numpys(run, backend):
    with tangrad.use_backend(backend):
        found = run(lambda n: {"ct": tangrad.vjp(lambda a: a * 2.0, n)[1](3.0)[0], "n": np.add(n, 1)})
    assert type(found["ct"]) is numpy.ndarray and found["ct"].dtype == FLOAT0
    assert isinstance(found["n"], tangrad.Array) and found["ct"].shape == found["n"].shape
    assert tangrad.tree.all(tangrad.tree.map(lambda a: bool((a == a).all()), found))


def test_products_with_nothing_are_differentiable():
    nothing = numpy.zeros(0, "int32")
    close(
        tangrad.vjp(lambda x, y: x.at[nothing].multiply(y), X, numpy.ones(0, "float32"))[1](np.ones(3))[0],
        numpy.ones(3),
    )
    close(tangrad.grad(lambda y: np.asarray(X).at[nothing].multiply(y).sum())(2.0), 0.0)


# --- trees and exceptions -------------------------------------------------------------------------------------------


def nested(depth, leaf):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


@pytest.mark.parametrize("depth", [800, 5_000])
def test_deep_trees(depth):
    tree = nested(depth, 1.0)
    leaves, structure = tangrad.tree.flatten(tree)
    assert leaves == [1.0] and structure.num_nodes == depth + 1
    for _ in range(40):  # more often than structures get functions of their own
        assert tangrad.tree.leaves(structure.unflatten([2.0])) == [2.0]
    assert tangrad.tree.leaves(tangrad.tree.map(lambda x, y: x + y, tree, tree)) == [2.0]
    assert tangrad.tree.leaves(tree, is_leaf=lambda x: x is None) == [1.0]
    assert repr(structure) == f"PyTreeDef({'[' * depth}*{']' * depth})"
    assert tangrad.tree.leaves(tangrad.jit(lambda tree: tree)(tree)) == [1.0]


def test_a_tree_in_itself_is_refused():
    tree = []
    tree.append(tree)
    for walk in (tangrad.tree.leaves, tangrad.tree.leaves_with_path):
        with pytest.raises(RecursionError, match="contains itself"):
            walk(tree)


def test_only_our_own_view_of_a_traceback_is_pickled():
    with pytest.raises(TypeError) as caught:
        tangrad.jit(lambda x: np.ones(3) @ "text")(1.0)
    whole = caught.value.unfiltered_traceback
    assert len(traceback.extract_tb(whole)) > 2
    assert pickle.loads(pickle.dumps(caught.value)).unfiltered_traceback is None
    assert copy.copy(caught.value).args == caught.value.args
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(caught.value.__traceback__)


# --- Objects that stand for arrays and pass on every attribute to them, such as variables of neural networks ---


class Variable:
    """Holds an array; what it does not know itself the array answers, `aval` and the backend's own slots included."""

    def __init__(self, held):
        self.held = held

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "held"), name)

    def __jax_array__(self):
        return self.held

    def __mul__(self, other):
        return self.held * other


SQUARE = numpy.linspace(0.2, 1.0, 9, dtype="float32").reshape(3, 3)
PROGRAMS = {
    "unary": lambda v, x: np.sin(v),
    "unary of lax": lambda v, x: lax.sin(v),
    "activation": lambda v, x: tangrad.nn.relu(v) + tangrad.nn.silu(v),
    "on the right": lambda v, x: x + v,
    "on the left": lambda v, x: v * x,
    "function of two": lambda v, x: np.maximum(v, x) + np.add(v, v),
    "of a number": lambda v, x: np.multiply(v, 2.0) + np.power(v, 2),
    "binary of lax": lambda v, x: lax.mul(x, lax.add(v, v)),
    "product": lambda v, x: x @ v,
    "matmul": lambda v, x: np.matmul(v, x),
    "dot": lambda v, x: np.dot(x, v),
    "einsum": lambda v, x: np.einsum("ij,jk->ik", x, v),
    "where": lambda v, x: np.where(x > 0.5, v, x),
    "select": lambda v, x: lax.select(x > 0.5, v, x),
    "sum": lambda v, x: np.sum(v, axis=0) + np.mean(v) + np.max(v),
    "stack": lambda v, x: np.stack([v, x]),
    "shapes": lambda v, x: np.reshape(np.transpose(v), -1) + lax.reshape(v, (9,)),
    "take": lambda v, x: np.take(v, 1, axis=0) + np.clip(v, 0.3, 0.8),
    "softmax": lambda v, x: tangrad.nn.softmax(v),
    "solve": lambda v, x: np.linalg.norm(v),
    "asarray": lambda v, x: np.asarray(v) + np.float32(1),
    "round": lambda v, x: np.round(v, 1) + np.var(v),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_the_arrays_that_they_represent(name):
    program = PROGRAMS[name]
    x = np.asarray(SQUARE)

    def by_variable(w):
        return program(Variable(w), x)

    def by_array(w):
        return program(w, x)

    for transform in (
        lambda f: f,
        tangrad.jit,
        lambda f: tangrad.grad(lambda w: np.sum(f(w))),
        lambda f: tangrad.jit(tangrad.grad(lambda w: np.sum(f(w)))),
        lambda f: lambda w: tangrad.jvp(f, (w,), (w,))[1],
        lambda f: lambda w: tangrad.vmap(f)(np.stack([w, 2 * w])),
    ):
        for _ in range(2):  # the second call of an operation takes a shorter way
            found, expected = transform(by_variable)(x + 1), transform(by_array)(x + 1)
        numpy.testing.assert_allclose(found, expected, rtol=1e-6)


# --- types without values -------------------------------------------------------------------------------------------


def test_the_results_of_a_jitted_function_are_where_it_puts_them():
    here = tangrad.sharding.SingleDeviceSharding(tangrad.devices()[0])
    f = tangrad.jit(lambda x, n: {"a": x * n, "b": x}, static_argnums=1, out_shardings={"a": here, "b": None})
    stages = f.trace(X, 2), f.lower(X, 2)
    for found in (tangrad.eval_shape(f, X, 2), f.eval_shape(X, 2), *[stage.out_info for stage in stages]):
        assert (found["a"].sharding, found["b"].sharding) == (here, None)
        assert found["a"].shape == X.shape
    assert tangrad.eval_shape(lambda x: f(x, 2)["b"], X).shape == X.shape


def test_structs_describe_data_that_arrays_do_not_hold():
    for dtype in (numpy.bytes_, numpy.dtype("S5"), numpy.str_, numpy.dtype("U3"), numpy.object_, numpy.dtype(object)):
        struct = tangrad.ShapeDtypeStruct((2,), dtype)
        assert struct.dtype == numpy.dtype(dtype) and pickle.loads(pickle.dumps(struct)) == struct
        with pytest.raises(TypeError, match="is not a dtype of arrays"):
            tangrad.eval_shape(lambda x: x, struct)
    with pytest.raises(TypeError, match="expected a dtype, got an array"):
        tangrad.ShapeDtypeStruct((2,), X)


def test_what_makes_an_array_of_itself_is_a_scalar_where_that_is():
    class Own:
        def __init__(self, value):
            self.value = value

        def __jax_array__(self):
            return self.value

    values = (1.0, numpy.float32(1), numpy.ones(()), numpy.ones(1), np.ones(()), np.ones(1), "x", [1], None, object())
    assert [np.isscalar(x) for x in values] == [True, True, True, False, True, False, True, False, False, False]
    assert np.isscalar(Own(np.ones(()))) and not np.isscalar(Own(np.ones(1)))
    assert tangrad.jit(lambda x: np.float32(np.isscalar(x)))(1.0) == 1


def test_a_tree_on_its_way_to_the_host_is_handed_on():
    x = {"a": np.ones(2), "b": [3.0, None]}
    assert tangrad.copy_to_host_async(x) is x
    assert tangrad.jit(lambda x: tangrad.copy_to_host_async(x) * 2)(1.5) == 3
