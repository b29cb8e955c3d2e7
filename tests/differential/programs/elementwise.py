"""Elementwise functions: smooth ones, kinked ones, and those with special values."""

import numpy

from ..corpus import integers, normal, program, uniform


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
