"""Numbers of events: `poisson`, `binomial`, `multinomial`. Loops draw for all elements until each has been accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad.control_flow.loops import while_loop
from tangrad.control_flow.scans import scan
from tangrad.core import as_operand, canonicalize_shape, dtypes
from tangrad.lax.elementwise import functions as lax
from tangrad.lax.reductions.functions import cumsum, reduce_or
from tangrad.lax.special.functions import lgamma
from tangrad.lax.structure.functions import full, full_like
from tangrad.random.distributions.arguments import (
    check_fits,
    converted,
    fitted,
    float_dtype,
    int_dtype,
    no_sharding,
    sample_shape,
)
from tangrad.random.distributions.stream import Stream, draw, random_uniform_p, sampler
from tangrad.random.functions import one_key
from tangrad.random.functions import split as split_key

STEPS = 2**31 - 1  # of a loop that something keeps from ending: a NaN, say


def _repeat(stream: Stream, states: tuple[Any, ...], goes_on: Callable[..., Any], step: Callable[..., Any]) -> Any:
    """Run `states = step(stream, *states) -> (stream, states)` while `goes_on(*states)` holds for some element."""

    def is_waiting(carry: Any) -> Any:
        count, _, *rest = carry
        mask = goes_on(*rest)
        some = reduce_or(mask, tuple(range(len(mask.aval.shape))))
        return lax.bitwise_and(some, lax.lt(count, STEPS))

    def body(carry: Any) -> Any:
        count, keys, *rest = carry
        after, results = step(Stream(keys, stream.partitionable), *rest)
        return (lax.add(count, 1), after.keys, *results)

    start = (as_operand(np.int32(0)), stream.keys, *states)
    return while_loop(is_waiting, body, start)[2:]


# --- poisson -------------------------------------------------------------------------------------------------------


def _poisson(stream: Stream, rate: Any, *, shape: Any, dtype: Any) -> Any:
    rate = rate if rate.aval.shape == shape else full_like(rate, rate, shape=shape)
    is_small = lax.bitwise_or(lax.ne(rate, rate), lax.lt(rate, 10))
    small = lax.select(is_small, rate, full_like(rate, 0))
    large = lax.select(is_small, full_like(rate, 1e5), rate)
    drawn = lax.select(is_small, _poisson_by_product(stream, small, dtype), _poisson_by_rejection(stream, large, dtype))
    return lax.select(lax.eq(rate, 0), full_like(drawn, 0), drawn)


def _poisson_by_product(stream: Stream, rate: Any, dtype: Any) -> Any:
    """D. E. Knuth: how many uniform numbers can be multiplied before the product is below exp(-rate)."""
    shape, least = rate.aval.shape, lax.neg(rate)

    def step(stream: Stream, count: Any, log_product: Any) -> Any:
        after, drawn = stream.split()
        count = lax.select(lax.gt(log_product, least), lax.add(count, 1), count)
        unit = drawn.draw(random_uniform_p, shape=shape, dtype=rate.aval.dtype)
        return after, (count, lax.add(log_product, lax.log(unit)))

    start = (full(shape, 0, dtype), full_like(rate, 0))
    count, _ = _repeat(stream, start, lambda count, log_product: lax.gt(log_product, least), step)
    return lax.sub(count, 1)


def _poisson_by_rejection(stream: Stream, rate: Any, dtype: Any) -> Any:
    """W. Hörmann, The transformed rejection method for generating Poisson random variables, 1993."""
    shape = rate.aval.shape
    log_rate = lax.log(rate)
    b = 0.931 + 2.53 * lax.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    limit = 0.9277 - 3.6224 / (b - 2)

    def step(stream: Stream, result: Any, accepted: Any) -> Any:
        after, for_u, for_v = stream.split(3)
        u = for_u.draw(random_uniform_p, shape=shape, dtype=rate.aval.dtype) - 0.5
        v = for_v.draw(random_uniform_p, shape=shape, dtype=rate.aval.dtype)
        shifted = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / shifted + b) * u + rate + 0.43)
        left = lax.log(v * inverse_alpha / (a / (shifted * shifted) + b))
        right = -rate + k * log_rate - lgamma(k + 1)
        at_once = (shifted >= 0.07) & (v <= limit)
        rejected = (k < 0) | ((shifted < 0.013) & (v > shifted))
        accept = at_once | (~rejected & (left <= right))
        return after, (lax.select(accept, k, result), accepted | accept)

    start = (full_like(rate, -1), full(shape, False, np.bool_))
    result, _ = _repeat(stream, start, lambda result, accepted: lax.bitwise_not(accepted), step)
    return lax.convert_element_type(result, dtype)


random_poisson_p = sampler("random_poisson", _poisson, "Numbers k with probability λ^k exp(-λ) / k!.")


def poisson(
    key: Any, lam: Any, shape: Sequence[int] | None = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers of Poisson's distribution: k with probability λ^k exp(-λ) / k!.

    Args:
      key: a key.
      lam: λ, not negative: a number, or an array.
      shape: of the result, to which `lam` broadcasts; None: that of `lam`.
      dtype: an integer dtype; None: int32, or int64 with `enable_x64`.
      out_sharding: None.

    Returns:
      An array of `shape` and `dtype`.

    Raises:
      ValueError: for another dtype, or a shape that `lam` does not fit.

    >>> import tangrad
    >>> tangrad.random.poisson(tangrad.random.key(0), 3.0, (3,)).shape
    (3,)
    """
    kind = int_dtype("random.poisson", dtype)
    no_sharding("random.poisson", out_sharding)
    sizes = sample_shape("random.poisson", shape, lam)
    rate = fitted("random.poisson", converted(as_operand(lam), np.dtype(np.float32)), sizes)
    return draw("random.poisson", random_poisson_p, key, rate, shape=sizes, dtype=kind)


