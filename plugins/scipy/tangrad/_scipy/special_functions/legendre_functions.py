"""Associated Legendre functions of all degrees and orders at once: `lpmn`, `lpmn_values`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad.core import Array, as_array
from tangrad.extend.lax import scan
from tangrad.extend.numpy import asarray, index_argument
from tangrad.typing import ArrayLike

MADE_FOR = "scipy.special"


def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """The associated Legendre functions Pₗᵐ(z) of every order up to `m` and every degree up to `n`.

    Args:
        m: the greatest order.
        n: the greatest degree.
        z: a vector of floats, from -1 to 1.
        is_normalized: whether they have the factor of spherical harmonics, √((2l+1)/(4π) (l-m)!/(l+m)!), with which
            high orders do not overflow.

    Returns:
        An array of shape `(m + 1, n + 1, len(z))`: 0 where the order is above the degree.

    Raises:
        TypeError: `m` or `n` is no integer, `z` is not of floats.
        ValueError: `m` or `n` is negative, `z` is no vector.

    Source: DLMF 14.7.15 and 14.10.3, with the phase of Condon and Shortley.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.special as special
    >>> special.lpmn_values(1, 1, np.array([0.5]), False).round(3)
    Array([[[ 1.   ],
            [ 0.5  ]],
    <BLANKLINE>
           [[ 0.   ],
            [-0.866]]], dtype=float32)
    """
    order, degree, x = _arguments("lpmn_values", m, n, z)
    return _climbed(x, *_tables(order, degree, bool(is_normalized)), derivatives=False)[0]


def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """The associated Legendre functions of every order up to `m` and every degree up to `n`, and their derivatives.

    Args:
        m, n, z: as of `lpmn_values`.

    Returns:
        Two arrays of shape `(m + 1, n + 1, len(z))`: Pₗᵐ(z), and its derivative by `z`.

    Raises as `lpmn_values` does.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.special as special
    >>> values, slopes = special.lpmn(0, 2, np.array([0.5]))
    >>> values[0, :, 0]
    Array([ 1.   ,  0.5  , -0.125], dtype=float32)
    >>> slopes[0, 1:, 0]
    Array([1. , 1.5], dtype=float32)
    """
    order, degree, x = _arguments("lpmn", m, n, z)
    values, slopes = _climbed(x, *_tables(order, degree, False), derivatives=True)
    return values, slopes


def _arguments(name: str, m: Any, n: Any, z: Any) -> tuple[int, int, Any]:
    order, degree = index_argument(name, m, "m"), index_argument(name, n, "n")
    if order < 0 or degree < 0:
        raise ValueError(f"{name}: m and n must not be negative, got m={order} and n={degree}")
    x = as_array(asarray(z))
    if not np.issubdtype(x.dtype, np.floating):
        raise TypeError(f"{name}: z must be of floats, got {x.aval.str_short()}")
    if x.ndim != 1:
        raise ValueError(f"{name}: z must have one dimension, got shape {x.shape}")
    return order, degree, x


def _tables(order: int, degree: int, normalized: bool) -> tuple[Any, Any, Any]:
    """By degree (rows) and order: the factor of the last degree, that of the one before; by order that of the first."""
    orders = np.arange(order + 1.0)
    degrees = np.arange(degree + 1.0)[:, None]
    above = degrees > orders
    with np.errstate(all="ignore"):
        if normalized:
            last = np.sqrt((4 * degrees**2 - 1) / (degrees**2 - orders**2))
            before = last * np.sqrt(((degrees - 1) ** 2 - orders**2) / (4 * (degrees - 1) ** 2 - 1))
            steps = -np.sqrt((2 * orders[1:] + 1) / (2 * orders[1:]))
            first = math.sqrt(0.25 / math.pi) * np.cumprod([1.0, *steps])
        else:
            last = (2 * degrees - 1) / (degrees - orders)
            before = (degrees + orders - 1) / (degrees - orders)
            first = np.cumprod([1.0, *(1 - 2 * orders[1:])])
    two_above = degrees > orders + 1
    return np.where(above, last, 0), np.where(two_above, before, 0), first


def _climbed(x: Any, last: Any, before: Any, first: Any, *, derivatives: bool) -> Any:
    """Degree after degree by the recurrence, all orders at once; the first degree of an order is (1 - x²)^(m/2)."""
    dtype = x.dtype
    orders = np.arange(len(first))[:, None]
    square = (1 - x) * (1 + x)
    factor = tnp.asarray(first, dtype)[:, None]
    starts = factor * tnp.where(orders == 0, 1, square ** tnp.asarray(orders / 2, dtype))
    shrinking = tnp.asarray(np.where(orders == 0, 0, orders / 2 - 1), dtype)
    slopes = factor * -tnp.asarray(orders, dtype) * x * square**shrinking if derivatives else starts
    begins = np.arange(len(last))[:, None] == np.arange(len(first))

    def step(carry: Any, row: Any) -> Any:
        value, previous, slope, previous_slope = carry
        one, two, here = [part[:, None] for part in row]
        found = tnp.where(here, starts, one * x * value - two * previous)
        if not derivatives:
            return (found, value, slope, previous_slope), found
        rising = one * (value + x * slope) - tnp.where(two == 0, 0, two * previous_slope)
        rising = tnp.where(here, slopes, tnp.where(tnp.isinf(slope), x * slope, rising))
        return (found, value, rising, slope), (found, rising)

    none = tnp.zeros_like(starts)
    rows = (tnp.asarray(last, dtype), tnp.asarray(before, dtype), tnp.asarray(begins))
    _, found = scan(step, (none, none, none, none), rows)
    if not derivatives:
        return (tnp.swapaxes(found, 0, 1),)
    return tuple([tnp.swapaxes(part, 0, 1) for part in found])
