"""`x · y + z` with one rounding, as processors compute it where XLA fuses the two: NumPy has no such function.

Uniform samples between two bounds are to be the same on both backends, bit for bit, so this must be right for every
element; float32 is done in double precision, with a look at the rare sums that end up halfway between two floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

_DROPPED = np.int64((1 << 29) - 1)  # the bits of a double that a float32 has no room for
_HALF = np.int64(1 << 28)
_SPLITTER = float((1 << 27) + 1)


def fused_multiply_add(x: Array, y: Array, z: Array) -> Array:
    """`x · y + z` rounded once, for arrays of float32 or float64 that broadcast; all finite and far from overflow."""
    return _single(x, y, z) if x.dtype == np.float32 else _double(x, y, z)


def _single(x: Array, y: Array, z: Array) -> Array:
    product = np.multiply(x, y, dtype=np.float64)  # exact: 48 bits
    wide = np.asarray(product + z)
    halfway = (wide.view(np.int64) & _DROPPED) == _HALF
    if halfway.any():
        # Rounded to double it is halfway between two float32: the rest of the sum says which of them is nearer.
        rest = _rest_of_sum(product, np.asarray(z, np.float64), wide)
        toward = np.where(rest > 0, np.inf, np.where(rest < 0, -np.inf, wide))
        wide = np.where(halfway, np.nextafter(wide, toward), wide)
    return wide.astype(np.float32)


def _rest_of_sum(x: Array, y: Array, total: Array) -> Array:
    """What the rounded sum of x and y lacks. D. E. Knuth, The Art of Computer Programming, 4.2.2."""
    shadow = total - x
    return (x - (total - shadow)) + (y - shadow)


def _double(x: Array, y: Array, z: Array) -> Array:
    """S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums: by rounding to odd, 2008."""
    product = x * y
    rest_of_product = _rest_of_product(x, y, product)
    low = z + rest_of_product
    rest_of_low = _rest_of_sum(z, rest_of_product, low)
    high = product + low
    rest_of_high = _rest_of_sum(product, low, high)
    return high + _sum_to_odd(rest_of_low, rest_of_high)


def _rest_of_product(x: Array, y: Array, product: Array) -> Array:
    """What the rounded product lacks. T. J. Dekker, 1971."""
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    return x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)


def _halves(x: Array) -> tuple[Array, Array]:
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _sum_to_odd(x: Array, y: Array) -> Array:
    """x + y, rounded to the neighbour whose last bit is 1 where it is not exact."""
    total = np.asarray(x + y)
    rest = _rest_of_sum(x, y, total)
    even = (total.view(np.int64) & 1) == 0
    toward = np.where(rest > 0, np.inf, -np.inf)
    return np.where(even & (rest != 0), np.nextafter(total, toward), total)
