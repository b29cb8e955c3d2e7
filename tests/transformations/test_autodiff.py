"""`grad` and its relatives: values, options, composition, and what they refuse."""

import math

import numpy
import pytest

import tangrad
import tangrad.lax as lax
import tangrad.numpy as np
from tangrad.test_util import check_grads, check_jvp, check_vjp

# --- `grad` and its relatives: values, options, composition, and what they refuse -----------------------------------


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


def f(x):
    return np.sin(x) * np.exp(-x) + x**3


def slope(x, order=1, h=1e-3):
    """A derivative by central differences in double precision."""
    g = lambda t: numpy.sin(t) * numpy.exp(-t) + t**3
    if order == 1:
        return (g(x + h) - g(x - h)) / (2 * h)
    return (g(x + h) - 2 * g(x) + g(x - h)) / h**2


def test_derivatives_of_all_orders():
    assert float(tangrad.grad(f)(0.7)) == pytest.approx(slope(0.7), rel=1e-4)
    assert float(tangrad.grad(tangrad.grad(f))(0.7)) == pytest.approx(slope(0.7, 2), rel=1e-3)
    third = tangrad.grad(tangrad.grad(tangrad.grad(lambda x: x**5)))
    assert float(third(2.0)) == pytest.approx(240.0)


@pytest.mark.parametrize("wrap", [lambda g: g, tangrad.jit, lambda g: tangrad.jit(tangrad.jit(g))])
def test_every_nesting(wrap):
    h = wrap(f)
    expected = slope(0.3)
    assert float(wrap(tangrad.grad(h))(0.3)) == pytest.approx(expected, rel=1e-4)
    assert tangrad.vmap(wrap(tangrad.grad(h)))(np.full(3, 0.3)).tolist() == pytest.approx([expected] * 3, rel=1e-4)
    assert float(tangrad.jvp(wrap(h), (0.3,), (1.0,))[1]) == pytest.approx(expected, rel=1e-4)
    second = slope(0.3, 2)
    forward_over_reverse = tangrad.jvp(tangrad.grad(h), (0.3,), (1.0,))[1]
    reverse_over_forward = tangrad.grad(lambda x: tangrad.jvp(h, (x,), (1.0,))[1])(0.3)
    assert float(forward_over_reverse) == pytest.approx(second, rel=1e-3)
    assert float(reverse_over_forward) == pytest.approx(second, rel=1e-3)
    forward_twice = tangrad.jvp(lambda x: tangrad.jvp(h, (x,), (1.0,))[1], (0.3,), (1.0,))[1]
    assert float(forward_twice) == pytest.approx(second, rel=1e-3)


def test_arguments_and_trees():
    def loss(params, x, scale=1.0):
        return scale * np.sum((x @ params["w"] + params["b"]) ** 2)

    params = {"w": np.ones((3, 2)), "b": np.zeros(2)}
    x = np.arange(6.0).reshape(2, 3)
    value, gradient = tangrad.value_and_grad(loss)(params, x, scale=2.0)
    assert float(value) == 2 * (2 * 3.0**2 + 2 * 12.0**2)
    assert gradient["w"].shape == (3, 2) and gradient["b"].tolist() == [4 * 15.0] * 2
    by_both = tangrad.grad(loss, argnums=(0, 1))(params, x)
    assert by_both[0]["b"].shape == (2,) and by_both[1].shape == (2, 3)
    assert tangrad.grad(loss, argnums=-1)(params, x).shape == (2, 3)


def test_auxiliary_data():
    g = tangrad.grad(lambda x: (x**2, {"double": 2 * x, "name": "text"}), has_aux=True)
    gradient, aux = g(3.0)
    assert float(gradient) == 6.0 and float(aux["double"]) == 6.0 and aux["name"] == "text"
    (value, aux), gradient = tangrad.value_and_grad(lambda x: (x**2, x), has_aux=True)(3.0)
    assert (float(value), float(aux), float(gradient)) == (9.0, 3.0, 6.0)
    with pytest.raises(TypeError, match="pair"):
        tangrad.grad(lambda x: x, has_aux=True)(1.0)


