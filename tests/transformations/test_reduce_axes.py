"""`reduce_axes`: gradients by what is the same along mapped axes are sums over them, under every map and by any route.

What is expected is what the documentation says: where a value that is the same along an axis meets one that differs,
the cotangent of the former is summed over the axis. The numbers are those of jax 0.4.23 in `xmap`.
"""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, use_backend

W = numpy.array([0.5, -1.0, 2.0], numpy.float32)
X = numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 4


def wave(w, x):
    return np.sum(np.sin(w * x))


PER_EXAMPLE = numpy.cos(W * X) * X
TOTAL = PER_EXAMPLE.sum(0)


def by_grad(w, x, axes):
    return tangrad.grad(wave, reduce_axes=axes)(w, x)


def by_value_and_grad(w, x, axes):
    return tangrad.value_and_grad(wave, reduce_axes=axes)(w, x)[1]


def by_vjp(w, x, axes):
    value, pullback = tangrad.vjp(wave, w, x, reduce_axes=axes)
    return pullback(np.ones_like(value))[0]


def by_linear_transpose(w, x, axes):
    slope = np.cos(w * x)
    (found,) = tangrad.linear_transpose(lambda t: slope * x * t, w, reduce_axes=axes)(np.ones_like(w))
    return found


def of_jitted(w, x, axes):
    return tangrad.grad(tangrad.jit(wave), reduce_axes=axes)(w, x)


def in_jit(w, x, axes):
    return tangrad.jit(lambda w, x: tangrad.grad(wave, reduce_axes=axes)(w, x))(w, x)


def of_checkpointed(w, x, axes):
    return tangrad.grad(tangrad.checkpoint(wave), reduce_axes=axes)(w, x)


def of_loop(w, x, axes):
    def looped(w, x):
        return lax.scan(lambda total, pair: (total + np.sin(pair[0] * pair[1]), None), 0.0, (w, x))[0]

    return tangrad.grad(looped, reduce_axes=axes)(w, x)


def of_branch(w, x, axes):
    return tangrad.grad(lambda w, x: lax.cond(w[0] > 0, wave, lambda w, x: w[0], w, x), reduce_axes=axes)(w, x)


def of_custom_vjp(w, x, axes):
    sin = tangrad.custom_vjp(np.sin)
    sin.defvjp(lambda y: (np.sin(y), np.cos(y)), lambda slope, ct: (slope * ct,))
    return tangrad.grad(lambda w, x: np.sum(sin(w * x)), reduce_axes=axes)(w, x)


ROUTES = [
    by_grad,
    by_value_and_grad,
    by_vjp,
    by_linear_transpose,
    of_jitted,
    in_jit,
    of_checkpointed,
    of_loop,
    of_branch,
    of_custom_vjp,
]


def mapped(function, in_axes=(None, 0)):
    return tangrad.vmap(function, in_axes=in_axes, axis_name="batch")


