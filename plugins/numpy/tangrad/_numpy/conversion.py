"""Values into arrays: `tangrad.numpy.array`, `asarray`, `astype`, `frombuffer`, …"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import tangrad
from tangrad import core as kernel
from tangrad._numpy.fusing import SEQUENCE_LIMIT, as_one
from tangrad._numpy.new_arrays import HOST_LIMIT, adopt, type_of_array
from tangrad._numpy.operands import broadcast_to_shape, cast, convert, operand, user_dtype
from tangrad._numpy.operations import numerical
from tangrad.core import EVAL_TRACE, Array, Literal, ShapedArray, Tracer, as_array, dtypes, get_aval, put, thread
from tangrad.core.arguments import can_represent_array, represented_array
from tangrad.core.caches import DirectCalls
from tangrad.errors import ArgumentError
from tangrad.extend.lax import concatenate_p, constrained, convert_element_type_p, copy_p, is_device, place_of
from tangrad.typing import ArrayLike, DeviceLike, DType, DTypeLike, ShardingLike, Value

_PYTHON_NUMBERS = frozenset({bool, int, float, complex})
_SMALL, _LARGE = 1e-4, 65504.0  # between them are numbers of all floating dtypes of NumPy's
_WEAK = frozenset({int, float, complex})


# --- from values ---


def array(
    object: Any,
    dtype: DTypeLike | None = None,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Make an array of a number, a NumPy array, an array, or nested sequences of them.

    Args:
        object: the contents.
        dtype: the dtype; None: that in which the contents meet. Integers beyond it are refused.
        copy: whether to copy an array; the result never shares memory that can be written to. False, None: only if
            needed.
        order: "K" or None.
        ndmin: the least number of dimensions: new ones come first.
        device: the device to put it on, or a sharding; None: that of the contents, or the default one.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array. It is weakly typed if `object` is a Python number, or a weakly typed array, and no dtype is given.

    Raises:
        TypeError: the contents are no numbers, or `dtype` is no dtype.
        ValueError: for ragged sequences, and None.
        OverflowError: an integer does not fit the dtype.

    >>> import tangrad
    >>> tangrad.numpy.array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if out_sharding is not None:
        device = place_of("array", device, out_sharding)
    if order not in (None, "K"):
        raise NotImplementedError(f"array: order must be 'K' or None, got {order!r}: arrays have no layout")
    asked = user_dtype("array", dtype)
    made = _from_value(object, asked)
    if made is object and copy and isinstance(object, Array) and not isinstance(object, Tracer):
        made = copy_p.bind(made)
    if ndmin and made.aval.ndim < ndmin:
        made = broadcast_to_shape(made, (1,) * (ndmin - made.aval.ndim) + made.aval.shape)
    return placed(made, device)


def asarray(
    a: object,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Make an array of a number, a NumPy array, an array, or nested sequences of them; an array stays itself.

    Args:
        a: the contents.
        dtype: the dtype; None: that in which the contents meet. Integers beyond it are refused.
        order: "K" or None.
        copy: whether to copy an array; None: only if needed. False: raise where a copy is needed.
        device: the device to put it on, or a sharding; None: that of the contents, or the default one.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array. It is weakly typed if `a` is a Python number, or a weakly typed array, and no dtype is given.

    Raises:
        TypeError: the contents are no numbers, or `dtype` is no dtype.
        ValueError: for ragged sequences, None, or `copy=False` where a copy is needed.
        OverflowError: an integer does not fit the dtype.

    >>> import tangrad
    >>> tangrad.numpy.asarray([1.0, 2.5])
    Array([1. , 2.5], dtype=float32)
    """
    if out_sharding is not None:
        device = place_of("asarray", device, out_sharding)
    if dtype is None and device is None and not copy and isinstance(a, Array) and order in (None, "K"):
        return a
    if copy is False and not isinstance(a, Array):
        raise ValueError(f"asarray: copy=False, but a value of type {type(a).__name__} must be copied")
    return array(a, dtype=dtype, copy=copy, order=order, device=device)


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """Copy an array.

    Args:
        a: an array or number.
        order: "K" or None.

    Returns:
        An array with the contents of `a` in memory of its own.

    Raises:
        TypeError: `a` is no array.

    >>> import tangrad
    >>> tangrad.numpy.copy(tangrad.numpy.ones(2))
    Array([1., 1.], dtype=float32)
    """
    return array(operand("copy", a), copy=True, order=order)


