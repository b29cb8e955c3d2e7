"""How long non-uniform transforms and their gradients take: FINUFFT on both backends, direct sums, and JAX by itself.

    python compare_sums.py [picture.png] [--most 100000]

Type 1 in two dimensions, from M points to about M coefficients, in double precision to a relative error of 1e-6; the
gradient is that of the sum of the coefficients' squares by points and strengths. All results are compared first.
Of JAX there is a transform without callbacks, written here with its operations, and jax-finufft where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections.abc import Callable, Sequence
from time import perf_counter
from types import ModuleType
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as onp
from tangrad_finufft import nufft1

import tangrad
import tangrad.numpy as np
from tangrad.typing import ArrayLike

A = TypeVar("A", jax.Array, onp.ndarray)

EPS = 1e-6
SECONDS = 1.5  # for which a program is repeated, at least three times
LONGEST = 20.0  # what takes a thirtieth of that is not tried with ten times the points


def with_finufft(x: tangrad.Array, y: tangrad.Array, strengths: tangrad.Array, size: int) -> tangrad.Array:
    """This package's transform."""
    return nufft1((x, y), strengths, (size, size), eps=EPS)


def by_sums(x: tangrad.Array, y: tangrad.Array, strengths: tangrad.Array, size: int) -> tangrad.Array:
    """What the transform is by definition, as a product of two matrices: M size² multiplications."""
    k = np.arange(size) - size // 2
    rows, columns = [np.exp(1j * k[:, None] * one[None, :]) for one in (x, y)]
    return (rows * strengths) @ columns.T


def by_jax(x: jax.Array, y: jax.Array, strengths: jax.Array, size: int) -> jax.Array:
    """By JAX's operations alone: points are spread over a grid of twice the size, whose FFT is divided by the kernel's.

    Barnett, Magland, af Klinteberg, SIAM J. Sci. Comput. 41, 2019, sections 2 and 3, as FINUFFT does.
    """
    width = math.ceil(-math.log10(EPS)) + 1
    fine = max(2 * size, 2 * width)
    places, weights = [], []
    for points in (x, y):
        position = jnp.mod(points, 2 * math.pi) * (fine / (2 * math.pi))
        first = jnp.ceil(position - width / 2)
        nodes = first[:, None] + jnp.arange(width)
        places.append(jnp.mod(nodes, fine).astype("int32"))
        weights.append(_kernel((nodes - position[:, None]) * (2 / width), width, jnp))
    spread = strengths[:, None, None] * (weights[0][:, :, None] * weights[1][:, None, :])
    grid = jnp.zeros((fine, fine), strengths.dtype).at[places[0][:, :, None], places[1][:, None, :]].add(spread)
    k = onp.arange(size) - size // 2
    found = (jnp.fft.ifft2(grid) * fine**2)[jnp.ix_(k % fine, k % fine)]
    at, quadrature = onp.polynomial.legendre.leggauss(4 * width)
    transform = onp.cos(onp.pi * width / fine * k[:, None] * at) @ (quadrature * _kernel(at, width, onp))
    scaled: jax.Array = found * ((2 / width) / transform[:, None]) * ((2 / width) / transform)
    return scaled


def _kernel(z: A, width: int, module: ModuleType) -> A:
    """The exponential of a semicircle. What is under the root is 0 at the ends, where it has no derivative."""
    inside = module.maximum(1 - z * z, 1e-30)
    found: A = module.exp(2.3 * width * (module.sqrt(inside) - 1))
    return found


def by_jax_finufft(x: jax.Array, y: jax.Array, strengths: jax.Array, size: int) -> jax.Array:
    """The package jax-finufft: FINUFFT by a foreign function, which XLA calls without Python."""
    from jax_finufft import nufft1 as transform

    found: jax.Array = transform((size, size), strengths, x, y, eps=EPS, iflag=1)
    return found


