"""The zeta functions of Riemann and Hurwitz: `zeta`."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.definitions import reals
from tangrad._scipy.special_functions.elementwise import with_derivatives
from tangrad.core import Array
from tangrad.extend import lax as p
from tangrad.extend.numpy import as_one
from tangrad.typing import ArrayLike

_TERMS = 10
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _by_euler_maclaurin(x: Any, q: Any) -> Any:
    """Hurwitz's function as a formula that can be differentiated (DLMF 25.11.28, with ten terms of the sum)."""
    total = sum([tnp.exp(-x * tnp.log(q + k)) for k in range(_TERMS)])
    end = q + _TERMS
    power = tnp.exp(-x * tnp.log(end))
    total = total + power * (end / (x - 1) + 0.5)
    factor = x / end
    for k, number in enumerate(_BERNOULLI, 1):
        total = total + power * factor * (number / math.factorial(2 * k))
        factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (end * end)
    return total


def _by_x(t: Any, ans: Any, x: Any, q: Any) -> Any:
    from_sum = [tnp.exp(-x * tnp.log(q + k)) * -tnp.log(q + k) for k in range(_TERMS)]
    end = q + _TERMS
    power, logarithm = tnp.exp(-x * tnp.log(end)), tnp.log(end)
    head = end / (x - 1)
    slope = sum(from_sum) - power * (logarithm * (head + 0.5) + head / (x - 1))
    # The product x (x + 1) … and its derivative go on together.
    factor, rate = x / end, 1 / end
    for k, number in enumerate(_BERNOULLI, 1):
        slope = slope + power * (rate - logarithm * factor) * (number / math.factorial(2 * k))
        one, other = x + 2 * k - 1, x + 2 * k
        square = end * end
        factor, rate = factor * one * other / square, (rate * one * other + factor * (one + other)) / square
    return t * slope


@with_derivatives(_by_x, lambda t, ans, x, q: t * (-x * p.zeta_p.bind(x + 1, q)))
def _hurwitz(x: Any, q: Any) -> Any:
    endless = (q == math.inf) & (x > 1)
    return tnp.where(endless, 0.0, p.zeta_p.bind(x, tnp.where(endless, 1.0, q)))


def _riemann(x: Any) -> Any:
    """By the sum to the right of 0, by the functional equation (DLMF 25.4.1) to the left."""
    left = x < -0.5  # the sum has all digits until there; mirrored, small numbers would vanish beside 1
    mirrored = tnp.where(left, 1 - x, x)
    regular = tnp.where(tnp.isfinite(mirrored), mirrored, 2.0)
    ahead = _by_euler_maclaurin(regular, tnp.ones_like(x))
    ahead = tnp.where(mirrored == math.inf, 1.0, ahead)
    behind = tnp.where(left, x, -1.0)
    size = 2 * tnp.exp((behind - 1) * math.log(2 * math.pi) + p.lgamma_p.bind(1 - behind))
    even = behind / 2 == tnp.round(behind / 2)
    sine = tnp.where(even, 0.0, tnp.sin(0.5 * math.pi * (behind - 4 * tnp.round(behind / 4))))
    value = tnp.where(left, size * sine * ahead, ahead)
    return tnp.where(tnp.isnan(x) | (x == -math.inf), math.nan, value)


@as_one()
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """The Hurwitz zeta function Σ (k + q)⁻ˣ, k = 0, 1, …; without `q` Riemann's, for all real x.

    Args:
        x: an array or number, real; with `q` greater than 1.
        q: an array or number, real, broadcast against `x`; None: Riemann's function.

    Returns:
        An array of their common shape.

    Raises:
        TypeError: for complex numbers.
        ValueError: for shapes that do not fit.

    >>> import tangrad.scipy.special as special
    >>> f"{special.zeta(2.0):.4f} {special.zeta(2.0, 3.0):.4f}"
    '1.6449 0.3949'
    """
    function = _riemann if q is None else _hurwitz
    operands = reals("zeta", *([x] if q is None else [x, q]), weak="as promoted")
    kind = operands[0].dtype
    if kind.itemsize > 2:
        return function(*operands)
    # In half precision factors of the sum's last terms overflow, where what they are multiplied by is 0.
    return function(*[each.astype("float32") for each in operands]).astype(kind)
