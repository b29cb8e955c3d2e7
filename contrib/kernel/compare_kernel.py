"""How long the kernel takes, beside what the same normalisation takes by functions of `lax`.

    python compare_kernel.py [picture.png]

Rows of several widths, a million numbers in all, in float32, compiled by `jit` on both backends. The results are
compared first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as onp
from tangrad_rmsnorm.primitive import by_others, rms_norm

import tangrad
import tangrad.numpy as np

BACKENDS = ("numpy", "xla")
WIDTHS = (16, 64, 256, 1024, 4096)
NUMBERS = 1 << 20
EPS = 1e-6
SECONDS = 1.5

WAYS: dict[str, Callable[[tangrad.Array], tangrad.Array]] = {
    "kernel": lambda x: rms_norm(x, EPS),
    "by lax": lambda x: by_others(x, eps=EPS),
}


def least(runs: Sequence[Callable[[tangrad.Array], tangrad.Array]], x: tangrad.Array) -> list[float]:
    """The least seconds that each takes, of calls in turns: what else the machine does then slows all of them."""
    times: list[list[float]] = [[] for _ in runs]
    until = perf_counter() + SECONDS
    while len(times[0]) < 10 or perf_counter() < until:
        for run, found in zip(runs, times, strict=True):
            start = perf_counter()
            run(x).block_until_ready()
            found.append(perf_counter() - start)
    return [min(found) for found in times]


def main(picture: str = "") -> None:
    """Prints the times, and draws them."""
    measured: dict[str, dict[str, list[float]]] = {}
    for backend in BACKENDS:
        columns: dict[str, list[float]] = {name: [] for name in WAYS}
        with tangrad.use_backend(backend):
            for width in WIDTHS:
                numbers = onp.random.default_rng(0).normal(size=(NUMBERS // width, width)).astype("float32")
                x = np.asarray(numbers)
                runs = [tangrad.jit(way) for way in WAYS.values()]
                kernel, other = [run(x) for run in runs]
                onp.testing.assert_allclose(kernel, other, rtol=1e-4)
                found = least(runs, x)
                print(
                    f"{backend:6} rows of {width:5}: kernel {1e3 * found[0]:6.2f} ms, by lax {1e3 * found[1]:6.2f} ms"
                )
                for name, time in zip(columns, found, strict=True):
                    columns[name].append(1e3 * time)
        measured[backend] = columns
    if picture:
        draw_picture(measured, picture)


def draw_picture(measured: dict[str, dict[str, list[float]]], path: str) -> None:
    """Time by the width of the rows, a panel for each backend."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(measured), figsize=(8, 3.2), layout="constrained", sharey=True)
    for axis, (backend, columns) in zip(axes, measured.items(), strict=True):
        for name, times in columns.items():
            axis.plot(WIDTHS, times, marker="o", label=name)
        axis.set_xscale("log", base=2)
        axis.set(title=backend, xlabel="width of a row", yscale="log")
        axis.grid(alpha=0.3)
        axis.legend()
    axes[0].set(ylabel=f"milliseconds for {NUMBERS:,} numbers")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
