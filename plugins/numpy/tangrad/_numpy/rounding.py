"""Rounding, parts of complex numbers, signs, NaN replaced: `round`, `real`, `angle`, `copysign`, `nan_to_num`, …"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from tangrad._numpy.fusing import Fused, as_one, fused, fused_pair
from tangrad._numpy.logic import greater, isnan, less, signbit
from tangrad._numpy.makers import public_form, unary
from tangrad._numpy.operands import (
    TABLE_LIMIT,
    align,
    align_inexact,
    array_operand,
    broadcast,
    convert,
    index_argument,
    inexact_operand,
    is_complex,
    is_inexact,
    literal_like,
    of_known_type,
    operand,
    refuse_out,
    select,
    strong,
    strong_if_converted,
)
from tangrad._numpy.operations import numerical
from tangrad._numpy.transcendental import rad2deg
from tangrad.core import EVAL_TRACE, Array, Literal, as_array, dtypes, thread
from tangrad.core.caches import register_cache
from tangrad.extend.lax import (
    RoundingMethod,
    atan2_p,
    broadcast_in_dim_p,
    ceil_p,
    complex_p,
    conj_p,
    constrained,
    div_p,
    eq_p,
    floor_p,
    gt_p,
    imag_p,
    is_finite_p,
    lt_p,
    mul_p,
    ne_p,
    neg_p,
    nextafter_p,
    or_p,
    real_p,
    round_p,
)
from tangrad.typing import ArrayLike, DType, Value

if TYPE_CHECKING:
    from collections.abc import Callable

_SAME = "An array of the shape and dtype of `x`."
_REAL = "An array of the shape of `x`; for complex `x` floating."

# --- rounding ---


def _whole(name: str, primitive: Callable[..., Value]) -> Callable[[Value], Value]:
    """Integers and booleans are whole already."""

    def general(x: Value) -> Value:
        if is_complex(x):
            raise TypeError(f"{name} does not accept complex numbers, got {x.aval.str_short()}")
        return primitive(x) if is_inexact(x) else _unchanged(name, x)

    return general


def _unchanged(name: str, x: Value) -> Array:
    """Integers and booleans. Raises TypeError for float0, the dtype of their derivatives, which are no numbers."""
    if x.aval.dtype is dtypes.float0:
        raise TypeError(f"{name} does not accept dtype float0, which has no numbers; zeros_like(x, dtype=float) has")
    return array_operand(name, x)


def _truncate(x: Value) -> Value:
    return select(lt_p.bind(x, literal_like(x, 0)), ceil_p.bind(x), floor_p.bind(x))


floor = unary(
    "floor",
    _whole("floor", floor_p.bind),
    "The greatest whole number not above x.",
    _SAME,
    "tangrad.numpy.floor(-1.5)\nArray(-2., dtype=float32, weak_type=True)",
)
ceil = unary(
    "ceil",
    _whole("ceil", ceil_p.bind),
    "The least whole number not below x.",
    _SAME,
    "tangrad.numpy.ceil(-1.5)\nArray(-1., dtype=float32, weak_type=True)",
)
trunc = unary(
    "trunc",
    _whole("trunc", _truncate),
    "The whole part, rounded towards 0.",
    _SAME,
    "tangrad.numpy.trunc(-1.5)\nArray(-1., dtype=float32, weak_type=True)",
    fuse=1,
    family=numerical.name,
)


def _by_parts(function: Callable[[Value], Array], x: Value) -> Array:
    if is_complex(x):
        return complex_p.bind(function(real_p.bind(x)), function(imag_p.bind(x)))
    return function(x)


def _to_even(x: Value) -> Array:
    return round_p.bind(x, rounding_method=RoundingMethod.TO_NEAREST_EVEN)


rint = unary(
    "rint",
    lambda x: strong_if_converted(x, _by_parts(_to_even, inexact_operand("rint", x))),
    "The nearest whole number; of two the even one.",
    "An array of the shape of `x`, floating or complex.",
    "tangrad.numpy.rint(2.5)\nArray(2., dtype=float32, weak_type=True)",
    fuse=1,
)


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Round to a number of decimals; of two numbers as near, to the even one.

    Args:
        a: an array or number.
        decimals: how many digits after the point; negative: before it, which integers do not have.
        out: must be None.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        TypeError: `a` is no array, `decimals` no integer.
        NotImplementedError: for integers and negative `decimals`.

    >>> import tangrad
    >>> tangrad.numpy.round(2.71828, 2)
    Array(2.72, dtype=float32, weak_type=True)
    """
    refuse_out("round", out)
    if type(decimals) is int and thread.trace is EVAL_TRACE:
        factor = _factors.get((getattr(a, "aval", None), decimals))
        if factor is not None:
            return _rounded_at(a, factor)
    x = operand("round", a)
    digits = index_argument("round", decimals, "decimals")
    if not is_inexact(x):
        if digits < 0:
            raise NotImplementedError(f"round: integers cannot be rounded to {digits} decimals; divide and multiply")
        return _unchanged("round", x)
    return _by_parts(lambda part: _round_real(part, digits), x)