@pytest.mark.parametrize(
    ("route", "backend"),
    [*[(route, "numpy") for route in ROUTES], *[(route, "xla") for route in (by_grad, by_vjp, in_jit)]],
)
def test_what_is_the_same_for_all_examples_gets_the_total(route, backend):
    with use_backend(backend):
        alone = mapped(lambda w, x: route(w, x, ()))(W, X)
        total = mapped(lambda w, x: route(w, x, ("batch",)))(W, X)
        numpy.testing.assert_allclose(alone, PER_EXAMPLE, rtol=1e-5, atol=1e-6)
        numpy.testing.assert_allclose(total, [TOTAL, TOTAL], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_in_a_compiled_map(route):
    with use_backend("numpy"):
        found = tangrad.jit(mapped(lambda w, x: route(w, x, "batch")))(W, X)
        numpy.testing.assert_allclose(found, [TOTAL, TOTAL], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_what_differs_between_examples_keeps_its_own(route):
    both = numpy.stack([W, W])
    with use_backend("numpy"):
        found = mapped(lambda w, x: route(w, x, ("batch",)), (0, 0))(both, X)
        numpy.testing.assert_allclose(found, PER_EXAMPLE, rtol=1e-5, atol=1e-6)


def test_arguments_each_by_what_they_are():
    by_both = mapped(lambda w, x: tangrad.grad(wave, (0, 1), reduce_axes="batch")(w, x))
    w_bar, x_bar = by_both(W, X)
    numpy.testing.assert_allclose(w_bar, [TOTAL, TOTAL], rtol=1e-5, atol=1e-6)
    numpy.testing.assert_allclose(x_bar, numpy.cos(W * X) * W, rtol=1e-5, atol=1e-6)


def test_the_total_is_one_value():
    """It is the same for all: `out_axes=None` takes it."""
    found = tangrad.vmap(
        lambda w, x: tangrad.grad(wave, reduce_axes="batch")(w, x), (None, 0), None, axis_name="batch"
    )(W, X)
    numpy.testing.assert_allclose(found, TOTAL, rtol=1e-5, atol=1e-6)


def test_of_two_axes_one_or_both():
    pairs = numpy.stack([X, X * 2, X - 1])

    def grads(axes):
        inner = tangrad.vmap(lambda w, x: by_grad(w, x, axes), (None, 0), axis_name="inner")
        return tangrad.vmap(inner, (None, 0), axis_name="outer")(W, pairs)

    each = numpy.cos(W * pairs) * pairs
    for axes, positions in ((("inner",), 1), (("outer",), 0), (("outer", "inner"), (0, 1)), ((), ())):
        expected = numpy.broadcast_to(each.sum(positions, keepdims=True), each.shape)
        numpy.testing.assert_allclose(grads(axes), expected, rtol=1e-5, atol=1e-5)


def test_values_in_between_that_are_the_same():
    """A sum over the axis makes a value that is the same; used by examples that differ, its cotangent is a sum.

    The derivative of `psum` is a sum again, so each example has the total of what the sum has.
    """

    def function(w, x):
        return lax.psum(np.sum(w * x), "batch") * x[0]

    found = mapped(lambda w, x: tangrad.grad(function, reduce_axes="batch")(w, x))(W, X)
    both = 2 * X[:, 0].sum()
    numpy.testing.assert_allclose(found, numpy.broadcast_to(both * X.sum(0), (2, 3)), rtol=1e-5)


def test_sums_whose_derivative_is_the_value():
    """A sum that hands its cotangent on as it is, which is right where cotangents are totals."""

    @tangrad.custom_vjp
    def total(x):
        return lax.psum(x, "batch")

    total.defvjp(lambda x: (total(x), None), lambda _, ct: (ct,))

    def function(w, x):
        return np.sum(np.sin(total(w * x)))

    found = mapped(lambda w, x: tangrad.grad(function, reduce_axes="batch")(w, x))(W, X)
    expected = numpy.cos(W * X.sum(0)) * X.sum(0)
    numpy.testing.assert_allclose(found, [expected, expected], rtol=1e-5, atol=1e-6)


def test_a_gradient_within_has_axes_of_its_own():
    """Only the derivative that asks for it is summed."""

    def inner(w, x):
        return np.sum(tangrad.grad(wave)(w, x))

    found = mapped(lambda w, x: tangrad.grad(inner, reduce_axes="batch")(w, x))(W, X)
    expected = (-numpy.sin(W * X) * X * X).sum(0)
    numpy.testing.assert_allclose(found, [expected, expected], rtol=1e-5, atol=1e-6)


def test_a_total_is_differentiated_as_a_sum():
    def total(w, x):
        return np.sum(tangrad.grad(wave, reduce_axes="batch")(w, x))

    forward = mapped(lambda w, x: tangrad.jvp(lambda w: total(w, x), (w,), (np.ones_like(w),))[1])(W, X)
    numpy.testing.assert_allclose(forward, [(-numpy.sin(W * X) * X * X).sum()] * 2, rtol=1e-5)
    outside = tangrad.grad(lambda w: tangrad.vmap(total, (None, 0), None, axis_name="batch")(w, X))(W)
    numpy.testing.assert_allclose(outside, (-numpy.sin(W * X) * X * X).sum(0), rtol=1e-5, atol=1e-6)


def test_trees_and_auxiliary_values():
    def loss(parameters, x):
        return np.sum(parameters["w"] * x) + parameters["b"], x[0]

    gradient, aux = mapped(lambda p, x: tangrad.grad(loss, has_aux=True, reduce_axes="batch")(p, x))(
        {"w": W, "b": numpy.float32(1)}, X
    )
    numpy.testing.assert_allclose(gradient["w"], [X.sum(0)] * 2)
    numpy.testing.assert_allclose(gradient["b"], [2.0, 2.0])  # added to each example, whose cotangents are all one
    numpy.testing.assert_allclose(aux, X[:, 0])


@pytest.mark.parametrize(
    "transform",
    [
        lambda axes: tangrad.grad(wave, reduce_axes=axes),
        lambda axes: tangrad.value_and_grad(wave, reduce_axes=axes),
        lambda axes: lambda w, x: tangrad.vjp(wave, w, x, reduce_axes=axes),
        lambda axes: lambda w, x: tangrad.linear_transpose(lambda t: t * x, w, reduce_axes=axes),
    ],
    ids=["grad", "value_and_grad", "vjp", "linear_transpose"],
)
def test_what_is_refused(transform):
    for axes in (3, (1,), (None,), (("a", "b"),), ([],), object()):
        with pytest.raises(TypeError, match="reduce_axes must"):
            transform(axes)(W, X[0])
    with pytest.raises(ValueError, match="names the axis 'batch' twice"):
        mapped(lambda w, x: transform(("batch", "batch"))(w, x))(W, X)
    with pytest.raises(NameError, match=r"reduce_axes has 'rows', .* in scope are 'batch' .size 2."):
        mapped(lambda w, x: transform(("rows",))(w, x))(W, X)
    with pytest.raises(NameError, match=r"reduce_axes has 'batch', .*no named axis is in scope"):
        transform("batch")(W, X[0])


def test_integers_have_no_linear_transpose_over_axes():
    with pytest.raises(TypeError, match="with reduce_axes real or complex"):
        mapped(lambda n, x: tangrad.linear_transpose(lambda t: t * 2, n, reduce_axes="batch"))(numpy.arange(3), X)


def test_names_that_are_no_strings():
    axis = object()
    gradient = tangrad.vmap(lambda w, x: by_grad(w, x, [axis]), (None, 0), axis_name=axis)(W, X)
    numpy.testing.assert_allclose(gradient, [TOTAL, TOTAL], rtol=1e-5, atol=1e-6)


def test_in_xmap():
    for loss in (wave, tangrad.jit(wave)):
        gradient = tangrad.xmap(
            lambda w, x, loss=loss: tangrad.grad(loss, reduce_axes=("batch",))(w, x),
            in_axes=({}, {0: "batch"}),
            out_axes={},
        )(W, X)
        numpy.testing.assert_allclose(gradient, TOTAL, rtol=1e-5, atol=1e-6)


def test_a_training_step_in_a_loop():
    """The weights stay one value: the loop's carry does not differ between examples."""

    def train(w, x):
        return lax.fori_loop(0, 3, lambda _, w: w - 0.1 * by_grad(w, x, "batch"), w)

    found = tangrad.vmap(train, (None, 0), None, axis_name="batch")(W, X)
    expected = W
    for _ in range(3):
        expected = expected - 0.1 * (numpy.cos(expected * X) * X).sum(0)
    numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