def astype(x: ArrayLike, dtype: DTypeLike | None, /, *, copy: bool = False, device: DeviceLike = None) -> Array:
    """Convert the elements to another dtype.

    Floats become integers by truncation and saturation; complex numbers lose their imaginary part, with a warning;
    numbers become booleans by comparison with 0.

    Args:
        x: an array or number.
        dtype: the dtype; None: the default float.
        copy: whether to copy where the dtype is the same.
        device: the device to put the result on.

    Returns:
        An array of the shape of `x`, not weakly typed.

    Raises:
        TypeError: `x` is no array, or `dtype` no dtype.

    >>> import tangrad
    >>> tangrad.numpy.astype(tangrad.numpy.array([1.7, -1.7]), int)
    Array([ 1, -1], dtype=int32)
    """
    made = x if isinstance(x, Array) else as_array(operand("astype", x))
    wanted = user_dtype("astype", float if dtype is None else dtype)
    result = converted(made, wanted)
    if result is made and copy:
        result = copy_p.bind(made)
    return placed(result, device)


def converted(x: Array, dtype: DType) -> Array:
    """An array in `dtype`, not weakly typed, with NumPy's warning where imaginary parts are lost."""
    own = x.aval.dtype
    if own is dtype and not x.aval.weak_type:
        return x
    if own.kind == "c" and dtype.kind not in "cb":
        names = f"{dtypes.dtype_name(own)} to {dtypes.dtype_name(dtype)}"
        warnings.warn(
            f"{names} drops the imaginary part", np.exceptions.ComplexWarning, stacklevel=dtypes.user_stack_level()
        )
    call = _casts.get((x.aval, dtype)) if thread.trace is EVAL_TRACE else None
    if call is not None:
        return call(x)
    return _casts.apply((x.aval, dtype), convert_element_type_p, (x,), {"new_dtype": dtype, "weak_type": False})


_casts = DirectCalls()


def _from_value(value: Any, dtype: DType | None) -> Value:
    kind = type(value)
    if kind is list or kind is tuple:
        return _from_sequence(value, dtype)
    if isinstance(value, Array):
        return value if dtype is None else converted(value, dtype)
    if isinstance(value, Literal):
        return _from_value(as_array(value), dtype)
    if kind in _PYTHON_NUMBERS:
        wanted = dtypes.canonicalize_dtype(kind) if dtype is None else dtype
        if kind is int:
            dtypes.check_integer_fits(value, wanted)
        elif kind is not bool and dtype is not None:
            _check_numbers_fit(np.asarray(value), wanted)
        return adopt(_numpy_array(value, wanted), type_of_array((), wanted, dtype is None and kind in _WEAK))
    if isinstance(value, (np.ndarray, np.generic)):
        return _from_numpy(value, dtype)
    if isinstance(value, (list, tuple)):
        return _from_sequence(value, dtype)
    number: Any
    for number in (int, float, complex):  # of a subclass, such as an IntEnum
        if isinstance(value, number):
            return _from_value(number(value), dtype)
    return _from_foreign(value, dtype)


def _numpy_array(value: complex | np.generic | np.ndarray, dtype: Any) -> np.ndarray:
    given = np.asarray(value)
    if given.dtype.kind in "biu" or (type(value) is float and dtype.kind == "f" and _SMALL < abs(value) < _LARGE):
        return given.astype(dtype)  # of which nothing is reported
    with np.errstate(all="ignore"):
        return given.astype(dtype)


def _check_numbers_fit(numbers: np.ndarray, dtype: DType) -> None:
    """Refuse numbers that a dtype does not hold: that of an array would be asked for with `astype`, which saturates."""
    if numbers.dtype.kind == "c" and not dtypes.issubdtype(dtype, np.complexfloating) and dtype != np.bool_:
        raise TypeError(f"array: complex numbers cannot become {dtypes.dtype_name(dtype)}")
    if dtype.kind in "fcb" or not dtypes.issubdtype(dtype, np.integer):
        return
    limits = dtypes.iinfo(dtype)
    whole = np.trunc(numbers) if numbers.dtype.kind == "f" else numbers
    # The float after the greatest integer: that itself may be between two floats.
    misfits = numbers[~((whole >= limits.min) & (whole < float(limits.max) + 1))]
    if misfits.size:
        kind = ValueError if np.isnan(misfits[0]) else OverflowError
        raise kind(f"array: {misfits[0]} does not fit {dtypes.dtype_name(dtype)}")


