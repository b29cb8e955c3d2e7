"""Convolutions and pooling, as each backend computes them."""

import random
import re

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax
from tangrad import use_backend as backend_setting
from tangrad._backend_numpy.windows import convolution, pooling, streaming
from tangrad._backend_numpy.windows.convolution import Convolution
from tangrad._backend_numpy.windows.patches import LARGE_BATCH, FractionalConvolution
from tangrad._backend_xla.lower import convolutions_cpu

# --- Convolutions and pooling on NumPy: patches, the way round, parts, layouts of memory ---


LAYOUTS = {"last": ("NHWC", "HWIO", "NHWC"), "first": ("NCHW", "OIHW", "NCHW")}


@pytest.fixture
def on_numpy():
    with backend_setting("numpy"):
        yield


def images(layout, batch=4, features=3, size=8, out=5, window=3):
    """Images and a kernel in a layout."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, size, size, features)).astype(np.float32)
    w = rng.normal(size=(window, window, features, out)).astype(np.float32)
    if layout == "first":
        x, w = x.transpose(0, 3, 1, 2).copy(), w.transpose(3, 2, 0, 1).copy()
    return x, w


def convolve(layout, strides=(1, 1), padding="SAME", lhs_dilation=None):
    return lambda x, w: lax.conv_general_dilated(
        x, w, strides, padding, lhs_dilation, dimension_numbers=LAYOUTS[layout]
    )


def total(values):
    return lax.reduce_sum(values, tuple(range(values.ndim)))


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("batch", [4, LARGE_BATCH])
@pytest.mark.parametrize("features", [1, 16])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_the_gradient_of_the_kernel_uses_the_same_patches(layout, strides, features, batch):
    x, w = images(layout, batch, features=features)

    def loss(w, x):
        out = convolve(layout, strides)(x, w)
        return total(lax.mul(out, out))

    text = tangrad.jit(tangrad.value_and_grad(loss)).lower(w, x).compile().as_text()
    assert text.count("patches") == 1


@pytest.mark.usefixtures("on_numpy")
def test_kernels_of_one_place_need_no_patches():
    for layout in LAYOUTS:
        x, w = images(layout, window=1)
        text = tangrad.jit(convolve(layout)).lower(x, w).compile().as_text()
        assert "patches" not in text
        features = 3 if layout == "last" else 1
        expected = np.tensordot(x, w.reshape(3, 5) if layout == "last" else w.reshape(5, 3).T, ((features,), (0,)))
        found = convolve(layout)(x, w)
        found = found if layout == "last" else lax.transpose(found, (0, 2, 3, 1))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("batch", [7, LARGE_BATCH + 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_batches_in_parts(monkeypatch, layout, batch):
    x, w = images(layout, batch)

    def both(x, w):
        out, pull = tangrad.vjp(convolve(layout, (2, 1)), x, w)
        return out, pull(lax.sin(out))

    expected = both(x, w)
    monkeypatch.setattr(convolution, "MOST_PATCHES", 3 * 8 * 4 * 27 * 4)
    tangrad.clear_caches()
    found = tangrad.jit(both)(x, w)
    assert "patches" not in tangrad.jit(both).lower(x, w).compile().as_text()
    for ours, theirs in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
    tangrad.clear_caches()


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("batch", [4, LARGE_BATCH])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("features", [2, 24])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_ways_round_agree(layout, features, dilation, groups, batch):
    x, w = images(layout, batch, features=8, out=features)
    w = w[:, :, ::groups] if layout == "last" else w[:, ::groups]
    params = parameters(layout, x, w, ((2, 1), (-1, 2)), groups, dilation)
    found = convolve_with(Convolution, x, w, params)
    np.testing.assert_allclose(found, convolve_with(FractionalConvolution, x, w, params), rtol=1e-4, atol=1e-4)


POSITIONAL = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers", "feature_group_count")


def parameters(layout, x, w, padding, groups, dilation=1):
    """Those of a convolution."""
    return {
        "window_strides": (1, 1),
        "padding": padding,
        "lhs_dilation": (dilation, 1),
        "rhs_dilation": (1, 2),
        "dimension_numbers": lax.conv_dimension_numbers(x.shape, w.shape, LAYOUTS[layout]),
        "feature_group_count": groups,
        "batch_group_count": 1,
    }


class OnArrays(convolution.Arrays):
    """What a lowering context does with values, done with arrays."""

    @staticmethod
    def call(function, *arrays, **_):
        return getattr(function, "make", function)(*arrays)

    @staticmethod
    def full(shape, value, dtype):
        return np.full(shape, value, dtype)


def convolve_with(kind, x, w, params):
    out = lax.conv_general_dilated(x, w, *[params[name] for name in POSITIONAL]).shape
    return kind(x.shape, w.shape, out, x.dtype, **params).emit(OnArrays, x, w)


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("batch", [4, LARGE_BATCH])
def test_operands_in_any_order_of_memory(batch):
    x, w = images("last", batch)

    def program(x, w):
        turned = lax.transpose(x, (0, 2, 1, 3)), lax.rev(w, (0, 1))
        out = convolve("last")(*turned)
        return lax.reduce_window(out, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def gradients(x, w):
        return tangrad.grad(lambda x, w: total(lax.sin(program(x, w))), (0, 1))(x, w)

    for function in (program, gradients):
        eager, jitted = function(x, w), tangrad.jit(function)(x, w)
        for ours, theirs in zip(tangrad.tree.leaves(jitted), tangrad.tree.leaves(eager)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("window", [pooling.MANY, pooling.MANY + 1, 31, 64])
@pytest.mark.parametrize("dilation", [1, 2])
def test_long_windows(window, dilation):
    """Partial results are shared between windows."""
    x = np.random.default_rng(0).normal(size=(3, 200)).astype(np.float32)
    places = np.arange(200 - (window - 1) * dilation)[:, None] + np.arange(window) * dilation
    for operation, init, expected in (
        (lax.add, 0.0, x[:, places].sum(-1)),
        (lax.max, -np.inf, x[:, places].max(-1)),
        (lax.mul, 1.0, x[:, places].astype(np.float64).prod(-1)),
    ):
        found = lax.reduce_window(x, init, operation, (1, window), window_dilation=(1, dilation))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("on_numpy")
def test_pooling_does_not_write_over_its_operand():
    x = np.ones((2, 4), np.float32)
    for window, strides in (((1, 1), (1, 1)), ((1, 1), (1, 2)), ((1, 2), (1, 2))):
        pool = tangrad.jit(
            lambda x, w=window, s=strides: lax.mul(lax.reduce_window(x, 0.0, lax.add, w, s), np.float32(3))
        )
        pool(x)
        assert (x == 1).all()


# --- extrema before what is monotonic --------------------------------------------------------------------------------


def pool(x, operation=lax.max, padding="VALID"):
    return lax.reduce_window(
        x, -np.inf if operation is lax.max else np.inf, operation, (1, 1, 2, 2), (1, 1, 2, 2), padding
    )


def calls(function, *args):
    """The pooling and the ufuncs that a program calls, in order."""
    text = tangrad.jit(function).lower(*args).compile().as_text()
    return re.findall(r"\b(reduce|add|subtract|maximum|minimum|multiply)\(", text)


BIAS = np.linspace(-1, 1, 3, dtype=np.float32)[:, None, None]
POOLED_EARLY = [
    (lambda x: pool(tnp.maximum(x + BIAS, 0)), ["reduce", "add", "maximum"]),
    (lambda x: pool(tnp.minimum(BIAS - (0.5 - x), 1), lax.min), ["subtract", "subtract", "reduce", "minimum"]),
    (lambda x: pool(x - BIAS, lax.min), ["reduce", "subtract"]),
    (lambda x: pool(tnp.maximum(x, x[:1, :, :1, :1])), ["reduce", "maximum"]),
]
POOLED_LATE = [
    lambda x: pool(x + np.array([[1, 2]] * 4, np.float32).T.reshape(8)),  # differs within windows
    lambda x: pool(x * BIAS),
    lambda x: pool(BIAS - x),
    lambda x: pool(x + np.float32(np.inf)),  # inf - inf is NaN wherever it is computed
    lambda x: pool(x + x[:1, :, :1, :1]),  # nor is it known of this that it is finite
    lambda x: pool(tnp.maximum(x, 0), padding=((0, 0), (0, 0), (1, 1), (1, 1))),
    lambda x: (lambda y: (pool(y), y))(x + BIAS),  # used elsewhere
]


def awkward_images():
    x = images("first")[0]
    x[0, 0, :2, :3] = [[np.nan, 1, np.inf], [0, -np.inf, 2]]
    x[1, 1, :2, :2] = -np.inf
    return x


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize(("function", "expected"), POOLED_EARLY)
def test_extrema_are_taken_before_what_is_monotonic(function, expected):
    x = awkward_images()
    assert calls(function, x) == expected
    np.testing.assert_array_equal(tangrad.jit(function)(x), function(tnp.asarray(x)))


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("function", POOLED_LATE)
def test_extrema_stay_where_it_would_make_a_difference(function):
    x = awkward_images()
    assert calls(function, x)[-1] == "reduce"
    results = tangrad.jit(function)(x), function(tnp.asarray(x))
    for found, expected in zip(*map(tangrad.tree.leaves, results)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("on_numpy")
def test_integers_wrap_round_before_extrema_are_taken():
    x = np.full((1, 1, 2, 2), np.iinfo(np.int32).max, np.int32)
    x[0, 0, 0, 0] = 0

    def function(x):
        return lax.reduce_window(x + 1, np.int32(np.iinfo(np.int32).min), lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    assert tangrad.jit(function)(x).item() == 1


# --- products with parts of the patches ------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("part", [1, 3000, 1 << 18])
@pytest.mark.parametrize("kept", [0, 1 << 20])
@pytest.mark.parametrize("batch", [1, 5, LARGE_BATCH + 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_patches_of_one_product_are_made_in_parts(monkeypatch, layout, batch, kept, part):
    monkeypatch.setattr(streaming, "PART", part)
    monkeypatch.setattr(streaming, "KEPT", kept)
    x, w = images(layout, batch, features=4, out=6)
    for padding in ("SAME", "VALID"):
        for groups in (1, 2):
            kernel = w[:, :, ::groups] if layout == "last" else w[:, ::groups]
            params = parameters(layout, x, kernel, ((1, 1), (1, 1)) if padding == "SAME" else ((0, 0), (0, 0)), groups)

            def function(x, kernel, params=params):
                return lax.conv_general_dilated(x, kernel, *[params[name] for name in POSITIONAL])

            program = tangrad.jit(function).lower(x, kernel).compile()
            assert "multiply_windows" in program.as_text()
            for scale in (1, -2):  # the second call finds what the first one left
                expected = convolve_with(Convolution, x * scale, kernel, params)
                np.testing.assert_allclose(program(x * scale, kernel), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("padding", [((0, 0), (0, 0)), ((1, 0), (2, 1))])
@pytest.mark.parametrize("operation", [lax.max, lax.min])
def test_extrema_of_large_arrays_in_one_go(monkeypatch, operation, padding):
    x = awkward_images()
    expected = pool(tnp.asarray(x), operation, ((0, 0), (0, 0), *padding))
    monkeypatch.setattr(pooling, "LARGE", 0)
    tangrad.clear_caches()
    for values in (x, np.asarray(x.transpose(1, 2, 3, 0), order="C").transpose(3, 0, 1, 2)):
        np.testing.assert_array_equal(pool(tnp.asarray(values), operation, ((0, 0), (0, 0), *padding)), expected)
    tangrad.clear_caches()


# --- Convolutions in groups and in any order of dimensions on XLA's CPUs, against the NumPy backend ---


RELATIVE = {"bfloat16": 5e-2, "float16": 5e-3, "float64": 1e-10, "int32": 0, "int8": 0, "uint8": 0, "bool": 0}
EXACT = [dtype for dtype, tolerance in RELATIVE.items() if tolerance == 0]
DTYPES = ["float32", "float32", "float64", "complex64", "bfloat16", "float16", *EXACT]
SUMMED_IN = {"float32": "float64", "bfloat16": "float32", "float16": "float32", "int8": "int32", "bool": "int32"}


@pytest.fixture(params=[64, 0], ids=["sums of products", "group by group"])
def every_size(request, monkeypatch):
    """The ways that are for large arrays, taken for small ones, too."""
    for name, value in (("FEW", 0), ("FEW_IN_A_GROUP", 0), ("MOST_TERMS", request.param), ("PAIRS_OF_DOUBLES", 0)):
        monkeypatch.setattr(convolutions_cpu, name, value)
    for name, value in (("FEW", 0), ("MOST_SUMMED", 2)):
        monkeypatch.setattr(convolution, name, value)
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


@pytest.mark.parametrize("groups", [1, 2, 8], ids="{} groups".format)
@pytest.mark.parametrize("features", [(5, 7), (8, 4), (16, 16), (3, 20)], ids=str)
@pytest.mark.parametrize("spatial", ["W", "HW"])
def test_double_precision_is_brought_to_what_xla_is_fast_at(spatial, features, groups, monkeypatch):
    """Two spatial dimensions, and in groups more than 16 features in or out; infinities stay in their own group."""
    for name in ("MOST_TERMS", "FEW_IN_A_GROUP"):
        monkeypatch.setattr(convolutions_cpu, name, 0)
    rng, (within, out) = np.random.default_rng(0), features
    x = rng.normal(size=(2, *[8] * len(spatial), groups * within))
    x[0, 0, ..., 0] = np.inf
    kernel = rng.normal(size=(*[3] * len(spatial), within, groups * out))
    numbers = ("N" + spatial + "C", spatial + "IO", "N" + spatial + "C")

    def convolve(x, kernel):
        return lax.conv_general_dilated(
            x, kernel, (1,) * len(spatial), "SAME", dimension_numbers=numbers, feature_group_count=groups
        )

    with tangrad.enable_x64(True):
        with tangrad.use_backend("numpy"):
            expected = np.asarray(convolve(x, kernel))
        with tangrad.use_backend("xla"):
            lowered = tangrad.jit(convolve).lower(x, kernel)
            found = np.asarray(tangrad.jit(convolve)(x, kernel))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    taken = [line for line in lowered.as_text().splitlines() if "stablehlo.convolution(" in line]
    assert taken
    for line in taken:
        assert "feature_group_count = 1" in line
        sizes = [size.split("x") for size in re.findall(r"tensor<(.*?)xf64>", line)]
        assert len(sizes[1]) == 4
        assert groups == 1 or max(int(size) for size in sizes[1][2:]) >= convolutions_cpu.FEATURES_OF_DOUBLES


@pytest.mark.parametrize("numbers", [("NWC", "WIO", "NWC"), ("NCW", "OIW", "WNC")], ids=str)
@pytest.mark.parametrize("padding", [(0, 0), (3, 5), (-2, 1)], ids=str)
@pytest.mark.parametrize("features", [3, 4])
@pytest.mark.parametrize("batch", [1, 3])
def test_features_alone_in_parts_and_threads(batch, features, padding, numbers, monkeypatch):
    """The same sums for parts of any size, in any number of threads; NaN and infinities stay where they belong."""
    from tangrad._backend_numpy import threads
    from tangrad._backend_numpy.windows import convolution

    rng, found = np.random.default_rng(0), []
    sizes = {"N": batch, "W": 900, "C": features}
    x = rng.normal(size=[sizes[letter] for letter in numbers[0]])
    x.flat[7], x.flat[40] = np.nan, np.inf
    sizes = {"O": features, "I": 1, "W": 30}
    kernel = rng.normal(size=[sizes[letter] for letter in numbers[1]])
    with tangrad.enable_x64(True), tangrad.use_backend("numpy"):
        for few, part, count in ((1 << 40, 1 << 20, 1), (0, 1 << 20, 2), (0, 1 << 10, 3), (0, 1 << 10, 1)):
            monkeypatch.setattr(convolution, "FEW", few)
            monkeypatch.setattr(convolution, "PART", part)
            with threads.numpy_threads(count):
                found.append(
                    np.asarray(
                        tangrad.jit(
                            lambda x, y: lax.conv_general_dilated(
                                x, y, (1,), (padding,), dimension_numbers=numbers, feature_group_count=features
                            )
                        )(x, kernel)
                    )
                )
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found[2], found[1])
    np.testing.assert_array_equal(found[3], found[1])