def on(backend: str) -> Callable[..., Any]:
    """Makes functions that are compiled and run on a backend."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled = tangrad.jit(function, static_argnums=3)

        def run(*args: ArrayLike) -> tangrad.typing.PyTree:
            with tangrad.use_backend(backend):
                return tangrad.block_until_ready(compiled(*args))

        return run

    return wrap


def with_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles with JAX."""
    compiled = jax.jit(function, static_argnums=3)
    return lambda *args: jax.block_until_ready(compiled(*args))


def energy_gradient(grad: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the sum of squares by points and strengths."""
    found: Callable[..., Any] = grad(lambda *args: (abs(function(*args)) ** 2).sum() / args[3] ** 2, argnums=(0, 1, 2))
    return found


# A transform of points and strengths, how it is compiled, and what derives it.
WAYS: dict[str, tuple[Callable[..., Any], Callable[[Callable[..., Any]], Callable[..., Any]], Callable[..., Any]]] = {
    "direct sums on XLA": (by_sums, on("xla"), tangrad.grad),
    "JAX's own operations": (by_jax, with_jax, jax.grad),
    "FINUFFT, NumPy backend": (with_finufft, on("numpy"), tangrad.grad),
    "FINUFFT, XLA backend": (with_finufft, on("xla"), tangrad.grad),
}
if importlib.util.find_spec("jax_finufft"):
    WAYS["jax-finufft"] = (by_jax_finufft, with_jax, jax.grad)


def least(run: Callable[..., Any], *args: ArrayLike) -> float:
    """The least seconds of several calls, of which each has run before."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < SECONDS and len(times) < 100):
        start = perf_counter()
        run(*args)
        times.append(perf_counter() - start)
        if times[0] > LONGEST / 2:
            break
    return min(times)


def agree(found: Sequence[onp.ndarray], expected: Sequence[onp.ndarray], what: str) -> None:
    """Raise AssertionError unless results are near, in terms of the largest."""
    for one, other in zip(found, expected, strict=True):
        error = abs(one - other).max() / abs(other).max()
        assert error < 1e3 * EPS, f"{what}: the relative difference is {error:.1e}"


def measured(counts: list[int], gradient: bool) -> dict[str, list[float]]:
    """Seconds of each way, for as many points as it is fast enough for; all that are tried agree."""
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    for place, count in enumerate(counts):
        generator = onp.random.default_rng(0)
        size = round(count**0.5)
        x, y = generator.uniform(-onp.pi, onp.pi, (2, count))
        strengths = generator.normal(size=count) + 1j * generator.normal(size=count)
        results: list[list[onp.ndarray]] = []
        for name, (function, compiled, grad) in WAYS.items():
            times = found[name]
            if len(times) < place or (times and times[-1] > LONGEST / 30):
                continue
            run = compiled(energy_gradient(grad, function) if gradient else function)
            result = run(x, y, strengths, size)
            results.append([onp.asarray(one) for one in (result if gradient else (result,))])
            agree(results[-1], results[0], f"{name}, {count} points")
            times.append(least(run, x, y, strengths, size))
            print(f"{'gradient' if gradient else 'transform':10} {count:9,} {name:24} {1e3 * times[-1]:10.2f} ms")
    return found


def main() -> None:
    """Prints the times, and draws them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?")
    parser.add_argument("--most", type=int, default=100_000, help="the largest number of points")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    counts = [count for count in (100, 1_000, 10_000, 100_000, 1_000_000) if count <= options.most]
    with tangrad.enable_x64(True):
        parts = {"transform": measured(counts, False), "gradient": measured(counts, True)}
    if options.picture:
        draw_picture(counts, parts, options.picture)


def draw_picture(counts: list[int], parts: dict[str, dict[str, list[float]]], path: str) -> None:
    """Time by number of points, of the transform and of its gradient."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(parts), figsize=(9.5, 3.6), layout="constrained", sharey=True)
    for axis, (title, times) in zip(axes, parts.items(), strict=True):
        for name, values in times.items():
            axis.loglog(counts[: len(values)], [1e3 * value for value in values], marker="o", markersize=4, label=name)
        axis.set(title=title, xlabel="points, and about as many coefficients")
        axis.grid(alpha=0.3)
    axes[0].set(ylabel="milliseconds")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
