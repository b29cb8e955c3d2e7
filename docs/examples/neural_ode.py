"""A neural ordinary differential equation, trained by the adjoint method of Chen et al. (2018), arXiv:1806.07366.

A point moves in the plane on a spiral; its places at some times are seen, with noise. Learned is the velocity as
a function of the place: a small network, in an equation that a solver with step-size control (Dormand and Prince 1980)
integrates. Its gradient comes from another equation, integrated backwards: no state of the solver is kept, whatever
number of steps it took. `custom_vjp` puts that in the place of what differentiating the solver would do.

    python docs/examples/neural_ode.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as onp
import pictures
from numpy.typing import NDArray

import tangrad as jax
import tangrad.numpy as jnp

WIDTH = 48
NOISE = 0.03
TIMES = (0.0, 6.0, 60)

# Dormand and Prince's coefficients, and the difference of the weights of orders 5 and 4.
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)

Params: TypeAlias = dict[str, jax.Array]
Args: TypeAlias = tuple[Params, ...]
State = TypeVar("State")  # a tree of arrays
Field: TypeAlias = Callable[..., State]  # the derivative, of a state, a time and args
Kept: TypeAlias = tuple[jax.Array, jax.Array, Args]  # states, times, args
Augmented: TypeAlias = tuple[jax.Array, jax.Array, Args]  # a state, its adjoint, the cotangents of args


# --- the solver ----------------------------------------------------------------------------------------------------


def combine(weights: Sequence[float], slopes: Sequence[State]) -> State:
    """The sum of slopes, which are trees, by weights."""
    mixed: State = jax.tree.map(lambda *leaves: sum(w * leaf for w, leaf in zip(weights, leaves, strict=True)), *slopes)
    return mixed


def advance(y: State, step: jax.Array, direction: State) -> State:
    advanced: State = jax.tree.map(lambda a, b: a + step * b, y, direction)
    return advanced


def attempt(field: Field[State], y: State, time: jax.Array, step: jax.Array, args: Args) -> tuple[State, State]:
    """One step. Returns the new state, and an estimate of its error."""
    slopes = [field(y, time, *args)]
    for weights, node in zip(STAGES, NODES, strict=True):
        slopes.append(field(advance(y, step, combine(weights, slopes)), time + node * step, *args))
    new = advance(y, step, combine(STAGES[-1], slopes[:-1]))
    return new, jax.tree.map(lambda error: step * error, combine(ERROR, slopes))


def error_ratio(error: State, y: State, new: State, tolerance: float) -> jax.Array:
    """The root mean square of the error, by what is tolerated: up to 1 the step is taken."""

    def squares(e: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.square(e / (tolerance * (1 + jnp.maximum(jnp.abs(a), jnp.abs(b))))).ravel()

    return jnp.sqrt(jnp.mean(jnp.concatenate(jax.tree.leaves(jax.tree.map(squares, error, y, new)))))


def integrate(field: Field[State], y: State, start: jax.Array, end: jax.Array, args: Args, tolerance: float) -> State:
    """The state at `end`, forwards or backwards in time, in as many steps as the tolerance asks for."""
    sign = jnp.where(end >= start, 1.0, -1.0)

    def unfinished(state: tuple[State, jax.Array, jax.Array]) -> jax.Array:
        _, time, _ = state
        return sign * (end - time) > 1e-6

    def one_step(state: tuple[State, jax.Array, jax.Array]) -> tuple[State, jax.Array, jax.Array]:
        y, time, size = state
        step = sign * jnp.minimum(size, jnp.abs(end - time))
        new, error = attempt(field, y, time, step, args)
        ratio = error_ratio(error, y, new, tolerance)
        taken = ratio <= 1.0
        y = jax.tree.map(lambda a, b: jnp.where(taken, b, a), y, new)
        growth = jnp.clip(0.9 * (ratio + 1e-10) ** -0.2, 0.2, 5.0)
        return y, jnp.where(taken, time + step, time), jnp.maximum(jnp.abs(step) * growth, 1e-4)

    return jax.lax.while_loop(unfinished, one_step, (y, start, jnp.abs(end - start) / 4 + 1e-6))[0]


def states_at(field: Field[jax.Array], y: jax.Array, times: jax.Array, args: Args, tolerance: float) -> jax.Array:
    """The states at `times` (count,) of dy/dt = field(y, t, *args), from y at the first of them: (count, *y.shape)."""

    def next_state(y: jax.Array, interval: jax.Array) -> tuple[jax.Array, jax.Array]:
        y = integrate(field, y, interval[0], interval[1], args, tolerance)
        return y, y

    intervals = jnp.stack([times[:-1], times[1:]], axis=1)
    return jnp.concatenate([y[None], jax.lax.scan(next_state, y, intervals)[1]])


odeint = jax.custom_vjp(states_at, nondiff_argnums=(0, 4))


def odeint_forward(
    field: Field[jax.Array], y: jax.Array, times: jax.Array, args: Args, tolerance: float
) -> tuple[jax.Array, Kept]:
    states = odeint(field, y, times, args, tolerance)
    return states, (states, times, args)


def odeint_backward(
    field: Field[jax.Array], tolerance: float, kept: Kept, cotangents: jax.Array
) -> tuple[jax.Array, jax.Array, Args]:
    """The adjoint equation, from the last time to the first, and what each seen state adds to it on the way."""
    states, times, args = kept

    def augmented(state: Augmented, time: jax.Array, *args: Params) -> Augmented:
        y, adjoint, _ = state
        slope, pull = jax.vjp(lambda y, args: field(y, time, *args), y, args)
        of_state, of_args = pull(adjoint)
        return slope, -of_state, jax.tree.map(jnp.negative, of_args)

    def back(
        carry: tuple[jax.Array, Args], seen: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, Args], None]:
        adjoint, of_args = carry
        y, cotangent, (start, end) = seen
        state = (y, adjoint + cotangent, of_args)
        _, adjoint, of_args = integrate(augmented, state, end, start, args, tolerance)
        return (adjoint, of_args), None

    intervals = jnp.stack([times[:-1], times[1:]], axis=1)
    carry = (jnp.zeros_like(states[0]), jax.tree.map(jnp.zeros_like, args))
    (adjoint, of_args), _ = jax.lax.scan(back, carry, (states[1:], cotangents[1:], intervals), reverse=True)
    return adjoint + cotangents[0], jnp.zeros_like(times), of_args


odeint.defvjp(odeint_forward, odeint_backward)


# --- what moves, and what is learned -------------------------------------------------------------------------------


def spiral(y: jax.Array, time: jax.Array) -> jax.Array:
    """The true velocity: of the cubes of the coordinates, turned and drawn inwards."""
    return jnp.stack([-0.1 * y[0] ** 3 + 2.0 * y[1] ** 3, -2.0 * y[0] ** 3 - 0.1 * y[1] ** 3])


def network(y: jax.Array, time: jax.Array, params: Params) -> jax.Array:
    """The learned velocity: a network of one hidden layer, of the cubes of the coordinates."""
    hidden = jnp.tanh(y**3 @ params["in"] + params["bias"])
    return hidden @ params["out"]


def initialize(key: jax.Array) -> Params:
    first, second = jax.random.split(key)
    return {
        "in": jax.random.normal(first, (2, WIDTH)) * 0.5,
        "bias": jnp.zeros(WIDTH),
        "out": jax.random.normal(second, (WIDTH, 2)) * 0.1,
    }


def pieces(key: jax.Array, seen: jax.Array, times: jax.Array, count: int, length: int) -> jax.Array:
    """Random pieces of what was seen: their first points (count, 2), and all points (count, length, 2)."""
    starts = jax.random.randint(key, (count,), 0, len(times) - length)

    def piece(start: jax.Array) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(seen, start, length)

    return jax.vmap(piece)(starts)


def loss(params: Params, batch: jax.Array, times: jax.Array, tolerance: float) -> jax.Array:
    """The mean absolute distance of integrated pieces from what was seen."""

    def follow(y: jax.Array) -> jax.Array:
        return odeint(network, y, times, (params,), tolerance)

    return jnp.mean(jnp.abs(jax.vmap(follow)(batch[:, 0]) - batch))


@partial(jax.jit, static_argnames=("tolerance", "steps"))
def train_step(
    params: Params,
    moments: tuple[Params, Params],
    count: float,
    batch: jax.Array,
    times: jax.Array,
    tolerance: float,
    steps: int,
) -> tuple[Params, tuple[Params, Params], jax.Array]:
    """A step of Adam. Returns the parameters and moments after it, and the loss before."""
    value, gradient = jax.value_and_grad(loss)(params, batch, times, tolerance)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, moments[1], gradient)
    rate = 0.01 * 0.5 * (1 + jnp.cos(jnp.pi * count / steps))
    scale = rate * jnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
    params = jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, (first, second), value


def draw_picture(
    path: Path,
    seen: NDArray[onp.float32],
    truth: NDArray[onp.float32],
    learned: NDArray[onp.float32],
    losses: list[float],
) -> None:
    plane = pictures.Panel("seen, true and learned paths", (-2.2, 2.2), (-2.2, 2.2), ("x", "y"))
    plane.points(seen[:, 0], seen[:, 1], 1, 2)
    plane.line(truth[:, 0], truth[:, 1], 2, 1)
    plane.line(learned[:, 0], learned[:, 1], 0)
    time = pictures.Panel("x over time", (TIMES[0], TIMES[1]), (-2.2, 2.2), ("time", "x"))
    axis = onp.linspace(*TIMES[:2], len(truth))
    time.points(onp.linspace(*TIMES), seen[:, 0], 1, 2)
    time.line(axis, truth[:, 0], 2, 1)
    time.line(axis, learned[:, 0], 0)
    pictures.save(path, [plane, time, pictures.curve("training", losses)])


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=16, help="pieces of the path in each step")
    parser.add_argument("--length", type=int, default=8, help="times of each piece")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(arguments)

    for_noise, for_params, for_pieces = jax.random.split(jax.random.key(0), 3)
    times, start = jnp.linspace(*TIMES), jnp.array([2.0, 0.0])
    solve = jax.jit(odeint, static_argnums=(0, 4))
    places = solve(spiral, start, times, (), 1e-6)
    seen = places + NOISE * jax.random.normal(for_noise, places.shape)
    params = initialize(for_params)
    zeros = jax.tree.map(jnp.zeros_like, params)
    moments = (zeros, zeros)
    losses: list[float] = []
    for count in range(1, options.steps + 1):
        key = jax.random.fold_in(for_pieces, count)
        batch = pieces(key, seen, times, options.batch, options.length)
        piece_times = times[: options.length]
        params, moments, value = train_step(
            params, moments, float(count), batch, piece_times, options.tolerance, options.steps
        )
        losses.append(float(value))
    fine = jnp.linspace(*TIMES[:2], 200)
    truth, learned = solve(spiral, start, fine, (), 1e-6), solve(network, start, fine, (params,), 1e-5)
    distance = float(jnp.mean(jnp.abs(learned - truth)))
    print(f"loss {losses[0]:.3f} at first, {onp.mean(losses[-20:]):.3f} at last (noise alone: {0.8 * NOISE:.3f})")
    print(f"mean distance of the learned path from the true one: {distance:.3f}")
    picture = options.output / "neural-ode.svg"
    draw_picture(picture, onp.asarray(seen), onp.asarray(truth), onp.asarray(learned), losses)
    print(f"wrote {picture}")
    return {"first": losses[0], "last": float(onp.mean(losses[-20:])), "distance": distance}


if __name__ == "__main__":
    main()
