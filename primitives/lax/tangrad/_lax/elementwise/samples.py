"""Samples of the elementwise primitives, for the conformance kit, and what they are by NumPy.

References compute in higher precision than the kit asks for. Integers come as Python's, in arrays of objects: they have
any size, and the kit wraps results around.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from tangrad._lax.definitions import definitions
from tangrad._lax.elementwise.primitives import RoundingMethod, elementwise
from tangrad.conformance import Sample, draw, samples_of, smooth_samples
from tangrad.core import Primitive, dtypes
from tangrad.typing import DType

Reference = Callable[..., object]

FAR = 128  # shifts beyond are as far as any: Python would make a number of so many digits


def reference_of(name: str, args: tuple[np.ndarray, ...]) -> Reference | None:
    """The reference of a primitive for arguments like these; None where there is none."""
    kinds = [np.asarray(arg).dtype for arg in args]
    if any([kind.name not in WELL_KNOWN for kind in kinds]):
        return None
    if name in OF_WIDTH:
        return OF_WIDTH[name](8 * kinds[0].itemsize) if kinds[0].kind in "iu" else None
    if name == "select_n" and (kinds[0].kind != "b" or len(args) != 3):
        return None
    if name == "pow" and kinds[0] != kinds[1]:  # the exponent is rounded first
        return None
    if name in ("integer_pow", "clamp") and kinds[0].kind == "c":
        return None
    return REFERENCES.get(name) or _by_formula(name)


def _by_formula(name: str) -> Reference | None:
    declared = definitions[elementwise.name].get(name)
    return None if declared is None or declared.formula is None else partial(declared.formula, np)


WELL_KNOWN = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


def _sign(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, x, np.sign(x))


def _round(x: np.ndarray, *, rounding_method: RoundingMethod) -> object:
    if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _complex_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = np.broadcast_arrays(x, y)
    found = np.empty(x.shape, np.result_type(x, np.complex64))
    found.real, found.imag = x, y
    return found


def _div(x: np.ndarray, y: np.ndarray) -> object:
    return _of_integers(_quotient, x, y) if x.dtype == object else np.divide(x, y)


def _rem(x: np.ndarray, y: np.ndarray) -> object:
    return _of_integers(_remainder, x, y) if x.dtype == object else np.fmod(x, y)


def _quotient(x: int, y: int) -> int:
    """Towards zero; by zero all bits are ones."""
    if y == 0:
        return -1
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _remainder(x: int, y: int) -> int:
    """With the sign of x; by zero x."""
    if y == 0:
        return x
    return abs(x) % abs(y) * (-1 if x < 0 else 1)


def _of_integers(function: Callable[..., int], *args: object) -> np.ndarray:
    return np.asarray(np.frompyfunc(function, len(args), 1)(*args), object)


def _pow(x: np.ndarray, y: np.ndarray) -> object:
    return np.power(x, y.astype(x.dtype) if y.dtype == object and x.dtype != object else y)


def _distance(y: int) -> int:
    """How far a shift goes: of negative numbers the bits count, which make large ones."""
    return min(y, FAR) if y >= 0 else FAR


def _shifted_left(x: object, y: object) -> object:
    return _of_integers(lambda a, b: a << _distance(b), x, y)


def _selected(which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(which, y, x)


def _clamped(low: np.ndarray, x: np.ndarray, high: np.ndarray) -> object:
    return np.minimum(np.maximum(low, x), high)


def _converted(x: np.ndarray, *, new_dtype: DType, weak_type: bool) -> np.ndarray:
    kind = dtypes.as_dtype(new_dtype)
    if kind == np.bool_:
        return x != 0
    if np.iscomplexobj(x) and not dtypes.issubdtype(kind, np.complexfloating):
        x = x.real
    if x.dtype.kind == "f" and dtypes.issubdtype(kind, np.integer):
        limits = dtypes.iinfo(kind)
        least, most = int(limits.min), int(limits.max)
        return _of_integers(lambda value: _saturated(value, least, most), x)
    return x


def _saturated(value: np.ndarray, least: int, most: int) -> int:
    if value != value:
        return 0
    return most if value >= most else least if value <= least else int(value)


REFERENCES: dict[str, Reference] = {
    "neg": np.negative,
    "sign": _sign,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "is_finite": np.isfinite,
    "round": _round,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "square": np.square,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "integer_pow": lambda x, *, y: x**y if x.dtype == object else np.power(x, y),
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
    "complex": _complex_of,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _div,
    "rem": _rem,
    "max": np.maximum,
    "min": np.minimum,
    "atan2": np.arctan2,
    "pow": _pow,
    "not": np.invert,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": _shifted_left,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "select_n": _selected,
    "clamp": _clamped,
    "convert_element_type": _converted,
}


def _of_bits(width: int, function: Callable[..., int]) -> Reference:
    """The function of the operands' bits, as unsigned integers."""
    mask = (1 << width) - 1
    return lambda *args: _of_integers(lambda *values: function(*[value & mask for value in values]), *args)


