"""Exponential, logarithmic, trigonometric and hyperbolic functions, and roots: `tangrad.lax.exp`, `sin`, …"""

from __future__ import annotations

from typing import Any

from tangrad.lax.elementwise import primitives as p
from tangrad.lax.elementwise.accuracy import check_accuracy
from tangrad.lax.operands import operand, pair


def exp(x: Any, *, accuracy: Any = None) -> Any:
    """e to the power of each element.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.exp(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("exp", accuracy)
    return p.exp_p.bind(x if hasattr(type(x), "aval") else operand("exp", x))


def exp2(x: Any, *, accuracy: Any = None) -> Any:
    """2 to the power of each element.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.exp2(3.0)
    Array(8., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("exp2", accuracy)
    return p.exp2_p.bind(x if hasattr(type(x), "aval") else operand("exp2", x))


def log(x: Any, *, accuracy: Any = None) -> Any:
    """The natural logarithm of each element; NaN below zero, the principal branch for complex numbers.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.log(1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("log", accuracy)
    return p.log_p.bind(x if hasattr(type(x), "aval") else operand("log", x))


def expm1(x: Any, *, accuracy: Any = None) -> Any:
    """exp(x) - 1, element by element, accurate near 0.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.expm1(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("expm1", accuracy)
    return p.expm1_p.bind(x if hasattr(type(x), "aval") else operand("expm1", x))


def log1p(x: Any, *, accuracy: Any = None) -> Any:
    """log(1 + x), element by element, accurate near 0.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.log1p(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("log1p", accuracy)
    return p.log1p_p.bind(x if hasattr(type(x), "aval") else operand("log1p", x))


def logistic(x: Any, *, accuracy: Any = None) -> Any:
    """The logistic function 1 / (1 + exp(-x)), element by element.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.logistic(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("logistic", accuracy)
    return p.logistic_p.bind(x if hasattr(type(x), "aval") else operand("logistic", x))


def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    """The square root of each element; NaN below zero, the principal branch for complex numbers.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.sqrt(4.0)
    Array(2., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("sqrt", accuracy)
    return p.sqrt_p.bind(x if hasattr(type(x), "aval") else operand("sqrt", x))


def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    """The reciprocal of the square root of each element.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.rsqrt(4.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("rsqrt", accuracy)
    return p.rsqrt_p.bind(x if hasattr(type(x), "aval") else operand("rsqrt", x))


def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    """The real cube root of each element.

    Args:
        x: an array or number, floating.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.cbrt(-8.0)
    Array(-2., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("cbrt", accuracy)
    return p.cbrt_p.bind(x if hasattr(type(x), "aval") else operand("cbrt", x))


def sin(x: Any, *, accuracy: Any = None) -> Any:
    """The sine of each element, in radians.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.sin(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("sin", accuracy)
    return p.sin_p.bind(x if hasattr(type(x), "aval") else operand("sin", x))


def cos(x: Any, *, accuracy: Any = None) -> Any:
    """The cosine of each element, in radians.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.cos(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("cos", accuracy)
    return p.cos_p.bind(x if hasattr(type(x), "aval") else operand("cos", x))


def tan(x: Any, *, accuracy: Any = None) -> Any:
    """The tangent of each element, in radians.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.tan(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("tan", accuracy)
    return p.tan_p.bind(x if hasattr(type(x), "aval") else operand("tan", x))


def asin(x: Any) -> Any:
    """The inverse sine of each element, in radians; NaN outside [-1, 1].

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.asin(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return p.asin_p.bind(x if hasattr(type(x), "aval") else operand("asin", x))


def acos(x: Any) -> Any:
    """The inverse cosine of each element, in radians; NaN outside [-1, 1].

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.acos(1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return p.acos_p.bind(x if hasattr(type(x), "aval") else operand("acos", x))


def atan(x: Any) -> Any:
    """The inverse tangent of each element, in radians.

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.atan(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return p.atan_p.bind(x if hasattr(type(x), "aval") else operand("atan", x))


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point (y, x), element by element, in radians, in (-π, π].

    Args:
        x, y: arrays or numbers of one dtype, floating or complex; of one shape, or scalars beside it, or with sizes
            of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.atan2(0.0, 1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("atan2", x, y)
    return p.atan2_p.bind(x, y)


def sinh(x: Any) -> Any:
    """The hyperbolic sine of each element.

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.sinh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return p.sinh_p.bind(x if hasattr(type(x), "aval") else operand("sinh", x))


def cosh(x: Any) -> Any:
    """The hyperbolic cosine of each element.

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.cosh(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return p.cosh_p.bind(x if hasattr(type(x), "aval") else operand("cosh", x))


def tanh(x: Any, *, accuracy: Any = None) -> Any:
    """The hyperbolic tangent of each element.

    Args:
        x: an array or number, floating or complex.
        accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.tanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("tanh", accuracy)
    return p.tanh_p.bind(x if hasattr(type(x), "aval") else operand("tanh", x))


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine of each element.

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.asinh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return p.asinh_p.bind(x if hasattr(type(x), "aval") else operand("asinh", x))


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine of each element; NaN below 1.

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.acosh(1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return p.acosh_p.bind(x if hasattr(type(x), "aval") else operand("acosh", x))


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent of each element; NaN outside [-1, 1].

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.atanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return p.atanh_p.bind(x if hasattr(type(x), "aval") else operand("atanh", x))
