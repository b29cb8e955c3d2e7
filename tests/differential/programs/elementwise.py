"""Functions of each element and reductions, their promotion, and whole numbers."""

import numpy

from ..corpus import integers, normal, program, uniform

# --- Elementwise functions: smooth ones, kinked ones, and those with special values ---------------------------------


@program(lambda r: (normal(r, 3, 4),), grad=(0,))
def horner_polynomial(api, x):
    """A polynomial with Python coefficients."""
    value = 0.0
    for coefficient in (0.5, -1.0, 2.0, 3.0):
        value = value * x + coefficient
    return value


@program(lambda r: (uniform(r, 0.1, 2.0, 5),), grad=(0,))
def transcendental_mix(api, x):
    """Several functions of one argument."""
    np = api.numpy
    return np.sin(x) * np.cos(x) + np.tan(0.3 * x), np.exp(-x) + np.log(x), np.sqrt(x), np.exp2(x), np.log2(x)


@program(lambda r: (uniform(r, -2.0, 2.0, 6),), grad=(0,))
def hyperbolic(api, x):
    """Hyperbolic functions and inverses."""
    np = api.numpy
    return np.sinh(x), np.cosh(x), np.tanh(x), np.arcsinh(x), np.arccosh(1.5 + x * x), np.arctanh(0.4 * x)


@program(lambda r: (uniform(r, -0.9, 0.9, 6), normal(r, 6)), grad=(0, 1))
def inverse_trigonometric(api, x, y):
    """Inverse trigonometric functions, arctan2 in all quadrants."""
    np = api.numpy
    return np.arcsin(x), np.arccos(x), np.arctan(y), np.arctan2(y, x)


@program(lambda r: (uniform(r, 0.2, 4.0, 7),), grad=(0,), slack=4.0)
def special_functions(api, x):
    """Error functions and the logarithm of gamma."""
    lax = api.lax
    return lax.erf(x), lax.erfc(x), lax.erf_inv(x / 5 - 0.4), lax.lgamma(x), lax.digamma(x), lax.logistic(x)


@program(lambda r: (numpy.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 2.7], "float32"),), grad=(0,))
def rounding(api, x):
    """Rounding (half to even) and signs; derivatives are zero."""
    np = api.numpy
    return np.floor(x), np.ceil(x), np.round(x), np.trunc(x), np.sign(x), x - np.floor(x)


@program(lambda r: (uniform(r, 0.5, 2.0, 4), uniform(r, -2.0, 2.0, 4)), grad=(0, 1))
def powers(api, x, y):
    """Integer, float and array exponents; a Python base."""
    return x**3, x**-2, x**2.5, 2.0**y, api.numpy.power(x, y), y**2, api.lax.integer_pow(y, 4)


@program(lambda r: (normal(r, 4, 5),), grad=(0,))
def clip_and_where(api, x):
    """Clipping, selection, and a mask used as a number."""
    np = api.numpy
    return np.clip(x, -0.5, 0.8), np.where(x > 0, x, 0.1 * x), (x > 0.3) * x, api.lax.clamp(-1.0, x, 1.0)


@program(
    lambda r: (numpy.array([1.0, 2.0, -3.0, 2.0], "float32"), numpy.array([1.0, -2.0, 3.0, 5.0], "float32")),
    grad=(0, 1),
)
def extremes_with_ties(api, x, y):
    """At a tie the derivative is shared."""
    np = api.numpy
    return np.maximum(x, y), np.minimum(x, y), np.abs(x), np.maximum(x, 2.0)


@program(lambda r: (normal(r, 8) * 5, uniform(r, 0.5, 2.0, 8)), grad=(0, 1))
def division_family(api, x, y):
    """Division, floor division, remainders of both sign conventions."""
    np = api.numpy
    return x / y, np.remainder(x, -y), np.fmod(x, y), x % y, 1.0 / y, np.floor_divide(x, y)


@program(lambda r: (normal(r, 6), normal(r, 6)), grad=(0, 1))
def stable_logarithms(api, x, y):
    """Functions written so as not to overflow."""
    np = api.numpy
    return np.logaddexp(x, 40 * y), np.log1p(np.exp(-np.abs(x))), np.expm1(1e-3 * y), np.hypot(x, y)


@program(lambda r: (numpy.array([-1.0, 0.0, 2.0, 4.0], "float32"),), grad=(0,))
def where_twice(api, x):
    """The usual guard against NaN in the branch that is not taken."""
    np = api.numpy
    safe = np.where(x > 0, x, 1.0)
    return np.where(x > 0, np.log(safe) + np.sqrt(safe), 0.0)


@program(lambda r: (numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1.5, -0.0, 0.0], "float32"),))
def special_values(api, x):
    """NaN, infinities and signed zeros."""
    np = api.numpy
    tests = np.isnan(x), np.isinf(x), np.isfinite(x), np.signbit(x)
    return (*tests, np.nan_to_num(x, nan=7.0, posinf=8.0), np.maximum(x, 0.0), np.minimum(0.0, x), x == x, np.sign(x))


@program(lambda r: (uniform(r, 0.3, 3.0, 5),), grad=(0,))
def roots_and_reciprocals(api, x):
    """Roots, reciprocals, squares."""
    np = api.numpy
    return np.square(x), np.reciprocal(x), api.lax.rsqrt(x), np.cbrt(x), -x, np.positive(x)