def _signed(value: int, width: int) -> int:
    return value - (value >> (width - 1) << width)


# Of these the width of the integers is a part.
OF_WIDTH: dict[str, Callable[[int], Reference]] = {
    "mulhi": lambda width: lambda x, y: _of_integers(lambda a, b: (a * b) >> width, x, y),
    "shift_right_logical": lambda width: _of_bits(width, lambda x, y: x >> _distance(y)),
    "shift_right_arithmetic": lambda width: _of_bits(width, lambda x, y: _signed(x, width) >> _distance(y)),
    "population_count": lambda width: _of_bits(width, int.bit_count),
    "clz": lambda width: _of_bits(width, lambda x: width - x.bit_length()),
}


# --- the samples ---

PRIMITIVES = elementwise.primitives
DECLARED = definitions[elementwise.name]
KINK = {"derivatives": 0}
AT_BOUNDS = {"points": "at a bound the derivative is 0 by convention, and bounds that cross have no meaning"}

# Of what has no public function of its kind: the interval in which it is smooth; None: everywhere.
ANALYTIC: dict[str, tuple[float, float] | None] = {"log10": (0.3, 3.0), "square": None, "neg": None}
STEPS = ("floor", "ceil", "is_finite", "sign", "abs")
ARITHMETIC = ("add", "sub", "mul", "div", "max", "min")
REAL_PAIRS = ("rem", "atan2")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "eq_to", "lt_to", "le_to")
BITWISE = ("and", "or", "xor")
SHIFTS = ("shift_left", "shift_right_logical", "shift_right_arithmetic")


def samples() -> list[Sample]:
    """All of them."""
    found = [*_unary(), *_binary(), *_complex(), *_bits(), *_selection(), *_conversion()]
    known = [replace(sample, reference=reference_of(sample.primitive.name, sample.args)) for sample in found]
    return [*known, *_refused()]


def _refused() -> list[Sample]:
    """Integers for functions of real numbers, dtypes and shapes that do not fit, numbers for operations on bits."""
    integers, bits = draw(3, dtype="int32"), ("not", *BITWISE)
    found = [Sample(_p("log10"), (integers,), raises=TypeError)]
    found += [Sample(_p(name), (draw(3), integers), raises=TypeError) for name in (*ARITHMETIC, *REAL_PAIRS, "lt")]
    found += [Sample(_p(name), (draw(3), draw(2)), raises=(TypeError, ValueError)) for name in (*ARITHMETIC, "lt")]
    found += [Sample(_p(name), (draw(3),) * (1 if name == "not" else 2), raises=TypeError) for name in bits]
    return found


def _p(name: str) -> Primitive:
    return PRIMITIVES[name]


