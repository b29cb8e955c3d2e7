"""Rounding, parts of complex numbers, choosing between values, conversions: `tangrad.lax.floor`, `real`, `select`, …"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tangrad._lax.checks import check_int
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.elementwise.primitives import (
    bitcast_convert_type_p,
    clamp_p,
    convert_element_type_p,
    reduce_precision_p,
    select_n_p,
)
from tangrad._lax.operands import align, operand, pair
from tangrad.core import Array, dtypes, literal
from tangrad.typing import ArrayLike, DType, DTypeLike, Value


def floor(x: ArrayLike) -> Array:
    """Each element rounded down to an integer.

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.floor(-1.5)
    Array(-2., dtype=float32, weak_type=True)
    """
    return p.floor_p.bind(x if isinstance(x, Array) else operand("floor", x))


def ceil(x: ArrayLike) -> Array:
    """Each element rounded up to an integer.

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.ceil(-1.5)
    Array(-1., dtype=float32, weak_type=True)
    """
    return p.ceil_p.bind(x if isinstance(x, Array) else operand("ceil", x))


def is_finite(x: ArrayLike) -> Array:
    """Whether each element is neither infinite nor NaN.

    Args:
        x: an array or number, floating.

    Returns:
        A boolean array of the shape of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.is_finite(float("inf"))
    Array(False, dtype=bool, weak_type=True)
    """
    return p.is_finite_p.bind(x if isinstance(x, Array) else operand("is_finite", x))


def real(x: ArrayLike) -> Array:
    """The real part of each element.

    Args:
        x: an array or number, complex.

    Returns:
        An array of the shape of `x` and the floating dtype of its parts.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.real(1 + 2j)
    Array(1., dtype=float32, weak_type=True)
    """
    return p.real_p.bind(x if isinstance(x, Array) else operand("real", x))


def imag(x: ArrayLike) -> Array:
    """The imaginary part of each element.

    Args:
        x: an array or number, complex.

    Returns:
        An array of the shape of `x` and the floating dtype of its parts.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.imag(1 + 2j)
    Array(2., dtype=float32, weak_type=True)
    """
    return p.imag_p.bind(x if isinstance(x, Array) else operand("imag", x))


def conj(x: ArrayLike) -> Array:
    """The complex conjugate of each element.

    Args:
        x: an array or number, float32, float64 or complex.

    Returns:
        An array of the shape of `x`, complex.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.conj(1 + 2j)
    Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    return p.conj_p.bind(x if isinstance(x, Array) else operand("conj", x))


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """The complex numbers x + iy.

    Args:
        x, y: arrays or numbers of one dtype, float32 or float64; of one shape, or scalars beside it, or with sizes
            of 1.

    Returns:
        A complex array of their common shape.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.complex(1.0, 2.0)
    Array(1.+2.j, dtype=complex64, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("complex", x, y)
    return p.complex_p.bind(x, y)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The next representable number after x1 in the direction of x2, element by element.

    Args:
        x1, x2: arrays or numbers of one dtype, floating; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.nextafter(1.0, 2.0)
    Array(1.0000001, dtype=float32, weak_type=True)
    """
    if getattr(x1, "aval", 0) is not getattr(x2, "aval", 1):
        x1, x2 = pair("nextafter", x1, x2)
    return p.nextafter_p.bind(x1, x2)


