"""Compiled programs: what a call of them costs, how fast they run, and convolutions that XLA for CPUs is slow at."""

from collections.abc import Callable
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from . import models


def one_array(array: Any) -> Any:
    """A single array, shape (3,)."""
    return array


def dict_of_20(array: Any) -> Any:
    """A dict of 20 arrays."""
    return {f"parameter{number}": array for number in range(20)}


def leaves_200(array: Any) -> Any:
    """50 layers of dicts that hold two arrays and a pair: a model's parameters."""
    layer = {"weights": array, "biases": array, "norm": (array, array)}
    return [{"layer": dict(layer)} for _ in range(50)]


TREES = {"one array": one_array, "dict of 20": dict_of_20, "200 leaves": leaves_200}


def dispatch_case(make_tree: Any, side: Side) -> Case:
    """Call `jit(tree -> tree + 1)` on a tree of small arrays."""
    api = side.api()
    tree = make_tree(api.numpy.ones(3, "float32"))
    function = api.jit(lambda arguments: api.tree.map(lambda leaf: leaf + 1, arguments))
    wait_for_one(function(tree))
    return Case(lambda: function(tree), finish=wait_for_one)


def wait_for_one(tree: Any) -> None:
    """Wait for the first array of a result, without walking all of it: that is not dispatch."""
    while isinstance(tree, (dict, list, tuple)):
        tree = next(iter(tree.values())) if isinstance(tree, dict) else tree[0]
    tree.block_until_ready()


CALLS = {
    f"jit dispatch: {name}": lambda side, make_tree=make_tree: dispatch_case(make_tree, side)
    for name, make_tree in TREES.items()
}


Program = tuple[Callable[..., Any], tuple[Any, ...]]


def normal(*shape: int, seed: int = 0) -> numpy.ndarray:
    """Standard normal float32 values."""
    return models.draws(seed).normal(size=shape).astype("float32")


def mlp_gradient(api: Any) -> Program:
    """A 256x784-256-128-10 perceptron's gradient."""
    sizes = (784, 256, 128, 10)
    arguments = (models.mlp_parameters(sizes), *models.mlp_data(256, sizes))
    return api.grad(lambda p, x, y: models.mlp_cross_entropy(api, p, x, y)), arguments


def convolution_step(api: Any) -> Program:
    """One gradient-descent step of a small image model, batch 32."""
    parameters = models.convolution_parameters()
    targets = numpy.eye(10, dtype="float32")[models.draws(2).integers(0, 10, 32)]

    def step(p: Any, images: Any, labels: Any) -> Any:
        gradients = api.grad(lambda q: models.convolution_loss(api, q, images, labels))(p)
        return api.tree.map(lambda value, gradient: value - 0.1 * gradient, p, gradients)

    return step, (parameters, normal(32, 28, 28, 1), targets)


def transformer_gradient(api: Any) -> Program:
    """The gradient of a transformer block of width 128 over 8 x 64 positions."""
    arguments = (models.transformer_parameters(128, 4, 256), normal(8, 64, 128))
    return api.grad(lambda p, x: api.numpy.mean(api.numpy.square(models.transformer_block(api, p, x)))), arguments


def reductions(api: Any) -> Program:
    """Sums, maxima, means, variances and an argmax over both axes."""
    np = api.numpy

    def reduce(x: Any) -> Any:
        return np.sum(x, 0), np.max(x, 1), np.mean(x, 0), np.var(x, 1), np.argmax(x, 0), np.any(x > 3, 1)

    return reduce, (normal(512, 512),)


def transcendental_chain(api: Any) -> Program:
    """Elementwise functions over 2^18 elements."""
    np = api.numpy

    def chain(x: Any) -> Any:
        for _ in range(3):
            x = np.tanh(np.sin(x) + np.exp(-x * x)) + np.log1p(np.abs(x)) + api.lax.erf(x) + api.nn.sigmoid(x)
        return x

    return chain, (normal(1 << 18),)


def matrix_product(api: Any) -> Program:
    """512 x 512 float32."""
    return (lambda x, y: api.numpy.matmul(x, y)), (normal(512, 512), normal(512, 512, seed=1))