def test_what_grad_refuses():
    with pytest.raises(TypeError, match=r"returns a scalar; the result had shape \(3,\)"):
        tangrad.grad(lambda x: x)(np.ones(3))
    with pytest.raises(TypeError, match="returns a scalar"):
        tangrad.grad(lambda x: (x, x))(1.0)
    with pytest.raises(TypeError, match="real or complex arguments, got one of dtype int32"):
        tangrad.grad(lambda x: x * 1.0)(3)
    with pytest.raises(TypeError, match="real result"):
        tangrad.grad(lambda x: x > 0)(1.0)
    with pytest.raises(TypeError, match="holomorphic=True"):
        tangrad.grad(lambda x: x * 1j)(1.0)
    with pytest.raises(TypeError, match="holomorphic=True requires complex arguments"):
        tangrad.grad(lambda x: x, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match="called with 1 positional arguments"):
        tangrad.grad(lambda x: x, argnums=1)(1.0)
    with pytest.raises(TypeError, match="argnums must be an integer"):
        tangrad.grad(lambda x: x, argnums="x")
    with pytest.raises(TypeError, match="expects a function"):
        tangrad.grad(1.0)
    with pytest.raises(TypeError, match="cannot differentiate by 'a'"):
        tangrad.grad(lambda x: 1.0)("a")


def test_integers_when_allowed():
    gradient = tangrad.grad(lambda x, n: x * n, argnums=(0, 1), allow_int=True)(2.0, 3)
    assert float(gradient[0]) == 3.0 and gradient[1].dtype == tangrad.dtypes.float0


def test_holomorphic_functions():
    g = tangrad.grad(lambda z: z**3, holomorphic=True)
    assert complex(g(1.0 + 2.0j)) == pytest.approx(3 * (1 + 2j) ** 2)


def test_unused_arguments_have_zero_gradients():
    first, second = tangrad.grad(lambda x, y: x * 2.0, argnums=(0, 1))(1.0, np.ones(1)[0])
    assert float(first) == 2.0 and float(second) == 0.0 and second.dtype == numpy.float32


def test_gradients_keep_dtypes():
    for dtype in ("float16", "float32", "complex64"):
        x = np.ones(2, dtype)
        assert tangrad.grad(lambda x: np.sum(np.abs(x) ** 2).real)(x).dtype == x.dtype


def test_jvp_checks():
    with pytest.raises(TypeError, match="primals must be a tuple or list"):
        tangrad.jvp(f, 1.0, 1.0)
    with pytest.raises(TypeError, match="one structure"):
        tangrad.jvp(f, (1.0,), ((1.0, 2.0),))
    with pytest.raises(TypeError, match="one dtype"):
        tangrad.jvp(f, (1.0,), (1,))
    with pytest.raises(ValueError, match=r"one shape, got \(2,\) and \(3,\)"):
        tangrad.jvp(f, (np.ones(2),), (np.ones(3),))
    zero = numpy.zeros((), tangrad.dtypes.float0)
    _value, tangent = tangrad.jvp(lambda x, n: x * n, (2.0, 3), (1.0, zero))
    assert float(tangent) == 3.0


def test_linearize_evaluates_once():
    calls = []

    def g(x):
        calls.append(1)
        return np.sin(x) * x

    _value, derivative = tangrad.linearize(g, 2.0)
    assert float(derivative(1.0)) == pytest.approx(numpy.cos(2.0) * 2 + numpy.sin(2.0), rel=1e-5)
    assert float(derivative(2.0)) == pytest.approx(2 * float(derivative(1.0)), rel=1e-5)
    assert len(calls) == 1
    assert float(tangrad.jit(lambda d, t: d(t))(derivative, 1.0)) == pytest.approx(float(derivative(1.0)), rel=1e-6)
    with pytest.raises(TypeError, match="structure"):
        derivative(1.0, 1.0)
    with pytest.raises(ValueError, match="one shape"):
        derivative(np.ones(2))


def test_vjp_functions_are_trees():
    _value, pullback = tangrad.vjp(lambda x, y: {"a": x * y, "b": x}, 2.0, 3.0)
    assert [float(c) for c in pullback({"a": 1.0, "b": 1.0})] == [4.0, 2.0]
    assert [float(c) for c in tangrad.jit(lambda p: p({"a": 1.0, "b": 0.0}))(pullback)] == [3.0, 2.0]
    with pytest.raises(TypeError, match="structure"):
        pullback((1.0, 1.0))
    with pytest.raises(ValueError, match="shape"):
        pullback({"a": np.ones(2), "b": 1.0})
    with pytest.raises(TypeError, match="dtype"):
        pullback({"a": 1, "b": 1.0})
    _value, pullback, aux = tangrad.vjp(lambda x: (x * 2, "kept"), 1.0, has_aux=True)
    assert aux == "kept" and float(pullback(1.0)[0]) == 2.0


def test_linear_transpose():
    matrix = np.arange(6.0).reshape(2, 3)
    transposed = tangrad.linear_transpose(lambda x: matrix @ x, tangrad.ShapeDtypeStruct((3,), "float32"))
    (out,) = transposed(np.ones(2))
    assert out.tolist() == [3.0, 5.0, 7.0]
    with pytest.raises(TypeError, match="all real or complex, or all integers"):
        tangrad.linear_transpose(lambda x, n: x * n, 1.0, 2)
    with pytest.raises(TypeError, match="not linear"):
        tangrad.linear_transpose(np.sin, 1.0)(1.0)


