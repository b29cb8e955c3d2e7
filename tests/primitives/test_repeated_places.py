"""Indices that name a place several times: `lax.scatter_apply`, and derivatives of products."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, use_backend
from tangrad.ops import segment_prod

# --- `lax.scatter_apply` applies its function once for each index that names an element, in every transformation ---


MANY = [[1]] * 20 + [[2]]  # more than are written out one after the other
# operand shape, indices, (window dims, inserted, components, operand batching, indices batching), updates' shape
WINDOWS = {
    "points": ((5,), [[2], [0], [2], [2], [9]], ((), (0,), (0,)), (5,)),
    "no repeats": ((5,), [[2], [0]], ((), (0,), (0,)), (2,)),
    "rows": ((5, 3), [[2], [0], [2], [-1]], ((1,), (0,), (0,)), (4, 3)),
    "rows, windows first": ((5, 3), [[2], [0], [2]], ((0,), (0,), (0,)), (3, 3)),
    "overlapping": ((6,), [[2], [1], [3], [5]], ((1,), (), (0,)), (4, 2)),
    "two axes": ((4, 5), [[[2, 1], [2, 1]], [[0, 0], [2, 1]]], ((), (0, 1), (0, 1)), (2, 2)),
    "many": ((3,), MANY, ((), (0,), (0,)), (21,)),
    "in parallel": ((2, 4), [[[1], [1], [2]], [[0], [5], [5]]], ((), (1,), (1,), (0,), (0,)), (2, 3)),
    "in parallel, last": ((2, 4), [[[1], [0]], [[1], [5]], [[2], [5]]], ((), (1,), (1,), (0,), (1,)), (3, 2)),
    "one": ((3,), [1], ((), (0,), (0,)), ()),
    "none": ((3,), np.zeros((0, 1)), ((), (0,), (0,)), (0,)),
}
TRANSFORMED = {
    "eager": lambda f, x, i: f(x, i),
    "closed over": lambda f, x, i: tangrad.jit(lambda x: f(x, i))(x),
    "jit": lambda f, x, i: tangrad.jit(f)(x, i),
    "vmap": lambda f, x, i: tangrad.vmap(f)(tnp.stack([x, x]), tnp.stack([i, i]))[1],
    "jit of vmap over indices": lambda f, x, i: tangrad.jit(tangrad.vmap(f, (None, 0)))(x, tnp.stack([i, i]))[1],
    "vjp": lambda f, x, i: tangrad.vjp(lambda x: f(x, i), x)[0],
}


def halved(x):
    return x * 0.5 + 1


def numbers_and_counts(shape, indices, numbers, mode):
    """A table by hand: how often each element is named."""
    _, inserted, components, batching, of_indices = (*numbers, (), ())[:5]
    counts, indices = np.zeros(shape, int), np.asarray(indices, int)
    for position in np.ndindex(indices.shape[:-1]):
        start, size = [0] * len(shape), list(shape)
        for dim, along in zip(batching, of_indices, strict=True):
            start[dim], size[dim] = position[along], 1
        for dim, at in zip(components, indices[position], strict=True):
            size[dim] = 1 if dim in inserted else 2
            last = shape[dim] - size[dim]
            if mode == "clip":
                at = min(max(at, 0), last)
            start[dim] = at if 0 <= at <= last else None
        if None not in start:
            counts[tuple([slice(a, a + n) for a, n in zip(start, size, strict=True)])] += 1
    return counts


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("mode", [None, "clip"])
def test_once_for_each_index(name, mode):
    with use_backend("numpy"):
        check(name, mode)


@pytest.mark.parametrize("name", ["many", *[pytest.param(name, marks=pytest.mark.sweep) for name in WINDOWS]])
def test_once_for_each_index_on_xla(name):
    pytest.importorskip("jaxlib")
    with use_backend("xla"):
        check(name, None)


def check(name, mode):
    """Each transformation of one case; on XLA each is a compilation or two."""
    shape, indices, numbers, updates = WINDOWS[name]
    dimension_numbers = lax.ScatterDimensionNumbers(*numbers)

    def applied(x, i):
        return lax.scatter_apply(x, i, halved, dimension_numbers, update_shape=updates, mode=mode)

    x = np.linspace(-2, 2, int(np.prod(shape)), dtype="float32").reshape(shape)
    counts = numbers_and_counts(shape, indices, numbers, mode)
    expected = (x - 2) * 0.5**counts + 2  # 2 is what stays
    given = tnp.asarray(x), tnp.asarray(np.asarray(indices, "int32"))
    for way, transformed in TRANSFORMED.items():
        np.testing.assert_allclose(np.asarray(transformed(applied, *given)), expected, rtol=1e-5, err_msg=way)
    slopes = np.diag(0.5 ** counts.ravel())
    for derivative in (tangrad.jacrev(applied), tangrad.jit(tangrad.jacrev(applied)), tangrad.jacfwd(applied)):
        np.testing.assert_allclose(np.asarray(derivative(*given)).reshape(slopes.shape), slopes, rtol=1e-5)


def test_promised_to_be_different_is_taken_at_its_word():
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    text = str(
        tangrad.make_jaxpr(
            lambda x, i: lax.scatter_apply(x, i, halved, numbers, update_shape=(2,), unique_indices=True)
        )(np.ones(3, "float32"), np.array([[0], [1]], "int32"))
    )
    assert "scan" not in text and "unique_indices=True" in text


def test_what_is_no_function():
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    with pytest.raises(TypeError, match="scatter_apply: func must be a function, got 3"):
        lax.scatter_apply(tnp.ones(3), np.array([[0]]), 3, numbers, update_shape=(1,))


# --- Derivatives of products of segments, and of what multiplies arrays in places that repeat ---


SEGMENTS = np.array([0, 2, 0, 5, 2, 2, -1, 0])  # 5 and -1 are none
FACTORS = {
    "no zero": [1.0, 2, 3, 4, 5, 6, 7, 8],
    "one zero": [0.0, 2, 3, 4, 1, 6, 7, 8],
    "two zeros": [1.0, 0, 3, 4, 0, 2, 7, 8],
    "all zeros": [0.0, 2, 0, 4, 5, 0, 7, 0],
}
ORDERS = {
    "gradient": tangrad.grad,
    "forward": tangrad.jacfwd,
    "hessian": tangrad.hessian,
    "reverse over reverse": lambda f: tangrad.jacrev(tangrad.grad(f)),
    "third": lambda f: tangrad.jacfwd(tangrad.hessian(f)),
}


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param), enable_x64(True):
        yield request.param


def same(found, expected):
    for x, y in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-9)


def product_by_hand(factors, segment):
    product = 1.0
    for place in np.flatnonzero(segment == SEGMENTS):
        product = product * factors[place]
    return product


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("factors", FACTORS)
def test_products_of_segments(factors, order, backend):
    def by_segments(x):
        products = segment_prod(x, SEGMENTS, 4)
        return (products**2).sum() + products[0]

    def by_hand(x):
        return sum([product_by_hand(x, k) ** 2 for k in range(4)]) + product_by_hand(x, 0)

    x, derivative = np.array(FACTORS[factors]), ORDERS[order]
    same(tangrad.jit(derivative(by_segments))(x), tangrad.jit(derivative(by_hand))(x))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_rows_that_are_multiplied_more_than_once(dtype, backend):
    rows = np.array([0, 0, 2, -3])
    x = np.array([[1, 2], [3, 4], [0, 5]], dtype)
    factors = np.array([[2, 0], [0, 3], [1, 1], [4, 4]], dtype)

    def by_scatter(x, factors):
        return tnp.real(tnp.asarray(x).at[rows].multiply(factors) ** 2).sum()

    def by_hand(x, factors):
        first = x[0] * factors[0] * factors[1] * factors[3]
        return sum([tnp.real(row**2).sum() for row in (first, x[1], x[2] * factors[2])])

    same(tangrad.grad(by_scatter, (0, 1))(x, factors), tangrad.grad(by_hand, (0, 1))(x, factors))
    if dtype == "float64":
        same(tangrad.hessian(by_scatter, (0, 1))(x, factors), tangrad.hessian(by_hand, (0, 1))(x, factors))


def test_mapped_and_in_buckets(backend):
    x = np.array([FACTORS["one zero"], FACTORS["two zeros"]])
    for options in ({}, {"bucket_size": 3}, {"mode": "clip"}):
        slope = tangrad.grad(lambda x, options=options: segment_prod(x, abs(SEGMENTS), 6, **options).sum())
        same(tangrad.vmap(slope)(x), np.stack([slope(row) for row in x]))
    halves = np.asarray(tangrad.grad(lambda x: segment_prod(x, np.array([0, 0, 9]), 1, mode="clip")[0])(x[0, 1:4]))
    np.testing.assert_allclose(halves, [12.0, 8.0, 6.0])
