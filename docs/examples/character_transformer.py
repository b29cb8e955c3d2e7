"""A transformer that learns to continue a text, character by character, and then writes some.

The text is any file, by default the licence of Tangrad. Layers with the same shapes are one array each, and run by
a `scan`; the loss is the mean cross-entropy of the next character; training is Adam, with a rate that rises and falls.
Text is written by a `scan` over characters, each drawn from the network's probabilities.

    python docs/examples/character_transformer.py --text README.md
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as onp
import pictures
from numpy.typing import NDArray

import tangrad as jax
import tangrad.numpy as jnp

ROOT = Path(__file__).resolve().parent.parent.parent
PEAK = 3e-3  # the highest learning rate


class Sizes(NamedTuple):
    """Of the network."""

    characters: int
    context: int
    width: int
    heads: int
    layers: int


class Layer(TypedDict):
    """The parameters of a layer, or of all: attention, and a pair of dense layers."""

    norm1: jax.Array
    attention: jax.Array
    joined: jax.Array
    norm2: jax.Array
    wide: jax.Array
    narrow: jax.Array


class Params(TypedDict):
    """Of the network."""

    characters: jax.Array
    places: jax.Array
    layers: Layer
    norm: jax.Array


def initialize(key: jax.Array, sizes: Sizes) -> Params:
    """Random parameters; those of the layers have a first axis of layers."""
    keys = jax.random.split(key, 6)
    width, layers = sizes.width, sizes.layers

    def normal(key: jax.Array, *shape: int, scale: float = 0.02) -> jax.Array:
        return scale * jax.random.normal(key, shape)

    shrunk = 0.02 / (2 * layers) ** 0.5  # of what is added to the stream
    return {
        "characters": normal(keys[0], sizes.characters, width),
        "places": normal(keys[1], sizes.context, width),
        "layers": {
            "norm1": jnp.ones((layers, width)),
            "attention": normal(keys[2], layers, width, 3, sizes.heads, width // sizes.heads),
            "joined": normal(keys[3], layers, sizes.heads, width // sizes.heads, width, scale=shrunk),
            "norm2": jnp.ones((layers, width)),
            "wide": normal(keys[4], layers, width, 4 * width),
            "narrow": normal(keys[5], layers, 4 * width, width, scale=shrunk),
        },
        "norm": jnp.ones(width),
    }


def normalized(x: jax.Array, scale: jax.Array) -> jax.Array:
    """With mean square 1 (Zhang and Sennrich 2019), scaled."""
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * scale


def attend(x: jax.Array, layer: Layer) -> jax.Array:
    """Causal attention: each place (time, width) takes from those up to it."""
    query, key, value = jnp.einsum("tw,wkhd->khtd", x, layer["attention"])
    scores = jnp.einsum("htd,hsd->hts", query, key) / query.shape[-1] ** 0.5
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    shares = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
    return jnp.einsum("hts,hsd,hdw->tw", shares, value, layer["joined"])


def scores(params: Params, text: jax.Array) -> jax.Array:
    """For each place of a text (time,), unnormalised log probabilities (time, characters) of the next character."""

    def run_layer(x: jax.Array, layer: Layer) -> tuple[jax.Array, None]:
        x = x + attend(normalized(x, layer["norm1"]), layer)
        return x + jax.nn.gelu(normalized(x, layer["norm2"]) @ layer["wide"]) @ layer["narrow"], None

    x = params["characters"][text] + params["places"][: text.shape[0]]
    x, _ = jax.lax.scan(run_layer, x, params["layers"])
    return normalized(x, params["norm"]) @ params["characters"].T


def loss(params: Params, batch: jax.Array) -> jax.Array:
    """The mean cross-entropy, in nats a character, of texts (batch, context + 1)."""
    predicted = jax.nn.log_softmax(jax.vmap(scores, (None, 0))(params, batch[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(predicted, batch[:, 1:, None], axis=-1))


def rate(step: float, steps: int) -> jax.Array:
    """The learning rate: it rises for a tenth of the steps, then falls as a cosine."""
    rising = 10 * step / steps
    return PEAK * jnp.where(rising < 1, rising, 0.5 * (1 + jnp.cos(jnp.pi * step / steps)))


@partial(jax.jit, static_argnames="steps")
def train_step(
    params: Params, moments: tuple[Params, Params], step: float, batch: jax.Array, steps: int
) -> tuple[Params, tuple[Params, Params], jax.Array]:
    """A step of Adam with clipped gradients. Returns the new parameters and moments, and the loss before."""
    value, gradient = jax.value_and_grad(loss)(params, batch)
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(gradient)))
    gradient = jax.tree.map(lambda g: g / jnp.maximum(norm, 1.0), gradient)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, moments[1], gradient)
    scale = rate(step, steps) * jnp.sqrt(1 - 0.99**step) / (1 - 0.9**step)
    params = jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, (first, second), value


@partial(jax.jit, static_argnames=("count", "temperature"))
def write(key: jax.Array, params: Params, start: jax.Array, count: int, temperature: float) -> jax.Array:
    """Continue a text `start` (context,) by `count` characters."""

    def next_character(window: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        drawn = jax.random.categorical(key, scores(params, window)[-1] / temperature)
        return jnp.append(window[1:], drawn), drawn

    return jax.lax.scan(next_character, start, jax.random.split(key, count))[1]


def batches(text: NDArray[onp.int32], count: int, context: int, steps: int) -> Iterator[jax.Array]:
    """Random pieces (count, context + 1) of the text, for each step."""
    draw = onp.random.default_rng(0)
    for _ in range(steps):
        starts = draw.integers(0, len(text) - context, size=count)
        yield jnp.asarray(text[starts[:, None] + onp.arange(context + 1)])


def draw_picture(
    path: Path,
    losses: list[float],
    held_out: list[tuple[int, float]],
    written: str,
    shares: NDArray[onp.float32],
    piece: str,
) -> None:
    curve = pictures.curve("training; dots: held-out text", losses, ("step", "nats a character"))
    curve.points([step for step, _ in held_out], [value for _, value in held_out], 1)
    text = pictures.Panel("what it writes")
    lines = [written[start : start + 34].replace("\n", "⏎") for start in range(0, len(written), 34)]
    for number, line in enumerate(lines[:12]):
        text.text(-0.1, 0.92 - number * 0.085, line, size=9)
    guesses = pictures.Panel("how sure it is of each next character")
    guesses.image(shares[None], -1, 1, (0, 0.45, 1, 0.6))
    for place, character in enumerate(piece):
        guesses.text((place + 0.5) / len(piece), 0.35, character, anchor="middle", size=8)
    pictures.save(path, [curve, text, guesses])


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, default=ROOT / "LICENSE")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--context", type=int, default=48)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(arguments)

    raw = options.text.read_text(encoding="utf-8")
    characters = sorted(set(raw))
    text = onp.searchsorted(characters, list(raw)).astype(onp.int32)
    learned, held = text[: -len(text) // 10], text[-len(text) // 10 :]
    sizes = Sizes(len(characters), options.context, options.width, 4, options.layers)
    params = initialize(jax.random.key(0), sizes)
    zeros = jax.tree.map(jnp.zeros_like, params)
    moments = (zeros, zeros)

    pieces = len(held) // (options.context + 1)
    test = jnp.asarray(held[: pieces * (options.context + 1)].reshape(pieces, -1))
    evaluate = jax.jit(loss)
    losses, held_out = list[float](), list[tuple[int, float]]()
    for step, batch in enumerate(batches(learned, options.batch, options.context, options.steps), 1):
        params, moments, value = train_step(params, moments, float(step), batch, options.steps)
        losses.append(float(value))
        if step % max(options.steps // 8, 1) == 0:
            held_out.append((step, float(evaluate(params, test))))

    start = jnp.asarray(held[: options.context])
    written = write(jax.random.key(1), params, start, 400, 0.7)
    continued = "".join(characters[index] for index in onp.asarray(written))
    probabilities = jax.nn.softmax(scores(params, start))
    shares = onp.asarray(jnp.take_along_axis(probabilities[:-1], start[1:, None], axis=-1))[:, 0]
    print(
        f"loss {losses[0]:.3f} at first, {onp.mean(losses[-20:]):.3f} at last; on held-out text {held_out[-1][1]:.3f}"
    )
    print(f"it writes: {continued[:200]!r}")
    picture = options.output / "character-transformer.svg"
    piece = "".join(characters[index] for index in start[1:])
    draw_picture(picture, losses, held_out, continued, shares, piece.replace("\n", "⏎"))
    print(f"wrote {picture}")
    return {"first": losses[0], "last": float(onp.mean(losses[-20:])), "held out": held_out[-1][1]}


if __name__ == "__main__":
    main()
