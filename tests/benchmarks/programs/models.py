"""The models that the programs share, written once against an `api` (the module `tangrad` or `jax`)."""

from itertools import pairwise
from typing import Any

import numpy

Tree = Any


def draws(seed: int = 0) -> numpy.random.Generator:
    """A generator of the parameters' values: the same on every side."""
    return numpy.random.default_rng(seed)


def to_api(api: Any, tree: Tree) -> Tree:
    """The tree with its NumPy arrays made arrays of the api (the identity where the api is NumPy or autograd)."""
    if isinstance(tree, dict):
        return {key: to_api(api, value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(to_api(api, value) for value in tree)
    return api.numpy.asarray(tree)


def mlp_parameters(sizes: tuple[int, ...], dtype: str = "float32") -> list[tuple[numpy.ndarray, numpy.ndarray]]:
    """Weights and biases of a multilayer perceptron."""
    random = draws()
    return [
        ((random.normal(size=(rows, columns)) / numpy.sqrt(rows)).astype(dtype), numpy.zeros(columns, dtype))
        for rows, columns in pairwise(sizes)
    ]


def mlp_data(batch: int, sizes: tuple[int, ...], dtype: str = "float32") -> tuple[numpy.ndarray, numpy.ndarray]:
    """Inputs, and targets as one-hot rows."""
    random = draws(1)
    inputs = random.normal(size=(batch, sizes[0])).astype(dtype)
    return inputs, numpy.eye(sizes[-1], dtype=dtype)[random.integers(0, sizes[-1], batch)]


def mlp_outputs(api: Any, parameters: Tree, inputs: Any) -> Any:
    """Tanh layers and a linear last one."""
    values = inputs
    for weights, biases in parameters[:-1]:
        values = api.numpy.tanh(api.numpy.dot(values, weights) + biases)
    weights, biases = parameters[-1]
    return api.numpy.dot(values, weights) + biases


def mlp_cross_entropy(api: Any, parameters: Tree, inputs: Any, targets: Any) -> Any:
    """Mean softmax cross-entropy, in `numpy` names alone, so that autograd runs it as well."""
    np = api.numpy
    logits = mlp_outputs(api, parameters, inputs)
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_normalizer = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_normalizer - np.sum(shifted * targets, axis=1))


def transformer_parameters(width: int, heads: int, hidden: int) -> dict[str, numpy.ndarray]:
    """One block: attention projections, two layer norms, two dense layers."""
    random = draws()

    def normal(*shape: int) -> numpy.ndarray:
        return (random.normal(size=shape) / numpy.sqrt(width)).astype("float32")

    head = width // heads
    projections = {name: normal(width, heads, head) for name in ("query", "key", "value")}
    norms = {name: numpy.ones(width, "float32") for name in ("scale1", "shift1", "scale2", "shift2")}
    dense = {"wide": normal(width, hidden), "wide_bias": normal(hidden), "narrow": normal(hidden, width)}
    return {**projections, **norms, **dense, "narrow_bias": normal(width), "out": normal(heads, head, width)}


def layer_norm(api: Any, x: Any, scale: Any, shift: Any) -> Any:
    """Normalise the last axis to mean 0 and variance 1, then scale and shift."""
    np = api.numpy
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(np.square(centred), axis=-1, keepdims=True)
    return centred * api.lax.rsqrt(variance + 1e-5) * scale + shift


def attention(api: Any, p: Tree, x: Any) -> Any:
    """Causal self-attention of `x`, shape (batch, time, width)."""
    np = api.numpy
    query, key, value = (np.einsum("btd,dhk->bthk", x, p[name]) for name in ("query", "key", "value"))
    logits = np.einsum("bthk,bshk->bhts", query, key) / numpy.sqrt(key.shape[-1]).item()
    positions = np.arange(x.shape[1])
    logits = np.where(positions[:, None] >= positions[None, :], logits, -1e9)
    weights = api.nn.softmax(logits, axis=-1)
    return np.einsum("bthk,hkd->btd", np.einsum("bhts,bshk->bthk", weights, value), p["out"])


def transformer_block(api: Any, p: Tree, x: Any) -> Any:
    """Attention and a GELU layer pair, each behind a layer norm and beside a residual connection."""
    np = api.numpy
    x = x + attention(api, p, layer_norm(api, x, p["scale1"], p["shift1"]))
    hidden = api.nn.gelu(np.matmul(layer_norm(api, x, p["scale2"], p["shift2"]), p["wide"]) + p["wide_bias"])
    return x + np.matmul(hidden, p["narrow"]) + p["narrow_bias"]


def convolution_parameters() -> dict[str, numpy.ndarray]:
    """Two 3x3 convolutions and a dense layer for 28x28 images."""
    random = draws()

    def normal(*shape: int) -> numpy.ndarray:
        return (random.normal(size=shape) * 0.1).astype("float32")

    return {"first": normal(3, 3, 1, 16), "second": normal(3, 3, 16, 32), "dense": normal(7 * 7 * 32, 10)}


def convolution_loss(api: Any, p: Tree, images: Any, targets: Any) -> Any:
    """Mean cross-entropy of convolution, ReLU, max pooling, twice, then a dense layer. Images: (batch, 28, 28, 1)."""
    np, lax = api.numpy, api.lax
    for name in ("first", "second"):
        images = lax.conv_general_dilated(images, p[name], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        images = lax.reduce_window(api.nn.relu(images), -numpy.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    logits = np.matmul(images.reshape(images.shape[0], -1), p["dense"])
    return -np.mean(np.sum(api.nn.log_softmax(logits) * targets, axis=-1))
