"""Dtypes: promotion, weak types, conversions, creation."""

import numpy

from ..corpus import integers, normal, program, uniform


@program(lambda r: (normal(r, 3), integers(r, -5, 5, 3), integers(r, 0, 2, 3, dtype="bool")))
def scalars_are_weak(api, x, k, b):
    """A Python scalar takes the array's width; a float makes integers the default float, weakly."""
    return x * 2, x + 1.5, k + 1, k * 1.5, b + 1, b * 2.0, k // 2, k / 2, x**2, 1j * x, 1 - b


@program(lambda r: (2, 3.0), vmap=False)
def python_arguments(api, count, scale):
    """Python scalars as arguments of a jitted function are weak as well."""
    np = api.numpy
    return np.multiply(count, scale), np.sin(scale), np.add(count, 1), np.multiply(scale, np.float16(2))


@program(
    lambda r: (
        integers(r, -9, 9, 4, dtype="int8"),
        integers(r, 0, 9, 4, dtype="uint8"),
        integers(r, -9, 9, 4, dtype="int16"),
        integers(r, -9, 9, 4),
        integers(r, 0, 9, 4, dtype="uint32"),
        uniform(r, 0, 1, 4).astype("float16"),
        normal(r, 4),
    )
)
def mixed_dtypes(api, i8, u8, i16, i32, u32, f16, f32):
    """Pairs from the promotion lattice."""
    return i8 + i16, i8 + u8, u8 + i16, i32 + u32, i32 * f16, f16 + f32, u8 * f16, i8 - u32, (i8 > 0) + i8


@program(lambda r: (normal(r, 4), uniform(r, 0, 1, 4).astype("float16")))
def bfloat16_arithmetic(api, x, h):
    """bfloat16 with float16, float32 and integers."""
    np = api.numpy
    b = x.astype(np.bfloat16)
    return b + h, b * 2, b + np.ones(4, np.bfloat16), b + np.arange(4), b * x, b.astype(np.float32)


@program(lambda r: (numpy.array([-3.7, 3.7, 300.0, -300.0, 1e10, -1e10, 0.5], "float32"),))
def float_to_integer(api, x):
    """Conversion cuts toward zero and saturates."""
    np = api.numpy
    return x.astype(np.int32), x.astype(np.int8), x.astype(np.uint8), x.astype(bool), x.astype(np.int16)


@program(lambda r: (integers(r, -200, 200, 6),))
def integer_conversions(api, k):
    """Integers wrap, and become floats and booleans."""
    np = api.numpy
    return k.astype(np.int8), k.astype(np.uint8), k.astype(np.float32), k.astype(bool), k.astype(np.uint32)


@program(lambda r: (integers(r, 0, 2, 5, dtype="bool"), integers(r, 0, 9, 5)))
def selection_promotes(api, chosen, k):
    """`where` and friends promote their branches."""
    np = api.numpy
    return np.where(chosen, k, 0.5), np.where(chosen, 1, 0), np.where(chosen, 1.0, k), np.maximum(k, 2.5)


@program(lambda r: (integers(r, 1, 9, 4),))
def integers_become_floats(api, k):
    """True division, means and transcendental functions of integers."""
    np = api.numpy
    return k / k, np.mean(k), np.sin(k), np.sqrt(k), np.var(k), np.exp(k > 3), np.arctan2(k, 2)


@program(lambda r: (normal(r, 4), integers(r, 0, 9, 4, dtype="int64")), x64=True, grad=(0,))
def wide_dtypes(api, x, k):
    """With 64-bit dtypes allowed."""
    np = api.numpy
    wide = x.astype(np.float64)
    return wide * 2, wide + x, k + 1, k * 0.5, np.sum(k), np.arange(3), np.ones(2), np.sin(wide), x * 2.0, 1.5 * k


@program(lambda r: (numpy.zeros(3, "float32"),), vmap=False)
def creation(api, x):
    """Creation functions and their default dtypes."""
    np = api.numpy
    filled = np.zeros((2, 3)), np.ones(3, int), np.full((2,), 7), np.full((2,), 7.5), np.eye(3), np.eye(2, 3, k=1)
    ranges = (
        np.arange(5),
        np.arange(1.0, 2.0, 0.25),
        np.arange(5, 0, -2),
        np.linspace(0, 1, 5),
        np.arange(3, dtype="uint8"),
    )
    return (
        filled,
        ranges,
        np.zeros_like(x),
        np.ones_like(x, dtype=int),
        np.full_like(x, 3),
        np.array([1, 2.5]),
        np.array(3),
    )


@program(lambda r: (integers(r, 0, 2, 6, dtype="bool"), integers(r, 0, 99, 6, dtype="uint8"), normal(r, 6)))
def reductions_promote(api, b, u8, x):
    """Sums of booleans and of small integers."""
    np = api.numpy
    return np.sum(b), np.sum(u8), np.prod(u8[:2]), np.cumsum(b), np.mean(u8), np.sum(x, dtype=np.float16), np.mean(b)


@program(lambda r: (normal(r, 2, 3),), grad=(0,))
def derivative_through_casts(api, x):
    """Gradients pass through conversions between floats."""
    np = api.numpy
    return np.sin(x.astype(np.float16)).astype(np.float32) * x


@program(lambda r: (normal(r, 3), 0.5), grad=(0, 1), vmap=(0, None))
def weak_gradient(api, x, scale):
    """The gradient with respect to a Python scalar."""
    return api.numpy.tanh(x * scale) + scale
