"""The settings that `jit` reads, and from which sizes of programs on regions pay."""

from __future__ import annotations

from contextlib import ContextDecorator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from tangrad.core.settings import SETTINGS, define_choice, define_flag, define_setting

if TYPE_CHECKING:
    from tangrad._jit.regions.structure import Contents


explain_cache_misses = define_flag(
    "explain_cache_misses", "Log why a jitted function is traced or compiled: what was not there already."
)
no_tracing = define_flag("no_tracing", "Raise RuntimeError where a jitted function would be traced.")
DEFAULT_EFFORT = "full"
compile_effort = define_choice(
    "compile_effort",
    DEFAULT_EFFORT,
    (DEFAULT_EFFORT, "fast"),
    "How much effort the compiler spends: 'full', or 'fast', for first tries: compiled sooner, and slower.",
)


def without_jit(disable: bool = True) -> ContextDecorator:
    """A context manager, and a decorator, under which jitted functions run as plain Python with concrete values.

    >>> import tangrad
    >>> with tangrad.disable_jit():
    ...     tangrad.config.disable_jit
    True
    """
    context: ContextDecorator = SETTINGS["disable_jit"](disable)
    return context


CHOICES = ("auto", "marked", "always")


def _check(value: object) -> bool | str:
    """A value of the setting. Raises TypeError or ValueError for what is none."""
    if value is False or (isinstance(value, str) and value in CHOICES):
        return value
    expected = f"expected False or one of {', '.join(map(repr, CHOICES))}"
    raise ValueError(expected) if isinstance(value, (str, bool)) else TypeError(expected)


def _parse(text: str) -> bool | str:
    word = text.strip().lower()
    return False if word in ("false", "0", "off", "no", "") else _check(word)


compile_regions = define_setting(
    "compile_regions",
    "auto",
    "Which equal parts of a program are compiled once: 'auto', 'marked' (calls of jitted functions alone), False: "
    "none; 'always': also where it does not pay, for tests.",
    parse=_parse,
    check=_check,
    changes_results=True,
)


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
        spent: incomplete copies at the ends that would compute more in vain, as a part of what the others compute; none
            with 0.
        again: whether regions compute again what is cheap, rather than others handing it on: it is for compilers that
            fuse.
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
    spent: float = 0.05
    again: bool = False
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
    program=160,
    region=20,
    saved=80,
    steady=True,
    again=True,
    loop=240,
    steps=32,
    stack=8e6,
    long=1000,
    long_stack=256e6,
)
# A function of NumPy's calls makes arrays for all that it returns, where the whole program overwrites: 48 small blocks
# took 1.4 times as long, layers of 80 equations no longer.
MEASURED_ON_NUMPY = Limits(program=160, region=60, saved=80, groups=False)
# For tests: every repetition becomes a region, whether it pays or not.
NONE = Limits(program=2, region=1, saved=1, per_product=inf, windows=True, steady=True, spent=inf, again=True, loop=4)
