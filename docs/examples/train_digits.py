"""Train a small convolutional network on the 1,797 handwritten digits of scikit-learn, on the backend of your choice.

Writes to demo-output/: the parameters, the losses, and a picture with the learning curve, predictions and the hardest
images.

    make demo                  # NumPy alone
    make demo BACKEND=xla      # the same program on XLA
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, TypeAlias

import numpy as onp
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from tqdm import trange

import tangrad
import tangrad.lax as lax
import tangrad.nn as nn
import tangrad.numpy as np
import tangrad.random as random
from tangrad.typing import Key

HELD_OUT = 360
BATCH = 72
CHANNELS = (16, 32)
HIDDEN = 64
CLASSES = 10
NCHW = ("NCHW", "OIHW", "NCHW")

Params: TypeAlias = dict[str, dict[str, tangrad.Array]]
Images: TypeAlias = NDArray[onp.float32]
Labels: TypeAlias = NDArray[onp.int32]


def load() -> tuple[Images, Labels, Images, Labels]:
    """Images (n, 1, 8, 8) in [0, 1] and labels (n,): for training, and held out."""
    digits = load_digits()
    order = onp.random.default_rng(0).permutation(len(digits.target))
    images = (digits.images[order] / 16.0).astype(onp.float32)[:, None]
    labels = digits.target[order].astype(onp.int32)
    return images[HELD_OUT:], labels[HELD_OUT:], images[:HELD_OUT], labels[:HELD_OUT]


def initialize(key: Key) -> Params:
    """The parameters: two convolutions, a hidden layer, a linear one."""
    keys = random.split(key, 4)
    he = nn.initializers.he_normal
    first, second = CHANNELS
    return {
        "conv1": {"w": he(in_axis=1, out_axis=0)(keys[0], (first, 1, 3, 3)), "b": np.zeros((first, 1, 1))},
        "conv2": {"w": he(in_axis=1, out_axis=0)(keys[1], (second, first, 3, 3)), "b": np.zeros((second, 1, 1))},
        "hidden": {"w": he()(keys[2], (second * 4, HIDDEN)), "b": np.zeros(HIDDEN)},
        "out": {"w": he()(keys[3], (HIDDEN, CLASSES)), "b": np.zeros(CLASSES)},
    }


def pool(x: tangrad.Array) -> tangrad.Array:
    """The largest of each 2 × 2 pixels."""
    return lax.reduce_window(x, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def logits(params: Params, images: tangrad.Array) -> tangrad.Array:
    """Unnormalised log probabilities (n, 10) of images (n, 1, 8, 8)."""
    x = images
    for name in ("conv1", "conv2"):
        layer = params[name]
        x = lax.conv_general_dilated(x, layer["w"], (1, 1), "SAME", dimension_numbers=NCHW)
        x = pool(nn.relu(x + layer["b"]))
    x = x.reshape(x.shape[0], -1)
    x = nn.relu(x @ params["hidden"]["w"] + params["hidden"]["b"])
    return x @ params["out"]["w"] + params["out"]["b"]


def loss(params: Params, images: tangrad.Array, labels: tangrad.Array) -> tangrad.Array:
    """The mean cross-entropy."""
    scores = nn.log_softmax(logits(params, images))
    return -np.mean(np.sum(scores * nn.one_hot(labels, CLASSES), axis=-1))


@tangrad.jit
def train_step(
    params: Params, moments: tuple[Params, Params], step: float, images: tangrad.Array, labels: tangrad.Array
) -> tuple[Params, tuple[Params, Params], tangrad.Array]:
    """One step of Adam. Returns the new parameters and moments, and the loss before the step."""
    value, gradient = tangrad.value_and_grad(loss)(params, images, labels)
    rate, decay1, decay2 = 2e-3, 0.9, 0.999
    first = tangrad.tree.map(lambda m, g: decay1 * m + (1 - decay1) * g, moments[0], gradient)
    second = tangrad.tree.map(lambda m, g: decay2 * m + (1 - decay2) * g * g, moments[1], gradient)
    scale = rate * np.sqrt(1 - decay2**step) / (1 - decay1**step)
    params = tangrad.tree.map(lambda p, m, v: p - scale * m / (np.sqrt(v) + 1e-8), params, first, second)
    return params, (first, second), value


predict = tangrad.jit(logits)


@tangrad.jit
def gradient_norms(params: Params, images: tangrad.Array, labels: tangrad.Array) -> tangrad.Array:
    """For each image, the norm of the gradient of its own loss: how much the network would learn from it."""

    def norm(image: tangrad.Array, label: tangrad.Array) -> tangrad.Array:
        gradient = tangrad.grad(loss)(params, image[None], label[None])
        return np.sqrt(sum(np.sum(leaf**2) for leaf in tangrad.tree.leaves(gradient)))

    return tangrad.vmap(norm)(images, labels)


def train(params: Params, images: Images, labels: Labels, epochs: int) -> tuple[Params, list[float]]:
    """All epochs, with a progress bar. Returns the parameters and the loss of every step."""
    moments = (tangrad.tree.map(np.zeros_like, params), tangrad.tree.map(np.zeros_like, params))
    shuffle = onp.random.default_rng(1)
    losses: list[float] = []
    step = 0
    with trange(epochs, unit="epoch", desc=f"training on {tangrad.default_backend()}") as progress:
        for _ in progress:
            order = shuffle.permutation(len(labels))
            for start in range(0, len(order) - BATCH + 1, BATCH):
                chosen = order[start : start + BATCH]
                step += 1
                batch = np.asarray(images[chosen]), np.asarray(labels[chosen])
                params, moments, value = train_step(params, moments, float(step), *batch)
                losses.append(float(value))
            progress.set_postfix(loss=f"{onp.mean(losses[-10:]):.4f}")
    return params, losses


def draw(
    path: Path,
    losses: list[float],
    images: Images,
    labels: Labels,
    predicted: NDArray[onp.intp],
    norms: NDArray[onp.float32],
) -> None:
    """The learning curve, sample predictions, and the images with the largest gradient norms."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 6.5), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.3, 1))
    curve = top.subplots()
    curve.semilogy(losses, linewidth=0.8)
    curve.set(xlabel="step", ylabel="cross-entropy", title=f"training on {tangrad.default_backend()}")
    left, right = bottom.subfigures(1, 2)
    hardest = onp.argsort(-norms)[:10]
    for part, title, chosen in ((left, "predictions", range(10)), (right, "largest gradient norms", hardest)):
        part.suptitle(title)
        for axis, index in zip(part.subplots(2, 5).flat, chosen, strict=True):
            right_answer = predicted[index] == labels[index]
            axis.imshow(images[index, 0], cmap="gray_r")
            axis.set_title(
                f"{predicted[index]}" + ("" if right_answer else f" (is {labels[index]})"),
                fontsize=9,
                color="black" if right_answer else "crimson",
            )
            axis.axis("off")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    images, labels, held_images, held_labels = load()
    params = initialize(random.key(0))
    start = time.perf_counter()
    params, losses = train(params, images, labels, options.epochs)
    seconds = time.perf_counter() - start

    held = np.asarray(held_images), np.asarray(held_labels)
    predicted: NDArray[onp.intp] = onp.argmax(onp.asarray(predict(params, held[0])), axis=-1)
    accuracy = onp.count_nonzero(predicted == held_labels) / len(held_labels)
    norms = onp.asarray(gradient_norms(params, *held))
    hardest = onp.argsort(-norms)[:5]

    backend = tangrad.default_backend()
    picture = options.output / f"digits-{backend}.png"
    draw(picture, losses, held_images, held_labels, predicted, norms)
    leaves: dict[str, Any] = {
        tangrad.tree_util.keystr(path): onp.asarray(leaf) for path, leaf in tangrad.tree.leaves_with_path(params)
    }
    onp.savez(options.output / f"digits-{backend}.npz", **leaves)
    (options.output / f"digits-{backend}.json").write_text(json.dumps({"losses": losses, "accuracy": accuracy}))

    print(f"{len(losses)} steps in {seconds:.1f} s; last losses {', '.join(f'{value:.4f}' for value in losses[-3:])}")
    print(f"held-out accuracy {accuracy:.1%} on {len(held_labels)} digits")
    print("largest per-example gradient norms (held-out digits):")
    for index in hardest:
        print(f"  image {index}: a {held_labels[index]}, read as {predicted[index]}, norm {norms[index]:.2f}")
    print(f"wrote {picture}, and the parameters and losses beside it")


if __name__ == "__main__":
    main()
