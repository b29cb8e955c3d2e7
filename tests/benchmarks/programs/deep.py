"""Deep programs, to compile: equal layers, blocks and steps, written as Python loops, and programs that repeat nothing.

A compiling case times tracing, lowering and XLA together, once, for a function never seen before; a running case calls
what was compiled.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from . import models, steady, tracing

Program = tuple[Callable[..., Any], tuple[Any, ...]]
WIDTH, HEADS, HIDDEN = 64, 4, 128
BATCH, TIME = 4, 16


def normal(*shape: int, scale: float = 1.0) -> numpy.ndarray:
    """Normal values in float32."""
    return (models.draws().normal(size=shape) * scale).astype("float32")


def gradient(api: Any, loss: Callable[..., Any], *arguments: Any) -> Program:
    """The gradient of a loss by its first argument."""
    return api.grad(loss), arguments


def layers(api: Any, depth: int, wrap: str = "") -> Program:
    """Transformer layers: each jitted, recomputed in the gradient, or the whole gradient mapped over examples."""
    parameters = [models.transformer_parameters(WIDTH, HEADS, HIDDEN) for _ in range(depth)]
    layer = partial(models.transformer_block, api)
    if wrap:
        layer = {"jit": api.jit, "remat": api.checkpoint, "vmap": lambda layer: layer}[wrap](layer)

    def loss(parameters: Any, x: Any) -> Any:
        for p in parameters:
            x = layer(p, x)
        return api.numpy.mean(x**2)

    if wrap == "vmap":
        each = api.vmap(api.grad(lambda parameters, x: loss(parameters, x[None])), (None, 0))
        return each, (parameters, normal(BATCH, TIME, WIDTH))
    return gradient(api, loss, parameters, normal(BATCH, TIME, WIDTH))


def perceptron(api: Any, depth: int) -> Program:
    """Residual blocks of two dense layers."""
    np = api.numpy
    block = lambda: (normal(WIDTH, HIDDEN, scale=0.1), normal(HIDDEN), normal(HIDDEN, WIDTH, scale=0.1), normal(WIDTH))

    def loss(blocks: Any, x: Any) -> Any:
        for wide, wide_bias, narrow, narrow_bias in blocks:
            x = x + np.matmul(np.tanh(np.matmul(x, wide) + wide_bias), narrow) + narrow_bias
        return np.mean(x**2)

    return gradient(api, loss, [block() for _ in range(depth)], normal(32, WIDTH))


def residual_network(api: Any, stages: int, blocks: int) -> Program:
    """Residual blocks of two convolutions and norms; each stage halves the image and doubles the channels."""
    np, lax = api.numpy, api.lax

    def convolve(x: Any, kernel: Any, stride: int = 1) -> Any:
        names = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=names)

    def norm(x: Any, scale: Any, shift: Any) -> Any:
        mean = np.mean(x, (0, 1, 2), keepdims=True)
        return (x - mean) * lax.rsqrt(np.mean((x - mean) ** 2, (0, 1, 2), keepdims=True) + 1e-5) * scale + shift

    def loss(network: Any, x: Any) -> Any:
        for enter, stage in network:
            x = convolve(x, enter, 2)
            for first, scale1, shift1, second, scale2, shift2 in stage:
                y = api.nn.relu(norm(convolve(x, first), scale1, shift1))
                x = api.nn.relu(x + norm(convolve(y, second), scale2, shift2))
        return np.mean(x**2)

    network, channels = [], 3
    for stage in range(stages):
        before, channels = channels, 8 << stage
        half = (normal(3, 3, channels, channels, scale=0.1), numpy.float32(1), numpy.float32(0))
        network.append((normal(3, 3, before, channels, scale=0.1), [half + half for _ in range(blocks)]))
    return gradient(api, loss, network, normal(4, 32, 32, 3))


def unrolled_lstm(api: Any, steps: int) -> Program:
    """The steps of an LSTM, one after another."""
    np, sigmoid = api.numpy, api.nn.sigmoid

    def loss(parameters: Any, xs: Any) -> Any:
        of_input, of_state, bias = parameters
        hidden = cell = np.zeros((xs.shape[1], WIDTH), "float32")
        for step in range(steps):
            gates = np.matmul(xs[step], of_input) + np.matmul(hidden, of_state) + bias
            enter, forget, leave, update = np.split(gates, 4, axis=1)
            cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(update)
            hidden = sigmoid(leave) * np.tanh(cell)
        return np.mean(hidden**2)

    weights = normal(32, 4 * WIDTH, scale=0.1), normal(WIDTH, 4 * WIDTH, scale=0.1), normal(4 * WIDTH)
    return gradient(api, loss, weights, normal(steps, 16, 32))


def chain(api: Any, operations: int) -> Program:
    """Element by element, three operations again and again."""
    np = api.numpy

    def loss(x: Any) -> Any:
        for _ in range(operations // 3):
            x = np.sin(x) * 1.01 + 0.1
        return np.sum(x)

    return gradient(api, loss, normal(1 << 12))


def twenty(api: Any) -> list[Program]:
    """Programs without repetition: those of the steady state, their like under transformations, and single blocks."""
    found = [maker(api) for maker in steady.MAKERS.values()]
    for maker in tracing.PROGRAM_MAKERS.values():
        function, arguments = maker(api)
        found += [(function, arguments), (tracing.under_grad(api, function), arguments)]
    return [*found, layers(api, 1), perceptron(api, 1), residual_network(api, 1, 1), unrolled_lstm(api, 1)]


MAKERS: dict[str, Callable[[Any], Program]] = {
    "12 layers": lambda api: layers(api, 12),
    "24 layers": lambda api: layers(api, 24),
    "48 layers": lambda api: layers(api, 48),
    "12 layers, jit": lambda api: layers(api, 12, "jit"),
    "12 layers, remat": lambda api: layers(api, 12, "remat"),
    "12 layers, vmap": lambda api: layers(api, 12, "vmap"),
    "48 residual blocks": lambda api: perceptron(api, 48),
    "residual network 4 x 6": lambda api: residual_network(api, 4, 6),
    "LSTM, 48 steps": lambda api: unrolled_lstm(api, 48),
    "chain of 6,000": lambda api: chain(api, 6000),
}
LIST = "20 programs without repetition"
NAMES = (*MAKERS, LIST)


def programs_of(name: str, api: Any) -> list[Program]:
    """The programs of a row, most often one, with arrays of the api."""
    found = twenty(api) if name == LIST else [MAKERS[name](api)]
    return [(function, models.to_api(api, arguments)) for function, arguments in found]


def compiling_case(name: str, side: Side) -> Case:
    """Trace, lower and compile, once; what any first compilation loads is loaded before."""
    api = side.api()
    programs = programs_of(name, api)
    api.jit(api.grad(lambda x: api.numpy.sum(api.numpy.sin(x))))(api.numpy.ones(3))

    def fresh() -> list[Callable[..., Any]]:
        return [lambda *args, function=function: function(*args) for function, _ in programs]

    def compile_all(functions: list[Callable[..., Any]]) -> Any:
        return [api.jit(f).lower(*args).compile() for f, (_, args) in zip(functions, programs, strict=True)]

    return Case(compile_all, fresh=fresh, once=True)


def running_case(name: str, side: Side) -> Case:
    """Calls of the compiled programs, waited for."""
    api = side.api()
    calls = [(api.jit(function), arguments) for function, arguments in programs_of(name, api)]
    return Case(lambda: [api.block_until_ready(jitted(*arguments)) for jitted, arguments in calls])


PROGRAMS = {f"compile: {name}": partial(compiling_case, name) for name in NAMES}
PROGRAMS |= {f"compiled: {name}": partial(running_case, name) for name in NAMES}