def test_transposed_functions_are_trees():
    transposed = tangrad.linear_transpose(lambda x: {"a": 3.0 * x[0] - x[1]}, (1.0, 2.0))
    assert [float(ct) for ct in tangrad.jit(lambda f: f({"a": 2.0}))(transposed)[0]] == [6.0, -2.0]
    scaled = tangrad.jit(lambda factor: tangrad.linear_transpose(lambda x: factor * x, 1.0))
    assert float(scaled(5.0)(2.0)[0]) == 10.0
    closed_over = lambda factor: tangrad.linear_transpose(lambda x: factor * x, 1.0)(2.0)[0]
    assert float(tangrad.grad(closed_over)(5.0)) == 2.0
    batched = tangrad.vmap(lambda factor: tangrad.linear_transpose(lambda x: factor * x, 1.0))(np.arange(3.0))
    assert tangrad.vmap(lambda f: f(2.0)[0])(batched).tolist() == [0.0, 2.0, 4.0]
    (integer,) = tangrad.linear_transpose(lambda x: 2 * x, np.arange(2))(np.array([1, 2]))
    assert integer.tolist() == [2, 4] and integer.dtype == np.int32
    assert tangrad.linear_transpose(lambda x: np.ones(2), 1.0)(np.ones(2))[0] == 0.0


def test_jacobians():
    g = lambda x: np.stack([x[0] * x[1], np.sin(x[0]), x[1] ** 2])
    x = np.array([1.0, 2.0])
    expected = [[2.0, 1.0], [numpy.cos(1.0), 0.0], [0.0, 4.0]]
    for jacobian in (tangrad.jacfwd, tangrad.jacrev, tangrad.jacobian):
        assert numpy.allclose(jacobian(g)(x), expected, atol=1e-6)
        assert numpy.allclose(tangrad.jit(jacobian(g))(x), expected, atol=1e-6)
    assert numpy.allclose(tangrad.hessian(lambda x: np.sum(x**3) + x[0] * x[1])(x), [[6.0, 1.0], [1.0, 12.0]])
    tree = tangrad.jacrev(lambda p: {"out": p["a"] * p["b"]})({"a": np.ones(2), "b": 3.0})
    assert tree["out"]["a"].shape == (2, 2) and tree["out"]["b"].shape == (2,)
    with pytest.raises(TypeError, match="real"):
        tangrad.jacfwd(lambda x: x)(3)
    out, aux = tangrad.jacfwd(lambda x: (x * 2, 5.0), has_aux=True)(np.ones(2))
    assert out.shape == (2, 2) and float(aux) == 5.0


def test_python_control_flow_sees_values():
    def g(x):
        total = x
        while total < 10:
            total = total * x
        return total

    assert float(tangrad.grad(g)(2.0)) == 32.0  # x**4
    assert float(tangrad.grad(tangrad.grad(g))(2.0)) == 48.0


def test_a_float_of_a_tracer_under_grad_is_refused_unless_the_derivative_is_stopped():
    for function in (math.sin, float, complex, lambda x: x * float(x), lambda x: np.array(x * math.exp(x))):
        with pytest.raises(tangrad.errors.ConcretizationTypeError, match="stop_gradient"):
            tangrad.grad(function)(1.5)
        with pytest.raises(tangrad.errors.ConcretizationTypeError):
            tangrad.jvp(function, (1.5,), (1.0,))
        with pytest.raises(tangrad.errors.ConcretizationTypeError):
            tangrad.vjp(function, 1.5)
    assert float(tangrad.grad(lambda x: x * float(lax.stop_gradient(x)))(1.5)) == 1.5
    assert float(tangrad.grad(lambda x: x * int(x) * x.item())(2.0)) == 4.0


