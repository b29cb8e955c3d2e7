"""Extrema of windows are taken before what is monotonic: max(x + b) over a window is max(x) + b.

The sum, or the activation, is then of as many elements as there are windows. Both give the same bits, for rounding is
monotonic too; and the same NaNs, where what is added is finite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tangrad._backend_numpy.functions import Ufunc
from tangrad._backend_numpy.program import Program, Shape, Step, Stored
from tangrad._backend_numpy.windows.pooling import EXTREMA, Window, WindowReduction

# ufunc -> the operands in which it does not decrease
MONOTONIC = {np.add: (0, 1), np.subtract: (0,), np.maximum: (0, 1), np.minimum: (0, 1)}


def take_extrema_early(program: Program) -> None:
    """Move extrema of windows ahead of the steps that only they read."""
    extrema = [step for step in program.steps if _is_extremum(step)]
    if not extrema:
        return
    uses = Counter([stored for step in program.steps for stored in step.inputs])
    uses.update(program.outputs)
    makers = {stored: step for step in program.steps for stored in step.outputs}
    replaced: dict[Step, list[Step]] = {}
    for step in extrema:
        passed: list[tuple[Step, int]] = []  # from the extremum backwards, each with the place of what it reads
        (x,) = step.inputs
        while uses[x] == 1 and x in makers and (place := _passable(makers[x], step.function.window)) is not None:  # type: ignore[attr-defined]
            passed.append((makers[x], place))
            x = makers[x].inputs[place]
        if passed:
            replaced |= {inner: [] for inner, _ in passed}
            replaced[step] = _turned_round(step, x, passed)
    program.steps = [new for step in program.steps for new in replaced.get(step, (step,))]


def _is_extremum(step: Step) -> bool:
    function = step.function
    return isinstance(function, WindowReduction) and function.ufunc in EXTREMA and not function.window.is_padded


def _passable(step: Step, window: Window) -> int | None:
    """The operand of which the extrema may be taken in place of those of the result; None where there is none."""
    function = step.function
    if not isinstance(function, Ufunc) or step.effectful:
        return None
    for place in MONOTONIC.get(function.ufunc, ()):
        moving, still = step.inputs[place], step.inputs[1 - place]
        if moving.shape == window.shape and _is_same_in_windows(still, window):
            return place if function.ufunc in EXTREMA or _is_finite(still) else None
    return None


def _is_same_in_windows(stored: Stored, window: Window) -> bool:
    shape = (1,) * (len(window.shape) - len(stored.shape)) + stored.shape
    return all([size == 1 or axis.is_single for size, axis in zip(shape, window.axes, strict=True)])


def _is_finite(stored: Stored) -> bool:
    """Whether it is known to hold finite floats. Integers would wrap round, which is not monotonic."""
    return stored.constant is not None and stored.dtype.kind == "f" and bool(np.isfinite(stored.constant).all())


def _turned_round(step: Step, x: Stored, passed: Sequence[tuple[Step, int]]) -> list[Step]:
    """The extrema of `x`, and then what was passed."""
    (result,) = step.outputs
    shape: Shape = result.shape
    found = Stored(shape, x.dtype)
    steps = [Step(step.function, (x,), (found,), False, False, step.primitive)]
    for number, (inner, place) in enumerate(reversed(passed), 1):
        inputs = list(inner.inputs)
        inputs[place] = found
        found = result if number == len(passed) else Stored(shape, x.dtype)
        steps.append(Step(inner.function, tuple(inputs), (found,), False, False, inner.primitive))
    return steps
