"""Programs over the rows of large arrays on NumPy as calls of one kernel."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tests.kernels.exercise import draw

np32 = numpy.float32


def norm(x, scale, shift):
    centred = x - np.mean(x, -1, keepdims=True)
    return centred * lax.rsqrt(np.mean(np.square(centred), -1, keepdims=True) + 1e-5) * scale + shift


def norm_gradient(x, scale, shift):
    return tangrad.grad(lambda *given: np.sum(norm(*given) ** 2), (0, 1, 2))(x, scale, shift)


def batch_norm(x, scale, shift):
    axes = tuple(range(x.ndim - 1))
    return (x - x.mean(axes)) / np.sqrt(x.var(axes) + 1e-5) * scale + shift


def log_softmax_gradient(x, scale, shift):
    return tangrad.grad(lambda x: np.sum(tangrad.nn.log_softmax(x * scale + shift) ** 2))(x)


def functions(x, scale, shift):
    """All operations, several results, numbers of rows that are used in two shapes, steps on the way of other kinds."""
    y = np.tanh(np.exp(-np.maximum(x, scale)) / (1 + np.minimum(x, shift) ** 2))
    sums = y.sum(-1)
    chosen = np.where(sums > 0, sums, -sums)
    return (
        y,
        sums,
        np.sqrt(np.abs(y)),
        (y - sums[..., None]).max(-1),
        y * chosen[..., None],
        y.sum(tuple(range(y.ndim - 1))),
    )


FUNCTIONS = [norm, norm_gradient, batch_norm, log_softmax_gradient, functions]
SHAPES = [(4096, 16), (513, 67), (40, 31, 33), (2, 20_001), (200, 200), (1, 40_000), (3000, 300)]


@pytest.fixture
def on_numpy(kernels):
    """With and without the kernels, on NumPy, with 64 bits."""

    def run(function, *arguments):
        with tangrad.use_backend("numpy"), tangrad.enable_x64(True):
            results = []
            for context in (kernels(), tangrad.use_backend("numpy")):
                with context:
                    compiled = tangrad.jit(lambda *given: function(*given))
                    results.append(tangrad.tree.map(numpy.asarray, compiled(*map(np.asarray, arguments))))
                    texts = compiled.lower(*arguments).compile().as_text()
                    assert ("rows(" in texts) == (len(results) == 1), texts
        return [tangrad.tree.leaves(result) for result in results]

    return run


def arguments(shape, dtype):
    generator = numpy.random.default_rng(0)
    return [generator.normal(size=size).astype(dtype) for size in (shape, shape[-1:], shape[-1:])]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_without(on_numpy, function, shape, dtype):
    tolerance = 2e-4 if dtype == "float32" else 1e-11
    for ours, before in zip(*on_numpy(function, *arguments(shape, dtype)), strict=True):
        assert (ours.shape, ours.dtype) == (before.shape, before.dtype)
        numpy.testing.assert_allclose(ours, before, rtol=tolerance, atol=tolerance * max(1, abs(before).max()))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(2000, 1000), (100_000, 20), (30, 3000)])
def test_errors_of_a_variance(on_numpy, shape, axis):
    x = numpy.random.default_rng(1).normal(size=shape).astype("float32") + np32(3)
    exact = numpy.var(x.astype("float64"), axis)
    (ours,), (before,) = on_numpy(lambda x: np.var(x, axis), x)
    spacing = numpy.spacing(exact.astype("float32"))
    assert (abs(ours - exact) / spacing).max() <= (abs(before - exact) / spacing).max() + 2


def test_special_values_and_signs(on_numpy):
    x = draw((600, 70), "float32")
    for ours, before in zip(*on_numpy(functions, x, x[0], x[1]), strict=True):
        numpy.testing.assert_allclose(ours, before, rtol=1e-5, atol=1e-6)


def test_steps_of_other_kinds_keep_their_order(on_numpy):
    def function(x, scale, shift):
        first = (x * scale + shift).sum(-1)
        placed = np.sort(first)[:, None] + x  # after the first group, before the second one
        return (placed * placed - scale).sum(-1), np.cumsum(placed, 1), placed.sum(0)

    for ours, before in zip(*on_numpy(function, *arguments((400, 250), "float64")), strict=True):
        numpy.testing.assert_allclose(ours, before, rtol=1e-10)


def test_operands_stay_and_results_are_apart(kernels):
    with kernels(), tangrad.use_backend("numpy"):
        x, scale, shift = arguments((512, 128), "float32")
        given = [np.asarray(array) for array in (x.copy(), scale, shift)]
        compiled = tangrad.jit(functions)
        first = [numpy.array(array) for array in compiled(*given)]
        for again in (compiled(*given), tangrad.jit(functions, donate_argnums=0)(np.asarray(x.copy()), *given[1:])):
            for left, right in zip(first, again, strict=True):
                assert numpy.array_equal(left, right)
        assert numpy.array_equal(given[0], x)


def test_few_elements_are_numpys(kernels):
    with kernels(), tangrad.use_backend("numpy"):
        assert "rows(" not in tangrad.jit(norm).lower(*arguments((10, 20), "float32")).compile().as_text()
