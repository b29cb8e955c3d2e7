"""Numbers of events: `poisson`, `binomial`, `multinomial`. Few are counted, many drawn by transformed rejection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

import tangrad.numpy as tnp
from tangrad._random.distributions.stream import (
    Stream,
    check_fits,
    converted,
    draw,
    fitted,
    float_dtype,
    int_dtype,
    random_uniform_p,
    sample_shape,
    sampler,
)
from tangrad._random.functions import one_key
from tangrad._random.functions import split as split_key
from tangrad.core import Array, as_operand, dtypes
from tangrad.core.arguments import canonicalize_shape
from tangrad.extend import lax
from tangrad.extend.lax import (
    FLOATING,
    cumsum,
    full,
    full_like,
    lgamma,
    reduce_or,
    scan,
    takes_out_sharding,
    while_loop,
)
from tangrad.typing import ArrayLike, Dimensions, DTypeLike, Key, ShardingLike, Value, Values

# --- Ways of drawing whole numbers that need an unknown number of uniform ones ---
# counting arrivals, transformed rejection.
# All elements are drawn for together, in a loop that ends when each has its number.

STEPS = 2**31 - 1  # of a loop that something keeps from ending: a NaN, say


def _repeat(
    stream: Stream, states: Values, goes_on: Callable[..., Array], step: Callable[..., tuple[Stream, Values]]
) -> Values:
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


# --- counting arrivals ---


class Arrivals(NamedTuple):
    """Events one after the other, each at some random time after the one before.

    Attributes:
        next_time: (time of the last one, a uniform number) -> time of the next.
        is_early: time -> whether it is before the end of the observation.
        drawing_half: of the two streams that a stream is split into, which draws; the other one goes on.
    """

    next_time: Callable[..., Array]
    is_early: Callable[..., Array]
    drawing_half: int


def count_arrivals(stream: Stream, arrivals: Arrivals, like: Value, dtype: np.dtype) -> Value:
    """How many events arrive before the end, in `dtype`; -1 where the beginning is not before it.

    `like`, an array, has the dtype of the times and the shape of the result.
    """

    def step(stream: Stream, seen: Value, time: Value) -> tuple[Stream, Values]:
        halves = stream.split()
        drawing = halves.pop(arrivals.drawing_half)
        uniform = drawing.draw(random_uniform_p, shape=like.aval.shape, dtype=like.aval.dtype)
        seen = lax.select(arrivals.is_early(time), seen + 1, seen)
        return halves[0], (seen, arrivals.next_time(time, uniform))

    start = (full(like.aval.shape, 0, dtype), full_like(like, 0))
    seen, _ = _repeat(stream, start, lambda seen, time: arrivals.is_early(time), step)
    return seen - 1  # the one that came late was begun, too


# --- transformed rejection ---


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

    a: Array
    b: Array
    center: tuple[Value | float, ...]
    height: Array
    sure: Array
    weigh: Callable[..., Value]
    is_out: Callable[..., Array]

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
    and Economics 12, 1993; what it shows for Poisson's distribution holds for others with one mode.
    """
    shape, dtype = hat.b.aval.shape, hat.b.aval.dtype

    def step(stream: Stream, number: Value, is_done: Value) -> tuple[Stream, Values]:
        rest, *drawing = stream.split(3)
        place, height = [one.draw(random_uniform_p, shape=shape, dtype=dtype) for one in drawing]
        u = place - 0.5
        distance = 0.5 - lax.abs(u)
        proposal = hat.propose(u, distance)
        is_accepted = hat.accepts(proposal, distance, height)
        return rest, (lax.select(is_accepted, proposal, number), is_done | is_accepted)

    start = (full_like(hat.b, -1), full(shape, False, np.bool_))
    return _repeat(stream, start, lambda number, is_done: lax.bitwise_not(is_done), step)[0]


FEW = 10  # up to so many expected events counting them is cheaper, and the curves of the rejection do not hold


def _whole(x: Value, shape: tuple[int, ...]) -> Value:
    """An operand of rank 0 or of `shape` as one of `shape`."""
    return x if x.aval.shape == shape else full_like(x, x, shape=shape)


def _where(mask: Value, x: ArrayLike, y: ArrayLike) -> Array:
    """`lax.select` of an array and a number, or a number and an array."""
    return lax.select(mask, x, full_like(x, y)) if hasattr(type(x), "aval") else lax.select(mask, full_like(y, x), y)


# --- poisson ---


def _poisson(stream: Stream, rate: Value, *, shape: Dimensions, dtype: np.dtype) -> Value:
    """Both ways for all elements, each with a harmless rate where the other one counts."""
    rate = _whole(rate, shape)
    is_high = rate >= FEW  # of NaN it is not: counting ends at once
    counted = count_arrivals(stream, _poisson_arrivals(_where(~is_high, rate, 0)), rate, dtype)
    rejected = transformed_rejection(stream, _poisson_hat(_where(is_high, rate, 1e5)))
    drawn = lax.select(is_high, lax.convert_element_type(rejected, dtype), counted)
    return _where(rate != 0, drawn, 0)


