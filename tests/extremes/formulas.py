"""The functions of one variable as mpmath has them: by name, each a function of a number that it may refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as m
from mpmath import mpf

Reference = Callable[..., Any]
HALF = mpf(1) / 2


def _cube_root(x: Any) -> Any:
    return m.sign(x) * m.cbrt(abs(x))


def _erfc(x: Any) -> Any:
    """erfc; by its asymptotic series where mpmath's own gives up."""
    if x < 1000:
        return m.erfc(x)
    return m.exp(-x * x) * scaled_erfc(x)


def scaled_erfc(x: Any) -> Any:
    """exp(x²) erfc(x)."""
    if x < 1000:
        return m.exp(x * x) * m.erfc(x)
    term = total = mpf(1)
    for k in range(1, 60):
        term = -term * (2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * m.sqrt(m.pi))


def normal(x: Any) -> Any:
    """The normal distribution function."""
    return _erfc(-x / m.sqrt(2)) / 2


def log_normal(x: Any) -> Any:
    if x < -10:
        return m.log(scaled_erfc(-x / m.sqrt(2)) / 2) - x * x / 2
    return m.log1p(-normal(-x)) if x > 0 else m.log(normal(x))


def normal_quantile(x: Any) -> Any:
    return -m.sqrt(2) * _inverse_erfc(2 * x) if x < HALF else m.sqrt(2) * _inverse_erfc(2 * (1 - x))


def _inverse_erfc(x: Any) -> Any:
    """By Newton's method on log erfc, for 0 < x ≤ 1."""
    if not 0 < x <= 1:
        raise ValueError
    if x == 1:
        return mpf(0)
    target = m.log(x)
    root = m.sqrt(max(-target - m.log(m.sqrt(m.pi) * m.sqrt(max(-target, mpf(1)))), mpf("0.01")))
    for _ in range(200):
        value = m.log(scaled_erfc(root)) - root * root
        step = (value - target) * scaled_erfc(root) * m.sqrt(m.pi) / 2
        root += step
        if abs(step) <= abs(root) * mpf(10) ** (5 - m.mp.dps):
            return root
    return root


def inverse_erf(x: Any) -> Any:
    if abs(x) < HALF:
        return m.erfinv(x)
    return m.sign(x) * _inverse_erfc(1 - abs(x))


def logistic(x: Any) -> Any:
    return 1 / (1 + m.exp(-x)) if x > 0 else m.exp(x) / (1 + m.exp(x))


def softplus(x: Any) -> Any:
    return m.log1p(m.exp(x)) if x < 0 else x + m.log1p(m.exp(-x))


def log1mexp(x: Any) -> Any:
    if x <= 0:
        raise ValueError
    return m.log(-m.expm1(-x)) if x < 1 else m.log1p(-m.exp(-x))


def dawson(x: Any) -> Any:
    if abs(x) < 50:
        return m.sqrt(m.pi) / 2 * m.exp(-x * x) * m.erfi(x)
    term = total = mpf(1)
    for k in range(1, 400):
        term = term * (2 * k - 1) / (2 * x * x)
        total += term
        if term < mpf(10) ** (-m.mp.dps - 5):
            break
    return total / (2 * x)


def _log_gamma(x: Any) -> Any:
    if x > 0:
        return m.loggamma(x)
    if x == m.floor(x):
        return m.inf
    return m.log(m.pi) - m.log(abs(m.sinpi(x))) - m.loggamma(1 - x)


def _dilogarithm(x: Any) -> Any:
    if x < 0:
        raise ValueError
    return m.polylog(2, 1 - x)


def _scaled_bessel(order: int) -> Reference:
    return lambda x: m.exp(-abs(x)) * m.besseli(order, x)


def _positive(x: Any) -> Any:
    if x < 0:
        raise ValueError
    return x


def _nonnegative(function: Reference) -> Reference:
    return lambda x: function(_positive(x))


