"""The dtypes of values, and the dtype in which several meet: 32-bit by default, Python numbers weak."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal, overload

import numpy as np

from tangrad._core.diagnostics.errors import TypePromotionError
from tangrad._core.diagnostics.source_info import written_by_user
from tangrad._core.dtypes import lattice
from tangrad._core.dtypes.arguments import represented_array
from tangrad._core.dtypes.objects import (
    DType,
    ExtendedDType,
    as_dtype,
    canonicalize_dtype,
    dtype_name,
    iinfo,
    issubdtype,
    python_scalar_dtypes,
    warn_truncated,
)
from tangrad._core.settings.config import define_choice, thread

PREPARES_OPERANDS = True  # `written_by_user` asks: functions here are called for others

numpy_dtype_promotion = define_choice(
    "numpy_dtype_promotion", "standard", ("standard", "strict"), "Whether operands of different dtypes are promoted."
)

_WEAK_SCALARS = frozenset({int, float, complex})


def dtype_of(x: object) -> DType:
    """The dtype of an array, aval, tracer, NumPy value, Python number; or of a dtype, name or scalar type.

    Canonical, except that arrays and avals of ours keep what they are. Raises TypeError for anything else.
    """
    return _dtype_and_weak_type(x)[0]


def is_weakly_typed(x: object) -> bool:
    """Whether `x` yields to other dtypes in promotion: Python numbers (not bool), and arrays made of them alone."""
    if type(x) in _WEAK_SCALARS:
        return True
    aval = getattr(x, "aval", x)
    return getattr(aval, "weak_type", False) is True


def _dtype_and_weak_type(x: Any) -> tuple[DType, bool]:
    kind = type(x)
    if kind in _WEAK_SCALARS:
        return canonicalize_dtype(kind), True
    try:
        aval = x.aval
        return aval.dtype, aval.weak_type
    except AttributeError:
        if hasattr(x, "weak_type") and not isinstance(x, type):  # an aval
            return x.dtype, x.weak_type
    if isinstance(x, (type, str, np.dtype, ExtendedDType)):
        return canonicalize_dtype(x), x is int or x is float or x is complex
    if hasattr(x, "dtype"):
        return canonicalize_dtype(x.dtype), False
    for python_type, dtype in python_scalar_dtypes.items():
        if isinstance(x, python_type):  # bool, and subclasses such as enumerations, which are not weak
            return canonicalize_dtype(dtype), False
    array = represented_array(x)
    if array is not x:
        return _dtype_and_weak_type(array)
    raise TypeError(f"{x!r} of type {kind.__name__} is neither a dtype nor an array or number that has one")


def check_integer_fits(value: int, dtype: object) -> None:
    """Raise OverflowError if the Python integer `value` is beyond the integer dtype `dtype`; other dtypes take all."""
    low, high = _integer_range(as_dtype(dtype))
    if not low <= value <= high:
        raise OverflowError(f"Python integer {value} does not fit {dtype_name(as_dtype(dtype))}")


@lru_cache(256)
def _integer_range(dtype: DType) -> tuple[float, float]:
    if not issubdtype(dtype, np.integer):
        return -math.inf, math.inf
    limits = iinfo(dtype)
    return int(limits.min), int(limits.max)


def scalar_type_of(x: object) -> type:
    """The Python type of an element of an array or dtype: bool, int, float, complex. Raises TypeError for keys."""
    dtype = dtype_of(x)
    for numpy_class, python_type in _PYTHON_TYPES:
        if issubdtype(dtype, numpy_class):
            return python_type
    raise TypeError(f"elements of dtype {dtype_name(dtype)} are not Python numbers")


_PYTHON_TYPES = ((np.bool_, bool), (np.integer, int), (np.floating, float), (np.complexfloating, complex))


# --- promotion ---

_WEAK_NODE_DTYPES = {"i*": int, "f*": float, "c*": complex}
_joins: dict[object, tuple[DType, bool]] = {}  # bounded by the lattice: only its dtypes get in


def _node(dtype: DType, weak_type: bool) -> str:
    name = dtype_name(dtype)
    if name not in lattice.STRONG:
        raise TypePromotionError(f"dtype {name} takes no part in promotion: all operands must have that dtype")
    if not weak_type or name == "bool":
        return name
    if name in lattice.INTEGERS:
        return lattice.WEAK_INTEGER
    return lattice.WEAK_COMPLEX if name in lattice.COMPLEXES else lattice.WEAK_FLOAT


def promote_types(a: object, b: object) -> DType:
    """The dtype in which two dtypes meet on the lattice; Python's `int`, `float`, `complex` are weak.

    Leaves 64-bit dtypes as they are. Raises TypePromotionError where they do not meet, TypeError for what is no dtype.

    >>> from tangrad.core import dtypes
    >>> dtypes.promote_types("int32", "float16"), dtypes.promote_types("uint8", int)
    (dtype('float16'), dtype('uint8'))
    """
    weak = [any(x is kind for kind in _WEAK_SCALARS) for x in (a, b)]
    types = as_dtype(a), weak[0], as_dtype(b), weak[1], thread.enable_x64
    strict = thread.numpy_dtype_promotion == "strict"
    try:
        return _promote_types(*types, strict)
    except TypePromotionError:
        if not strict or written_by_user("promote_types"):
            raise
        return _promote_types(*types, False)


@lru_cache(1024)
def _promote_types(a: DType, a_weak: bool, b: DType, b_weak: bool, x64: bool, strict: bool) -> DType:
    node = lattice.join([_node(a, a_weak), _node(b, b_weak)], x64=x64, strict=strict)
    return as_dtype(_WEAK_NODE_DTYPES.get(node, node))


def promote_pair(a: DType, a_weak: bool, b: DType, b_weak: bool) -> tuple[DType, bool]:
    """The dtype and weak type of two operands, cached: the hot form of `lattice_result_type`."""
    key = (a, a_weak, b, b_weak, thread.enable_x64, thread.numpy_dtype_promotion)
    found = _joins.get(key)
    return found if found is not None else _promote([(a, a_weak), (b, b_weak)], key)


def lattice_result_type(*args: object, function_name: str = "result_type") -> tuple[DType, bool]:
    """The dtype and weak type of an operation on `args`: arrays, avals, numbers, dtypes. Raises as `promote_types`.

    `function_name`: the public function that asks. What our own functions promote inside is promoted, even where the
    setting `numpy_dtype_promotion` refuses that to users.
    """
    try:
        return _lattice_result_type(args)
    except TypePromotionError:
        if thread.numpy_dtype_promotion != "strict" or written_by_user(function_name):
            raise
        return _promote(list(dict.fromkeys([_dtype_and_weak_type(x) for x in args])), None, strict=False)


def _lattice_result_type(args: tuple[object, ...]) -> tuple[DType, bool]:
    if len(args) == 2:
        return promote_pair(*_dtype_and_weak_type(args[0]), *_dtype_and_weak_type(args[1]))
    if not args:
        raise ValueError("at least one array or dtype is required")
    distinct = list(dict.fromkeys([_dtype_and_weak_type(x) for x in args]))
    if len(args) > len(distinct) <= 2:  # many arrays of one dtype, and numbers beside them
        return promote_pair(*distinct[0], *distinct[-1])
    return _promote(distinct, None)


def _promote(operands: list[tuple[DType, bool]], key: object, strict: bool | None = None) -> tuple[DType, bool]:
    """`strict`: whether only what users ask for is promoted; None: as set."""
    strict = thread.numpy_dtype_promotion == "strict" if strict is None else strict
    x64 = thread.enable_x64
    first = operands[0][0]
    all_weak = all(weak for _, weak in operands)
    if len(operands) == 1 or (not all_weak and all(dtype == first for dtype, _ in operands)):
        result = first, all_weak and dtype_name(first) != "bool"
        if key is not None and dtype_name(first) in lattice.STRONG:
            _joins[key] = result
        return result
    if all_weak and not strict:
        node = lattice.join(
            [_node(dtype, False) for dtype, _ in operands], x64=x64, strict=False
        )  # a weak int16 stays as wide as it is
        weak = node != "bool"
    else:
        node = lattice.join([_node(dtype, weak) for dtype, weak in operands], x64=x64, strict=strict)
        weak = node in lattice.WEAK
    wide = as_dtype(_WEAK_NODE_DTYPES.get(node, node))
    dtype = canonicalize_dtype(wide)
    if dtype is not wide and not weak and thread.explicit_x64_dtypes == "allow":
        return wide, weak
    if dtype is not wide and not weak:
        warn_truncated(wide, dtype)  # each time, so this result stays out of the cache
    elif key is not None:
        _joins[key] = dtype, weak
    return dtype, weak


@overload
def result_type(*args: object, return_weak_type_flag: Literal[False] = ...) -> DType: ...
@overload
def result_type(*args: object, return_weak_type_flag: Literal[True]) -> tuple[DType, bool]: ...
def result_type(*args: object, return_weak_type_flag: bool = False) -> DType | tuple[DType, bool]:
    """The dtype of an operation on `args`: arrays, avals, numbers, dtypes, None for the default float.

    With `return_weak_type_flag` also whether it is weak. Raises ValueError without arguments, else as `promote_types`.

    >>> from tangrad.core import dtypes
    >>> dtypes.result_type("int8", 300), dtypes.result_type(1, 2.0, return_weak_type_flag=True)
    (dtype('int8'), (dtype('float32'), True))
    """
    dtype, weak = lattice_result_type(*[canonicalize_dtype(None) if x is None else x for x in args])
    if weak:
        # The widest type of the kind: results are not narrow only because a weak operand was.
        dtype = canonicalize_dtype(np.uint64 if dtype.kind == "u" else _WEAK_NODE_DTYPES[_node(dtype, True)])
    return (dtype, weak) if return_weak_type_flag else dtype
