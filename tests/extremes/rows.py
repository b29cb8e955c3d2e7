"""Which public functions work element by element, and the formula of each: the table of the sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import mpmath as m
import numpy as np

import tangrad.lax as lax
import tangrad.nn as nn
import tangrad.numpy as tnp
import tangrad.scipy.special as special
from tangrad._lax.checks import declarations
from tangrad._lax.elementwise.primitives import elementwise
from tangrad.scipy import stats
from tests.extremes.formulas import FORMULAS, Reference, log_normal, logistic, normal, softplus


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
    if name == "lax.digamma":  # as in JAX, -inf or NaN at 0
        return Row(name, function, FORMULAS[formula], lambda x: x == 0 or skipped(x), LOOSE[formula])
    return Row(name, function, FORMULAS[formula], skipped, LOOSE.get(formula, 128), FLOORS.get(formula, 0))


# What is declared with a formula needs no row.
STATED = {name: one for name, one in declarations[elementwise.name].items() if one.formula and name not in FORMULAS}
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