def _poisson_arrivals(rate: Value) -> Arrivals:
    """Exponential times pass between events, `rate` of which are expected in a time of `rate`."""
    return Arrivals(lambda time, uniform: time - lax.log(uniform), lambda time: time < rate, drawing_half=1)


def _poisson_hat(rate: Value) -> Hat:
    """Algorithm PTRS of Hörmann's article."""
    b = 0.931 + 2.53 * lax.sqrt(rate)
    log_rate = lax.log(rate)
    return Hat(
        a=-0.059 + 0.02483 * b,
        b=b,
        center=(rate, 0.43),
        height=1.1239 + 1.1328 / (b - 3.4),
        sure=0.9277 - 3.6224 / (b - 2),
        weigh=lambda k: -rate + k * log_rate - lgamma(k + 1),
        is_out=lambda k, distance, height: (k < 0) | ((distance < 0.013) & (height > distance)),
    )


random_poisson_p = sampler("random_poisson", _poisson, "Numbers k with probability λ^k exp(-λ) / k!.", accepts=FLOATING)


@takes_out_sharding
def poisson(
    key: Key,
    lam: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of Poisson's distribution: k with probability λ^k exp(-λ) / k!.

    Args:
        key: a key.
        lam: λ, not negative: a number, or an array.
        shape: of the result, to which `lam` broadcasts; None: that of `lam`.
        dtype: an integer dtype; None: int32, or int64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        ValueError: for another dtype, or a shape that `lam` does not fit.

    >>> import tangrad
    >>> tangrad.random.poisson(tangrad.random.key(0), 3.0, (3,)).shape
    (3,)
    """
    kind = int_dtype("random.poisson", dtype)
    sizes = sample_shape("random.poisson", shape, lam)
    rate = fitted("random.poisson", converted(as_operand(lam), np.dtype(np.float32)), sizes)
    return draw("random.poisson", random_poisson_p, key, rate, shape=sizes, dtype=kind)


# --- binomial ---


def _binomial(stream: Stream, count: Value, p: Value, *, shape: Dimensions, dtype: np.dtype) -> Value:
    """The rarer of success and failure, both ways for all elements, with harmless parameters where not needed."""
    count, p = _whole(count, shape), _whole(p, shape)
    is_rare = p < 0.5
    rare = lax.select(is_rare, p, 1.0 - p)
    is_valid = (count >= 0) & (rare >= 0)  # not where one is NaN
    is_finite = count < np.inf
    rare = lax.abs(_where(rare >= 0, rare, 0.01))  # of -0.0, log(1 - p) would be 0.0, and no trial the last one
    is_many = count * rare > FEW  # infinitely many that all fail are not: none of them would be accepted
    trials = lax.floor(count)
    few = _where(is_many, 0, _where(is_finite, trials, 0))
    counted = count_arrivals(stream, _binomial_arrivals(few, rare), rare, rare.aval.dtype)
    rejected = transformed_rejection(stream, _binomial_hat(_where(is_many, trials, 1e4), _where(is_many, rare, 0.5)))
    drawn = lax.convert_element_type(lax.select(is_many, rejected, counted), dtype)
    drawn = lax.select(is_rare, drawn, lax.convert_element_type(trials, dtype) - drawn)
    return _where(is_valid, _where(is_finite, drawn, np.inf), np.nan)


def _binomial_arrivals(count: Value, p: Value) -> Arrivals:
    """A success comes after a geometric number of trials, `count` of which there are.

    Source: L. Devroye, Non-uniform random variate generation, 1986, chapter X.4 (the first waiting time algorithm).
    """
    log_failure = lax.log1p(-p)
    return Arrivals(
        lambda trial, uniform: trial + lax.ceil(lax.log(uniform) / log_failure),
        lambda trial: trial <= count,
        drawing_half=0,
    )


def _binomial_hat(count: Value, p: Value) -> Hat:
    """Algorithm BTRS of W. Hörmann, The generation of binomial random variates, J. Stat. Comput. Simul. 46, 1993."""
    deviation = lax.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    odds, mode = p / (1 - p), lax.floor((count + 1) * p)

    def weigh(k: Value) -> Value:
        """log(f(k) / f(mode)) for f(k) = (count over k) p^k (1 - p)^(count - k), by Stirling's formula."""
        # With the repeated terms named XLA would round otherwise: it makes a reciprocal of one of the denominators.
        ratio = (mode + 0.5) * lax.log((mode + 1) / (odds * (count - mode + 1)))
        ratio = ratio + (count + 1) * lax.log((count - mode + 1) / (count - k + 1))
        ratio = ratio + (k + 0.5) * lax.log(odds * (count - k + 1) / (k + 1))
        ratio = ratio + _correction(mode) + _correction(count - mode) - _correction(k) - _correction(count - k)
        return ratio

    return Hat(
        a=-0.0873 + 0.0248 * b + 0.01 * p,
        b=b,
        center=(count * p + 0.5,),
        height=(2.83 + 5.1 / b) * deviation,
        sure=0.92 - 4.2 / b,
        weigh=weigh,
        is_out=lambda k, distance, height: (k < 0) | (k > count),
    )


# What Stirling's formula (k + 1/2) log(k + 1) - (k + 1) + log(2 π) / 2 lacks of log k!, for k from 0 to 9.
CORRECTIONS = (
    0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093, 0.016644691189821193,
    0.013876128823070748, 0.01189670994589177, 0.010411265261972096, 0.009255462182712733, 0.00833056343336287,
)  # fmt: skip


def _correction(k: Value) -> Value:
    """What Stirling's formula lacks of log k!, for whole k; from 10 on always what the series gives for 9.

    The last of it is not in the article, where the series goes on falling. It makes the logarithm of a ratio of
    probabilities wrong by less than 0.017, and samples depend on it: the streams are part of the specification.
    """
    kind = k.aval.dtype.type
    after = kind(10)
    series = kind(1 / 1260)
    for coefficient in (-1 / 360, 1 / 12):  # B_2j / (2j (2j - 1)), the highest power first
        series = kind(coefficient) + series / (after * after)
    values = tnp.asarray((*CORRECTIONS, series / after), k.aval.dtype)
    return values[lax.convert_element_type(lax.clamp(0.0, k, float(len(CORRECTIONS))), np.int32)]


random_binomial_p = sampler("random_binomial", _binomial, "How many of n trials succeed.", accepts=FLOATING)


def binomial(
    key: Key, n: ArrayLike, p: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None
) -> Array:
    """Numbers of the binomial distribution: how many of `n` trials succeed.

    Args:
        key: a key.
        n: the number of trials: a number, or an array. NaN or negative gives NaN.
        p: the probability of success: a number, or an array.
        shape: of the result, to which both broadcast; None: that of both together.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.

    Returns:
        An array of `shape` and `dtype`: whole numbers.

    Raises:
        ValueError: for another dtype, or a shape that the parameters do not fit.

    >>> import tangrad
    >>> tangrad.random.binomial(tangrad.random.key(0), 10, 0.25, (3,)).shape
    (3,)
    """
    kind = float_dtype("random.binomial", dtype)
    sizes = sample_shape("random.binomial", shape, n, p)
    probability = as_operand(p)
    inexact = dtypes.to_inexact_dtype(probability.aval.dtype)
    probability = fitted("random.binomial", converted(probability, inexact), sizes)
    count = fitted("random.binomial", converted(as_operand(n), inexact), sizes)
    return draw("random.binomial", random_binomial_p, key, count, probability, shape=sizes, dtype=kind)


def multinomial(
    key: Key,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Numbers of the multinomial distribution: how often each outcome comes up in `n` trials.

    Args:
        key: a key.
        n: the number of trials: a number, or an array that broadcasts to the shape of the result without its last
            dimension.
        p: the probabilities of the outcomes, along the last dimension.
        shape: of the result, to which `p` broadcasts; None: that of `p`.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        unroll: as of `tangrad.lax.scan`, which goes through the outcomes.

    Returns:
        An array of `shape` and `dtype`: whole numbers.

    Raises:
        ValueError: for another dtype, or a shape that the parameters do not fit.

    >>> import tangrad
    >>> tangrad.random.multinomial(tangrad.random.key(0), 10, tangrad.numpy.array([0.5, 0.5])).sum()
    Array(10., dtype=float32)
    """
    kind = float_dtype("random.multinomial", dtype)
    n, p = _inexact_pair(n, p)
    if not p.aval.shape:
        raise ValueError("random.multinomial: p must have a dimension at least, got a scalar")
    sizes = p.aval.shape if shape is None else canonicalize_shape(shape)
    check_fits("random.multinomial", sizes, p.aval.shape)
    trials, outcomes = tnp.broadcast_to(n, sizes[:-1]), tnp.moveaxis(tnp.broadcast_to(p, sizes), -1, 0)
    remaining = cumsum(outcomes, 0, reverse=True)
    ratios = outcomes / tnp.where(remaining == 0, 1, remaining)

    def step(left: Array, item: tuple[Array, Array]) -> tuple[Array, Array]:
        ratio, own = item
        count = binomial(own, left, tnp.clip(ratio, 0, 1), dtype=left.aval.dtype)
        return left - count, count

    keys = split_key(one_key("random.multinomial", key), ratios.aval.shape[0])
    _, counts = scan(step, trials, (ratios, keys), unroll=unroll)
    return lax.convert_element_type(tnp.moveaxis(counts, 0, -1), kind)


def _inexact_pair(n: object, p: object) -> tuple[Value, Value]:
    first, second = as_operand(n), as_operand(p)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(first, second))
    return converted(first, dtype), converted(second, dtype)