def _unary() -> list[Sample]:
    found = [sample for definition in DECLARED.values() for sample in samples_of(definition)]
    for name, interval in ANALYTIC.items():
        found += smooth_samples(_p(name), interval, complex_too=True)
    for name in ("neg", "square", "sign"):
        found.append(Sample(_p(name), (draw(4, dtype="int32"),)))
    found.append(Sample(_p("neg"), (draw(4, dtype="uint8"),)))
    found += [Sample(_p(name), (draw(2, 3),)) for name in STEPS]
    found.append(Sample(_p("abs"), (draw(3, dtype="complex64"),)))
    found.append(Sample(_p("abs"), (draw(3, dtype="int16"),)))
    found.append(Sample(_p("sign"), (draw(3, dtype="complex64"),)))
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 2.5], np.float32)
    found += [Sample(_p(name), (special,), **KINK) for name in (*STEPS, "exp", "neg")]  # type: ignore[arg-type]
    found.append(Sample(_p("cbrt"), (np.array([-8.0, 0.0, 27.0], np.float32),), derivatives=0))
    whole = np.arange(-9.0, 10.0)
    found += [Sample(_p("log2"), (kind(2.0**whole),), derivatives=0) for kind in (np.float16, np.float32, np.float64)]
    found += [Sample(_p("log10"), (kind(10.0**whole),), derivatives=0) for kind in (np.float32, np.float64)]
    for method in RoundingMethod:
        found.append(Sample(_p("round"), (draw(5),), {"rounding_method": method}))
        halves = np.array([-1.5, -0.5, 0.5, 1.5, 2.5], np.float32)
        found.append(Sample(_p("round"), (halves,), {"rounding_method": method}, derivatives=0))
    for y in (-2, 0, 1, 2, 3, 5):
        found.append(Sample(_p("integer_pow"), (draw(3, low=0.5, high=2.0),), {"y": y}))
    found.append(Sample(_p("integer_pow"), (draw(3, dtype="int32"),), {"y": 3}))
    found.append(Sample(_p("integer_pow"), (draw(3, dtype="complex64", low=0.5, high=2.0),), {"y": -3}, tolerance=1e-4))
    return found


