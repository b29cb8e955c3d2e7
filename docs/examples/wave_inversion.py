"""How fast do waves travel at each place inside a body? Found from what sensors around it recorded.

Sources on one side send out pulses, one after the other; sensors on the other sides record the pressure over time. A
simulation of the wave equation (finite differences, second order in time, fourth in space) gives what they would record
for a given map of speeds, and the gradient of the misfit by that map, through all time steps, gives how to correct the
map: full waveform inversion, as seismology and ultrasound do it (Tarantola 1984, Geophysics 49). A layer around the
body swallows what leaves it.

All sources are simulated side by side by `vmap`; the time steps are a `scan`, whose states are kept in blocks
(`checkpoint`), so that memory grows as the square root of their number.

    python docs/examples/wave_inversion.py
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as onp
import pictures
from numpy.typing import NDArray

import tangrad as jax
import tangrad.numpy as jnp

BORDER = 10  # cells of the layer that swallows waves
SPACING = 1.0  # of the grid, in millimetres
SPEED = 1.5  # in millimetres per microsecond, as in water
STEP = 0.3  # in microseconds
FREQUENCY = 0.16  # of the pulses, in megahertz
UPDATE = 0.02  # of the speeds in a step of descent, in millimetres per microsecond

Places: TypeAlias = tuple[NDArray[onp.intp], NDArray[onp.intp]]  # rows and columns of the grid
State: TypeAlias = tuple[jax.Array, jax.Array]  # the pressure now, and a step before


class Setting(NamedTuple):
    """Where sources and sensors are, as rows and columns of the grid, and how long is recorded."""

    size: int
    sources: Places
    sensors: Places
    times: int


def make_setting(size: int, sources: int, times: int) -> Setting:
    """Sources and sensors all around a square body of `size` cells."""
    low, high = BORDER + 1, BORDER + size - 2
    along = onp.linspace(low, high, 4 * sources).round().astype(int)
    around = onp.concatenate(
        [[(row, column) for row in along] for column in (low, high)]
        + [[(row, column) for column in along] for row in (low, high)]
    )
    order = onp.argsort(onp.arctan2(*(around - around.mean(axis=0)).T))
    chosen = around[order][:: len(around) // sources][:sources]
    return Setting(size, tuple(chosen.T), tuple(around.T), times)


def true_speeds(size: int) -> jax.Array:
    """The map to be found: a slow disc and a fast bar in water, with soft edges."""
    row, column = onp.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    disc = 1 / (1 + onp.exp((onp.hypot(row + 0.25, column + 0.3) - 0.28) * 25))
    bar = 1 / (1 + onp.exp((onp.maximum(abs(row - 0.35) / 0.45, abs(column - 0.35)) - 0.35) * 25))
    return jnp.asarray(SPEED * (1 - 0.12 * disc + 0.1 * bar), jnp.float32)


def pulse(times: int) -> jax.Array:
    """A Ricker wavelet, the second derivative of a Gaussian, over time."""
    argument = (onp.pi * FREQUENCY * (onp.arange(times) * STEP - 1.3 / FREQUENCY)) ** 2
    return jnp.asarray((1 - 2 * argument) * onp.exp(-argument), jnp.float32)


def damping(size: int) -> jax.Array:
    """How much of the motion the layer takes away in a step, for each cell."""
    outside = onp.maximum(BORDER - onp.arange(size + 2 * BORDER), 0)
    depth = (outside + outside[::-1]) / BORDER
    return jnp.asarray(0.35 * onp.maximum.outer(depth, depth) ** 2, jnp.float32)


def laplacian(field: jax.Array) -> jax.Array:
    """Of the fourth order; the field is zero outside."""
    padded = jnp.pad(field, 2)

    def shifted(rows: int, columns: int) -> jax.Array:
        return jax.lax.slice(padded, (2 + rows, 2 + columns), (2 + rows + field.shape[0], 2 + columns + field.shape[1]))

    near = shifted(1, 0) + shifted(-1, 0) + shifted(0, 1) + shifted(0, -1)
    far = shifted(2, 0) + shifted(-2, 0) + shifted(0, 2) + shifted(0, -2)
    return (16 * near - far - 60 * field) / (12 * SPACING**2)


def record(speeds: jax.Array, source: jax.Array, setting: Setting, block: int = 20) -> jax.Array:
    """What the sensors record, (times, sensors), of a pulse from `source` (2,) in a body of `speeds` (size, size)."""
    courant = (jnp.pad(speeds, BORDER, mode="edge") * STEP) ** 2
    loss = damping(setting.size)

    def step(state: State, amplitude: jax.Array) -> tuple[State, jax.Array]:
        now, before = state
        after = (2 * now - (1 - loss) * before + courant * laplacian(now)) / (1 + loss)
        after = after.at[source[0], source[1]].add(amplitude)
        return (after, now), now[setting.sensors]

    @jax.checkpoint
    def steps(state: State, amplitudes: jax.Array) -> tuple[State, jax.Array]:
        return jax.lax.scan(step, state, amplitudes)

    still = jnp.zeros_like(courant)
    _, traces = jax.lax.scan(steps, (still, still), pulse(setting.times).reshape(-1, block))
    return traces.reshape(setting.times, -1)


def misfit(speeds: jax.Array, recorded: jax.Array, setting: Setting) -> jax.Array:
    """Half the mean square of what a simulation with `speeds` has otherwise than what was recorded."""

    def simulate(source: jax.Array) -> jax.Array:
        return record(speeds, source, setting)

    simulated = jax.vmap(simulate)(jnp.stack(setting.sources, axis=1))
    return 0.5 * jnp.mean(jnp.square(simulated - recorded)) / jnp.mean(jnp.square(recorded))


def invert(recorded: jax.Array, setting: Setting, steps: int) -> tuple[list[jax.Array], list[float]]:
    """Descend from water alone, by the gradient over its running mean square. Returns maps and misfits of all steps."""
    evaluate = jax.jit(jax.value_and_grad(partial(misfit, setting=setting)))
    speeds = jnp.full((setting.size, setting.size), SPEED)
    mean, square = jnp.zeros_like(speeds), jnp.zeros(())
    maps, misfits = [speeds], list[float]()
    for count in range(1, steps + 1):
        value, gradient = evaluate(speeds, recorded)
        gradient = smoothed(gradient)
        mean = 0.7 * mean + 0.3 * gradient
        square = 0.9 * square + 0.1 * jnp.mean(jnp.square(gradient))
        direction = mean / (1 - 0.7**count) / jnp.sqrt(square / (1 - 0.9**count))
        speeds = jnp.clip(speeds - UPDATE * direction, 0.8 * SPEED, 1.2 * SPEED)
        maps.append(speeds)
        misfits.append(float(value))
    return maps, misfits


def smoothed(x: jax.Array) -> jax.Array:
    """Without what is smaller than waves can resolve: means with the neighbours, twice."""
    for _ in range(2):
        x = jnp.pad(x, 1, mode="edge")
        x = (x[:-2] + 2 * x[1:-1] + x[2:]) / 4
        x = (x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]) / 4
    return x


def draw_picture(
    path: Path,
    truth: NDArray[onp.float32],
    found: NDArray[onp.float32],
    traces: NDArray[onp.float32],
    misfits: list[float],
) -> None:
    limits = (0.87 * SPEED, 1.13 * SPEED)
    panels: list[pictures.Panel] = []
    for title, speeds in (("true speeds", truth), ("found after all steps", found)):
        panel = pictures.Panel(title)
        panel.image(speeds, *limits)
        panels.append(panel)
    top = 0.5 * onp.abs(traces).max()
    recording = pictures.Panel("pressure: sensors (across), time (down)")
    recording.image(traces[::4], -top, top)
    pictures.save(path, [*panels, recording, pictures.curve("descent", misfits, ("step", "misfit"))], columns=2)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=40, help="cells of the body, in each direction")
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--times", type=int, default=240, help="time steps; a multiple of 20")
    parser.add_argument("--steps", type=int, default=60, help="of descent")
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(arguments)

    setting = make_setting(options.size, options.sources, options.times)
    truth = true_speeds(options.size)

    def observe(source: jax.Array) -> jax.Array:
        return record(truth, source, setting)

    recorded = jax.jit(jax.vmap(observe))(jnp.stack(setting.sources, axis=1))
    maps, misfits = invert(recorded, setting, options.steps)
    errors = [float(jnp.sqrt(jnp.mean(jnp.square(speeds - truth)))) for speeds in (maps[0], maps[-1])]
    print(f"misfit {misfits[0]:.4f} with water alone, {misfits[-1]:.4f} in the end")
    print(f"error of the speeds {errors[0]:.4f} mm/µs with water alone, {errors[1]:.4f} in the end")
    picture = options.output / "wave-inversion.svg"
    draw_picture(picture, onp.asarray(truth), onp.asarray(maps[-1]), onp.asarray(recorded[0]), misfits)
    print(f"wrote {picture}")
    return {"first": misfits[0], "last": misfits[-1], "error": errors[1]}


if __name__ == "__main__":
    main()
