"""Eager operations on 8 floats, eager gradients, and jitted MLP gradients beside the same by hand in NumPy."""

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from . import models
from .idioms import IDIOMS, Idiom

SMALL_SIZES = (8, 16, 4)


def operations(api: Any) -> dict[str, Callable[[], Any]]:
    """The eager operations, by name."""
    np = api.numpy
    x, y = np.arange(8.0), np.ones(8)
    chosen = x > 3.0
    return {
        "add": lambda: x + y,
        "sin": lambda: np.sin(x),
        "sum": lambda: np.sum(x),
        "x*2": lambda: x * 2,
        "where": lambda: np.where(chosen, x, y),
        "reshape": lambda: x.reshape(2, 4),
        "slice": lambda: x[2:5],
        "dot": lambda: np.dot(x, y),
    }


def operation_case(name: str, side: Side) -> Case:
    """One eager operation."""
    api = side.api()
    return Case(operations(api)[name], finish=api.block_until_ready)


def three_operations(np: Any) -> Callable[[Any], Any]:
    """sin, multiply, sum: a new function each time."""
    return lambda x: np.sum(np.sin(x) * x)


def waiter(api: Any) -> Callable[[Any], Any] | None:
    """What waits for asynchronous results, where the side has any."""
    return getattr(api, "block_until_ready", None)


def three_operations_case(side: Side) -> Case:
    """`value_and_grad` of three operations on 8 floats."""
    api = side.api()
    np, value_and_grad = api.numpy, api.value_and_grad
    x = np.arange(8.0)
    return Case(lambda function: value_and_grad(function)(x), fresh=lambda: three_operations(np), finish=waiter(api))


def small_mlp_case(side: Side) -> Case:
    """`value_and_grad` of the loss of an 8-16-4 perceptron on 8 examples."""
    api = side.api()
    parameters = models.to_api(api, models.mlp_parameters(SMALL_SIZES))
    inputs, targets = models.to_api(api, models.mlp_data(8, SMALL_SIZES))
    value_and_grad = api.value_and_grad

    def fresh() -> Callable[[Any], Any]:
        return lambda p: models.mlp_cross_entropy(api, p, inputs, targets)

    return Case(lambda function: value_and_grad(function)(parameters), fresh=fresh, finish=waiter(api))


PROGRAMS = {
    f"eager: {name}": lambda side, name=name: operation_case(name, side)
    for name in ("add", "sin", "sum", "x*2", "where", "reshape", "slice", "dot")
}
PROGRAMS["eager value_and_grad: 3 operations"] = three_operations_case
PROGRAMS["eager value_and_grad: small MLP"] = small_mlp_case


def parse_size(text: str) -> tuple[int, tuple[int, ...]]:
    """'64x32-16-10' is a batch of 64 and layers of 32, 16 and 10."""
    batch, layers = text.split("x")
    return int(batch), tuple(int(size) for size in layers.split("-"))


def manual_gradient(parameters: Any, inputs: numpy.ndarray, targets: numpy.ndarray) -> tuple[Any, list[Any]]:
    """Loss and gradient of `models.mlp_cross_entropy`, by hand."""
    activations = [inputs]
    for weights, biases in parameters[:-1]:
        activations.append(numpy.tanh(activations[-1] @ weights + biases))
    weights, biases = parameters[-1]
    logits = activations[-1] @ weights + biases
    logits -= logits.max(axis=1, keepdims=True)
    powers = numpy.exp(logits)
    normalizer = powers.sum(axis=1, keepdims=True)
    loss = (numpy.log(normalizer[:, 0]) - (logits * targets).sum(axis=1)).mean()
    error = (powers / normalizer - targets) / numpy.float32(len(inputs))
    return loss, manual_backward(parameters, activations, error)


def manual_backward(parameters: Any, activations: list[numpy.ndarray], error: numpy.ndarray) -> list[Any]:
    """The backward pass: gradients of weights and biases, first layer first."""
    gradients = []
    for layer in range(len(parameters) - 1, -1, -1):
        values = activations[layer]
        gradients.append((values.T @ error, error.sum(axis=0)))
        if layer:
            error = (error @ parameters[layer][0].T) * (1 - values * values)
    return gradients[::-1]


def gradient_case(size: str, side: Side) -> Case:
    """The jitted gradient, or NumPy's by hand where the side is NumPy."""
    batch, layers = parse_size(size)
    api = side.api()
    parameters = models.to_api(api, models.mlp_parameters(layers))
    inputs, targets = models.to_api(api, models.mlp_data(batch, layers))
    function: Callable[..., Any] = manual_gradient
    if side.module != "numpy":
        function = api.jit(api.value_and_grad(lambda p, x, y: models.mlp_cross_entropy(api, p, x, y)))
    return Case(lambda: function(parameters, inputs, targets), finish=getattr(api, "block_until_ready", None))


SIZES = ("64x64-64-10", "128x256-256-10", "256x784-256-128-10")
PROGRAMS |= {f"jitted MLP gradient {size}": lambda side, size=size: gradient_case(size, side) for size in SIZES}


# --- Cliffs: everyday code that is short where nothing is compiled for a value, and hours where something is -------
# Each idiom is timed twice: "cliff" on a vector whose length the process has not seen before, so that all which depends
# on the shape is compiled in the measured time, and "again" on one whose length it knows.

LENGTH, LENGTHS = 100, 16


def vectors(api: Any, idiom: Idiom) -> Callable[[], Any]:
    """A function that makes vectors, each of another length than the one before, and than those of other idioms."""
    numbers, place = count(), list(IDIOMS.values()).index(idiom)

    def fresh() -> Any:
        length = LENGTH + place + len(IDIOMS) * (next(numbers) % LENGTHS)
        return api.numpy.asarray(numpy.linspace(0.0, 9.0, length, dtype=numpy.float32))

    return fresh


def first_case(idiom: Idiom, side: Side) -> Case:
    """The idiom on lengths that are new to the process."""
    api = side.api()
    work = idiom.work
    return Case(
        lambda x: work(api, x, len(x)), fresh=vectors(api, idiom), finish=waiter(api), compilations=side.compilations
    )


def again_case(idiom: Idiom, side: Side) -> Case:
    """The idiom on a length that is known."""
    api = side.api()
    work, x = idiom.work, vectors(api, idiom)()
    return Case(lambda: work(api, x, len(x)), finish=waiter(api), compilations=side.compilations)


PROGRAMS |= {f"cliff: {name}": lambda side, idiom=idiom: first_case(idiom, side) for name, idiom in IDIOMS.items()}
PROGRAMS |= {f"again: {name}": lambda side, idiom=idiom: again_case(idiom, side) for name, idiom in IDIOMS.items()}
