"""Jitted MLP gradients, and the same by hand in NumPy: what a careful person would write, in the same dtype."""

from collections.abc import Callable
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from . import models


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
PROGRAMS = {f"jitted MLP gradient {size}": lambda side, size=size: gradient_case(size, side) for size in SIZES}
