"""From which sizes on regions pay. Sizes are counted in equations, those of nested programs included."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tangrad._jit.regions.structure import Contents


@dataclass(frozen=True, slots=True)
class Limits:
    """What is left as it is.

    Attributes:
        program: programs with fewer equations.
        region: regions with fewer equations; a shorter period is repeated until it has as many.
        saved: repetitions that spare fewer equations.
        per_product: regions that have more equations for each contraction. What is computed element by element goes
            through memory once where the whole is compiled, and once for each call where it is cut; where a
            contraction reads or writes it, it goes through memory anyway.
        windows: whether regions may have any convolutions. steady: whether those that are as fast in functions; they
            count as contractions.
        groups: whether several short periods may make one region.
        loop: chains without contractions that would spare fewer equations as loops.
        steps: loops of fewer steps.
        stack: loops that stack more bytes; `long_stack`: those of `long` steps or more.
    """

    program: int
    region: int
    saved: float
    per_product: float = 40
    windows: bool = False
    steady: bool = False
    groups: bool = True
    loop: float = inf
    steps: int = 2
    stack: float = inf
    long: int = 1
    long_stack: float = inf

    def fits(self, contents: Contents) -> bool:
        """Whether a part with these contents may be a region."""
        if (contents.windows and not self.windows) or (contents.steady and not self.steady):
            return False
        products = contents.products + contents.steady
        return self.region <= contents.size <= self.per_product * products or self.per_product == inf

    def grouped(self, period: int, total: int) -> int:
        """How many periods of `period` equations make one region, in a repetition of `total` equations.

        The cost of a region grows with its size, that of its calls with their number: both are least at the root.
        """
        if not self.groups:
            return 1
        wanted = self.region if period >= self.region else max(self.region, min(int(total**0.5), 8 * self.region))
        return max(1, -(-wanted // max(period, 1)))


FEWEST = 4  # with fewer equations nothing repeats itself: a copy has two
# Measured: see docs/compiling.md. XLA fuses a short chain with its gradient, and computes residuals again: that is
# faster than memory. Of a long one it computes them again and again, in time that grows with the square of the length.
MEASURED = Limits(
    program=160, region=20, saved=80, steady=True, loop=240, steps=32, stack=8e6, long=1000, long_stack=256e6
)
# A function of NumPy's calls makes arrays for all that it returns, where the whole program overwrites: 48 small blocks
# took 1.4 times as long, layers of 80 equations no longer.
MEASURED_ON_NUMPY = Limits(program=160, region=60, saved=80, groups=False)
# For tests: every repetition becomes a region, whether it pays or not.
NONE = Limits(program=2, region=1, saved=1, per_product=inf, windows=True, steady=True, loop=4)
