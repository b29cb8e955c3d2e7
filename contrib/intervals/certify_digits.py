"""How far may pixels be disturbed until the demo's network may change its answer? Certificates by interval bounds.

    python certify_digits.py docs/examples/train_digits.py demo-output/digits-numpy.npz [picture.png]

For each of several sizes of disturbance every pixel may differ by that much; an answer is certified if its least
possible score is above the greatest possible score of every other digit.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as onp
from tangrad_intervals import bounds

import tangrad
import tangrad.numpy as np
from tangrad.typing import PyTree

SIZES = onp.linspace(0.0, 0.003, 13)


def read(path: Path) -> dict[str, dict[str, tangrad.Array]]:
    """The network's parameters, as the demo wrote them: names such as ['conv1']['w']."""
    params: dict[str, dict[str, tangrad.Array]] = {}
    for name, value in onp.load(path).items():
        layer, leaf = re.findall(r"\w+", name)
        params.setdefault(layer, {})[leaf] = np.asarray(value)
    return params


def certified(
    logits: Callable[[PyTree, tangrad.Array], tangrad.Array], params: PyTree, images: tangrad.Array, size: float
) -> tuple[tangrad.Array, tangrad.Array]:
    """Which answers hold for all images within `size` of these."""
    answers = np.argmax(logits(params, images), axis=-1)
    low, high = np.clip(images - size, 0, 1), np.clip(images + size, 0, 1)
    least, most = bounds(lambda images: logits(params, images))((low,), (high,))
    own = np.arange(10) == answers[:, None]
    return np.where(own, least, np.inf).min(-1) > np.where(own, -np.inf, most).max(-1), answers


def main(demo: str, parameters: str, picture: str = "certified.png") -> None:
    """Prints the shares, and draws them."""
    spec = importlib.util.spec_from_file_location("train_digits", demo)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{demo} is not a Python file")
    train_digits = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(train_digits)
    _, _, images, labels = train_digits.load()
    params = read(Path(parameters))
    run = tangrad.jit(lambda size: certified(train_digits.logits, params, np.asarray(images), size))
    shares = []
    for size in SIZES:
        holds, answers = run(float(size))
        shares.append(float(np.mean(holds & (answers == labels))))
        print(f"pixels within {size:.5f}: {shares[-1]:.1%} of {len(labels)} answers right and certified")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    axis.plot(SIZES, 100 * onp.array(shares), marker="o")
    axis.set(xlabel="largest disturbance of any pixel (of 0 to 1)", ylabel="right and certified (%)", ylim=(0, 102))
    axis.grid(alpha=0.3)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
