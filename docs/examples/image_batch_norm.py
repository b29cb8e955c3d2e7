"""A residual network with batch normalisation that classifies drawn shapes.

The images are made on the way: discs, squares, triangles and crosses of any size, place and brightness, with noise.
Batch normalisation (Ioffe and Szegedy 2015) has a state beside the parameters: running means and variances, which
training updates and prediction uses. Here it is a tree of its own, which the loss returns beside its value (`has_aux`).

    python docs/examples/image_batch_norm.py
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as onp
import pictures
from numpy.typing import NDArray

import tangrad as jax
import tangrad.numpy as jnp

SHAPES = ("disc", "square", "triangle", "cross")
SIZE = 16
WIDTHS = (12, 24)  # channels of the two stages; the second has half the resolution
KEPT = 0.9  # of the running statistics, in each step
NHWC = ("NHWC", "HWIO", "NHWC")

Part = TypeVar("Part")


# --- images --------------------------------------------------------------------------------------------------------


def draw_shape(key: jax.Array, kind: jax.Array) -> jax.Array:
    """One image (SIZE, SIZE, 1) of a shape, by its number."""
    for_place, for_size, for_angle, for_light, for_noise = jax.random.split(key, 5)
    centre = jax.random.uniform(for_place, (2,), minval=-0.35, maxval=0.35)
    radius = jax.random.uniform(for_size, minval=0.3, maxval=0.6)
    angle = jax.random.uniform(for_angle, minval=-0.4, maxval=0.4)
    axis = jnp.linspace(-1, 1, SIZE)
    row, column = (axis[:, None] - centre[0]) / radius, (axis[None, :] - centre[1]) / radius
    u, v = jnp.cos(angle) * row - jnp.sin(angle) * column, jnp.sin(angle) * row + jnp.cos(angle) * column
    square = jnp.maximum(jnp.abs(u), jnp.abs(v))
    inside = jnp.stack(
        [
            jnp.hypot(u, v) - 1.0,
            square - 0.85,
            jnp.maximum(jnp.abs(v) * 1.7 - u - 0.9, u - 0.8),
            jnp.maximum(jnp.minimum(jnp.abs(u), jnp.abs(v)) - 0.3, square - 1.0),
        ]
    )[kind]
    light = jax.random.uniform(for_light, minval=0.5, maxval=1.0)
    image = light * jax.nn.sigmoid(-12 * inside)
    return (image + 0.15 * jax.random.normal(for_noise, image.shape))[..., None]


@jax.jit
def draw_images(keys: jax.Array, kinds: jax.Array) -> jax.Array:
    return jax.vmap(draw_shape)(keys, kinds)


def make_batch(key: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """Images (count, SIZE, SIZE, 1), and the numbers of their shapes (count,)."""
    for_kinds, for_images = jax.random.split(key)
    kinds = jax.random.randint(for_kinds, (count,), 0, len(SHAPES))
    return draw_images(jax.random.split(for_images, count), kinds), kinds


# --- the network ---------------------------------------------------------------------------------------------------


class Layer(NamedTuple):
    """A convolution without bias, and the normalisation after it, by channels."""

    w: jax.Array
    scale: jax.Array
    shift: jax.Array


class Statistics(NamedTuple):
    """The running statistics of a normalisation, by channels."""

    mean: jax.Array
    variance: jax.Array


class Block(NamedTuple, Generic[Part]):
    """What belongs to the convolutions of a residual block: two after each other, and one beside them."""

    a: Part
    b: Part
    skip: Part


class Params(NamedTuple):
    """Of the network."""

    first: Layer
    blocks: list[Block[Layer]]
    weights: jax.Array  # of the last, linear layer
    bias: jax.Array


class State(NamedTuple):
    """Of the normalisations."""

    first: Statistics
    blocks: list[Block[Statistics]]


def initialize(key: jax.Array) -> tuple[Params, State]:
    """Parameters, and the state of the normalisations."""
    keys = iter(jax.random.split(key, 8))
    he = jax.nn.initializers.he_normal()

    def convolution(size: int, inputs: int, outputs: int) -> Layer:
        return Layer(he(next(keys), (size, size, inputs, outputs)), jnp.ones(outputs), jnp.zeros(outputs))

    def statistics(layer: Layer) -> Statistics:
        return Statistics(jnp.zeros_like(layer.scale), jnp.ones_like(layer.scale))

    first, channels = convolution(3, 1, WIDTHS[0]), WIDTHS[0]
    blocks: list[Block[Layer]] = []
    for width in WIDTHS:
        a, b, skip = convolution(3, channels, width), convolution(3, width, width), convolution(1, channels, width)
        blocks.append(Block(a, b, skip))
        channels = width
    weights = 0.1 * he(next(keys), (channels, len(SHAPES)))
    state = State(statistics(first), [Block(*map(statistics, block)) for block in blocks])
    return Params(first, blocks, weights, jnp.zeros(len(SHAPES))), state


def normalize(x: jax.Array, layer: Layer, state: Statistics, training: bool) -> tuple[jax.Array, Statistics]:
    """Batch normalisation of (n, height, width, channels). Returns the result, and the state after it."""
    if training:
        mean, variance = jnp.mean(x, axis=(0, 1, 2)), jnp.var(x, axis=(0, 1, 2))
        seen = Statistics(mean, variance)
        state = jax.tree.map(lambda old, new: KEPT * old + (1 - KEPT) * new, state, seen)
    else:
        mean, variance = state
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * layer.scale + layer.shift, state


def convolve(
    x: jax.Array, layer: Layer, state: Statistics, training: bool, stride: int = 1
) -> tuple[jax.Array, Statistics]:
    """A convolution without bias, normalised."""
    x = jax.lax.conv_general_dilated(x, layer.w, (stride, stride), "SAME", dimension_numbers=NHWC)
    return normalize(x, layer, state, training)


def apply(params: Params, state: State, images: jax.Array, training: bool) -> tuple[jax.Array, State]:
    """Unnormalised log probabilities (n, shapes) of images (n, SIZE, SIZE, 1), and the state after them."""
    x, first = convolve(images, params.first, state.first, training)
    x = jax.nn.relu(x)
    blocks: list[Block[Statistics]] = []
    for number, (layer, of_block) in enumerate(zip(params.blocks, state.blocks, strict=True)):
        stride = 1 if number == 0 else 2
        y, after_a = convolve(x, layer.a, of_block.a, training, stride)
        y, after_b = convolve(jax.nn.relu(y), layer.b, of_block.b, training)
        skip, after_skip = convolve(x, layer.skip, of_block.skip, training, stride)
        x = jax.nn.relu(y + skip)
        blocks.append(Block(after_a, after_b, after_skip))
    return jnp.mean(x, axis=(1, 2)) @ params.weights + params.bias, State(first, blocks)


def loss(params: Params, state: State, images: jax.Array, kinds: jax.Array) -> tuple[jax.Array, State]:
    """The mean cross-entropy, with the state after the batch."""
    scores, state = apply(params, state, images, training=True)
    wanted = jax.nn.one_hot(kinds, len(SHAPES))
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(scores) * wanted, axis=-1)), state


@jax.jit
def train_step(
    params: Params, state: State, momentum: Params, rate: float, images: jax.Array, kinds: jax.Array
) -> tuple[Params, State, Params, jax.Array]:
    """A step of gradient descent with momentum. Returns parameters, state, momentum, and the loss before it."""
    (value, state), gradient = jax.value_and_grad(loss, has_aux=True)(params, state, images, kinds)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
    params = jax.tree.map(lambda p, m: p - rate * m, params, momentum)
    return params, state, momentum, value


@jax.jit
def predict(params: Params, state: State, images: jax.Array) -> jax.Array:
    """The number of the likeliest shape of each image."""
    return jnp.argmax(apply(params, state, images, training=False)[0], axis=-1)


def draw_picture(
    path: Path, losses: list[float], images: NDArray[Any], kinds: NDArray[Any], predicted: NDArray[Any]
) -> None:
    gallery = pictures.Panel("held-out images, and what they are taken for", (0, 5), (0, 3))
    for index in range(15):
        left, bottom = index % 5, 2 - index // 5
        gallery.image(1 - images[index, ..., 0], -0.2, 2.2, (left + 0.05, bottom + 0.3, left + 0.95, bottom + 1.0))
        gallery.text(
            left + 0.5, bottom + 0.02, SHAPES[int(predicted[index])], int(predicted[index] != kinds[index]), "middle"
        )
    table = onp.zeros((len(SHAPES), len(SHAPES)))
    onp.add.at(table, (kinds, predicted), 1)
    confusion = pictures.Panel("shape (down) taken for (across)", (0, 4), (0, 4))
    confusion.image(table, -table.max(), table.max())
    for (row, column), count in onp.ndenumerate(table):
        confusion.text(column + 0.5, 3.4 - row, f"{count:.0f}", anchor="middle")
    pictures.save(path, [pictures.curve("training", losses), gallery, confusion])


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--held-out", type=int, default=400)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(arguments)

    for_params, for_images, for_test = jax.random.split(jax.random.key(0), 3)
    params, state = initialize(for_params)
    momentum = jax.tree.map(jnp.zeros_like, params)
    losses: list[float] = []
    for step in range(options.steps):
        images, kinds = make_batch(jax.random.fold_in(for_images, step), options.batch)
        rate = options.rate * 0.5 * (1 + onp.cos(onp.pi * step / options.steps))
        params, state, momentum, value = train_step(params, state, momentum, rate, images, kinds)
        losses.append(float(value))
    images, kinds = make_batch(for_test, options.held_out)
    predicted = predict(params, state, images)
    accuracy = float(jnp.mean(predicted == kinds))
    print(
        f"loss {losses[0]:.3f} at first, {onp.mean(losses[-10:]):.3f} at last; {accuracy:.1%} of held-out images right"
    )
    picture = options.output / "image-batch-norm.svg"
    draw_picture(picture, losses, onp.asarray(images), onp.asarray(kinds), onp.asarray(predicted))
    print(f"wrote {picture}")
    return {"first": losses[0], "last": float(onp.mean(losses[-10:])), "accuracy": accuracy}


if __name__ == "__main__":
    main()
