"""`vmap`: axes in and out, trees, nesting, what it refuses; gradients along mapped axes by `reduce_axes`."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, use_backend
from tangrad.autodiff import Zero


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


A = numpy.arange(24.0, dtype="float32").reshape(2, 3, 4)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_axes(axis, out):
    mapped = tangrad.vmap(lambda x: x * 2 + x.sum(), in_axes=axis, out_axes=out)(A)
    parts = [part * 2 + part.sum() for part in numpy.moveaxis(A, axis, 0)]
    assert numpy.allclose(mapped, numpy.stack(parts, axis=out))


@pytest.mark.usefixtures("backend")
def test_unmapped_arguments_and_trees():
    f = lambda p, x, *, bias: {"y": p["w"] @ x + bias, "w": p["w"]}
    p = {"w": np.ones((5, 4)), "unused": np.zeros(3)}
    out = tangrad.vmap(f, in_axes=({"w": None, "unused": 0}, 1))(p, A[0].T, bias=np.arange(3.0))
    assert out["y"].shape == (3, 5) and out["w"].shape == (3, 5, 4)
    out = tangrad.vmap(f, in_axes=(None, 1), out_axes={"y": 1, "w": None})(p, A[0].T, bias=np.arange(3.0))
    assert out["y"].shape == (5, 3) and out["w"].shape == (5, 4)


@pytest.mark.usefixtures("backend")
def test_what_is_not_mapped_is_handed_on_as_it_is():
    rows = numpy.ones((2, 3), "float32")
    seen = []
    tangrad.vmap(lambda x, *given: seen.extend(given) or x, (0, None, None, None, None))(A, 3, 2.5, True, rows)
    assert [type(one) for one in seen] == [int, float, bool, numpy.ndarray] and seen[-1] is rows

    first = tangrad.jit(lambda x, count: x[:count] * count, static_argnums=1)
    power = tangrad.jit(lambda x, mode: x**2 if mode == "square" else x, static_argnames="mode")
    assert tangrad.vmap(first, (0, None))(A[0], 2).tolist() == (2 * A[0, :, :2]).tolist()
    assert tangrad.jit(tangrad.vmap(first, (0, None)), static_argnums=1)(A[0], 2).shape == (3, 2)
    assert tangrad.vmap(tangrad.grad(power), (0, None))(np.arange(3.0), "square").tolist() == [0, 2, 4]
    assert tangrad.vmap(lambda x, size: np.zeros(size), (0, None))(A, 5).shape == (2, 5)
    for out_axes, shape in ((0, (2, 2, 3)), (-1, (2, 3, 2)), (None, (2, 3))):
        assert tangrad.vmap(lambda x, same: same, (0, None), out_axes)(A, rows).shape == shape


@pytest.mark.usefixtures("backend")
def test_nesting():
    outer = tangrad.vmap(lambda x: tangrad.vmap(lambda y: np.dot(x, y))(A[0]))(A[1])
    assert numpy.allclose(outer, A[1] @ A[0].T)
    mixed = tangrad.vmap(tangrad.vmap(lambda x, y: x * y, (None, 0)), (0, None))(np.arange(2.0), np.arange(3.0))
    assert mixed.tolist() == [[0, 0, 0], [0, 1, 2]]
    hessians = tangrad.vmap(tangrad.hessian(lambda x: np.sum(x**3)))(np.ones((2, 3)))
    assert numpy.allclose(hessians, 6 * numpy.eye(3)[None].repeat(2, 0))


@pytest.mark.usefixtures("backend")
def test_size_without_mapped_arguments():
    assert tangrad.vmap(lambda: np.ones(2), axis_size=3)().shape == (3, 2)
    assert tangrad.vmap(lambda x: x, in_axes=None, axis_size=3)(1.0).shape == (3,)
    assert tangrad.vmap(lambda x: 5.0)(np.ones(4)).tolist() == [5.0] * 4


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x, i: x[i], ()),
        (lambda x, i: x.at[i].set(1.0), (3,)),
        (lambda x, i: x.at[i].add(1.0, mode="clip"), (3,)),
        (lambda x, i: tangrad.lax.dynamic_slice(x, (i,), (2,)), (2,)),
        (lambda x, i: tangrad.lax.dynamic_update_slice(x, np.ones(2), (i,)), (3,)),
        (lambda x, i: np.searchsorted(x, 1.0), ()),
        (lambda x, i: np.nonzero(x, size=2)[0], (2,)),
        (lambda x, i: tangrad.lax.scan(lambda c, k: (c.at[k].mul(x[i]), c[k]), x, np.arange(4))[1], (4,)),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, tangrad.jit, tangrad.vmap], ids=["once", "jit", "twice"])
def test_no_elements_at_all(function, shape, transform):
    x, i = np.zeros((0, 3)), np.zeros(0, int)
    if transform is tangrad.vmap:
        x, i, shape = np.zeros((2, 0, 3)), np.zeros((2, 0), int), (0, *shape)
    out = transform(tangrad.vmap(function))(x, i)
    assert out.shape == (len(x), *shape)
    gradient = transform(tangrad.vmap(tangrad.grad(lambda x, i: (x[i] * x.at[i].multiply(x[i])).sum())))(x, i)
    assert gradient.shape == x.shape


@pytest.mark.usefixtures("backend")
def test_what_vmap_refuses():
    f = lambda x, y: x
    with pytest.raises(ValueError, match=r"args\[0\] has shape \(3,\), mapped over axis 0: size 3"):
        tangrad.vmap(f)(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match=r"args\[0\]\['a'\] has shape \(2,\)"):
        tangrad.vmap(lambda t: t)({"a": np.ones(2), "b": np.ones(3)})
    with pytest.raises(ValueError, match="axis_size is 5"):
        tangrad.vmap(lambda x: x, axis_size=5)(np.ones(3))
    with pytest.raises(ValueError, match="rank 1, so it cannot be mapped over axis 1"):
        tangrad.vmap(lambda x: x, in_axes=1)(np.ones(3))
    with pytest.raises(ValueError, match="has no dimensions; its in_axes must be None"):
        tangrad.vmap(lambda x: x)(1.0)
    with pytest.raises(ValueError, match="in_axes has 1 entries, but the function was called with 2"):
        tangrad.vmap(f, in_axes=(0,))(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="no argument is mapped"):
        tangrad.vmap(lambda x: x, in_axes=None)(1.0)
    with pytest.raises(TypeError, match="in_axes must be an integer"):
        tangrad.vmap(f, in_axes="rows")
    with pytest.raises(TypeError, match="integers, None, or trees"):
        tangrad.vmap(f, in_axes=(0, 1.5))
    with pytest.raises(ValueError, match="depends on a mapped argument"):
        tangrad.vmap(lambda x: x, out_axes=None)(np.ones(3))
    with pytest.raises(ValueError, match="tree prefix"):
        tangrad.vmap(lambda x: x, in_axes=({"a": 0},))((np.ones(3),))
    with pytest.raises(TypeError, match="expects a function"):
        tangrad.vmap(3)
    with pytest.raises(TypeError, match="returned 'text'"):
        tangrad.vmap(lambda x: "text")(np.ones(3))


@pytest.mark.usefixtures("backend")
def test_control_flow_on_mapped_values_is_refused():
    with pytest.raises(tangrad.errors.TracerBoolConversionError):
        tangrad.vmap(lambda x: x if x > 0 else -x)(np.ones(3))


# --- `reduce_axes` ---
# What is expected is what the documentation says: where a value that is the same along an axis meets one that differs,
# the cotangent of the former is summed over the axis. The numbers are those of jax 0.4.23 in `xmap`.


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


@pytest.mark.parametrize(("out_axes", "shape"), [(0, (4, 2, 3)), (1, (2, 4, 3)), (-1, (2, 3, 4)), (None, (2, 3))])
def test_zeros_by_structure_among_results_have_the_axis(out_axes, shape):
    zero = Zero(tangrad.core.ShapedArray((2, 3), "float32"))
    _, out = tangrad.vmap(lambda x: (x, zero), out_axes=(0, out_axes))(tangrad.numpy.ones(4))
    assert type(out) is Zero and out.aval == tangrad.core.ShapedArray(shape, "float32")
    nested = tangrad.vmap(lambda x: tangrad.vmap(lambda y: (y, zero), out_axes=(0, out_axes))(x)[1])
    assert nested(tangrad.numpy.ones((5, 4))).aval.shape == (5, *shape)
