"""The demo's training loop as one program with a bar: what it learns, what is seen, and what the bar costs.

    python train_digits_with_bar.py docs/examples/train_digits.py [picture.png]

The steps are those of the demo, an unchanged file. It makes them one by one, from Python; here all of them are one
scan, jitted, which reports to Python how far it is.
"""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Callable
from time import perf_counter
from types import ModuleType

import numpy as onp
import tangrad_progress

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.typing import PyTree

BACKENDS = ("numpy", "xla")
EPOCHS = 15
STEPS = 20_000  # of the loop by which the cost of the bar is measured
EVERY = (None, 100, 10, 1)  # moves of the bar: a hundred in all, and one in so many steps
ROUNDS = 7


def read(path: str) -> ModuleType:
    """The demo as a module."""
    spec = importlib.util.spec_from_file_location("train_digits", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def batches(count: int, size: int, epochs: int) -> onp.ndarray:
    """The images of each step, in the demo's order."""
    shuffle = onp.random.default_rng(1)
    orders = [shuffle.permutation(count)[: count // size * size] for _ in range(epochs)]
    return onp.concatenate(orders).reshape(-1, size).astype("int32")


def train(demo: ModuleType, epochs: int, title: str, screen: io.StringIO) -> tuple[PyTree, tangrad.Array]:
    """The parameters after all steps, and the loss before each: one scan."""
    images, labels, *_ = demo.load()
    chosen = batches(len(labels), demo.BATCH, epochs)
    numbers = np.arange(1.0, len(chosen) + 1)

    @tangrad.jit
    def run(params: PyTree, images: tangrad.Array, labels: tangrad.Array) -> tuple[PyTree, tangrad.Array]:
        def step(carry: PyTree, x: PyTree) -> tuple[PyTree, tangrad.Array]:
            (params, moments), (number, chosen) = carry, x
            params, moments, value = demo.train_step(params, moments, number, images[chosen], labels[chosen])
            return (params, moments), value

        moments = (tangrad.tree.map(np.zeros_like, params), tangrad.tree.map(np.zeros_like, params))
        (params, _), losses = tangrad_progress.scan(
            step, (params, moments), (numbers, chosen), desc=title, file=screen, ncols=78, mininterval=0
        )
        return params, losses

    params, losses = run(demo.initialize(tangrad.random.key(0)), images, labels)
    tangrad.effects_barrier()
    return params, losses


def accuracy(demo: ModuleType, params: PyTree) -> float:
    """The share of the held-out digits that are read right."""
    *_, images, labels = demo.load()
    return float(onp.mean(onp.argmax(onp.asarray(demo.predict(params, images)), axis=-1) == labels))


class Screen(io.StringIO):
    """What a terminal has shown, one text after the other."""

    def seen(self) -> list[str]:
        """The texts, without the blanks that wipe out the one before."""
        return [text.strip() for text in self.getvalue().split("\r") if text.strip()]


def seconds(loop: Callable[..., tuple[tangrad.Array, None]], **options: object) -> float:
    """The least seconds of a compiled loop of cheap steps."""

    def step(x: tangrad.Array, _: object) -> tuple[tangrad.Array, None]:
        return x - 0.01 * np.sin(x), None

    run = tangrad.jit(lambda x: loop(step, x, length=STEPS, **options)[0])

    def once() -> float:
        start = perf_counter()
        tangrad.block_until_ready(run(np.ones(1000)))
        tangrad.effects_barrier()
        return perf_counter() - start

    once()
    return min([once() for _ in range(ROUNDS)])


def costs() -> dict[str, float]:
    """Microseconds that a step takes, without a bar and with one that moves so often."""
    found = {"no bar": 1e6 * seconds(lax.scan) / STEPS}
    for every in EVERY:
        name = f"every {STEPS // 100 if every is None else every}"
        found[name] = 1e6 * seconds(tangrad_progress.scan, every=every, file=io.StringIO()) / STEPS
    return found


def main(path: str, picture: str = "") -> None:
    """Prints what was learnt and measured, and draws it."""
    demo = read(path)
    shown: list[list[str]] = []
    measured: dict[str, dict[str, float]] = {}
    for backend in BACKENDS:
        with tangrad.use_backend(backend):
            screen = Screen()
            start = perf_counter()
            params, losses = train(demo, EPOCHS, f"training on {backend}", screen)
            took = perf_counter() - start
            images, labels, *_ = demo.load()
            _, stepwise = demo.train(demo.initialize(tangrad.random.key(0)), images, labels, EPOCHS)
            onp.testing.assert_allclose(losses[:20], stepwise[:20], rtol=1e-3)
            print(f"{backend}: {len(losses)} steps in {took:.1f} s, accuracy {accuracy(demo, params):.1%}")
            print(screen.seen()[-1])
            shown.append(screen.seen())
            measured[backend] = costs()
            for name, cost in measured[backend].items():
                print(f"{backend:6} {name:10} {cost:8.2f} microseconds a step")
    if picture:
        draw_picture(shown, measured, picture)


def draw_picture(shown: list[list[str]], measured: dict[str, dict[str, float]], path: str) -> None:
    """The bars as a terminal shows them at some moments, and what a step costs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (terminal, bars) = plt.subplots(2, 1, figsize=(8, 4.4), layout="constrained", height_ratios=(1, 2))
    terminal.axis("off")
    lines = [texts[round(part * (len(texts) - 1))] for texts in shown for part in (0.2, 0.6, 1.0)]
    terminal.text(0, 1, "\n".join(lines), family="monospace", fontsize=8, va="top", transform=terminal.transAxes)
    for number, (backend, cost) in enumerate(measured.items()):
        places = onp.arange(len(cost)) + 0.4 * (number - 0.5)
        bars.bar_label(bars.bar(places, cost.values(), 0.38, label=backend), fmt="%.1f", fontsize=8)
    names = [name.replace("every", "a move every") for name in measured[BACKENDS[0]]]
    bars.set_xticks(range(len(names)), names)
    bars.set(ylabel="microseconds a step", title=f"{STEPS:,} steps of 1,000 numbers")
    bars.margins(y=0.15)
    bars.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
