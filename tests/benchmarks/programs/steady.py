"""Compiled programs in steady state: how fast what the compiler was given runs, and whether it made the same of it."""

from collections.abc import Callable
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from . import models

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