def softmax_cross_entropy(api: Any) -> Program:
    """The gradient of log_softmax with integer labels picked out."""
    labels = models.draws(1).integers(0, 1000, 256).astype("int32")

    def loss(logits: Any, chosen: Any) -> Any:
        return -api.numpy.mean(api.numpy.take_along_axis(api.nn.log_softmax(logits), chosen[:, None], axis=1))

    return api.grad(loss), (normal(256, 1000), labels)


def gather_and_sort(api: Any) -> Program:
    """Sort, argsort, and an embedding look-up with an update at indices."""
    indices = models.draws(1).integers(0, 1024, 4096).astype("int32")

    def work(table: Any, chosen: Any) -> Any:
        rows = table[chosen]
        return api.numpy.sort(rows[:, 0]), api.numpy.argsort(rows[:, 1]), table.at[chosen].add(rows * 0.5)

    return work, (normal(1024, 32), indices)


def random_normal(api: Any) -> Program:
    """2^16 normal draws from a key made inside."""
    return (lambda seed: api.random.normal(api.random.PRNGKey(seed), (1 << 16,))), (numpy.int32(3),)


def cumulative_sums(api: Any) -> Program:
    """A cumulative sum and maximum along each axis."""
    return (lambda x: (api.numpy.cumsum(x, axis=0), api.lax.cummax(x, axis=1))), (normal(256, 256),)


MAKERS = {
    "MLP gradient": mlp_gradient,
    "conv net step": convolution_step,
    "transformer gradient": transformer_gradient,
    "reductions": reductions,
    "transcendental chain": transcendental_chain,
    "matmul": matrix_product,
    "softmax cross-entropy gradient": softmax_cross_entropy,
    "gather and sort": gather_and_sort,
    "random normal": random_normal,
    "cumulative sums": cumulative_sums,
}


def steady_case(maker: Callable[[Any], Program], side: Side) -> Case:
    """Calls of the compiled program, each waited for; the optimised HLO text beside it."""
    api = side.api()
    function, arguments = maker(api)
    arguments = models.to_api(api, arguments)
    jitted, wait = api.jit(function), api.block_until_ready
    return Case(lambda: wait(jitted(*arguments)), hlo=lambda: api.jit(function).lower(*arguments).compile().as_text())


PROGRAMS = {
    f"steady state: {name}": lambda side, maker=maker: steady_case(maker, side) for name, maker in MAKERS.items()
}


def grouped(*image: int, groups: int, window: int) -> Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]:
    """A convolution of as many features as it has, in groups, of images (batch, height, width, features)."""

    def make(api: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        def convolve(x: Any, kernel: Any) -> Any:
            return api.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups
            )

        return convolve, (normal(*image), normal(window, window, image[-1] // groups, image[-1], seed=1))

    return make


def layers(api: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The sum of what four equal convolutions, in a loop, make of images (batch, features, height, width)."""

    def deep(x: Any, kernels: Any) -> Any:
        def layer(x: Any, kernel: Any) -> Any:
            return api.numpy.tanh(api.lax.conv_general_dilated(x, kernel, (1, 1), "SAME")), None

        return api.lax.scan(layer, x, kernels)[0]

    return deep, (normal(4, 32, 28, 28), normal(4, 32, 32, 3, 3, seed=1) * 0.1)


CONVOLUTION_MAKERS = {
    "depthwise 8x56x56x64, 3x3": grouped(8, 56, 56, 64, groups=64, window=3),
    "depthwise 8x14x14x256, 7x7": grouped(8, 14, 14, 256, groups=256, window=7),
    "16 groups of 8x28x28x128, 3x3": grouped(8, 28, 28, 128, groups=16, window=3),
    "4 layers of 4x32x28x28 in a scan": layers,
}


def case(maker: Callable[[Any], Any], side: Side, differentiated: bool) -> Case:
    """Calls of the compiled program, or of its gradient by both arguments, each waited for."""
    api = side.api()
    function, arguments = maker(api)
    program = api.grad(lambda x, kernel: (function(x, kernel) ** 2).sum(), (0, 1)) if differentiated else function
    arguments = models.to_api(api, arguments)
    jitted, wait = api.jit(program), api.block_until_ready
    return Case(lambda: wait(jitted(*arguments)))


CONVOLUTIONS = {
    f"convolution: {name}{suffix}": lambda side, maker=maker, gradient=bool(suffix): case(maker, side, gradient)
    for name, maker in CONVOLUTION_MAKERS.items()
    for suffix in ("", ", gradient")
}

PROGRAMS |= CALLS | CONVOLUTIONS
