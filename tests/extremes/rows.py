"""The functions of one variable as mpmath has them: by name, each a function of a number that it may refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import mpmath as m
import numpy as np
from mpmath import mpf

import tangrad.lax as lax
import tangrad.nn as nn
import tangrad.numpy as tnp
import tangrad.scipy.special as special
from tangrad._lax.definitions import definitions
from tangrad._lax.elementwise.primitives import elementwise
from tangrad.scipy import stats

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


# --- Which public functions work element by element, and the formula of each: the table of the sweep ---


class Row(NamedTuple):
    """A function of one real variable.

    Attributes:
        skipped: says of a point that it is not compared: kinks, poles, and where the reference would take hours.
        ulps: how many units in the last place of the result, or of the argument, are allowed.
        floor: how many units in the last place of 1 more are, where a fast formula was preferred to an exact one.
    """

    name: str
    function: Callable[[Any], Any]
    reference: Reference
    skipped: Callable[[float], bool]
    ulps: float = 128
    floor: float = 0


MODULES: dict[str, ModuleType] = {"numpy": tnp, "nn": nn, "special": special, "lax": lax}

# Public names of functions that have the formula of the same name; then those with another name.
NAMES = {
    "numpy": "acos acosh asin asinh atan atanh cbrt cos cosh deg2rad exp exp2 expm1 i0 log log10 log1p log2 negative "
    "rad2deg reciprocal sin sinc sinh sqrt square tan tanh abs",
    "lax": "acos acosh asin asinh atan atanh cbrt cos cosh exp exp2 expm1 log log1p log2 reciprocal rsqrt sin sinh "
    "sqrt square tan tanh abs erf erfc digamma",
    "nn": "softplus log_sigmoid soft_sign silu mish squareplus elu selu log1mexp relu relu6 leaky_relu hard_tanh "
    "hard_sigmoid hard_silu sparse_sigmoid sparse_plus",
    "special": "erf erfc erfinv erfcx dawsn ndtr log_ndtr ndtri gammaln loggamma gamma digamma factorial i0 i1 i0e i1e "
    "exp1 expi spence entr expit logit",
}
OTHER_NAMES = {
    "numpy": {
        **dict.fromkeys(("absolute", "fabs"), "abs"),
        **dict.fromkeys(("positive", "conj", "conjugate", "real"), "identity"),
        **{"arc" + name: "a" + name for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
        "radians": "deg2rad",
        "degrees": "rad2deg",
    },
    "lax": {"neg": "negative", "logistic": "expit", "erf_inv": "erfinv", "lgamma": "gammaln", "bessel_i0e": "i0e"}
    | {"bessel_i1e": "i1e", "real": "identity"},
    "nn": {"tanh": "tanh", "sigmoid": "expit", "swish": "silu", "hard_swish": "hard_silu", "identity": "identity"}
    | {"gelu": "gelu_tanh", "celu": "elu"},
    "special": {"zeta": "riemann_zeta"},
}
STEPS = "a step or a truth value: its derivative is 0"
MADE = "makes an array, or changes how one is held: no function of its elements"
REASONS = {
    **dict.fromkeys(("ceil", "floor", "rint", "round", "around", "trunc", "sign", "imag", "angle", "gammasgn"), STEPS),
    **dict.fromkeys(("zeros_like", "ones_like", "empty_like", "zeros_like_array", "spacing", "stop_gradient"), MADE),
    **dict.fromkeys(("array", "asarray", "copy", "atleast_1d", "ravel", "squeeze", "transpose", "permute_dims"), MADE),
    **dict.fromkeys(("full_like", "broadcast_like", "optimization_barrier", "collapse", "matrix_transpose"), MADE),
    **dict.fromkeys(("fft", "log_softmax", "softmax", "clip", "real_if_close", "pvary", "pcast", "trim_zeros"), MADE),
    **dict.fromkeys(("block", "hstack", "stack", "stage"), MADE),
    "erfcinv": "has tests of its own: below 2e-38 it is infinite in float32",
    "unwrap": "looks at its neighbours, which here are near",
    "nan_to_num": "the identity, but for what is no number",
}

KINKS = {
    **dict.fromkeys(("abs", "relu", "leaky_relu", "elu", "selu", "celu", "soft_sign", "i0e", "i1e"), (0.0,)),
    "relu6": (0.0, 6.0),
    **dict.fromkeys(("hard_sigmoid", "hard_silu"), (-3.0, 3.0)),
    **dict.fromkeys(("hard_tanh", "sparse_sigmoid", "sparse_plus"), (-1.0, 1.0)),
    "gamma": (0.0,),
    "ci": (0.0,),
    "factorial": (-1.0, 0.0),
}
POLES = frozenset(["gammaln", "gamma", "digamma", "trigamma"])
OSCILLATING = frozenset(["sin", "cos", "tan", "fresnel_s", "fresnel_c", "si", "ci"])
# Beyond, the reference takes hours, and nothing happens: (least, greatest).
DOMAINS = {
    "trigamma": (0.01, 1e6),
    "riemann_zeta": (0.01, 60.0),
    "fresnel_s": (-60.0, 60.0),
    "fresnel_c": (-60.0, 60.0),
    "si": (1e-3, 1e4),
    "ci": (-1e4, 1e4),
    "spence": (-1.0, 1e6),
    "factorial": (0.01, np.inf),
}
# What falls short, by row and dtype: sizes at which a number on the way is below the normal ones, of which XLA makes 0
# (the gate of silu and mish, the tangent of hypot), or where twice the result overflows.
OUT_OF_REACH = {
    ("nn.silu", "float32"): (88.0,),
    ("nn.mish", "float32"): (88.0,),
    ("numpy.hypot at 10000.0", "float32"): (float(np.float32(1e-30)),),
    ("numpy.hypot at 10000.0", "float16"): (float(np.float16(3.7)), 4.0),
    ("stats.norm.logpdf", "float32"): (float(np.float32(3e38)),),
}
# Units that more are allowed, of results that are sums of larger terms.
# 1 - tanh² has no digits where tanh rounds to 1: an exponential would have, and cost as much as tanh.
FLOORS = {"tanh": 8.0, "gelu_tanh": 2.0**14}
LOOSE = {"mish": 4096, "i1": 4096, "riemann_zeta": 2**14, "fresnel_s": 4096, "fresnel_c": 4096}
LOOSE |= {"erfcx": 4096, "dawsn": 4096, "log_ndtr": 4096, "ndtri": 512, "i0e": 2048, "i1e": 2048, "gamma": 1024}
LOOSE |= {"ndtr": 512, "spence": 512, "si": 512, "ci": 4096, "trigamma": 512, "digamma": 512}
LOOSE |= {"gammaln": 512, "loggamma": 512, "log1mexp": 512, "factorial": 1024, "i0": 512, "expi": 512, "exp1": 512}


def _skips(formula: str) -> Callable[[float], bool]:
    kinks, (low, high) = KINKS.get(formula, ()), DOMAINS.get(formula, (-np.inf, np.inf))

    without_limits = formula in OSCILLATING or formula in STATED  # a formula does not say whether it has any

    def skipped(x: float) -> bool:
        pole = formula in POLES and (x == -np.inf or (x < 0 and x == np.floor(x)))
        at_kink = any([abs(x - kink) < 0.02 * abs(kink) or x == kink for kink in kinks])
        minus_zero = formula == "entr" and x == 0 and np.signbit(x)
        pole = pole or (formula == "riemann_zeta" and x == 1)
        return bool(at_kink or minus_zero or pole or x < low or x > high or (without_limits and np.isinf(x)))

    return skipped


def row(name: str, function: Callable[[Any], Any], formula: str) -> Row:
    """A row of the table by its formula."""
    skipped = _skips(formula)
    if name == "lax.digamma":  # as in JAX 0.10, NaN at 0
        return Row(name, function, FORMULAS[formula], lambda x: x == 0 or skipped(x), LOOSE[formula])
    return Row(name, function, FORMULAS[formula], skipped, LOOSE.get(formula, 128), FLOORS.get(formula, 0))


# What is declared with a formula needs no row.
STATED = {name: one for name, one in definitions[elementwise.name].items() if one.formula and name not in FORMULAS}
FORMULAS |= {name: partial(declared.formula, m) for name, declared in STATED.items()}


def formula_names(module: str) -> dict[str, str]:
    """The formula of each public function of one module."""
    public = {declared.numpy if module == "numpy" else name: name for name, declared in STATED.items()}
    stated = {name: formula for name, formula in public.items() if name} if module in ("lax", "numpy") else {}
    return {**{name: name for name in NAMES[module].split()}, **OTHER_NAMES[module], **stated}


def single_rows() -> Iterator[Row]:
    """The functions of one argument."""
    for module, names in ((module, formula_names(module)) for module in MODULES):
        for name, formula in names.items():
            yield row(f"{module}.{name}", getattr(MODULES[module], name), formula)
    yield row("nn.gelu exact", lambda x: nn.gelu(x, approximate=False), "gelu")
    yield row("nn.celu of 2", lambda x: nn.celu(x, 2.0), "celu")
    yield row("special.fresnel S", lambda x: special.fresnel(x)[0], "fresnel_s")
    yield row("special.fresnel C", lambda x: special.fresnel(x)[1], "fresnel_c")
    yield row("special.sici Si", lambda x: special.sici(x)[0], "si")
    yield row("special.sici Ci", lambda x: special.sici(x)[1], "ci")
    yield row("special.polygamma 1", lambda x: special.polygamma(1, x), "trigamma")


# --- two arguments, one of them held -------------------------------------------------------------------------------


def _binary() -> Iterator[tuple[str, Callable[..., Any], Reference, tuple[float, ...], float]]:
    yield "numpy.hypot", tnp.hypot, lambda x, y: m.sqrt(x * x + y * y), (0.5, 3.0, 1e4), 128
    yield "numpy.arctan2", tnp.arctan2, m.atan2, (0.5, 3.0), 128
    yield "numpy.logaddexp", tnp.logaddexp, lambda x, y: y + softplus(x - y), (0.0, 3.0), 256
    yield "special.xlogy", lambda x, y: special.xlogy(y, x), lambda x, y: y * m.log(x), (0.5, 3.0), 128
    yield "special.xlog1py", lambda x, y: special.xlog1py(y, x), lambda x, y: y * m.log1p(x), (0.5, 3.0), 128


def _close(function: Callable[..., Any], other: float) -> Callable[[Any], Any]:
    return lambda x: function(x, tnp.full_like(x, other))


def pair_rows() -> Iterator[Row]:
    """The functions of two arguments along the first."""
    for name, function, reference, others, ulps in _binary():
        for other in others:
            fixed = lambda x, reference=reference, other=other: reference(x, m.mpf(other))
            yield Row(f"{name} at {other}", _close(function, other), fixed, lambda x: False, ulps)


def density_rows() -> Iterator[Row]:
    """Densities and distribution functions along their variable."""
    half_log = m.log(2 * m.pi) / 2
    table: dict[str, tuple[Callable[[Any], Any], Reference, float]] = {
        "norm.logcdf": (stats.norm.logcdf, log_normal, 4096),
        "norm.logsf": (stats.norm.logsf, lambda x: log_normal(-x), 4096),
        "norm.cdf": (stats.norm.cdf, normal, 512),
        "norm.sf": (stats.norm.sf, lambda x: normal(-x), 512),
        "norm.logpdf": (stats.norm.logpdf, lambda x: -x * x / 2 - half_log, 128),
        "cauchy.logpdf": (stats.cauchy.logpdf, lambda x: -m.log(m.pi) - m.log1p(x * x), 256),
        "t.logpdf": (
            lambda x: stats.t.logpdf(x, 3.0),
            lambda x: m.log(2 / (m.pi * m.sqrt(3))) - 2 * m.log1p(x * x / 3),
            512,
        ),
        "logistic.cdf": (stats.logistic.cdf, logistic, 128),
        "logistic.sf": (stats.logistic.sf, lambda x: logistic(-x), 128),
    }
    for name, (function, reference, ulps) in table.items():
        yield Row(f"stats.{name}", function, reference, lambda x: False, ulps)


def rows() -> list[Row]:
    """The whole table."""
    return [*single_rows(), *pair_rows(), *density_rows()]
