"""Ways of drawing whole numbers that need an unknown number of uniform ones: counting arrivals, transformed rejection.

All elements are drawn for together, in a loop that ends when each has its number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tangrad._random.distributions.stream import Stream, random_uniform_p
from tangrad.core import as_operand
from tangrad.extend import lax
from tangrad.extend.lax import full, full_like, reduce_or, while_loop
from tangrad.typing import Value, Values

STEPS = 2**31 - 1  # of a loop that something keeps from ending: a NaN, say


def _repeat(stream: Stream, states: Values, goes_on: Callable[..., Any], step: Callable[..., Any]) -> Values:
    """Run `states = step(stream, *states) -> (stream, states)` while `goes_on(*states)` holds for some element."""

    def is_waiting(carry: Values) -> Value:
        count, _, *rest = carry
        mask = goes_on(*rest)
        some = reduce_or(mask, tuple(range(len(mask.aval.shape))))
        return lax.bitwise_and(some, lax.lt(count, STEPS))

    def body(carry: Values) -> Values:
        count, keys, *rest = carry
        after, results = step(Stream(keys, stream.partitionable), *rest)
        return (lax.add(count, 1), after.keys, *results)

    start = (as_operand(np.int32(0)), stream.keys, *states)
    return while_loop(is_waiting, body, start)[2:]


# --- counting arrivals ---------------------------------------------------------------------------------------------


class Arrivals(NamedTuple):
    """Events one after the other, each at some random time after the one before.

    Attributes:
        next_time: (time of the last one, a uniform number) -> time of the next.
        is_early: time -> whether it is before the end of the observation.
        drawing_half: of the two streams that a stream is split into, which draws; the other one goes on.
    """

    next_time: Callable[[Any, Any], Any]
    is_early: Callable[[Any], Any]
    drawing_half: int


def count_arrivals(stream: Stream, arrivals: Arrivals, like: Value, dtype: np.dtype) -> Value:
    """How many events arrive before the end, in `dtype`; -1 where the beginning is not before it.

    `like`, an array, has the dtype of the times and the shape of the result.
    """

    def step(stream: Stream, seen: Value, time: Value) -> Any:
        halves = stream.split()
        drawing = halves.pop(arrivals.drawing_half)
        uniform = drawing.draw(random_uniform_p, shape=like.aval.shape, dtype=like.aval.dtype)
        seen = lax.select(arrivals.is_early(time), seen + 1, seen)
        return halves[0], (seen, arrivals.next_time(time, uniform))

    start = (full(like.aval.shape, 0, dtype), full_like(like, 0))
    seen, _ = _repeat(stream, start, lambda seen, time: arrivals.is_early(time), step)
    return seen - 1  # the one that came late was begun, too


# --- transformed rejection -----------------------------------------------------------------------------------------


class Hat(NamedTuple):
    """A curve above a distribution of whole numbers, from which transformed rejection proposes some.

    The proposal for a uniform u between -1/2 and 1/2 is the whole number below
    G(u) = (2 a / (1/2 - |u|) + b) u + center.

    Attributes:
        a, b: of G: how heavy the tails are, how wide the middle is.
        center: of G: numbers, added one by one in this order, since the sum is rounded each time.
        height: α of the test; the derivative of G times the distribution's probabilities is nowhere above 1 / α.
        sure: for heights up to this one (v_r) proposals from the middle are accepted untested.
        weigh: whole numbers -> logarithms of their probabilities, but for a constant that `height` makes up for.
        is_out: (proposals, distances of u from ±1/2, heights) -> which ones are rejected untested.
    """

    a: Any
    b: Any
    center: tuple[Any, ...]
    height: Any
    sure: Any
    weigh: Callable[[Any], Any]
    is_out: Callable[[Any, Any, Any], Any]

    def propose(self, u: Value, distance: Value) -> Value:
        place = (2 * self.a / distance + self.b) * u
        for offset in self.center:
            place = place + offset
        return lax.floor(place)

    def accepts(self, proposal: Value, distance: Value, height: Value) -> Value:
        """Which proposals stay: those under the distribution at a random `height` under the hat."""
        slope = self.a / (distance * distance) + self.b
        is_under = lax.log(height * self.height / slope) <= self.weigh(proposal)
        is_sure = (distance >= 0.07) & (height <= self.sure)
        return is_sure | (is_under & ~self.is_out(proposal, distance, height))


def transformed_rejection(stream: Stream, hat: Hat) -> Value:
    """Whole numbers of the distribution under `hat`, as floats of the shape and dtype of its parameters.

    Each element is the last of its accepted proposals when all have one, so it depends on its neighbours, too.

    Source: W. Hörmann, The transformed rejection method for generating Poisson random variables, Insurance: Mathematics
    and Economics 12, 1993; what it says of Poisson's distribution holds of others with one mode.
    """
    shape, dtype = hat.b.aval.shape, hat.b.aval.dtype

    def step(stream: Stream, number: Value, is_done: Value) -> Any:
        rest, *drawing = stream.split(3)
        place, height = [one.draw(random_uniform_p, shape=shape, dtype=dtype) for one in drawing]
        u = place - 0.5
        distance = 0.5 - lax.abs(u)
        proposal = hat.propose(u, distance)
        is_accepted = hat.accepts(proposal, distance, height)
        return rest, (lax.select(is_accepted, proposal, number), is_done | is_accepted)

    start = (full_like(hat.b, -1), full(shape, False, np.bool_))
    return _repeat(stream, start, lambda number, is_done: lax.bitwise_not(is_done), step)[0]
