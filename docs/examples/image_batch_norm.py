"""A residual network with batch normalisation that classifies drawn shapes.

The images are made on the way: discs, squares, triangles and crosses of any size, place and brightness, with noise.
Batch normalisation (Ioffe and Szegedy 2015) has a state beside the parameters: running means and variances, which
training updates and prediction uses. Here it is a tree of its own, which the loss returns beside its value (`has_aux`).

    python docs/examples/image_batch_norm.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as onp
import pictures

import tangrad as jax
import tangrad.numpy as jnp

SHAPES = ("disc", "square", "triangle", "cross")
SIZE = 16
WIDTHS = (12, 24)  # channels of the two stages; the second has half the resolution
KEPT = 0.9  # of the running statistics, in each step
NHWC = ("NHWC", "HWIO", "NHWC")


# --- images --------------------------------------------------------------------------------------------------------


def draw_shape(key, kind):
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
def draw_images(keys, kinds):
    return jax.vmap(draw_shape)(keys, kinds)


def make_batch(key, count: int):
    """Images (count, SIZE, SIZE, 1), and the numbers of their shapes (count,)."""
    for_kinds, for_images = jax.random.split(key)
    kinds = jax.random.randint(for_kinds, (count,), 0, len(SHAPES))
    return draw_images(jax.random.split(for_images, count), kinds), kinds


# --- the network ---------------------------------------------------------------------------------------------------


def initialize(key):
    """Parameters, and the state of the normalisations."""
    keys = iter(jax.random.split(key, 8))
    he = jax.nn.initializers.he_normal()

    def convolution(size, inputs, outputs):
        return {
            "w": he(next(keys), (size, size, inputs, outputs)),
            "scale": jnp.ones(outputs),
            "shift": jnp.zeros(outputs),
        }

    params, channels = {"first": convolution(3, 1, WIDTHS[0])}, WIDTHS[0]
    for number, width in enumerate(WIDTHS):
        params[f"block{number}"] = {
            "a": convolution(3, channels, width),
            "b": convolution(3, width, width),
            "skip": convolution(1, channels, width),
        }
        channels = width
    statistics = {"mean": None, "variance": None}
    is_layer = lambda node: isinstance(node, dict) and "scale" in node
    state = jax.tree.map(
        lambda layer: {name: jnp.zeros_like(layer["scale"]) + (name == "variance") for name in statistics},
        params,
        is_leaf=is_layer,
    )
    params["out"] = {"w": 0.1 * he(next(keys), (channels, len(SHAPES))), "b": jnp.zeros(len(SHAPES))}
    return params, state


def normalize(x, layer, state, training: bool):
    """Batch normalisation of (n, height, width, channels). Returns the result, and the state after it."""
    if training:
        mean, variance = jnp.mean(x, axis=(0, 1, 2)), jnp.var(x, axis=(0, 1, 2))
        seen = {"mean": mean, "variance": variance}
        state = jax.tree.map(lambda old, new: KEPT * old + (1 - KEPT) * new, state, seen)
    else:
        mean, variance = state["mean"], state["variance"]
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * layer["scale"] + layer["shift"], state


def convolve(x, layer, state, training: bool, stride: int = 1):
    """A convolution without bias, normalised."""
    x = jax.lax.conv_general_dilated(x, layer["w"], (stride, stride), "SAME", dimension_numbers=NHWC)
    return normalize(x, layer, state, training)


def apply(params, state, images, training: bool):
    """Unnormalised log probabilities (n, shapes) of images (n, SIZE, SIZE, 1), and the state after them."""
    new = {}
    x, new["first"] = convolve(images, params["first"], state["first"], training)
    x = jax.nn.relu(x)
    for number in range(len(WIDTHS)):
        name, stride = f"block{number}", 1 if number == 0 else 2
        layer, of_block, after = params[name], state[name], {}
        y, after["a"] = convolve(x, layer["a"], of_block["a"], training, stride)
        y, after["b"] = convolve(jax.nn.relu(y), layer["b"], of_block["b"], training)
        skip, after["skip"] = convolve(x, layer["skip"], of_block["skip"], training, stride)
        x, new[name] = jax.nn.relu(y + skip), after
    return jnp.mean(x, axis=(1, 2)) @ params["out"]["w"] + params["out"]["b"], new


def loss(params, state, images, kinds):
    """The mean cross-entropy, with the state after the batch."""
    scores, state = apply(params, state, images, training=True)
    wanted = jax.nn.one_hot(kinds, len(SHAPES))
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(scores) * wanted, axis=-1)), state


@jax.jit
def train_step(params, state, momentum, rate, images, kinds):
    """A step of gradient descent with momentum. Returns parameters, state, momentum, and the loss before it."""
    (value, state), gradient = jax.value_and_grad(loss, has_aux=True)(params, state, images, kinds)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
    params = jax.tree.map(lambda p, m: p - rate * m, params, momentum)
    return params, state, momentum, value


@jax.jit
def predict(params, state, images):
    """The number of the likeliest shape of each image."""
    return jnp.argmax(apply(params, state, images, training=False)[0], axis=-1)


def draw_picture(path: Path, losses, images, kinds, predicted) -> None:
    gallery = pictures.Panel("held-out images, and what they are taken for", (0, 5), (0, 3))
    for index in range(15):
        left, bottom = index % 5, 2 - index // 5
        gallery.image(1 - images[index, ..., 0], -0.2, 2.2, (left + 0.05, bottom + 0.3, left + 0.95, bottom + 1.0))
        gallery.text(
            left + 0.5, bottom + 0.02, SHAPES[predicted[index]], int(predicted[index] != kinds[index]), "middle"
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
    losses = []
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