def _from_numpy(value: np.ndarray | np.generic, dtype: DType | None) -> Value:
    own = get_aval(value).dtype  # refuses objects, strings, dates, and arrays with masks
    wanted = own if dtype is None else dtype
    if isinstance(wanted, dtypes.ExtendedDType):
        raise TypeError(f"array: NumPy arrays cannot become {dtypes.dtype_name(wanted)}")
    aval = type_of_array(value.shape, wanted)
    if value.size <= HOST_LIMIT and type(value) is np.ndarray and thread.default_device is None:
        return adopt(value.copy() if value.dtype == wanted else _numpy_array(value, wanted), aval)
    return put(value if value.dtype == wanted else _numpy_array(value, wanted), aval)


def _leaves(value: Any, leaves: list[ArrayLike]) -> list[Any]:
    for item in value:
        if isinstance(item, (list, tuple)):
            _leaves(item, leaves)
        else:
            leaves.append(item)
    return leaves


def _from_sequence(value: Sequence[Any], dtype: DType | None) -> Value:
    kinds = set(map(type, value))
    if len(kinds) == 1 and issubclass(type(value[0]), Array):
        avals = {item.aval for item in value}
        if len(avals) == 1:
            (aval,) = avals
            own = dtypes.result_type(aval) if aval.weak_type else aval.dtype
            return _stacked_alike(value, own if dtype is None else dtype)
    leaves: Sequence[Any] = value
    if not kinds <= _PYTHON_NUMBERS:
        leaves = _leaves(value, [])
        kinds = set(map(type, leaves))
    if type(None) in kinds:
        raise ValueError("array: None is not a number")
    if kinds <= _PYTHON_NUMBERS:
        return _from_numbers(value, leaves, kinds, dtype)
    made = [leaf if hasattr(type(leaf), "aval") else _checked_leaf(leaf) for leaf in leaves]
    wanted = dtypes.result_type(*made) if dtype is None else dtype
    if not any(isinstance(leaf, (Array, Literal)) for leaf in leaves):
        contents = np.array(value)
        if contents.dtype.kind in "biufcV":
            if not any(isinstance(leaf, np.ndarray) for leaf in leaves):
                _check_leaves_fit(leaves, contents, wanted)
            contents = _exact(contents, value, wanted)
            return put(_numpy_array(contents, wanted), ShapedArray(contents.shape, wanted))
    return stacked(value, wanted)


def _checked_leaf(leaf: object) -> object:
    if type(leaf) in _PYTHON_NUMBERS:
        return leaf
    if isinstance(leaf, (np.ndarray, np.generic)):
        get_aval(leaf)  # refuses what is no number, and masks
        return leaf
    return _from_foreign(leaf, None)


def _from_numbers(value: object, leaves: Sequence[object], kinds: set[type], dtype: DType | None) -> Value:
    if dtype is None:
        wide = next((kind for kind in (complex, float, int, bool) if kind in kinds), float)
        dtype = dtypes.canonicalize_dtype(wide)
    elif isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"array: numbers cannot become {dtypes.dtype_name(dtype)}")
    if int in kinds and leaves:
        for number in (leaf for leaf in leaves if type(leaf) is int):
            dtypes.check_integer_fits(number, dtype)
    try:
        contents = np.array(value)
    except ValueError as error:
        raise ValueError(f"array: the sequences are ragged: {error}") from None
    if float in kinds or complex in kinds:
        _check_numbers_fit(contents, dtype)
    contents = _exact(contents, value, dtype)
    return adopt(_numpy_array(contents, dtype), type_of_array(contents.shape, dtype))


def _check_leaves_fit(leaves: Sequence[object], contents: np.ndarray, dtype: DType) -> None:
    """As `_check_numbers_fit`, of the numbers that became `contents`: integers are judged before they become floats."""
    integers = [leaf for leaf in leaves if isinstance(leaf, (int, np.integer))]
    if contents.dtype.kind not in "fO" or not integers:
        return _check_numbers_fit(contents, dtype)
    for number in integers:
        dtypes.check_integer_fits(int(number), dtype)
    if len(integers) < len(leaves):
        _check_numbers_fit(np.array([leaf for leaf in leaves if not isinstance(leaf, (int, np.integer))]), dtype)


