"""Integers: wrapping, shifts, bits."""

import numpy

from ..corpus import integers, program


@program(lambda r: (integers(r, 100, 127, 5, dtype="int8"), integers(r, 2**31, 2**32, 5, dtype="uint32")))
def wrapping(api, small, wide):
    """Overflow wraps around."""
    return small + small, small * small, -small - small, wide + wide, wide * 3, wide - wide * 2, small**2


@program(lambda r: (integers(r, -1000, 1000, 6), integers(r, 0, 40, 6), integers(r, 0, 2**32, 6, dtype="uint32")))
def shifts(api, x, amount, u):
    """Shifts by the width or more give zero, or copies of the sign."""
    lax, np = api.lax, api.numpy
    signed = lax.shift_left(x, amount), lax.shift_right_arithmetic(x, amount), lax.shift_right_logical(x, amount)
    return signed, x << 3, x >> 2, u >> 5, np.left_shift(u, 7), np.right_shift(x, 4)


@program(lambda r: (integers(r, -50, 50, 6), integers(r, 0, 50, 6), integers(r, 0, 2, 6, dtype="bool")))
def bitwise(api, x, y, b):
    """and, or, xor, not; counts of bits."""
    lax = api.lax
    return x & y, x | y, x ^ y, ~x, b & ~b, b ^ True, lax.population_count(y), lax.clz(y), x & 7


@program(
    lambda r: (
        numpy.array([7, -7, 7, -7, 0, 5], "int32"),
        numpy.array([3, 3, -3, -3, 2, -5], "int32"),
        integers(r, 1, 200, 6, dtype="uint8"),
    )
)
def integer_division(api, x, y, u):
    """Floor and truncation, remainders of both kinds."""
    np, lax = api.numpy, api.lax
    return x // y, x % y, lax.div(x, y), lax.rem(x, y), np.divmod(x, y), u // 7, u % 7, np.fmod(x, y)


@program(lambda r: (integers(r, 0, 2**32, 8, dtype="uint32"),))
def hash_mixing(api, x):
    """A multiply and xor-shift finaliser."""
    np = api.numpy
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> shift)) * np.uint32(factor)
    return x ^ (x >> 16)


@program(lambda r: (integers(r, 0, 2**32, 4, dtype="uint32"), numpy.array([1.0, -2.5, 0.0, 3e38], "float32")))
def bit_casts(api, u, x):
    """The same bits under another type."""
    np, cast = api.numpy, api.lax.bitcast_convert_type
    return (
        cast(x, np.int32),
        cast(u, np.int32),
        cast(cast(x, np.uint32) ^ np.uint32(2**31), np.float32),
        cast(u, np.uint8),
    )


@program(lambda r: (integers(r, -9, 9, 3, 4), integers(r, 0, 5, 3, 4)))
def integer_functions(api, x, k):
    """abs, sign, powers, extremes, clipping, cumulative sums."""
    np = api.numpy
    return np.abs(x), np.sign(x), x**2, np.power(x, k), np.maximum(x, k), np.clip(x, -3, 3), np.cumsum(x, 1), x.max()


@program(lambda r: (integers(r, 0, 2**16, 6, dtype="uint16"),))
def checksum(api, words):
    """A Fletcher sum in 16 bits."""
    np = api.numpy
    low = np.cumsum(words.astype(np.uint32)) % 65535
    return low[-1], np.sum(low) % np.uint32(65535), words.astype(np.uint8)
