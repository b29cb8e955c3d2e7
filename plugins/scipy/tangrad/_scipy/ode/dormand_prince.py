"""One step of the Runge–Kutta pair of Dormand and Prince, of orders 5 and 4, and its continuous extension.

Dormand and Prince, A family of embedded Runge–Kutta formulae, J. Comput. Appl. Math. 6 (1980); the interpolant of
order 4 is that of Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, 2nd ed. (1993), section II.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import tangrad.numpy as tnp

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import Value, Values

Dynamics = Callable[[Any, Any], Any]

ORDER = 5

# When each stage is, and what it weights the slopes before it with.
TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),  # the last stage is the step itself
)
# The weights of order 5 less those of order 4: their sum estimates the error.
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
DENSE = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)


class Step(NamedTuple):
    """A step that was tried.

    Attributes:
        y: the state at its end.
        slope: the derivative there, the first slope of the next step.
        error: the estimated error of each component.
        interpolant: what `interpolate` needs.
    """

    y: Any
    slope: Any
    error: Any
    interpolant: tuple[Any, ...]


def step(dynamics: Dynamics, y: Value, slope: Value, t: Value, size: Value) -> Step:
    """Go from `y` at time `t`, where the derivative is `slope`, a step further."""
    along = size.astype(y.dtype)
    slopes = [slope]
    for time, weights in zip(TIMES, STAGES, strict=True):
        end = y + along * _weighted(weights, slopes)
        slopes.append(dynamics(end, t + time * size))
    straight = end - y
    start = along * slopes[0] - straight
    stop = straight - along * slopes[-1] - start
    bend = along * _weighted(DENSE, slopes)
    return Step(end, slopes[-1], along * _weighted(ERROR, slopes), (y, straight, start, stop, bend))


def _weighted(weights: tuple[float, ...], slopes: list[Value]) -> Value:
    total = weights[0] * slopes[0]
    for weight, slope in zip(weights[1:], slopes[1:], strict=True):
        if weight:
            total = total + weight * slope
    return total


def interpolate(interpolant: Values, part: Value) -> Array:
    """The state within a step, `part` of the way from its beginning (0) to its end (1)."""
    y, straight, start, stop, bend = interpolant
    part = tnp.asarray(part).astype(y.dtype)
    rest = 1 - part
    return y + part * (straight + rest * (start + part * (stop + rest * bend)))
