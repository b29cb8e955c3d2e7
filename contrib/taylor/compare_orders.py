"""How long derivatives of orders 2 to 6 take: `jet` against nested `jvp`.

    python compare_orders.py [picture.png] [--backend numpy]

All derivatives of x(t) = x + t v up to an order K, of compiled programs: by one `jet`, and by `jvp` nested K times, of
which each level keeps the value below it, so that it too gives all K of them. The two are compared first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TypeAlias

import numpy as onp

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.experimental.jet import jet

Function: TypeAlias = Callable[[tangrad.Array], tangrad.Array]
State: TypeAlias = tuple[tangrad.Array, tangrad.Array]
Derivatives: TypeAlias = Callable[[tangrad.Array, tangrad.Array], list[tangrad.Array]]  # of a point and a direction

ORDERS = range(2, 7)
generator = onp.random.default_rng(0)


def draw(*shape: int) -> onp.ndarray:
    return generator.normal(size=shape).astype("float32")


def network(inputs: int, width: int) -> Function:
    """Three layers, as the networks of differential equations have them."""
    first, second = draw(inputs, width) / inputs**0.5, draw(width, width) / width**0.5
    last = draw(width, 1) / width**0.5
    return lambda x: np.tanh(np.tanh(x @ first) @ second) @ last


def formula(x: tangrad.Array) -> tangrad.Array:
    """A formula of elementary functions."""
    return np.exp(-x * x) * np.sin(3 * x) / (1 + np.log1p(x * x)) + np.sqrt(1 + np.cos(x) ** 2)


def pendulum(x: tangrad.Array) -> tangrad.Array:
    """Fifty steps of a pendulum, in a scan."""

    def step(state: State, _: object) -> tuple[State, None]:
        angle, speed = state
        speed = speed - 0.05 * np.sin(angle)
        return (angle + 0.05 * speed, speed), None

    (angle, _), _ = lax.scan(step, (x, np.zeros_like(x)), None, length=50)
    return angle


PROGRAMS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "formula, 100,000 numbers": (formula, (100_000,)),
    "pendulum, 10,000 of them, 50 steps": (pendulum, (10_000,)),
    "network of width 32, 4,096 points": (network(2, 32), (4096, 2)),
    "network of width 256, 256 points": (network(64, 256), (256, 64)),
}


def by_jet(function: Function, order: int) -> Derivatives:
    """All derivatives, in one pass."""

    def run(x: tangrad.Array, v: tangrad.Array) -> list[tangrad.Array]:
        return list(jet(function, (x,), ([v, *[None] * (order - 1)],))[1])

    return run


def by_jvp(function: Function, order: int) -> Derivatives:
    """All derivatives, each the derivative of the one before."""

    def run(x: tangrad.Array, v: tangrad.Array) -> list[tangrad.Array]:
        def level(k: int) -> Callable[[tangrad.Array], tuple[tangrad.Array, ...]]:
            if k == 0:
                return lambda x: (function(x),)
            below = level(k - 1)

            def both(x: tangrad.Array) -> tuple[tangrad.Array, ...]:
                values, slopes = tangrad.jvp(below, (x,), (v,))
                return (*values, slopes[-1])

            return both

        return list(level(order)(x)[1:])

    return run


def first_call(run: Derivatives, x: tangrad.Array, v: tangrad.Array) -> float:
    """The seconds that the first call takes, which traces and compiles."""
    start = perf_counter()
    tangrad.block_until_ready(run(x, v))
    return perf_counter() - start


def least(runs: Sequence[Derivatives], x: tangrad.Array, v: tangrad.Array) -> list[float]:
    """The least seconds that each takes, of calls in turns: what else the machine does then slows all of them."""
    times: list[list[float]] = [[] for _ in runs]
    until = perf_counter() + 4.0
    while len(times[0]) < 10 or perf_counter() < until:
        for run, found in zip(runs, times, strict=True):
            found.append(first_call(run, x, v))
    return [min(found) for found in times]


def main() -> None:
    """Prints the table, and draws it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?")
    parser.add_argument("--backend", default="xla")
    options = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    with tangrad.use_backend(options.backend):
        for name, (function, shape) in PROGRAMS.items():
            x, v = np.asarray(draw(*shape)), np.asarray(draw(*shape))
            print(f"\n{name}\norder   jet (ms)   nested jvp (ms)   ratio   first call: jet (s)   nested jvp (s)")
            for order in ORDERS:
                runs = [tangrad.jit(make(function, order)) for make in (by_jet, by_jvp)]
                first = [first_call(run, x, v) for run in runs]
                for k, (one, other) in enumerate(zip(*[run(x, v) for run in runs], strict=True), 1):
                    scale = float(np.abs(other).max())
                    onp.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * scale, err_msg=f"{name}, order {k}")
                short, long = least(runs, x, v)
                ratios.setdefault(name, []).append(long / short)
                columns = (
                    f"{1e3 * short:10.2f} {1e3 * long:17.2f} {long / short:7.2f} {first[0]:21.2f} {first[1]:16.2f}"
                )
                print(f"{order:5} {columns}")
    if options.picture:
        draw_picture(ratios, options.picture)


def draw_picture(ratios: dict[str, list[float]], path: str) -> None:
    """How many times faster `jet` is, by order."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    for name, values in ratios.items():
        axis.plot(ORDERS, values, marker="o", label=name)
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set(xlabel="order of the derivative", ylabel="time of nested jvp / time of jet", yscale="log", xticks=ORDERS)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
