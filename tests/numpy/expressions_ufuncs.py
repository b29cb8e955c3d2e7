"""Expressions of the functions that work element by element."""

INEXACT = (
    *("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "arcsin", "arccos"),
    *("arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "reciprocal", "sinc", "rint"),
)
REAL = ("cbrt", "deg2rad", "rad2deg", "degrees", "radians", "i0", "fabs", "frexp", "modf", "spacing", "signbit")
ANY = (
    *("abs", "absolute", "conj", "conjugate", "real", "imag", "angle", "isnan", "isinf", "isfinite", "iscomplex"),
    *("isreal", "logical_not", "square", "nan_to_num"),
)
ROUNDING = ("floor", "ceil", "trunc", "round", "around")
SIGNED = ("negative", "positive", "sign")

BINARY = (
    "add",
    "multiply",
    "maximum",
    "minimum",
    "divide",
    "true_divide",
    "power",
    "float_power",
    "equal",
    "not_equal",
)
ORDERED = ("less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "fmax", "fmin")
REAL_BINARY = (
    *("subtract", "floor_divide", "remainder", "mod", "fmod", "divmod", "arctan2", "hypot", "logaddexp", "logaddexp2"),
    *("copysign", "nextafter", "heaviside"),
)
INTEGER = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm")


def _unary() -> list[str]:
    made = [f"np.{name}({x})" for name in INEXACT for x in ("p", "i", "c", "h", "2", "w", "b")]
    made += [f"np.{name}({x})" for name in REAL for x in ("p", "i", "h", "2", "z")]
    made += [f"np.{name}({x})" for name in ANY for x in ("f", "i", "c", "h", "2", "w", "b", "z", "u", "1j")]
    made += [f"np.{name}({x})" for name in ROUNDING for x in ("f", "i", "h", "2", "2.5", "z", "b")]
    made += [f"np.{name}({x})" for name in SIGNED for x in ("f", "i", "c", "h", "2", "z", "u")]
    made += [
        f"np.{name}({x})" for name in ("bitwise_not", "invert", "bitwise_count") for x in ("i", "u", "b", "s", "5")
    ]
    made += [f"np.{name}(z)" for name in ("exp", "log", "sqrt", "sign", "isposinf", "isneginf", "log1p", "tanh")]
    return [text for text in made if text not in NOT_COMPARED]


# NumPy's backend takes integers and booleans where the reference refuses, or the reference is inexact here.
NOT_COMPARED = {
    "np.bitwise_count(b)",
    "np.round(b)",
    "np.around(b)",
    "np.spacing(h)",
    "np.sinc(2)",  # 0 here
    "np.sinc(w)",
}


def _binary() -> list[str]:
    pairs = (
        "f, g",
        "f, 2",
        "2.5, i",
        "i, j",
        "f, i",
        "w, i",
        "W, f",
        "h, 2.0",
        "h, g",
        "u, 3",
        "u, s",
        "2, 3",
        "c, 2",
        "B, B",
    )
    real = (
        "f, g",
        "f, 2",
        "2.5, i",
        "i, j",
        "f, i",
        "i, 3",
        "-7, j",
        "w, j",
        "h, 2.0",
        "z, 2.0",
        "2.0, z",
        "u, 3",
        "7, 3",
    )
    special = ("z, 1.0", "z, numpy.inf", "z, -0.0", "z, z", "1, z")
    made = [f"np.{name}({pair})" for name in BINARY for pair in pairs]
    made += [f"np.{name}({pair})" for name in ORDERED for pair in (*pairs, *special)]
    made += [f"np.{name}({pair})" for name in REAL_BINARY for pair in (*real, *special)]
    made += [f"np.{name}({pair})" for name in INTEGER for pair in ("i, j", "i, 3", "u, 2", "6, 4", "s, 5")]
    return made


OTHERS = [
    "np.round(f, 1)", "np.round(h, 2)", "np.round(c, 1)", "np.round(1234.5, -2)", "np.clip(f, -0.5, 0.5)",
    "np.clip(i, 0, 3)", "np.clip(i, 0.5, 3)", "np.clip(f, min=0)", "np.clip(f, max=g)", "np.clip(2, 3, 5)",
    "np.angle(c, deg=True)", "np.ldexp(f, 3)", "np.ldexp(f, k)", "np.ldexp(i, j)", "np.ldexp(z, 2)",
    "np.nan_to_num(z, nan=1.0, posinf=2.0, neginf=g[0])", "np.power(i, 3)", "np.power(j, k)", "np.power(f, k)",
    "np.power(f, -2)", "np.power(2, k)", "np.power(c, 2)", "np.power(0.0, 0)", "np.power(u, 2)", "np.power(B, 2)",
    "np.power(i, B)", "f ** 2", "i ** 2", "2 ** k", "f ** 0.5", "f ** i", "-f", "+f", "abs(f)", "~i", "~b",
    "f + 1", "1 + f", "f - 1", "1 - f", "f * 2", "2 * f", "f / 2", "2 / f", "i / 2", "i // 2", "-7 // j", "i % 3",
    "7 % i", "divmod(i, 4)", "divmod(9, i)", "f == f", "f != g", "f < 0", "0 < f", "f >= g", "i & 3", "i | 3",
    "i ^ j", "3 & i", "i << 1", "1 << k", "i >> 1", "b & B", "b | True", "b ^ b", "f + numpy.float64(1)",
    "f + numpy.float32(1)", "numpy.float32(1) + f", "numpy.ones(3) * f", "f @ m", "numpy.ones((1, 2)) @ f",
    "f == None", "f == 'a'", "round(f)", "round(f, 1)", "w + 1", "W + 1", "w * W", "W / 2", "W * B", "i + True",
    "f + 1j", "i + 2.0", "u + 2.0", "h + 2.0", "h + f", "u * -1 if False else u * 2", "np.maximum(z, y)",
    "np.minimum(z, y)", "np.fmax(z, y)", "np.fmin(z, y)", "np.less(c, c[::-1])", "np.greater_equal(c, c)",
    "np.where(b, f, 0.0)", "np.where(b, f, i)", "np.where(B, 1, 2)", "np.where(True, 1, 2)", "np.where(b, w, 2)",
    "np.where(i, f, g)", "np.where(f > 0, f, -f)", "np.where(b)", "np.where(B, 1.0, j)", "np.where(b, c, f)",
    "np.select([f < 0, f > 1], [f, 2 * f], 7)", "np.select([B], [j], 0.5)", "np.piecewise(f, [f < 0, f > 1], [1, 2, 3])",
    "np.piecewise(f, [f < 0], [lambda x: -x, lambda x: x * 2])", "np.piecewise(i, [i < 0], [-1])",
    "np.nonzero(f > 0)", "np.nonzero(i)", "np.nonzero(n, size=4)", "np.nonzero(n, size=10)",
    "np.nonzero(n, size=10, fill_value=-1)", "np.nonzero(b, size=5, fill_value=(7, 8))", "np.argwhere(b)",
    "np.argwhere(b, size=2)", "np.flatnonzero(b)", "np.flatnonzero(b, size=2)", "np.extract(b, f)",
    "np.extract(b, f, size=5, fill_value=9)", "np.compress(B, f, axis=1)", "np.compress(B, i)",
    "np.compress(B, f, axis=1, size=3, fill_value=0)", "np.choose(k, [j, 2 * j, 3 * j])",
    "np.choose(j, [1, 2, 3], mode='wrap')", "np.choose(j, [1, 2, 3], mode='clip')", "np.logaddexp(c, 1j)",
    "np.isclose(f, f + 1e-7)", "np.divmod(f, 0.5)", "np.sign(c)", "np.bitwise_left_shift(i, 2)", "np.pow(f, 2)",
    "np.acos(p)", "np.asin(p)", "np.atan(f)", "np.acosh(1 + p)", "np.asinh(f)", "np.atanh(p)", "np.atan2(f, g)",
    "np.bitwise_invert(i)", "np.bitwise_right_shift(i, 1)",
]  # fmt: skip

GENERATED = _unary() + _binary()
EXPRESSIONS = GENERATED + OTHERS
