"""Questions about dtypes and values: `tangrad.numpy.result_type`, `issubdtype`, `finfo`, `iscomplexobj`, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._numpy.operands import is_array_like, shape_of
from tangrad.core import Array, Literal, dtypes
from tangrad.typing import ArrayLike, DTypeLike

dtype = np.dtype
ndarray = Array
ComplexWarning = np.exceptions.ComplexWarning


def result_type(*args: object) -> np.dtype:
    """Find the dtype in which values and dtypes meet.

    Args:
        args: arrays, numbers, dtypes.

    Returns:
        A dtype.

    Raises:
        ValueError: without arguments, or where they do not meet.
        TypeError: for what is neither array nor dtype.

    >>> import tangrad
    >>> tangrad.numpy.result_type("int8", "float16"), tangrad.numpy.result_type("int8", 3)
    (dtype('float16'), dtype('int8'))
    """
    return dtypes.result_type(*args)


def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype:
    """Find the dtype in which two dtypes meet.

    Args:
        a, b: dtypes, their names, or Python's `int`, `float`, `complex`, which yield to others.

    Returns:
        A dtype.

    Raises:
        ValueError: where they do not meet.
        TypeError: for what is no dtype.

    >>> import tangrad
    >>> tangrad.numpy.promote_types("uint8", "int8")
    dtype('int16')
    """
    return dtypes.promote_types(a, b)


def can_cast(from_: ArrayLike | DTypeLike, to: DTypeLike, casting: str = "safe") -> bool:
    """Return whether values of a dtype can be converted to another one under a rule.

    Args:
        from_: a dtype, array or NumPy scalar.
        to: a dtype.
        casting: "no", "equiv", "safe", "same_kind" or "unsafe".

    Returns:
        True or False.

    Raises:
        TypeError: for what is no dtype.
        ValueError: for another rule.

    >>> import tangrad
    >>> tangrad.numpy.can_cast("int32", "float32")
    False
    """
    own: Any = from_.dtype if isinstance(from_, (Array, Literal)) else from_
    own = own if isinstance(own, (np.ndarray, np.generic)) else dtypes.as_dtype(own)
    kind: Any = casting
    return bool(np.can_cast(own, dtypes.as_dtype(to), casting=kind))


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Return whether a dtype is another one or below it.

    Args:
        arg1, arg2: dtypes, their names, scalar types, or classes such as `numpy.floating`.

    Returns:
        True or False.

    Raises:
        TypeError: for what is no dtype.

    >>> import tangrad
    >>> tangrad.numpy.issubdtype("float16", tangrad.numpy.floating)
    True
    """
    return dtypes.issubdtype(_dtype_of(arg1), _dtype_of(arg2))


def _dtype_of(value: DTypeLike) -> DTypeLike:
    """The dtype of a value that has one; NumPy's classes only seem to."""
    if isinstance(value, type) and issubclass(value, np.generic):
        return value
    return getattr(value, "dtype", value)


_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (np.bool_,),
    "signed integer": (np.signedinteger,),
    "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,),
    "real floating": (np.floating,),
    "complex floating": (np.complexfloating,),
    "numeric": (np.number,),
}


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Return whether a dtype is of a kind of the Array API standard.

    Args:
        dtype: a dtype or its name.
        kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric";
            a dtype; or a tuple of these.

    Returns:
        True or False.

    Raises:
        TypeError: for what is no dtype.
        ValueError: for an unknown kind.

    >>> import tangrad
    >>> tangrad.numpy.isdtype("int8", ("signed integer", "bool"))
    True
    """
    own = dtypes.as_dtype(_dtype_of(dtype))
    for item in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(item, str) and item in _KINDS:
            if any(dtypes.issubdtype(own, scalar_class) for scalar_class in _KINDS[item]):
                return True
        elif _is_that_dtype(own, item):
            return True
    return False


def _is_that_dtype(own: object, item: Any) -> bool:
    try:
        return bool(own == dtypes.as_dtype(_dtype_of(item)))
    except TypeError:
        kinds = ", ".join(map(repr, _KINDS))
        raise ValueError(f"isdtype: {item!r} is neither a dtype nor one of the kinds {kinds}") from None


def finfo(dtype: DTypeLike) -> np.finfo:
    """Look up the limits of a floating or complex dtype.

    Args:
        dtype: a dtype, its name, or an array.

    Returns:
        An object with `eps`, `max`, `min`, `tiny`, `bits`, …

    Raises:
        ValueError: for another dtype.

    >>> import tangrad
    >>> tangrad.numpy.finfo("float16").bits
    16
    """
    return dtypes.finfo(_of(dtype))


def iinfo(int_type: Any) -> np.iinfo:
    """Look up the limits of an integer dtype.

    Args:
        int_type: a dtype, its name, or an array.

    Returns:
        An object with `min`, `max` and `bits`.

    Raises:
        ValueError: for another dtype.

    >>> import tangrad
    >>> tangrad.numpy.iinfo("int8").max
    127
    """
    return dtypes.iinfo(_of(int_type))


def _of(value: DTypeLike) -> DTypeLike:
    if type(value) in (int, float, complex):
        return dtypes.dtype_of(value)
    return _dtype_of(value)


# --- values ---


def isscalar(element: object) -> bool:
    """Return whether a value is a number: of Python, of NumPy, or an array without dimensions.

    Args:
        element: anything.

    Returns:
        True or False.

    >>> import tangrad
    >>> tangrad.numpy.isscalar(3.0), tangrad.numpy.isscalar([3.0])
    (True, False)
    """
    return shape_of(element) == () if is_array_like(element) else bool(np.isscalar(element))


def iscomplexobj(x: ArrayLike) -> bool:
    """Return whether a value has a complex dtype.

    Args:
        x: an array or number, or what has a `dtype`: a `ShapeDtypeStruct`, or a scalar type such as `complex64`.

    Returns:
        True or False.

    >>> import tangrad
    >>> tangrad.numpy.iscomplexobj(1j)
    True
    """
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtypes.issubdtype(dtype, np.complexfloating)
    if x is None or isinstance(x, (list, tuple)):
        return any([iscomplexobj(each) for each in x or ()])
    return dtypes.issubdtype(dtypes.dtype_of(x) if is_array_like(x) else np.asarray(x).dtype, np.complexfloating)


def isrealobj(x: ArrayLike) -> bool:
    """Return whether a value has a dtype that is not complex.

    Args:
        x: as for `iscomplexobj`.

    Returns:
        True or False.

    >>> import tangrad
    >>> tangrad.numpy.isrealobj(1j)
    False
    """
    return not iscomplexobj(x)


def iterable(y: object) -> bool:
    """Return whether a value can be iterated over.

    Args:
        y: anything.

    Returns:
        True or False.

    >>> import tangrad
    >>> tangrad.numpy.iterable([1]), tangrad.numpy.iterable(1)
    (True, False)
    """
    if is_array_like(y):
        return len(shape_of(y)) > 0
    return bool(np.iterable(y))
