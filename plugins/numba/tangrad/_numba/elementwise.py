"""Elementwise primitives as text of one element, with XLA's semantics.

Numbers in the text have the element types of the jaxpr. Numba widens what it computes of integers, so that each result
is converted back, which wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tangrad._numba.loops import CODES, UnsupportedError, code_of

if TYPE_CHECKING:
    from tangrad.extend.lax import RoundingMethod


Text = Callable[..., str]

FLOATS = ("f4", "f8")
FUNCTIONS = """
    floor ceil exp exp2 log log10 log2 expm1 log1p logistic sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh tanh
    asinh acosh atanh atan2
"""
_BOUNDS = {
    code: (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) for dtype, code in CODES.items() if code[0] in "iu"
}


def _is_float(code: str) -> bool:
    return code in FLOATS


def _width(code: str) -> int:
    return int(code[1]) * 8


def _wrapped(code: str, text: str) -> str:
    return f"({text})" if _is_float(code) else f"{code}({text})"


def _operator(symbol: str) -> Text:
    return lambda code, x, y: _wrapped(code, f"{x} {symbol} {y}")


def _comparison(symbol: str) -> Text:
    return lambda code, x, y: f"({x} {symbol} {y})"


def _function(name: str) -> Text:
    """One of `functions.py`, which there is for each floating type."""

    def text(code: str, *xs: str) -> str:
        if not _is_float(code):
            raise UnsupportedError(f"{name} of {code}")
        return f"{name}_{code}({', '.join(xs)})"

    return text


def _bits(symbol: str) -> Text:
    def text(code: str, x: str, y: str) -> str:
        if _is_float(code):
            raise UnsupportedError("bits of floats")
        return f"{code}({x} {symbol} {y})"

    return text


# --- rules that are more than a symbol ------------------------------------------------------------------------------


def _negative(code: str, x: str) -> str:
    return f"(-{x})" if _is_float(code) else f"{code}({code}(0) - {x})"


def _absolute(code: str, x: str) -> str:
    if _is_float(code):
        return f"fabs_{code}({x})"
    return x if code[0] in "ub" else f"{code}({x} if {x} >= 0 else -{x})"


def _sign(code: str, x: str) -> str:
    if code[0] in "ub":
        return f"{code}({x} != 0)"
    one, zero = f"{code}(1)", x if _is_float(code) else f"{code}(0)"
    return f"({one} if {x} > 0 else ({code}(-1) if {x} < 0 else {zero}))"


def _division(code: str, x: str, y: str) -> str:
    if _is_float(code):
        return f"({x} / {y})"
    if code[0] == "b":
        raise UnsupportedError("division of bool")
    if code[0] == "u":
        return f"({code}({x} // {y}) if {y} != 0 else {code}({_BOUNDS[code][1]}))"
    return f"{code}(quotient({x}, {y}))"


def _remainder(code: str, x: str, y: str) -> str:
    if _is_float(code):
        return f"fmod_{code}({x}, {y})"
    if code[0] == "b":
        raise UnsupportedError("remainder of bool")
    if code[0] == "u":
        return f"({code}({x} % {y}) if {y} != 0 else {x})"
    return f"{code}(remainder({x}, {y}))"


def _greater(code: str, x: str, y: str) -> str:
    # NaN is passed on
    return f"({x} if {x} > {y} or {x} != {x} else {y})" if _is_float(code) else f"({x} if {x} > {y} else {y})"


def _lesser(code: str, x: str, y: str) -> str:
    return f"({x} if {x} < {y} or {x} != {x} else {y})" if _is_float(code) else f"({x} if {x} < {y} else {y})"


def _clamp(code: str, low: str, x: str, high: str) -> str:
    return f"clamp_{code}({low}, {x}, {high})" if _is_float(code) else f"{code}(min(max({x}, {low}), {high}))"


def _not(code: str, x: str) -> str:
    return f"(not {x})" if code == "b1" else f"{code}(~{x})"


def _select(codes: list[str], which: str, *cases: str) -> str:
    if codes[0] == "b1":
        return f"({cases[1]} if {which} else {cases[0]})" if len(cases) > 1 else cases[0]
    text = cases[-1]
    for position in range(len(cases) - 2, -1, -1):
        text = f"({cases[position]} if {which} <= {position} else {text})"
    return text


def _round(code: str, x: str, rounding_method: RoundingMethod) -> str:
    if not _is_float(code):
        raise UnsupportedError("rounding of integers")
    return f"{'rint' if rounding_method.name == 'TO_NEAREST_EVEN' else 'away'}_{code}({x})"


def _integer_power(code: str, x: str, y: int) -> str:
    exponent, power, result = abs(y), x, ""
    if exponent > 64 or (y < 0 and not _is_float(code)):
        raise UnsupportedError("a large power")
    while exponent:
        if exponent & 1:
            result = _operator("*")(code, result, power) if result else power
        exponent >>= 1
        if exponent:
            power = _operator("*")(code, power, power)
    if not result:
        return f"{code}(1)"
    return f"({code}(1) / {result})" if y < 0 else result


def _power(codes: list[str], x: str, y: str) -> str:
    code = codes[0]
    if not _is_float(code):
        raise UnsupportedError("powers of integers")
    if code == "f4" and y == "f4(-1.5)":
        return f"power_3_2({x})"
    return f"pow_{code}({x}, {y if codes[1] == code else f'{code}({y})'})"


def _shift_left(code: str, x: str, y: str) -> str:
    return f"({code}({x} << {y}) if {_within(code, y)} else {code}(0))"


def _shift_right_logical(code: str, x: str, y: str) -> str:
    unsigned = f"u{code[1]}"
    return f"({code}({unsigned}({x}) >> {unsigned}({y})) if {_within(code, y)} else {code}(0))"


def _shift_right_arithmetic(code: str, x: str, y: str) -> str:
    signed, last = f"i{code[1]}", _width(code) - 1
    return f"{code}({signed}({x}) >> ({signed}({y}) if {_within(code, y)} else {signed}({last})))"


def _within(code: str, y: str) -> str:
    if code[0] not in "iu":
        raise UnsupportedError("shifts of other than integers")
    return f"({y} >= 0 and {y} < {_width(code)})" if code[0] == "i" else f"{y} < {_width(code)}"


def _converted(old: str, x: str, new: str) -> str:
    if old == new:
        return x
    if new == "b1":
        return f"({x} != 0)"
    if _is_float(old) and not _is_float(new):
        return f"{new}(whole_{new}(f8({x})))"
    return f"{new}({x})"


def _bitcast(old: str, x: str, new: str) -> str:
    if old[1] != new[1] or "b1" in (old, new):
        raise UnsupportedError("bits as elements of another size")
    return x if old == new else f"{x}.view({new})"


# --- the table ------------------------------------------------------------------------------------------------------

# identity -> text of (code of the first operand, operands)
PLAIN: dict[str, Text] = {
    **{f"elementwise.{name}": _operator(symbol) for name, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"))},
    "autodiff.add_any": _operator("+"),
    **{
        f"elementwise.{name}": _comparison(symbol)
        for name, symbol in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
    },
    **{f"elementwise.{name}": _bits(symbol) for name, symbol in (("and", "&"), ("or", "|"), ("xor", "^"))},
    **{f"elementwise.{name}": _function(name) for name in FUNCTIONS.split()},
    **{f"special.{name}": _function(name) for name in ("erf", "erfc", "lgamma")},
    "elementwise.neg": _negative,
    "elementwise.abs": _absolute,
    "elementwise.sign": _sign,
    "elementwise.square": lambda code, x: _operator("*")(code, x, x),
    "elementwise.is_finite": lambda code, x: f"({x} - {x} == 0)",
    "elementwise.div": _division,
    "elementwise.rem": _remainder,
    "elementwise.max": _greater,
    "elementwise.min": _lesser,
    "elementwise.not": _not,
    "elementwise.shift_left": _shift_left,
    "elementwise.shift_right_logical": _shift_right_logical,
    "elementwise.shift_right_arithmetic": _shift_right_arithmetic,
    "structure.stop_gradient": lambda code, x: x,
    "structure.copy": lambda code, x: x,
    "autodiff.set_weak_type": lambda code, x: x,
    "checkpointing.name": lambda code, x: x,
}
# identity -> text of (codes, params, operands)
WITH_PARAMETERS: dict[str, Callable[..., str]] = {
    "elementwise.select_n": lambda codes, params, *xs: _select(codes, *xs),
    "elementwise.clamp": lambda codes, params, *xs: _clamp(codes[1], *xs),
    "elementwise.round": lambda codes, params, x: _round(codes[0], x, **params),
    "elementwise.integer_pow": lambda codes, params, x: _integer_power(codes[0], x, **params),
    "elementwise.pow": lambda codes, params, *xs: _power(codes, *xs),
    "elementwise.convert_element_type": lambda codes, params, x: _converted(codes[0], x, code_of(params["new_dtype"])),
    "elementwise.bitcast_convert_type": lambda codes, params, x: _bitcast(codes[0], x, code_of(params["new_dtype"])),
}


def text_of(identity: str, codes: list[str], params: object) -> Callable[..., str] | None:
    """The function from operands, as text, to the text of one element; None for what is not elementwise."""
    plain = PLAIN.get(identity)
    if plain is not None:
        return lambda *xs: plain(codes[0], *xs)
    other = WITH_PARAMETERS.get(identity)
    return None if other is None else lambda *xs: other(codes, params, *xs)