# --- binomial ------------------------------------------------------------------------------------------------------


def _binomial(stream: Stream, count: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    count, p = [x if x.aval.shape == shape else full_like(x, x, shape=shape) for x in (count, p)]
    is_low = p < 0.5
    q = lax.select(is_low, p, 1.0 - p)
    no_count = (count != count) | (count < 0.0)
    endless = lax.eq(lax.abs(count), np.array(np.inf, count.aval.dtype)[()])
    no_probability = (q != q) | (q < 0.0)
    q_was_nan = q != q
    q = lax.select(no_probability, full_like(q, 0.01), q)
    few = no_count | (count * q <= 10.0)
    count = lax.floor(count)
    drawn = lax.select(
        few,
        _binomial_by_inversion(stream, lax.select(few, count, full_like(count, 0)), q, dtype),
        _binomial_by_rejection(
            stream, lax.select(few, full_like(count, 1e4), count), lax.select(few, full_like(q, 0.5), q), dtype
        ),
    )
    invalid = no_probability | no_count
    drawn = lax.select(invalid, full_like(drawn, np.nan), drawn)
    drawn = lax.select(endless & ~invalid, full_like(drawn, np.inf), drawn)
    return lax.select(is_low | no_count | q_was_nan | endless, drawn, lax.convert_element_type(count, dtype) - drawn)


def _binomial_by_inversion(stream: Stream, count: Any, p: Any, dtype: Any) -> Any:
    """How many geometric numbers can be added before the sum exceeds the count."""
    shape, log_failure = count.aval.shape, lax.log1p(-p)

    def step(stream: Stream, number: Any, total: Any) -> Any:
        drawn, after = stream.split()
        number = lax.select(total <= count, number + 1, number)
        unit = drawn.draw(random_uniform_p, shape=shape, dtype=p.aval.dtype)
        return after, (number, total + lax.ceil(lax.log(unit) / log_failure))

    start = (full_like(p, 0), full_like(p, 0))
    number, _ = _repeat(stream, start, lambda number, total: total <= count, step)
    return lax.convert_element_type(number - 1, dtype)


def _binomial_by_rejection(stream: Stream, count: Any, p: Any, dtype: Any) -> Any:
    """W. Hörmann, The generation of binomial random variates, 1993 (algorithm BTRS)."""
    shape = count.aval.shape
    deviation = lax.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center = count * p + 0.5
    limit = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = lax.floor((count + 1) * p)

    def step(stream: Stream, result: Any, accepted: Any) -> Any:
        after, for_u, for_v = stream.split(3)
        u = for_u.draw(random_uniform_p, shape=shape, dtype=p.aval.dtype)
        v = for_v.draw(random_uniform_p, shape=shape, dtype=p.aval.dtype)
        u = u - 0.5
        shifted = 0.5 - lax.abs(u)
        at_once = (shifted >= 0.07) & (v <= limit)
        k = lax.floor((2 * a / shifted + b) * u + center)
        rejected = (k < 0) | (k > count)
        left = lax.log(v * alpha / (a / (shifted * shifted) + b))
        right = (
            (mode + 0.5) * lax.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * lax.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * lax.log(odds * (count - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(count - mode)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        accept = at_once | (~rejected & (left <= right))
        return after, (lax.select(accept, k, result), accepted | accept)

    start = (full_like(p, -1), full(shape, False, np.bool_))
    result, _ = _repeat(stream, start, lambda result, accepted: lax.bitwise_not(accepted), step)
    return lax.convert_element_type(result, dtype)


# log k! less Stirling's formula, for k from 0 to 9.
_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_tail(k: Any) -> Any:
    known = k <= 9
    k = lax.clamp(full_like(k, 0), k, full_like(k, 9))
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    table = tnp.asarray(_TAILS, k.aval.dtype)
    return lax.select(known, table[lax.convert_element_type(lax.floor(k), np.int32)], series)


random_binomial_p = sampler("random_binomial", _binomial, "How many of n trials succeed.")


def binomial(key: Any, n: Any, p: Any, shape: Sequence[int] | None = None, dtype: Any = None) -> Any:
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
    key: Any, n: Any, p: Any, *, shape: Sequence[int] | None = None, dtype: Any = None, unroll: int | bool = 1
) -> Any:
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
    sizes = p.aval.shape if shape is None else canonicalize_shape(shape)
    check_fits("random.multinomial", sizes, p.aval.shape)
    trials, outcomes = tnp.broadcast_to(n, sizes[:-1]), tnp.moveaxis(tnp.broadcast_to(p, sizes), -1, 0)
    remaining = cumsum(outcomes, 0, reverse=True)
    ratios = outcomes / tnp.where(remaining == 0, 1, remaining)

    def step(left: Any, item: Any) -> Any:
        ratio, own = item
        count = binomial(own, left, tnp.clip(ratio, 0, 1), dtype=left.aval.dtype)
        return left - count, count

    keys = split_key(one_key("random.multinomial", key), ratios.aval.shape[0])
    _, counts = scan(step, trials, (ratios, keys), unroll=unroll)
    return lax.convert_element_type(tnp.moveaxis(counts, 0, -1), kind)


def _inexact_pair(n: Any, p: Any) -> tuple[Any, Any]:
    first, second = as_operand(n), as_operand(p)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(first, second))
    return converted(first, dtype), converted(second, dtype)