def _round_real(x: Value, digits: int) -> Array:
    if digits == 0:
        return _to_even(x)
    wide = convert(x, dtypes.as_dtype("float32")) if x.aval.dtype.itemsize == 2 else x
    most = _greatest_power(wide.aval.dtype)
    if digits > most:  # past the power of 10 that the dtype has there is nothing to round
        return as_array(x)
    if digits < -most:
        return select(is_finite_p.bind(x), _zeros(x), x)
    factor = literal_like(wide, 10.0**digits)
    if wide is x:
        if len(_factors) >= TABLE_LIMIT:
            _factors.clear()
        _factors[x.aval, digits] = factor
    return convert(_rounded_at(wide, factor), x.aval.dtype, x.aval.weak_type)


# (type of an array that is scaled as it is, number of decimals) -> by what.
_factors: dict[object, Literal] = {}
register_cache(_factors.clear)


def _scaled(x: Value, factor: Value) -> Value:
    return div_p.bind(_to_even(mul_p.bind(x, factor)), factor)


_rounded_at = Fused("round", _scaled)


@cache
def _greatest_power(dtype: DType) -> int:
    """The exponent of the greatest power of 10 in a floating dtype."""
    return math.floor(math.log10(float(dtypes.finfo(dtype).max)))


around = round

# --- parts of complex numbers ---


def _zeros(x: Any) -> Array:
    """As many as `x` has elements; they are sharded as these are, where types have shardings."""
    made = broadcast_in_dim_p.bind(literal_like(x, 0), shape=x.aval.shape, broadcast_dimensions=())
    return made if x.aval.infer_types is None else constrained(made, x.aval.placed)


