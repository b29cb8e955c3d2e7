"""Convolutions in groups and in any order of dimensions on XLA's CPUs, against the NumPy backend."""

import random

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax
from tangrad._backend_numpy.windows import depthwise
from tangrad._backend_xla.lower import convolutions_cpu

RELATIVE = {"bfloat16": 5e-2, "float16": 5e-3, "float64": 1e-10, "int32": 0, "int8": 0, "uint8": 0, "bool": 0}
EXACT = [dtype for dtype, tolerance in RELATIVE.items() if tolerance == 0]
DTYPES = ["float32", "float32", "float64", "complex64", "bfloat16", "float16", *EXACT]
SUMMED_IN = {"float32": "float64", "bfloat16": "float32", "float16": "float32", "int8": "int32", "bool": "int32"}


@pytest.fixture(params=[64, 0], ids=["sums of products", "group by group"])
def every_size(request, monkeypatch):
    """The ways that are for large arrays, taken for small ones, too."""
    for name, value in (("FEW", 0), ("FEW_IN_A_GROUP", 0), ("MOST_TERMS", request.param)):
        monkeypatch.setattr(convolutions_cpu, name, value)
    for name, value in (("FEW", 0), ("MOST_SUMMED", 2)):
        monkeypatch.setattr(depthwise, name, value)
    tangrad.clear_caches()
    yield
    tangrad.clear_caches()


def drawn(draw: random.Random):
    """Shapes, parameters, a dtype: groups of both kinds, dilations, strides, pads below 0, dimensions in any order."""
    spatial = "HWD"[: draw.choice([0, 1, 2, 2, 3])]
    groups, batch, features, multiplier = [draw.randint(low, 3) for low in (2, 1, 1, 1)]
    if draw.random() < 0.3:
        groups = 6
    kind = draw.choice(["none", "feature", "feature", "batch", "batch"])
    if draw.random() < 0.4:
        batch, features = (1, features) if kind == "batch" else (batch, 1)
    inputs = {"N": batch * (groups if kind == "batch" else 1), "C": features * (groups if kind == "feature" else 1)}
    kernel = {"O": multiplier * (1 if kind == "none" else groups), "I": features}
    sizes, window = [{name: draw.randint(*limits) for name in spatial} for limits in ((3, 8), (1, 4))]

    def order(names: str) -> str:
        return "".join(draw.sample(names, len(names)))

    numbers = (order("NC" + spatial), order("OI" + spatial), order("NC" + spatial))
    shapes = [tuple([found[name] for name in text]) for text, found in zip(numbers, (inputs | sizes, kernel | window))]
    params = {
        "window_strides": [draw.choice([1, 1, 2, 3]) for _ in spatial],
        "padding": [(draw.randint(-1, 3), draw.randint(-1, 3)) for _ in spatial],
        "lhs_dilation": [draw.choice([1, 1, 2]) for _ in spatial],
        "rhs_dilation": [draw.choice([1, 1, 2]) for _ in spatial],
        "dimension_numbers": numbers,
        "feature_group_count": groups if kind == "feature" else 1,
        "batch_group_count": groups if kind == "batch" else 1,
    }
    dtype = draw.choice(DTYPES)
    if dtype in SUMMED_IN and draw.random() < 0.3:
        params["preferred_element_type"] = SUMMED_IN[dtype]
    return shapes, params, dtype


def outcomes(backend, operands, weights, params, dtype):
    """The convolution, and its gradients where there are any; the error's text where it is none."""

    def convolve(x, y):
        return lax.conv_general_dilated(x, y, **params)

    def total(x, y):
        out = convolve(x, y)
        return (out.real * weights.astype(out.real.dtype)[: out.size].reshape(out.shape)).sum()

    with tangrad.use_backend(backend):
        x, y = [tnp.asarray(operand, dtype) for operand in operands]
        try:
            out = tangrad.jit(convolve)(x, y)
        except ValueError as error:
            return str(error)
        if dtype in EXACT:
            return [np.asarray(out)]
        weights = tnp.asarray(weights, "float32")
        gradients = tangrad.jit(tangrad.grad(total, (0, 1)))(x, y)
        wide = "complex128" if dtype == "complex64" else "float64"
        return [np.asarray(found.astype(wide)) for found in (out, *gradients)]


