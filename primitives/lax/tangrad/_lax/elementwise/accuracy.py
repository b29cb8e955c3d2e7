"""How exact elementwise functions must be: `AccuracyMode` and `Tolerance`.

Some accelerators have several ways to compute an exponential. The platforms that Tangrad runs on have one, with results
within a few units in the last place: so what is asked for is checked, and makes no difference.
"""

from __future__ import annotations

import enum

from tangrad.core import class_boundary
from tangrad.core.caches import exact_equality


@exact_equality
class AccuracyMode(enum.Enum):
    """Which way of computing a function is taken where there are several: the most exact one, or the usual one.

    >>> import tangrad
    >>> tangrad.lax.exp(0.0, accuracy=tangrad.lax.AccuracyMode.HIGHEST)
    Array(1., dtype=float32, weak_type=True)
    """

    HIGHEST = 1
    DEFAULT = 2


@class_boundary
@exact_equality
class Tolerance:
    """How far a result may be from the true one.

    Args:
        atol: the absolute difference.
        rtol: the difference as a part of the result.
        ulps: the difference in units in the last place.

    Raises ValueError for negative ones.

    >>> import tangrad
    >>> tangrad.lax.Tolerance(rtol=1e-6)
    Tolerance(atol=0.0, rtol=1e-06, ulps=0)
    """

    __slots__ = ("atol", "rtol", "ulps")

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        if atol < 0 or rtol < 0 or ulps < 0:
            raise ValueError(f"Tolerance: tolerances must not be negative, got {atol}, {rtol} and {ulps}")
        self.atol = atol
        self.rtol = rtol
        self.ulps = ulps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tolerance) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"Tolerance(atol={self.atol}, rtol={self.rtol}, ulps={self.ulps})"

    def _parts(self) -> tuple[float, float, int]:
        return self.atol, self.rtol, self.ulps


def check_accuracy(name: str, accuracy: object) -> None:
    """Raise TypeError for what does not say how exact a result must be."""
    if not isinstance(accuracy, (AccuracyMode, Tolerance)):
        kind = type(accuracy).__name__
        raise TypeError(
            f"{name}: accuracy must be a lax.AccuracyMode, a lax.Tolerance or None, got {accuracy!r} of type {kind}"
        )
