"""Eight schools, a hierarchical Bayesian model, by Hamiltonian Monte Carlo.

Rubin (1981), Estimation in parallel randomized experiments, has for each of eight schools how much coaching raised a
test's result, and the standard error of that. How much of the differences is chance? The effects of the schools are
drawn from a normal distribution whose mean and width are unknown, too; what is sampled is all of them together.

Several chains run beside each other by `vmap`. Their step size is found by dual averaging (Hoffman and Gelman 2014)
while they warm up, and so are the scales of the parameters, in a second part of the warm-up. In the end the chains are
compared with each other, by split R-hat (Gelman et al., Bayesian Data Analysis, 3rd edition, 11.4).

    python docs/examples/bayesian_model.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as onp
import pictures
from numpy.typing import NDArray

import tangrad as jax
import tangrad.numpy as jnp

EFFECTS = onp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0], onp.float32)
ERRORS = onp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0], onp.float32)
SCHOOLS = "ABCDEFGH"
WANTED = 0.8  # the rate of acceptance that the step size is chosen for


# --- the model -----------------------------------------------------------------------------------------------------


class Parameters(NamedTuple):
    """What is sampled, without bounds; the effect of a school is `mean + exp(log_width) * offset`."""

    mean: jax.Array
    log_width: jax.Array
    offsets: jax.Array  # (schools,)


def log_normal(x: jax.Array, mean: jax.typing.ArrayLike, width: jax.typing.ArrayLike) -> jax.Array:
    """The logarithm of a normal density, without its constant."""
    return -0.5 * jnp.square((x - mean) / width) - jnp.log(width)


def school_effects(parameters: Parameters) -> jax.Array:
    """The effects (schools,) that parameters stand for."""
    return parameters.mean + jnp.exp(parameters.log_width) * parameters.offsets


def log_density(parameters: Parameters) -> jax.Array:
    """The logarithm of the posterior density, without its constant."""
    width = jnp.exp(parameters.log_width)
    prior = log_normal(parameters.mean, 0.0, 20.0)
    prior += -jnp.log1p(jnp.square(width / 10.0)) + parameters.log_width  # half-Cauchy, and the change of variables
    prior += jnp.sum(log_normal(parameters.offsets, 0.0, 1.0))
    return prior + jnp.sum(log_normal(jnp.asarray(EFFECTS), school_effects(parameters), ERRORS))


# --- Hamiltonian Monte Carlo ---------------------------------------------------------------------------------------


def leapfrog(
    gradient: Callable[[Parameters], Parameters],
    position: Parameters,
    momentum: Parameters,
    step: jax.Array,
    scales: Parameters,
    count: int,
) -> tuple[Parameters, Parameters]:
    """Follow the equations of motion for `count` steps: half a step of the momentum at either end."""

    def kick(position: Parameters, momentum: Parameters, part: float | jax.Array) -> Parameters:
        kicked: Parameters = jax.tree.map(lambda p, g: p + part * step * g, momentum, gradient(position))
        return kicked

    def move(state: tuple[Parameters, Parameters], part: jax.Array) -> tuple[tuple[Parameters, Parameters], None]:
        position, momentum = state
        position = jax.tree.map(lambda q, p, s: q + step * s**2 * p, position, momentum, scales)
        return (position, kick(position, momentum, part)), None

    parts = jnp.ones(count).at[-1].set(0.5)
    (position, momentum), _ = jax.lax.scan(move, (position, kick(position, momentum, 0.5)), parts)
    return position, momentum


def kinetic_energy(momentum: Parameters, scales: Parameters) -> jax.Array:
    """Half the square of the momenta, each by the scale of its parameter."""
    energies: Parameters = jax.tree.map(lambda p, s: 0.5 * jnp.sum((s * p) ** 2), momentum, scales)
    return energies.mean + energies.log_width + jnp.sum(energies.offsets)


def hmc_step(
    key: jax.Array, position: Parameters, step: jax.Array, scales: Parameters, count: int
) -> tuple[Parameters, jax.Array]:
    """One proposal, taken or not. Returns the position after it, and the probability of taking it."""
    for_momentum, for_length, for_choice = jax.random.split(key, 3)
    leaves, structure = jax.tree.flatten(position)
    keys = structure.unflatten(jax.random.split(for_momentum, len(leaves)))
    momentum = jax.tree.map(lambda k, q, s: jax.random.normal(k, q.shape) / s, keys, position, scales)
    step = step * jax.random.uniform(for_length, minval=0.8, maxval=1.2)  # no orbit may close for all draws
    proposed, new_momentum = leapfrog(jax.grad(log_density), position, momentum, step, scales, count)
    gain = log_density(proposed) - log_density(position)
    gain += kinetic_energy(momentum, scales) - kinetic_energy(new_momentum, scales)
    probability = jnp.where(jnp.isnan(gain), 0.0, jnp.exp(jnp.minimum(gain, 0.0)))
    taken = jax.random.uniform(for_choice) < probability
    return jax.tree.map(lambda new, old: jnp.where(taken, new, old), proposed, position), probability


class Adaptation(NamedTuple):
    """What dual averaging keeps: the mean error, the logarithm of the step, and its average."""

    error: jax.Array
    log_step: jax.Array
    average: jax.Array


def adapt(state: Adaptation, time: jax.Array, probability: jax.Array, log_first: jax.Array) -> Adaptation:
    """The next state of dual averaging, after a proposal that was taken with `probability`."""
    weight = 1.0 / (time + 10.0)
    error = (1 - weight) * state.error + weight * (WANTED - probability)
    log_step = log_first - jnp.sqrt(time) / 0.05 * error
    share = time**-0.75
    return Adaptation(error, log_step, share * log_step + (1 - share) * state.average)


def warm_up(
    key: jax.Array, position: Parameters, scales: Parameters, draws: int, count: int, first_step: float = 0.1
) -> tuple[jax.Array, Parameters, Parameters]:
    """Find a step size. Returns it, the position at the end, and the positions on the way."""
    log_first = jnp.log(10 * first_step)
    start = Adaptation(jnp.zeros(()), jnp.log(jnp.asarray(first_step)), jnp.zeros(()))

    def draw(
        carry: tuple[Parameters, Adaptation], inputs: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[Parameters, Adaptation], Parameters]:
        position, state = carry
        key, time = inputs
        position, probability = hmc_step(key, position, jnp.exp(state.log_step), scales, count)
        return (position, adapt(state, time, probability, log_first)), position

    times = jnp.arange(1.0, draws + 1)
    (position, state), path = jax.lax.scan(draw, (position, start), (jax.random.split(key, draws), times))
    return jnp.exp(state.average), position, path


@partial(jax.jit, static_argnames=("draws", "warm", "count"))
def run_chain(key: jax.Array, draws: int, warm: int, count: int) -> tuple[Parameters, jax.Array]:
    """One chain from a random start. Returns its positions after the warm-up, and the mean rate of acceptance."""
    keys = jax.random.split(key, 4)
    position = Parameters(
        *(jax.random.normal(k, shape) for k, shape in zip(jax.random.split(keys[0], 3), ((), (), (8,)), strict=True))
    )
    scales = jax.tree.map(jnp.ones_like, position)
    _, position, path = warm_up(keys[1], position, scales, warm // 2, count)
    later = jax.tree.map(lambda x: x[warm // 4 :], path)
    scales = jax.tree.map(lambda x: jnp.std(x, axis=0) + 1e-3, later)
    step, position, _ = warm_up(keys[2], position, scales, warm - warm // 2, count)

    def draw(position: Parameters, key: jax.Array) -> tuple[Parameters, tuple[Parameters, jax.Array]]:
        position, probability = hmc_step(key, position, step, scales, count)
        return position, (position, probability)

    _, (path, probabilities) = jax.lax.scan(draw, position, jax.random.split(keys[3], draws))
    return path, jnp.mean(probabilities)


# --- what comes out ------------------------------------------------------------------------------------------------


def split_r_hat(values: jax.Array) -> jax.Array:
    """By how much the halves of the chains (chains, draws, ...) differ: 1 where they agree."""
    chains, draws = values.shape[0], values.shape[1] // 2
    halves = values[:, : 2 * draws].reshape(2 * chains, draws, *values.shape[2:])
    within = jnp.mean(jnp.var(halves, axis=1, ddof=1), axis=0)
    between = draws * jnp.var(jnp.mean(halves, axis=1), axis=0, ddof=1)
    return jnp.sqrt(((draws - 1) / draws * within + between / draws) / within)


def draw_picture(
    path: Path, effects: NDArray[onp.float32], mean: NDArray[onp.float32], widths: NDArray[onp.float32]
) -> None:
    """The measured effect of each school beside what the model makes of it, and the two parameters of the schools."""
    schools = pictures.Panel("effects: measured, and by the model", (0, 9), (-40, 60), ("school", "points of the test"))
    for index, name in enumerate(SCHOOLS):
        measured = EFFECTS[index] + onp.array([-1, 1]) * ERRORS[index]
        schools.line([index + 0.85] * 2, measured, 1)
        schools.points([index + 0.85], [EFFECTS[index]], 1)
        low, middle, high = onp.quantile(effects[..., index], [0.16, 0.5, 0.84])
        schools.line([index + 1.15] * 2, [low, high], 0)
        schools.points([index + 1.15], [middle], 0)
        schools.text(index + 1, -40, name, anchor="middle")
    panels = [schools]
    for title, values, top in (("mean of the schools", mean, 30.0), ("width of the schools", widths, 40.0)):
        counts, edges = onp.histogram(values, bins=40, range=(-15.0 if values.min() < 0 else 0.0, top), density=True)
        panel = pictures.Panel(title, (edges[0], edges[-1]), (0, counts.max() * 1.05), ("points", "density"))
        panel.line(onp.repeat(edges, 2)[1:-1], onp.repeat(counts, 2))
        panels.append(panel)
    pictures.save(path, panels)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--draws", type=int, default=2000, help="for each chain, after the warm-up")
    parser.add_argument("--warm-up", type=int, default=1000)
    parser.add_argument("--leapfrog-steps", type=int, default=15)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(arguments)

    chain = partial(run_chain, draws=options.draws, warm=options.warm_up, count=options.leapfrog_steps)
    path, rates = jax.vmap(chain)(jax.random.split(jax.random.key(0), options.chains))
    widths, effects = jnp.exp(path.log_width), jax.vmap(jax.vmap(school_effects))(path)
    found = {"mean": path.mean, "width": widths, "effect of A": effects[..., 0], "effect of C": effects[..., 2]}
    for name, values in found.items():
        low, high = jnp.quantile(values, jnp.array([0.05, 0.95]))
        print(
            f"{name:12s} {values.mean():6.2f}, 90 % in [{low:.2f}, {high:.2f}], split R-hat {split_r_hat(values):.3f}"
        )
    print(f"accepted: {', '.join(f'{rate:.0%}' for rate in onp.asarray(rates))} of the proposals of the chains")
    picture = options.output / "bayesian-model.svg"
    draw_picture(picture, onp.asarray(effects), onp.asarray(path.mean), onp.asarray(widths))
    print(f"wrote {picture}")
    return {name: float(values.mean()) for name, values in found.items()} | {"accepted": float(rates.mean())}


if __name__ == "__main__":
    main()