SEEDS = [*range(10), *[pytest.param(seed, marks=pytest.mark.sweep) for seed in range(10, 200)]]


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_convolutions(every_size, seed):
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    shapes, params, dtype = drawn(draw)
    operands = [
        rng.integers(-3 if dtype[0] == "i" else 0, 4, shape) if dtype in EXACT else rng.standard_normal(shape)
        for shape in shapes
    ]
    if dtype == "complex64":
        operands = [operand + 1j * rng.standard_normal(operand.shape) for operand in operands]
    weights = rng.standard_normal(100_000)
    with tangrad.enable_x64(True):
        expected, found = [outcomes(name, operands, weights, params, dtype) for name in ("numpy", "xla")]
    if isinstance(expected, str):
        assert found == expected
        return
    tolerance = RELATIVE.get(dtype, 2e-5)
    for one, other in zip(found, expected, strict=True):
        largest = np.abs(other).max(initial=0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * (1 + largest), err_msg=str(params))


@pytest.mark.parametrize("ranks", [(1, 3), (4, 2)])
def test_convolutions_of_truth_values_say_where_anything_is_found(every_size, ranks):
    groups, rng = ranks[0], np.random.default_rng(0)
    x, y = [rng.random(shape) > 0.6 for shape in ((2, groups * 2, 9), (groups * ranks[1], 2, 3))]
    expected = np.zeros((2, groups * ranks[1], 7), bool)
    for feature, shift in np.ndindex(groups * ranks[1], 3):
        first = feature // ranks[1] * 2
        taken = x[:, first : first + 2, shift : shift + 7] & y[feature, :, shift, None]
        expected[:, feature] |= taken.any(1)
    with tangrad.use_backend("xla"):
        found = tangrad.jit(lambda x, y: lax.conv_general_dilated(x, y, (1,), "VALID", feature_group_count=groups))(
            x, y
        )
    assert found.dtype == bool
    np.testing.assert_array_equal(found, expected)


def features_last(module: str) -> bool:
    """Whether each convolution of a module has its features last."""
    lines = [line for line in module.split("\n") if "stablehlo.convolution(" in line]
    assert lines
    return all("dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" in line for line in lines)


def test_kernel_gradients_in_loops_have_their_features_last():
    def loss(kernels, x):
        def layer(x, kernel):
            return tnp.tanh(lax.conv_general_dilated(x, kernel, (1, 1), "SAME")), None

        return lax.scan(layer, x, kernels)[0].sum()

    with tangrad.use_backend("xla"):
        kernels, x = tnp.ones((3, 4, 4, 3, 3)), tnp.ones((2, 4, 8, 8))
        assert features_last(tangrad.jit(tangrad.grad(loss)).lower(kernels, x).as_text())


def test_small_grouped_convolutions_are_left_as_they_are():
    def convolve(x, y):
        return lax.conv_general_dilated(x, y, (1,), "SAME", feature_group_count=2)

    with tangrad.use_backend("xla"):
        text = tangrad.jit(convolve).lower(tnp.ones((1, 2, 8)), tnp.ones((2, 1, 3))).as_text()
    assert "feature_group_count = 2" in text


def test_large_depthwise_convolutions_are_sums_of_products():
    def convolve(x, y):
        return lax.conv_general_dilated(
            x, y, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=32
        )

    with tangrad.use_backend("xla"):
        gradient = tangrad.grad(lambda x, y: convolve(x, y).sum(), (0, 1))
        for function in (convolve, gradient):
            text = tangrad.jit(function).lower(tnp.ones((2, 16, 16, 32)), tnp.ones((3, 3, 1, 32))).as_text()
            assert "stablehlo.convolution" not in text