FORMULAS: dict[str, Reference] = {
    "acos": m.acos,
    "acosh": m.acosh,
    "asin": m.asin,
    "asinh": m.asinh,
    "atan": m.atan,
    "atanh": m.atanh,
    "cbrt": _cube_root,
    "cos": m.cos,
    "cosh": m.cosh,
    "deg2rad": lambda x: x * m.pi / 180,
    "exp": m.exp,
    "exp2": lambda x: m.exp(x * m.log(2)),
    "expm1": m.expm1,
    "identity": lambda x: x,
    "log": m.log,
    "log10": m.log10,
    "log1p": m.log1p,
    "log2": lambda x: m.log(x) / m.log(2),
    "negative": lambda x: -x,
    "rad2deg": lambda x: x * 180 / m.pi,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / m.sqrt(x),
    "sin": m.sin,
    "sinc": m.sincpi,
    "sinh": m.sinh,
    "sqrt": m.sqrt,
    "square": lambda x: x * x,
    "tan": m.tan,
    "tanh": m.tanh,
    "abs": abs,
    "step": lambda x: m.floor(x),
    # the error function and its relatives
    "erf": m.erf,
    "erfc": _erfc,
    "erfinv": inverse_erf,
    "erfcx": scaled_erfc,
    "dawsn": dawson,
    "fresnel_s": m.fresnels,
    "fresnel_c": m.fresnelc,
    "ndtr": normal,
    "log_ndtr": log_normal,
    "ndtri": normal_quantile,
    # the gamma function and its relatives
    "gammaln": _log_gamma,
    "loggamma": lambda x: m.loggamma(_positive(x)),
    "gamma": m.gamma,
    "digamma": m.digamma,
    "trigamma": lambda x: m.psi(1, x),
    "factorial": lambda x: m.gamma(x + 1) if x >= 0 else mpf(0),
    "riemann_zeta": m.zeta,
    # Bessel functions and integrals
    "i0": lambda x: m.besseli(0, x),
    "i1": lambda x: m.besseli(1, x),
    "i0e": _scaled_bessel(0),
    "i1e": _scaled_bessel(1),
    "exp1": lambda x: m.e1(x) if x > 0 else -m.ei(-x),
    "expi": lambda x: m.ei(x) if x > 0 else -m.e1(-x).real,
    "si": m.si,
    "ci": lambda x: m.ci(abs(x)),
    "spence": _dilogarithm,
    # entropies
    "entr": lambda x: -x * m.log(x) if x >= 0 else -m.inf,
    "expit": logistic,
    "logit": lambda x: m.log(x / (1 - x)),
    # activations
    "softplus": softplus,
    "log_sigmoid": lambda x: -softplus(-x),
    "soft_sign": lambda x: x / (abs(x) + 1),
    "silu": lambda x: x * logistic(x),
    "mish": lambda x: x * m.tanh(softplus(x)),
    "gelu": lambda x: x * normal(x),
    "gelu_tanh": lambda x: x * (1 + m.tanh(m.sqrt(2 / m.pi) * (x + mpf("0.044715") * x**3))) / 2,
    "squareplus": lambda x: (x + m.sqrt(x * x + 4)) / 2,
    "elu": lambda x: x if x > 0 else m.expm1(x),
    "celu": lambda x: x if x > 0 else 2 * m.expm1(x / 2),
    "selu": lambda x: (
        mpf("1.0507009873554804934193349852946")
        * (x if x > 0 else mpf("1.6732632423543772848170429916717") * m.expm1(x))
    ),
    "log1mexp": log1mexp,
    "relu": lambda x: max(x, mpf(0)),
    "relu6": lambda x: min(max(x, mpf(0)), mpf(6)),
    "leaky_relu": lambda x: x if x > 0 else x / 100,
    "hard_tanh": lambda x: min(max(x, mpf(-1)), mpf(1)),
    "hard_sigmoid": lambda x: min(max(x + 3, mpf(0)), mpf(6)) / 6,
    "hard_silu": lambda x: x * min(max(x + 3, mpf(0)), mpf(6)) / 6,
    "sparse_sigmoid": lambda x: min(max(x + 1, mpf(0)), mpf(2)) / 2,
    "sparse_plus": lambda x: mpf(0) if x <= -1 else x if x >= 1 else (x + 1) ** 2 / 4,
}
