"""Step sizes as functions of the number of the step, which counts from 0 and may be traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import tangrad.numpy as tnp
from tangrad.core import Array, api_boundary
from tangrad.typing import ArrayLike

Number: TypeAlias = Array | float
Schedule: TypeAlias = Callable[[Number], Number]


@api_boundary
def constant(step_size: Number) -> Schedule:
    """Always the same.

    >>> from tangrad.example_libraries import optimizers
    >>> optimizers.constant(0.1)(7)
    0.1
    """
    return api_boundary(lambda i: step_size)


@api_boundary
def exponential_decay(step_size: Number, decay_steps: Number, decay_rate: Number) -> Schedule:
    """`step_size * decay_rate ** (i / decay_steps)`.

    >>> from tangrad.example_libraries import optimizers
    >>> optimizers.exponential_decay(1.0, 10, 0.5)(20)
    0.25
    """
    return api_boundary(lambda i: step_size * decay_rate ** (i / decay_steps))


@api_boundary
def inverse_time_decay(step_size: Number, decay_steps: Number, decay_rate: Number, staircase: bool = False) -> Schedule:
    """`step_size / (1 + decay_rate * i / decay_steps)`; with `staircase` the quotient is rounded down.

    >>> from tangrad.example_libraries import optimizers
    >>> optimizers.inverse_time_decay(1.0, 10, 1.0)(10)
    0.5
    """

    def schedule(i: Number) -> Number:
        time = tnp.floor(i / decay_steps) if staircase else i / decay_steps
        return step_size / (1 + decay_rate * time)

    return api_boundary(schedule)


@api_boundary
def polynomial_decay(step_size: Number, decay_steps: Number, final_step_size: Number, power: float = 1.0) -> Schedule:
    """From `step_size` to `final_step_size`, which it is from `decay_steps` on, along a power of the steps left.

    >>> from tangrad.example_libraries import optimizers
    >>> schedule = optimizers.polynomial_decay(1.0, 10, 0.5)
    >>> float(schedule(5)), float(schedule(100))
    (0.75, 0.5)
    """

    def schedule(i: Number) -> Number:
        left = 1 - tnp.minimum(i, decay_steps) / decay_steps
        return left**power * (step_size - final_step_size) + final_step_size

    return api_boundary(schedule)


@api_boundary
def piecewise_constant(boundaries: ArrayLike, values: Sequence[Number]) -> Schedule:
    """`values[k]` after `k` of the boundaries have been passed.

    Args:
        boundaries: numbers of steps, ascending, (n,).
        values: step sizes, (n + 1,).

    Raises ValueError for other shapes.

    >>> from tangrad.example_libraries import optimizers
    >>> schedule = optimizers.piecewise_constant([10, 20], [1.0, 0.5, 0.25])
    >>> [float(schedule(i)) for i in (0, 10, 11, 30)]
    [1.0, 1.0, 0.5, 0.25]
    """
    limits, steps = tnp.asarray(boundaries), tnp.asarray(values)
    if limits.ndim != 1 or steps.ndim != 1 or steps.shape[0] != limits.shape[0] + 1:
        raise ValueError(
            "piecewise_constant: boundaries must have one dimension, and values one item more, got shapes "
            f"{limits.shape} and {steps.shape}"
        )
    return api_boundary(lambda i: steps[tnp.sum(i > limits)])


@api_boundary
def make_schedule(scalar_or_schedule: Number | Schedule) -> Schedule:
    """A schedule: what is one already, or a step size that stays the same.

    Raises TypeError for anything else.

    >>> from tangrad.example_libraries import optimizers
    >>> optimizers.make_schedule(0.1)(3)
    0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if tnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(f"expected a step size or a function of the step, got {scalar_or_schedule!r}")
