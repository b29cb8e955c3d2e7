"""Samples of the elementwise primitives, for the conformance kit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tangrad._lax.checks import COMPLEX, declarations
from tangrad._lax.elementwise.primitives import RoundingMethod, elementwise
from tangrad._lax.elementwise.references import reference_of
from tangrad.conformance import Sample, draw
from tangrad.core import Primitive, dtypes

PRIMITIVES = elementwise.primitives
DECLARED = declarations[elementwise.name]
REAL_DTYPES = ("float32", "bfloat16")
KINK = {"derivatives": 0}
AT_BOUNDS = {"points": "at a bound the derivative is 0 by convention, and bounds that cross have no meaning"}

# Name -> the interval in which the function of one variable is smooth; None: everywhere. On complex numbers too.
ANALYTIC: dict[str, tuple[float, float] | None] = {
    **{name: declared.smooth for name, declared in DECLARED.items() if COMPLEX in declared.accepted},
    "log10": (0.3, 3.0),
    "square": None,
    "neg": None,
}
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
    inexact = [*DECLARED, "log10"]
    integers, bits = draw(3, dtype="int32"), ("not", *BITWISE)
    found = [Sample(_p(name), (integers,), raises=TypeError) for name in inexact]
    found += [Sample(_p(name), (draw(3), integers), raises=TypeError) for name in (*ARITHMETIC, *REAL_PAIRS, "lt")]
    found += [Sample(_p(name), (draw(3), draw(2)), raises=(TypeError, ValueError)) for name in (*ARITHMETIC, "lt")]
    found += [Sample(_p(name), (draw(3),) * (1 if name == "not" else 2), raises=TypeError) for name in bits]
    return found


def _p(name: str) -> Primitive:
    return PRIMITIVES[name]


def _unary() -> list[Sample]:
    found = []
    for name, interval in ANALYTIC.items():
        low, high = interval or (None, None)
        found.append(Sample(_p(name), (draw(2, 3, low=low, high=high),)))
        found.append(Sample(_p(name), (draw(3, dtype="complex64", low=low, high=high),), tolerance=1e-4))
        found.append(Sample(_p(name), (draw(4, dtype="bfloat16", low=low, high=high),)))
    for name, declared in DECLARED.items():
        if COMPLEX not in declared.accepted:
            low, high = declared.smooth or (None, None)
            found += [Sample(_p(name), (draw(2, 3, dtype=kind, low=low, high=high),)) for kind in REAL_DTYPES]
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


def _pair(kind: str, *, low: float | None = None, high: float | None = None) -> tuple[Any, Any]:
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
