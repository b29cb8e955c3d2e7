"""Gather and the scatters against JAX: values, derivatives, mapping, both backends; and the messages for bad input."""

import itertools

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad.core import as_array
from tests.unoptimized_jax import jit_unoptimized

jax = pytest.importorskip("jax")
BACKENDS = ("numpy", "xla")

# operand shape, indices shape, (offset_dims, collapsed, index map, operand batching, indices batching), slice sizes
GATHERS = {
    "rows": ((5, 3), (4, 1), ((1,), (0,), (0,), (), ()), (1, 3)),
    "columns": ((5, 3), (4, 1), ((0,), (1,), (1,), (), ()), (5, 1)),
    "points": ((5, 3), (2, 4, 2), ((), (0, 1), (0, 1), (), ()), (1, 1)),
    "points swapped": ((5, 3), (4, 2), ((), (0, 1), (1, 0), (), ()), (1, 1)),
    "windows": ((6, 7), (4, 2), ((0, 2), (), (0, 1), (), ()), (2, 3)),
    "windows along one axis": ((6, 7), (3, 1), ((1, 2), (), (1,), (), ()), (6, 2)),
    "one window": ((6, 7), (2,), ((0, 1), (), (0, 1), (), ()), (2, 3)),
    "batched": ((4, 5, 3), (4, 2, 1), ((2,), (1,), (1,), (0,), (0,)), (1, 1, 3)),
    "no index": ((5, 3), (0, 1), ((1,), (0,), (0,), (), ()), (1, 3)),
}
MODES = ("fill", "clip", "promise_in_bounds")


def data(name, mode, seed=0):
    shape, index_shape, numbers, sizes = GATHERS[name]
    rng = np.random.default_rng(seed)
    operand = rng.normal(size=shape).astype(np.float32)
    reach = 0 if mode == "promise_in_bounds" else 2
    index_map = numbers[2]
    indices = np.zeros(index_shape, np.int32)
    for position, dim in enumerate(index_map):
        limit = shape[dim] - sizes[dim]
        indices[..., position] = rng.integers(-reach, limit + 1 + reach, index_shape[:-1])
    return operand, indices, numbers, sizes


def updates_shape(indices, numbers, sizes):
    offset, collapsed, _, batching, _ = numbers
    window = iter([size for d, size in enumerate(sizes) if d not in collapsed and d not in batching])
    batch = iter(indices.shape[:-1])
    rank = indices.ndim - 1 + len(offset)
    return tuple([next(window) if d in offset else next(batch) for d in range(rank)])


def close(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


@pytest.fixture(params=BACKENDS)
def on(request):
    with tangrad.use_backend(request.param):
        yield request.param


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", GATHERS)
def test_gather(on, name, mode):
    operand, indices, numbers, sizes = data(name, mode)

    def both(api):
        return lambda x, i: api.lax.gather(x, i, api.lax.GatherDimensionNumbers(*numbers), sizes, mode=mode)

    ours, theirs = both(tangrad), both(jax)
    close(ours(operand, indices), theirs(operand, indices))
    close(tangrad.jit(ours)(operand, indices), theirs(operand, indices))
    cotangent = np.random.default_rng(1).normal(size=theirs(operand, indices).shape).astype(np.float32)
    close(
        tangrad.vjp(lambda x: ours(x, as_array(indices)), operand)[1](cotangent)[0],
        jax.vjp(lambda x: theirs(x, indices), operand)[1](cotangent)[0],
    )


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0), (-1, 1)])
@pytest.mark.parametrize("name", [name for name in GATHERS if name != "no index"])
def test_gather_mapped(on, name, axes):
    operand, indices, numbers, sizes = data(name, "clip")
    if name == "one window" and axes[1] == 1:
        axes = (-1, 0)
    args = [
        x if axis is None else np.stack([x, x[::-1], 2 * x], axis=axis) for x, axis in zip((operand, indices), axes)
    ]

    def both(api):
        numbers_ = api.lax.GatherDimensionNumbers(*numbers)
        return api.vmap(lambda x, i: api.lax.gather(x, i, numbers_, sizes, mode="fill"), axes)

    close(both(tangrad)(*args), both(jax)(*args))