@program(lambda r: (normal(r, 5), normal(r, 5), integers(r, 0, 2, 5)))
def comparisons_and_logic(api, x, y, k):
    """Comparisons give booleans, and logic combines them."""
    np = api.numpy
    both, either = np.logical_and(x > 0, y > 0), (x > 0) | (y > 0)
    return x < y, x <= y, x == y, x != y, x >= y, both, either, ~(k > 0), np.logical_xor(k, x > 0), np.logical_not(k)


@program(lambda r: (normal(r, 3, 4), normal(r, 3, 4)), grad=(0, 1))
def stop_gradient_and_copysign(api, x, y):
    """A straight-through estimator."""
    rounded = x + api.lax.stop_gradient(api.numpy.round(x) - x)
    return rounded * y, api.numpy.copysign(x, y)


@program(lambda r: (uniform(r, -3, 3, 8).astype("float16"),), grad=(0,))
def half_precision(api, x):
    """The same in 16 bits."""
    return api.numpy.tanh(x) * x, api.nn.sigmoid(x) + 1.0


# --- Reductions and cumulative operations ---------------------------------------------------------------------------


@program(lambda r: (normal(r, 2, 3, 4),), grad=(0,))
def sums_over_axes(api, x):
    """Axes as integers, tuples, negatives; keepdims."""
    np = api.numpy
    return np.sum(x), np.sum(x, 0), np.sum(x, (0, -1)), np.sum(x, 1, keepdims=True), x.sum(axis=-1), x.sum()


@program(lambda r: (normal(r, 3, 5),), grad=(0,))
def moments(api, x):
    """Mean, variance with and without correction, standard deviation."""
    np = api.numpy
    return np.mean(x, 0), np.var(x, 1), np.var(x, ddof=1), np.std(x, axis=0, keepdims=True), x.mean()


@program(lambda r: (normal(r, 4, 5), integers(r, 0, 2, 4, 5, dtype="bool")), grad=(0,))
def masked_reductions(api, x, mask):
    """`where` and `initial`."""
    np = api.numpy
    sums = np.sum(x, axis=1, where=mask), np.mean(x, where=mask | (x > -9)), np.sum(x, initial=2.0)
    return sums, np.max(x, axis=0, where=mask, initial=-5.0), np.min(x, initial=0.5), np.prod(x, axis=1, where=mask)


@program(lambda r: (numpy.array([[1.0, 3.0, 3.0], [2.0, 0.0, 2.0]], "float32"),), grad=(0,))
def extremes_of_arrays(api, x):
    """The derivative at several extremes is shared equally."""
    np = api.numpy
    return np.max(x), np.max(x, 1), np.min(x, 0), x.max(axis=1, keepdims=True), np.ptp(x, axis=1)


@program(lambda r: (normal(r, 3, 4),), grad=(0,))
def products(api, x):
    """Products, one of them with a zero factor."""
    np = api.numpy
    return np.prod(x, 1), np.prod(x), np.prod(x.at[0, 0].set(0.0), axis=0), np.cumprod(x, axis=1)


@program(lambda r: (normal(r, 4, 5),))
def positions_of_extremes(api, x):
    """argmax and argmin, the first at ties."""
    np = api.numpy
    tied = np.array([2, 1, 2, 1])
    return np.argmax(x), np.argmax(x, 0), np.argmin(x, -1, keepdims=True), np.argmax(tied), np.argmin(tied)


@program(lambda r: (normal(r, 4, 5), integers(r, 0, 2, 4, 5)))
def logical_reductions(api, x, k):
    """any, all, counts."""
    np = api.numpy
    return (
        np.any(x > 1, 0),
        np.all(x < 1),
        np.all(k, axis=1, keepdims=True),
        np.sum(k, 1),
        np.count_nonzero(k),
        np.max(k),
    )


@program(lambda r: (normal(r, 3, 5),), grad=(0,))
def cumulative(api, x):
    """Cumulative sums, products, extremes and log-sum-exp, forward and reverse."""
    np, lax = api.numpy, api.lax
    sums = np.cumsum(x, axis=0), np.cumsum(x), lax.cumsum(x, axis=1, reverse=True)
    return sums, lax.cummax(x, axis=1), lax.cummin(x, axis=0), lax.cumlogsumexp(x, axis=1)


@program(lambda r: (normal(r, 3, 4) * 30,), grad=(0,))
def log_sum_exp(api, x):
    """Large inputs do not overflow."""
    return api.nn.logsumexp(x, axis=1), api.nn.logsumexp(x), api.nn.logsumexp(x, axis=0, keepdims=True)


@program(lambda r: (normal(r, 4, 3), uniform(r, 0.1, 1.0, 4)), grad=(0, 1))
def weighted_means(api, x, weights):
    """A weighted average, by hand and by `average`."""
    np = api.numpy
    return np.sum(x * weights[:, None], 0) / np.sum(weights), np.average(x, axis=0, weights=weights)


@program(lambda r: (normal(r, 3, 4) + 3,), grad=(0,))
def norms(api, x):
    """Vector norms and normalised rows."""
    np = api.numpy
    return np.sqrt(np.sum(x * x)), x / np.linalg.norm(x, axis=1, keepdims=True), np.sum(np.abs(x), 0)


@program(lambda r: (normal(r, 0, 3),))
def empty_reductions(api, x):
    """Reductions of nothing give the identity."""
    np = api.numpy
    return np.sum(x, 0), np.prod(x, 0), np.any(x > 0, 0), np.all(x > 0), np.max(x, axis=0, initial=-1.0)


# --- Integers: wrapping, shifts, bits -------------------------------------------------------------------------------


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


# --- Dtypes: promotion, weak types, conversions, creation -----------------------------------------------------------


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