def _pair(kind: str, *, low: float | None = None, high: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    return draw(2, 3, dtype=kind, low=low, high=high), draw(2, 3, dtype=kind, low=low, high=high, seed=1)


def _binary() -> list[Sample]:
    found = []
    for name in ARITHMETIC:
        low, high = (0.5, 2.0) if name == "div" else (None, None)
        found.append(Sample(_p(name), _pair("float32", low=low, high=high)))
        found.append(Sample(_p(name), (draw(2, 3), np.float32(1.5))))
        found.append(Sample(_p(name), (np.float32(1.5), draw(2, 3, low=0.5, high=2.0))))
        found.append(Sample(_p(name), _pair("int32")))
        found.append(Sample(_p(name), _pair("float16", low=low, high=high)))
        orders = 0 if name in ("max", "min") else 2
        found.append(Sample(_p(name), _pair("complex64", low=low, high=high), derivatives=orders, tolerance=1e-4))
    for name in REAL_PAIRS:
        found.append(Sample(_p(name), _pair("float32", low=0.6, high=1.9)))
        found.append(Sample(_p(name), (draw(2, 3, low=0.6, high=0.9), np.float32(0.35))))
    found.append(Sample(_p("rem"), (draw(6, dtype="int32"), draw(6, dtype="int32", seed=1))))
    found.append(Sample(_p("nextafter"), _pair("float32"), derivatives=0))
    found.append(Sample(_p("mulhi"), _pair("int32")))
    found.append(Sample(_p("mulhi"), _pair("uint8", low=100, high=255)))
    found.append(Sample(_p("pow"), _pair("float32", low=0.5, high=2.0)))
    found.append(Sample(_p("pow"), (draw(3, low=0.5, high=2.0), np.array([-1, 2, 3], np.int32))))
    found.append(Sample(_p("pow"), _pair("complex64", low=0.5, high=1.5), tolerance=1e-4))
    for name in COMPARISONS:
        found.append(Sample(_p(name), _pair("int8")))
        found.append(Sample(_p(name), _pair("float32")))
        special = np.array([np.nan, 0.0, -0.0, np.inf, 1.0], np.float32)
        found.append(Sample(_p(name), (special, special[::-1].copy())))
        found.append(Sample(_p(name), (draw(3), np.float32(0.25))))
    return found


def _complex() -> list[Sample]:
    found = [Sample(_p(name), (draw(2, 3, dtype="complex64"),)) for name in ("real", "imag", "conj")]
    found.append(Sample(_p("conj"), (draw(3, dtype="float32"),)))
    found.append(Sample(_p("complex"), _pair("float32")))
    found.append(Sample(_p("complex"), (np.float32(0.5), draw(3))))
    return found


def _bits() -> list[Sample]:
    found = []
    for kind in ("bool", "int32", "uint8"):
        found.append(Sample(_p("not"), (draw(4, dtype=kind),)))
        found += [Sample(_p(name), _pair(kind)) for name in BITWISE]
    for kind in ("int32", "uint16"):
        for name in SHIFTS:
            found.append(Sample(_p(name), (draw(5, dtype=kind), np.array([0, 1, 3, 15, 40], kind))))
        found.append(Sample(_p("population_count"), (draw(5, dtype=kind),)))
        found.append(Sample(_p("clz"), (draw(5, dtype=kind),)))
    return found


def _selection() -> list[Sample]:
    select, clamp, x = _p("select_n"), _p("clamp"), draw(2, 3)
    return [
        Sample(select, (draw(2, 3, dtype="bool"), *_pair("float32"))),
        Sample(select, (np.bool_(True), *_pair("float32"))),
        Sample(select, (draw(2, 3, dtype="bool"), *_pair("complex64"))),
        Sample(select, (draw(4, dtype="int32", low=0, high=3), draw(4), draw(4, seed=1), draw(4, seed=2))),
        Sample(clamp, (np.float32(-0.5), x, np.float32(0.5)), without=AT_BOUNDS),
        Sample(clamp, (np.full((2, 3), -0.5, np.float32), x, np.full((2, 3), 0.5, np.float32)), without=AT_BOUNDS),
        Sample(clamp, (np.int32(-1), draw(5, dtype="int32"), np.int32(2))),
        # Real parts are compared: a tie is a cliff, without derivative, and NaN in a part has no place.
        Sample(
            clamp,
            (np.complex64(-0.5), draw(2, 3, dtype="complex64"), np.complex64(0.5 + 0.1j)),
            without={"points": "a tie of real parts is a cliff", "special": "NaN has no place in the order"},
        ),
    ]


def _conversion() -> list[Sample]:
    convert, bitcast, reduce = _p("convert_element_type"), _p("bitcast_convert_type"), _p("reduce_precision")
    found = []
    pairs = (
        ("float64", "float64"), ("float64", "complex128"), ("complex128", "float64"), ("int32", "float32"),
        ("float32", "int8"), ("float32", "bool"), ("bool", "int32"), ("float32", "bfloat16"), ("int32", "uint8"),
    )  # fmt: skip
    for old, new in pairs:
        params = {"new_dtype": dtypes.as_dtype(new), "weak_type": False}
        found.append(Sample(convert, (draw(2, 3, dtype=old),), params))
    found.append(Sample(convert, (draw(3, dtype="float64"),), {"new_dtype": np.dtype("float64"), "weak_type": True}))
    for old, new, shape in (("float32", "int32", (3,)), ("int32", "uint8", (3,)), ("uint8", "int32", (3, 4))):
        found.append(Sample(bitcast, (draw(*shape, dtype=old),), {"new_dtype": np.dtype(new)}, derivatives=0))
    for exponent, mantissa in ((5, 10), (8, 7), (8, 23)):
        params = {"exponent_bits": exponent, "mantissa_bits": mantissa}
        found.append(Sample(reduce, (draw(4),), params, derivatives=0))
    return found