KINDS = ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max")
SCATTERS = list(itertools.product(GATHERS, KINDS, MODES))
# Each form of indices with each kind, and both with each mode. XLA compiles all for a minute: the rest is a sweep.
SOME_SCATTERS = [one for place, one in enumerate(SCATTERS) if place % 3 == (place // 3 + place // 18) % 3]


@pytest.mark.parametrize(("name", "kind", "mode"), SCATTERS)
def test_scatter(name, kind, mode):
    check_scatter("numpy", name, kind, mode)


@pytest.mark.parametrize(("name", "kind", "mode"), SOME_SCATTERS)
def test_scatter_on_xla(name, kind, mode):
    check_scatter("xla", name, kind, mode)


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize(("name", "kind", "mode"), [one for one in SCATTERS if one not in SOME_SCATTERS])
def test_further_scatter_on_xla(name, kind, mode):
    check_scatter("xla", name, kind, mode)


def check_scatter(backend, name, kind, mode):
    with tangrad.use_backend(backend):
        scatter_agrees(name, kind, mode)


def scatter_agrees(name, kind, mode):
    operand, indices, numbers, sizes = data(name, mode)
    updates = np.random.default_rng(2).normal(size=updates_shape(indices, numbers, sizes)).astype(np.float32)

    def both(api):
        function = getattr(api.lax, kind)
        return lambda x, u: function(x, indices, u, api.lax.ScatterDimensionNumbers(*numbers), mode=mode)

    ours, theirs = both(tangrad), both(jax)
    expected = jit_unoptimized(jax, theirs)(operand, updates)
    close(ours(operand, updates), expected)
    close(tangrad.jit(ours)(operand, updates), expected)
    if kind == "scatter_mul":
        if indices.size:  # JAX refuses indices that may repeat
            tangent, step = np.cos(updates), np.float32(1e-2)
            found = tangrad.jvp(lambda u: ours(operand, u), (updates,), (tangent,))[1]
            moved = [np.asarray(ours(operand, updates + sign * step * tangent)) for sign in (1, -1)]
            np.testing.assert_allclose(found, (moved[0] - moved[1]) / (2 * step), rtol=1e-2, atol=1e-2)
        else:  # nothing is multiplied, and no update counts; JAX asks for unique indices here too
            close(tangrad.jvp(ours, (operand, updates), (operand, updates))[1], operand)
        return
    if mode == "clip" and kind in ("scatter_min", "scatter_max"):
        # JAX divides by zero there; by clamped indices it does not.
        limits = [operand.shape[d] - sizes[d] for d in numbers[2]]
        clamped = np.clip(indices, 0, limits)
        function, their_numbers = getattr(jax.lax, kind), jax.lax.ScatterDimensionNumbers(*numbers)
        theirs = lambda x, u: function(x, clamped, u, their_numbers)

    def derivatives(api, function):
        tangents = (np.cos(operand), np.sin(updates))
        tangent = api.jvp(function, (operand, updates), tangents)[1]
        return tangent, *api.vjp(function, operand, updates)[1](operand)

    expected = jit_unoptimized(jax, lambda: derivatives(jax, theirs))()
    for our, their in zip(derivatives(tangrad, ours), expected, strict=True):
        close(our, their)


@pytest.mark.parametrize("axes", [(0, None, None), (None, 0, None), (None, None, 1), (0, 0, 0)])
@pytest.mark.parametrize("name", ["rows", "windows", "batched"])
def test_scatter_mapped(on, name, axes):
    operand, indices, numbers, sizes = data(name, "fill")
    updates = np.random.default_rng(2).normal(size=updates_shape(indices, numbers, sizes)).astype(np.float32)
    args = [
        x if axis is None else np.stack([x, x[::-1], 2 * x], axis=axis)
        for x, axis in zip((operand, indices, updates), axes)
    ]

    def both(api):
        numbers_ = api.lax.ScatterDimensionNumbers(*numbers)
        return api.vmap(lambda x, i, u: api.lax.scatter_add(x, i, u, numbers_), axes)

    close(both(tangrad)(*args), both(jax)(*args))


def test_scatter_mul_with_unique_indices(on):
    x, i, u = np.array([1.0, 2.0, 3.0], np.float32), np.array([[2], [0]]), np.array([5.0, 7.0], np.float32)

    def both(api):
        numbers = api.lax.ScatterDimensionNumbers((), (0,), (0,))
        return lambda x, u: api.lax.scatter_mul(x, i, u, numbers, unique_indices=True)

    ours, theirs = tangrad.vjp(both(tangrad), x, u)[1](x), jax.vjp(both(jax), x, u)[1](x)
    for our, their in zip(ours, theirs):
        close(our, their)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float16", "complex64"])
def test_gather_fills_by_dtype(on, dtype):
    x = np.array([1, 0, 1]).astype(dtype)
    numbers = ((), (0,), (0,))
    ours = lax.gather(x, np.array([[1], [7]]), lax.GatherDimensionNumbers(*numbers), (1,), mode="fill")
    theirs = jax.lax.gather(x, np.array([[1], [7]]), jax.lax.GatherDimensionNumbers(*numbers), (1,), mode="fill")
    assert np.array_equal(np.asarray(ours), np.asarray(theirs), equal_nan=dtype in ("float16", "complex64"))


def test_messages():
    x, i = np.ones((5, 3), np.float32), np.zeros((4, 1), np.int32)
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    with pytest.raises(TypeError, match="indices must be integers, got dtype float32"):
        lax.gather(x, i.astype(np.float32), numbers, (1, 3))
    with pytest.raises(ValueError, match="slice size 9 of dimension 1 must be from 0 to its size 3"):
        lax.gather(x, i, numbers, (1, 9))
    with pytest.raises(ValueError, match="must have an entry for each dimension"):
        lax.gather(x, i, numbers, (1,))
    with pytest.raises(ValueError, match="unknown index mode 'wrap'"):
        lax.gather(x, i, numbers, (1, 3), mode="wrap")
    with pytest.raises(TypeError, match="operand and updates must have one dtype"):
        lax.scatter(x, i, np.ones((4, 3), np.int32), lax.ScatterDimensionNumbers((1,), (0,), (0,)))
    with pytest.raises(ValueError, match="batch dimensions of the indices"):
        lax.scatter(x, i, np.ones((2, 3), np.float32), lax.ScatterDimensionNumbers((1,), (0,), (0,)))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("mode", ["fill", "clip", "promise_in_bounds"])
def test_many_elements_at_places_of_their_own(mode, axis, dtype):
    """One along an axis for each place of the others, in parts; and where some are out of bounds."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(250, 240)).astype(np.float32)
    indices = rng.integers(0, 100, x.shape).astype(dtype)
    take = tangrad.jit(lambda x, at: tangrad.numpy.take_along_axis(x, at, axis, mode=mode))
    with tangrad.use_backend("numpy"):
        for operand in (x, x.T.copy().T):
            np.testing.assert_array_equal(take(operand, indices), np.take_along_axis(x, indices.astype(int), axis))
        if mode == "promise_in_bounds":
            return
        indices[3, 5] = 255
        expected = np.take_along_axis(x, np.minimum(indices, x.shape[axis] - 1).astype(int), axis)
        expected[3, 5] = np.nan if mode == "fill" else expected[3, 5]
        np.testing.assert_array_equal(take(x, indices), expected)


@pytest.mark.parametrize("function", ["max", "min"])
@pytest.mark.parametrize("places", [3, 700])
def test_extrema_of_many_rows_that_meet(places, function):
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(places, 40)), rng.integers(0, places, 2000)
    values = rng.normal(size=(2000, 40))
    values[5, 7], values[9, 3] = np.nan, np.inf
    expected = x.copy()
    getattr(np, f"{function}imum").at(expected, at, values)
    with tangrad.enable_x64(True), tangrad.use_backend("numpy"):
        found = tangrad.jit(lambda x, at, values: getattr(x.at[at], function)(values))(x, at, values)
    np.testing.assert_array_equal(found, expected)