def round(x: ArrayLike, rounding_method: p.RoundingMethod = p.RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Each element rounded to the nearest integer.

    Args:
        x: an array or number, floating.
        rounding_method: where halves go: away from zero, or to the nearest even integer.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.
        ValueError: for an unknown rounding method.

    >>> import tangrad
    >>> tangrad.lax.round(2.5)
    Array(3., dtype=float32, weak_type=True)
    >>> tangrad.lax.round(2.5, tangrad.lax.RoundingMethod.TO_NEAREST_EVEN)
    Array(2., dtype=float32, weak_type=True)
    """
    method = rounding_method if type(rounding_method) is p.RoundingMethod else p.RoundingMethod(rounding_method)
    return p.round_p.bind(x if isinstance(x, Array) else operand("round", x), rounding_method=method)


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """The elements of `on_true` where `pred` holds, those of `on_false` elsewhere.

    Args:
        pred: a boolean array of the shape of the others, or a scalar.
        on_true, on_false: arrays or numbers of one dtype and shape, or scalars beside it.

    Returns:
        An array of the shape and dtype of `on_true` and `on_false`.

    Raises:
        TypeError: for dtypes that differ, or a `pred` that is not boolean.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.select(True, 1.0, 2.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return select_n(pred, on_false, on_true)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """For each element, that of the case which `which` names.

    Args:
        which: a boolean array (False names the first of two cases) or one of int32, in [0, number of cases); of the
            shape of the cases, or a scalar.
        cases: arrays or numbers of one dtype and shape, or scalars beside it.

    Returns:
        An array of the shape and dtype of the cases.

    Raises:
        TypeError: without cases, for dtypes that differ, or a `which` of another dtype.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.select_n(2, 10, 20, 30)
    Array(30, dtype=int32, weak_type=True)
    """
    which = which if isinstance(which, Array) else operand("select_n", which, "which")
    if cases:
        first = cases[0].aval if isinstance(cases[0], Array) else None
        if first is None or any(not isinstance(case, Array) or case.aval is not first for case in cases):
            return select_n_p.bind(which, *align("select_n", *cases))
    return select_n_p.bind(which, *cases)


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Each element of `x`, or the bound that it passes; `max` where the bounds cross.

    Args:
        min: the lower bound, of the shape of `x` or a scalar.
        x: an array or number. Complex ones are compared by their real parts alone.
        max: the upper bound, of the shape of `x` or a scalar.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.clamp(0.0, 1.5, 1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return clamp_p.bind(*align("clamp", min, x, max))


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The elements in another dtype.

    Floats become integers by truncation and saturation, NaN becomes 0; wider integers wrap; numbers become booleans by
    comparison with 0; complex numbers lose their imaginary part, with a warning.

    Args:
        operand: an array or number.
        new_dtype: a dtype, its name, or `bool`, `int`, `float`, `complex`; 64-bit ones become 32-bit, with a warning if
            they were named, unless `enable_x64` is set.

    Returns:
        An array of the shape of `operand` and dtype `new_dtype`, not weakly typed.

    Raises:
        TypeError: `new_dtype` is not a dtype, or a key is converted.
        ValueError: `new_dtype` is None.

    >>> import tangrad
    >>> tangrad.lax.convert_element_type(2.7, "int32")
    Array(2, dtype=int32)
    """
    if new_dtype is None:
        raise ValueError("convert_element_type: new_dtype must be a dtype, got None")
    dtype = new_dtype if isinstance(new_dtype, dtypes.ExtendedDType) else _canonical(new_dtype)
    made: Any = operand if hasattr(type(operand), "aval") else _host_operand(operand, dtype)
    aval = made.aval
    if aval.dtype is dtype and not aval.weak_type and isinstance(made, Array):
        return made
    if aval.dtype.kind == "c" and dtype.kind not in "cb":
        warnings.warn(
            f"convert_element_type from {dtypes.dtype_name(aval.dtype)} to {dtypes.dtype_name(dtype)} "
            "drops the imaginary part",
            np.exceptions.ComplexWarning,
            stacklevel=dtypes.user_stack_level(),
        )
    return convert_element_type_p.bind(made, new_dtype=dtype, weak_type=False)


_named: dict[str, np.dtype] = {}  # names -> dtypes: NumPy takes several microseconds to understand one
_NAMES_LIMIT = 256


def _canonical(dtype: DTypeLike) -> DType:
    if type(dtype) is str:
        known = _named.get(dtype)
        if known is None:
            known = dtypes.as_dtype(dtype)
            if len(_named) < _NAMES_LIMIT:
                _named[dtype] = known
        dtype = known
    return dtypes.check_user_dtype_supported(dtype, "convert_element_type")


def _host_operand(value: ArrayLike, dtype: DType) -> object:
    """A host value as an operand of its own dtype; Python integers wrap, even those that only 64 bits hold."""
    if type(value) is int and dtypes.issubdtype(dtype, np.integer):
        limits = dtypes.iinfo(dtype)
        if not int(limits.min) <= value <= int(limits.max):
            value = (value - int(limits.min)) % (int(limits.max) - int(limits.min) + 1) + int(limits.min)
        return literal(value, dtype, True)
    return operand("convert_element_type", value, "operand")


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The same bits read as another dtype.

    Args:
        operand: an array or number.
        new_dtype: a dtype; boolean, complex and key dtypes go to themselves only. A narrower one adds a trailing
            dimension with the parts, the least significant first; a wider one needs and consumes such a dimension.

    Returns:
        An array of dtype `new_dtype`.

    Raises:
        TypeError: for dtypes whose bits cannot be read.
        ValueError: for a last dimension that does not make up one element.

    >>> import tangrad
    >>> tangrad.lax.bitcast_convert_type(1.0, "int32")
    Array(1065353216, dtype=int32)
    """
    made = operand if isinstance(operand, Array) else _operand(operand)
    dtype = dtypes.check_user_dtype_supported(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(made, new_dtype=dtype)


def _operand(value: ArrayLike) -> Array:
    return operand("bitcast_convert_type", value, "operand")


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Each element rounded to what a float with fewer bits can hold, in the dtype that it has.

    Args:
        operand: an array or number, floating.
        exponent_bits: at least 1.
        mantissa_bits: at least 0.

    Returns:
        An array of the shape and dtype of `operand`.

    Raises:
        TypeError: for other dtypes, or numbers of bits that are no integers.
        ValueError: for too few bits.

    >>> import tangrad
    >>> tangrad.lax.reduce_precision(1.2345, 8, 3)
    Array(1.25, dtype=float32, weak_type=True)
    """
    made = operand if isinstance(operand, Array) else _floating(operand)
    return reduce_precision_p.bind(
        made,
        exponent_bits=check_int("reduce_precision", exponent_bits, "exponent_bits"),
        mantissa_bits=check_int("reduce_precision", mantissa_bits, "mantissa_bits"),
    )


def _floating(value: ArrayLike) -> Value:
    return operand("reduce_precision", value, "operand")