def test_tracers_of_ended_gradients_are_refused():
    kept = []
    tangrad.grad(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(tangrad.errors.UnexpectedTracerError):
        np.sin(kept[0])


# --- `test_util`: derivatives held against differences; wrong ones are found ----------------------------------------


def wrong_by(factor):
    """The sine, with a derivative that is wrong by a factor."""
    f = tangrad.custom_jvp(np.sin)
    f.defjvp(lambda primals, tangents: (f(*primals), factor * np.cos(primals[0]) * tangents[0]))
    return f


def test_right_derivatives_pass():
    check_grads(lambda p: {"y": p["a"] * np.sin(p["b"])}, ({"a": np.arange(3.0), "b": 0.5},), order=2)
    check_grads(lambda x, n: x**n, (np.array([1.5, 2.0]), 3), order=1)
    check_grads(lambda z: z * z, (np.array([1 + 2j]),), order=2)
    check_grads(wrong_by(1.0), (0.5,), order=2, modes="fwd")


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_wrong_ones_do_not(mode):
    with pytest.raises(AssertionError):
        check_grads(wrong_by(1.2), (0.5,), order=1, modes=mode)


def test_where_the_third_derivative_is_large():
    check_grads(lambda x: np.sin(60.0 * x), (np.float32(0.3),), order=1)
    with pytest.raises(AssertionError):
        check_jvp(np.sin, lambda x, t: (np.sin(*x), 1.06 * np.cos(*x) * t[0]), (np.float32(0.3),))


def test_a_derivative_that_is_wrong_in_the_second_order_alone():
    f = tangrad.custom_jvp(lambda x: x**3)
    f.defjvp(lambda primals, tangents: (f(*primals), tangrad.lax.stop_gradient(3 * primals[0] ** 2) * tangents[0]))
    check_grads(f, (1.5,), order=1)
    with pytest.raises(AssertionError):
        check_grads(f, (1.5,), order=2)


def test_a_value_that_is_not_the_functions():
    with pytest.raises(AssertionError, match="of the cube"):
        check_jvp(
            lambda x: x**3, lambda x, t: (x[0] ** 2, 3 * x[0] ** 2 * t[0]), (np.float32(2),), err_msg="of the cube"
        )


def test_pullbacks():
    check_vjp(lambda x: x**3, lambda x: (x**3, lambda c: (3 * x**2 * c,)), (np.float32(2),))
    with pytest.raises(AssertionError):
        check_vjp(lambda x: x**3, lambda x: (x**3, lambda c: (2 * x**2 * c,)), (np.float32(2),))
    with pytest.raises(AssertionError, match="of the cube"):
        check_vjp(lambda x: x**3, lambda x: (x**2, lambda c: (3 * x**2 * c,)), (np.float32(2),), err_msg="of the cube")


@pytest.mark.parametrize("mode", ["fwd", "rev", "lin"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_derivatives_of_each_precision(dtype, mode):
    x = (np.asarray([0.5, 1.25, -0.75], dtype),)
    check_grads(wrong_by(1.0), x, order=2, modes=mode)
    with pytest.raises(AssertionError):
        check_grads(wrong_by(1.4), x, order=1, modes=mode)


def test_tolerances_by_dtype():
    x, y = np.float32(0.5), np.bfloat16(0.5)
    for tolerances in ({"float32": 1e-4}, {np.float32: 1e-4, np.bfloat16: 1e-4}):
        check_grads(lambda x: x, (x,), 1, atol=tolerances, rtol=tolerances)
    check_grads(wrong_by(1.4), (x,), 1, atol={np.float32: 0.5})
    check_grads(wrong_by(1.4), (y,), 1, atol={np.bfloat16: 0.5}, rtol={np.bfloat16: 0})
    for z, tolerances in ((x, {np.bfloat16: 0.5}), (y, {np.float32: 0.5}), (y, {np.bfloat16: 0})):
        with pytest.raises(AssertionError):
            check_grads(wrong_by(1.4), (z,), 1, atol=tolerances)


def test_derivatives_of_another_shape():
    with pytest.raises(AssertionError):
        check_jvp(np.sin, lambda x, t: (np.sin(*x), t[0][:1]), (np.zeros(3, np.float32),))


@pytest.mark.parametrize(
    ("order", "modes", "message"), [(0, "fwd", "1 or more, got 0"), (1, ("fwd", "up"), "got .'up'.")]
)
def test_bad_options(order, modes, message):
    with pytest.raises(ValueError, match=message):
        check_grads(np.sin, (1.0,), order, modes)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_linear_transpose_leaves_out_what_is_unused_and_not_linear(backend):
    jitted = tangrad.jit(lambda x: (2.0 * x, x > 0, tangrad.lax.sort((x, -x))))
    looped = lambda x: tangrad.lax.scan(lambda c, k: (c + 2.0 * x, c > 0), 0.0 * x, None, length=3)
    with tangrad.use_backend(backend):
        for function, factor in ((jitted, 2.0), (looped, 6.0), (tangrad.checkpoint(jitted), 2.0)):
            transposed = tangrad.linear_transpose(lambda x, function=function: function(x)[0], tangrad.numpy.ones(2))
            assert transposed(tangrad.numpy.ones(2))[0].tolist() == [factor, factor]


def test_the_program_of_a_linear_function_is_where_jax_has_it():
    _, linear = tangrad.linearize(lambda x: tangrad.numpy.sin(x), 1.0)
    (program,) = linear.func.args
    assert [equation.primitive.name for equation in program.eqns] == ["mul"]