real = unary(
    "real",
    lambda x: real_p.bind(x) if is_complex(x) else array_operand("real", x),
    "The real part.",
    _REAL,
    "tangrad.numpy.real(1 + 2j)\nArray(1., dtype=float32, weak_type=True)",
)
imag = unary(
    "imag",
    lambda x: imag_p.bind(x) if is_complex(x) else _zeros(x),
    "The imaginary part, 0 for real numbers.",
    _REAL,
    "tangrad.numpy.imag(1 + 2j)\nArray(2., dtype=float32, weak_type=True)",
)
conjugate = unary(
    "conjugate",
    lambda x: conj_p.bind(x) if is_complex(x) else array_operand("conjugate", x),
    "The complex conjugate.",
    _SAME,
    "tangrad.numpy.conjugate(1 + 2j)\nArray(1.-2.j, dtype=complex64, weak_type=True)",
)
conj = conjugate


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of complex numbers to the positive real axis, in (-π, π].

    Args:
        z: an array or number.
        deg: whether to return degrees instead of radians.

    Returns:
        An array of the shape of `z`, floating: for a single real number, as in JAX, of the default dtype.

    Raises:
        TypeError: `z` is no array.

    >>> import tangrad
    >>> tangrad.numpy.angle(1j, deg=True)
    Array(90., dtype=float32, weak_type=True)
    """
    x = inexact_operand("angle", z)
    if not x.aval.shape and not is_complex(x):
        x = convert(x, dtypes.default_float_dtype())
    x = strong_if_converted(z, x)
    result = atan2_p.bind(imag(x), real(x))
    return rad2deg(result) if deg else result


# --- signs and neighbours ---


def _no_complex(name: str, x: Value) -> None:
    if is_complex(x):
        raise TypeError(f"{name} does not accept complex numbers, got {x.aval.str_short()}")


@fused("copysign", family=numerical.name)
def _copysign(x: ArrayLike, y: ArrayLike) -> Value:
    first, second = align_inexact("copysign", x, y)
    _no_complex("copysign", first)
    if not second.aval.weak_type:
        first = strong(first)
    return select(ne_p.bind(signbit(first), signbit(second)), neg_p.bind(first), first)


@fused("heaviside", family=numerical.name)
def _heaviside(x: ArrayLike, y: ArrayLike) -> Value:
    first, second = align_inexact("heaviside", x, y)
    _no_complex("heaviside", first)
    if first.aval.shape:
        first, second = of_known_type((x, y), (first, second))
    zero, one = literal_like(first, 0), literal_like(first, 1)
    at_most_zero = select(lt_p.bind(first, zero), zero, select(ne_p.bind(first, first), first, second))
    return select(gt_p.bind(first, zero), one, at_most_zero)


@fused("fmax", family=numerical.name)
def _fmax(x: ArrayLike, y: ArrayLike) -> Value:
    first, second = align("fmax", x, y)
    return select(or_p.bind(greater(first, second), isnan(second)), first, second)


@fused("fmin", family=numerical.name)
def _fmin(x: ArrayLike, y: ArrayLike) -> Value:
    first, second = align("fmin", x, y)
    return select(or_p.bind(less(first, second), isnan(second)), first, second)


_FLOATING = "An array of the shape in which `x` and `y` meet, floating."

copysign = public_form(
    "copysign",
    _copysign,
    "x with the sign of y, element by element.",
    "tangrad.numpy.copysign(3, -1)\nArray(-3., dtype=float32, weak_type=True)",
    returns=_FLOATING,
)
heaviside = public_form(
    "heaviside",
    _heaviside,
    "0 where x is below 0, 1 where it is above, y where it is 0.",
    "tangrad.numpy.heaviside(-2, 0.5)\nArray(0., dtype=float32, weak_type=True)",
    returns=_FLOATING,
)
nextafter = public_form(
    "nextafter",
    fused_pair("nextafter", lambda x, y: nextafter_p.bind(*align_inexact("nextafter", x, y))),
    "The next float after x in the direction of y.",
    "tangrad.numpy.nextafter(1, 1)\nArray(1., dtype=float32, weak_type=True)",
    returns=_FLOATING,
)
fmax = public_form(
    "fmax",
    _fmax,
    "The greater of x1 and x2, element by element; of a number and a NaN the number.",
    "tangrad.numpy.fmax(1, 2)\nArray(2, dtype=int32, weak_type=True)",
    by_name=True,
)
fmin = public_form(
    "fmin",
    _fmin,
    "The lesser of x1 and x2, element by element; of a number and a NaN the number.",
    "tangrad.numpy.fmin(1, 2)\nArray(1, dtype=int32, weak_type=True)",
    by_name=True,
)


# --- numbers in place of those that are none ---


@as_one("copy")
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Replace NaN and infinities by numbers.

    Args:
        x: an array or number.
        copy: ignored; the result is always new.
        nan: what stands for NaN.
        posinf, neginf: what stands for +inf and -inf; None: the greatest and least numbers of the dtype.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: `x` is no array.

    >>> import tangrad
    >>> tangrad.numpy.nan_to_num(float("nan"), nan=1.0)
    Array(1., dtype=float32)
    """
    del copy
    made = operand("nan_to_num", x)
    if not is_inexact(made):
        return array_operand("nan_to_num", made)
    if is_complex(made):
        parts = [nan_to_num(part(made), nan=nan, posinf=posinf, neginf=neginf) for part in (real_p.bind, imag_p.bind)]
        return complex_p.bind(*parts)
    made = strong(made)
    info = dtypes.finfo(made.aval.dtype)
    for test, number in (
        (ne_p.bind(made, made), nan),
        (eq_p.bind(made, literal_like(made, math.inf)), float(info.max) if posinf is None else posinf),
        (eq_p.bind(made, literal_like(made, -math.inf)), float(info.min) if neginf is None else neginf),
    ):
        made = _replaced(test, number, made)
    return made


def _replaced(test: Array, number: ArrayLike, x: Array) -> Array:
    value = convert(operand("nan_to_num", number, 1), x.aval.dtype, x.aval.weak_type)
    return select(*broadcast("nan_to_num", [test, value, x]))