def _exact(contents: np.ndarray, value: object, dtype: Any) -> np.ndarray:
    """What NumPy makes of nested sequences, without the detour of integers through floats.

    Where some integers are from 2^63 on and others below it, NumPy's own choice is float64.
    """
    if dtype.kind in "fcb" or contents.dtype.kind not in "fO" or not dtypes.issubdtype(dtype, np.integer):
        return contents
    return np.array(value, np.uint64 if dtypes.issubdtype(dtype, np.unsignedinteger) else np.int64)


def _stacked(value: Any, dtype: DType) -> Value:
    """Arrays within sequences, one dimension for each level."""
    if not isinstance(value, (list, tuple)):
        made = cast(value, dtype, False) if not hasattr(type(value), "aval") else convert(value, dtype)
        return made if isinstance(made, Array) else as_array(made)
    if not value:
        return put(np.zeros((0,), dtype), ShapedArray((0,), dtype))
    parts = [_stacked(item, dtype) for item in value]
    shapes = {part.aval.shape for part in parts}
    if len(shapes) > 1:
        listed = ", ".join([str(part.aval.shape) for part in parts])
        raise ArgumentError(f"array: the sequences are ragged: elements of shapes {listed} in one dimension")
    return concatenate_p.bind(*[broadcast_to_shape(part, (1, *part.aval.shape)) for part in parts], dimension=0)


stacked = as_one("dtype", sequence="value", name="array", family=numerical.name)(_stacked)


def _stacked_alike(value: Sequence[Value], dtype: DType) -> Value:
    """As `stacked`, of arrays of one type: outside of transformations as many at a time as one operation takes."""
    if len(value) <= SEQUENCE_LIMIT or thread.trace is not EVAL_TRACE:
        return stacked(value, dtype)
    starts = range(0, len(value), SEQUENCE_LIMIT)
    parts = [stacked(value[start : start + SEQUENCE_LIMIT], dtype) for start in starts]
    return concatenate_p.bind(*parts, dimension=0)


def _as_numpy(value: object) -> np.ndarray:
    try:
        return np.asarray(value)
    except TypeError:  # of a dtype that its library does not give NumPy, as PyTorch's bfloat16
        if not hasattr(value, "__dlpack__"):
            raise
        return kernel.dlpack.from_dlpack(value)


def _from_foreign(value: object, dtype: DType | None) -> Value:
    """What is neither ours, NumPy's nor a sequence: an object that defines how it becomes an array."""
    if value is None:
        raise ValueError("array: None is not a number")
    if can_represent_array(value):
        made = as_array(represented_array(value))
        return made if dtype is None else convert(made, dtype)
    if hasattr(value, "__array__"):
        return _from_numpy(_as_numpy(value), dtype)
    if hasattr(value, "__dlpack__"):
        return _from_numpy(kernel.dlpack.from_dlpack(value), dtype)
    if isinstance(value, range) or hasattr(value, "__array_interface__") or _has_buffer(value):  # such as pictures
        return _from_numpy(np.asarray(value), dtype)
    if isinstance(value, (int, float, complex)):  # a subclass, such as an enumeration: not weak
        base: Any = next(kind for kind in (bool, int, float, complex) if isinstance(value, kind))
        return _from_value(base(value), dtypes.canonicalize_dtype(base) if dtype is None else dtype)
    kind = type(value).__name__
    raise TypeError(f"array: {value!r} of type {kind} is no array, number, or sequence of them")


def _has_buffer(value: Any) -> bool:
    """Whether an object shows its memory as an array, such as those of the module `array`; text of bytes does not."""
    if isinstance(value, bytes):
        return False
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


# --- placing ---


def placed(x: Any, device: DeviceLike) -> Array:
    """An array on a device, or sharded by a sharding; where it is for None.

    A traced one is put there when the operation is evaluated; within a program where that runs decides.
    """
    if device is None:
        return x
    if not is_device(device):
        return constrained(x, device, as_given=True)
    if isinstance(x, Tracer):
        return tangrad.device_put(x, device)
    return put(x.to_numpy(), x.aval, device=device)
