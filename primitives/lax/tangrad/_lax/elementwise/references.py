"""What NumPy says that the elementwise primitives are, for the conformance kit: in higher precision than it asks for.

Integers come as Python's, in arrays of objects: they have any size, and the kit wraps results around.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tangrad._lax.checks import declarations
from tangrad._lax.elementwise.primitives import RoundingMethod, elementwise
from tangrad.core import dtypes
from tangrad.typing import DType

Reference = Callable[..., Any]

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
    declared = declarations[elementwise.name].get(name)
    return None if declared is None or declared.formula is None else partial(declared.formula, np)


WELL_KNOWN = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


def _sign(x: Any) -> Any:
    return np.where(x == 0, x, np.sign(x))


def _round(x: Any, *, rounding_method: RoundingMethod) -> Any:
    if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _complex(x: Any, y: Any) -> Any:
    x, y = np.broadcast_arrays(x, y)
    found = np.empty(x.shape, np.result_type(x, np.complex64))
    found.real, found.imag = x, y
    return found


def _div(x: Any, y: Any) -> Any:
    return _of_integers(_quotient, x, y) if x.dtype == object else np.divide(x, y)


def _rem(x: Any, y: Any) -> Any:
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


def _of_integers(function: Callable[..., int], *args: Any) -> Any:
    return np.asarray(np.frompyfunc(function, len(args), 1)(*args), object)


def _pow(x: Any, y: Any) -> Any:
    return np.power(x, y.astype(x.dtype) if y.dtype == object and x.dtype != object else y)


def _distance(y: int) -> int:
    """How far a shift goes: of negative numbers the bits count, which make large ones."""
    return min(y, FAR) if y >= 0 else FAR


def _shifted_left(x: Any, y: Any) -> Any:
    return _of_integers(lambda a, b: a << _distance(b), x, y)


def _selected(which: Any, x: Any, y: Any) -> Any:
    return np.where(which, y, x)


def _clamped(low: Any, x: Any, high: Any) -> Any:
    return np.minimum(np.maximum(low, x), high)


def _converted(x: Any, *, new_dtype: DType, weak_type: bool) -> Any:
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


def _saturated(value: Any, least: int, most: int) -> int:
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
    "complex": _complex,
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


def _bits(width: int, function: Callable[..., int]) -> Reference:
    """The function of the operands' bits, as unsigned integers."""
    mask = (1 << width) - 1
    return lambda *args: _of_integers(lambda *values: function(*[value & mask for value in values]), *args)


def _signed(value: int, width: int) -> int:
    return value - (value >> (width - 1) << width)


# Of these the width of the integers is a part.
OF_WIDTH: dict[str, Callable[[int], Reference]] = {
    "mulhi": lambda width: lambda x, y: _of_integers(lambda a, b: (a * b) >> width, x, y),
    "shift_right_logical": lambda width: _bits(width, lambda x, y: x >> _distance(y)),
    "shift_right_arithmetic": lambda width: _bits(width, lambda x, y: _signed(x, width) >> _distance(y)),
    "population_count": lambda width: _bits(width, int.bit_count),
    "clz": lambda width: _bits(width, lambda x: width - x.bit_length()),
}
