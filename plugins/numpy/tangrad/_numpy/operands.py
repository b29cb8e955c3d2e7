"""What the functions of `tangrad.numpy` do to their arguments: NumPy's promotion and broadcasting, weak Python numbers.

Functions with a fast path ask the tables here first; everything else goes through `promote` and `broadcast`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeGuard, overload

import numpy as np

from tangrad._numpy.settings import check_rank_promotion, shape_of
from tangrad.core import Array, Literal, ShapedArray, Tracer, as_array, as_operand, dtypes, literal, thread
from tangrad.core.arguments import as_size, can_represent_array, is_symbolic
from tangrad.core.caches import register_cache
from tangrad.errors import ArgumentError, TracerIntegerConversionError
from tangrad.extend.lax import broadcast_in_dim_p, convert_element_type_p, select_n_p

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, Value


BOOL = dtypes.as_dtype(bool)
INT32: np.dtype = dtypes.as_dtype("int32")

PREPARES_OPERANDS = True  # `written_by_user` asks: functions here call for others

PYTHON_SCALARS = (int, float, complex, bool)
_WEAK_SCALARS = frozenset({int, float, complex})
ARRAY_LIKE = (Array, Literal, np.ndarray, np.generic, *PYTHON_SCALARS)

# The dtypes that arithmetic takes as they are, and those that have quotients: fast paths ask these. bfloat16 and other
# dtypes of ml_dtypes join when `promote` first meets them, so that ml_dtypes is not imported for nothing.
_STANDARD = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64") + (
    *("float16", "float32", "float64"),
    *("complex64", "complex128"),
)
numeric_dtypes = {dtypes.as_dtype(name) for name in _STANDARD}
inexact_dtypes = {dtype for dtype in numeric_dtypes if dtype.kind in "fc"}
floating_dtypes = {dtype for dtype in numeric_dtypes if dtype.kind == "f"}
integer_dtypes = {dtype for dtype in numeric_dtypes if dtype.kind in "iu"}

# (aval of an array, type of a Python number, the number) -> the literal that stands for it beside the array.
scalar_operands: dict[object, Literal] = {}
# Pairs of avals that elementwise primitives of two operands take as they are: one numeric dtype, shapes that fit.
direct_pairs: dict[object, bool] = {}
TABLE_LIMIT = 4096


def _clear_tables() -> None:
    scalar_operands.clear()
    direct_pairs.clear()


register_cache(_clear_tables)


class _Widths:
    """Whether 64-bit dtypes were turned on or off since the tables were made, as within a part of a program.

    A weak number beside a weak array is then of another dtype in one place than in another, which tables do not record.
    """

    __slots__ = ("changed", "first")

    def __init__(self) -> None:
        self.changed = False
        self.first = thread.enable_x64

    def note(self, value: bool) -> None:
        if value is not self.first and not self.changed:
            self.changed = True
            _clear_tables()


_widths = _Widths()
dtypes.on_x64_change(_widths.note)


# --- values into operands ---


def is_array_like(value: object) -> bool:
    """Whether functions take `value` where they take an array: not lists, tuples, None, strings."""
    return hasattr(type(value), "aval") or isinstance(value, ARRAY_LIKE) or can_represent_array(value)


def check_array_like(name: str, *values: object) -> None:
    """Raise TypeError for the first value that is no array or number."""
    for position, value in enumerate(values):
        if not is_array_like(value):
            raise TypeError(not_array_like(name, value, position))


def not_array_like(name: str, value: object, position: int) -> str:
    """The message about an argument that is no array."""
    cure = "; convert it with tangrad.numpy.asarray" if isinstance(value, (list, tuple)) else ""
    kind = type(value).__name__
    return f"{name} requires arrays or numbers, got {value!r} of type {kind} for argument {position}{cure}"


def operand(name: str, value: Any, position: int = 0) -> Array:
    """`value` as traces take it: an array, tracer or literal. Raises TypeError for what is no array or number."""
    if hasattr(type(value), "aval"):
        return value
    if not is_array_like(value):
        raise TypeError(not_array_like(name, value, position))
    return as_operand(value)


def array_operand(name: str, value: object, position: int = 0) -> Array:
    """As `operand`, but never a literal: what functions that may return their argument work on."""
    if isinstance(value, Array):
        return value
    return as_array(operand(name, value, position))


@overload
def convert(value: Array, dtype: DType, weak_type: bool = False) -> Array: ...
@overload
def convert(value: Value, dtype: DType, weak_type: bool = False) -> Value: ...
def convert(value: Value, dtype: DType, weak_type: bool = False) -> Value:
    """An operand in another dtype; as it is where nothing would change."""
    aval = value.aval
    if aval.dtype is dtype and aval.weak_type is weak_type:
        return value
    if type(value) is Literal and not isinstance(dtype, dtypes.ExtendedDType):
        return _convert_literal(value, dtype, weak_type)
    return convert_element_type_p.bind(value, new_dtype=dtype, weak_type=weak_type)


def _convert_literal(value: Literal, dtype: DType, weak_type: bool) -> Array | Literal:
    kind, target = value.aval.dtype.kind, dtype.kind
    if kind == target or kind == "b" or (kind in "iu" and target in "fc"):
        return literal(value.val, dtype, weak_type)
    return convert_element_type_p.bind(value, new_dtype=dtype, weak_type=weak_type)


# --- promotion ---


def _remember(dtype: DType) -> None:
    """Let the fast paths know a numeric dtype that they do not."""
    if dtype in numeric_dtypes or isinstance(dtype, dtypes.ExtendedDType) or not dtypes.issubdtype(dtype, np.number):
        return
    numeric_dtypes.add(dtype)
    if dtypes.issubdtype(dtype, np.floating):
        inexact_dtypes.add(dtype)
        floating_dtypes.add(dtype)


def cast(value: Any, dtype: DType, weak_type: bool) -> Value:
    """An argument as an operand of `dtype`. An operand that has it keeps its own weak type."""
    kind = type(value)
    if kind in _WEAK_SCALARS or kind is bool:
        return literal(value, dtype, weak_type if kind is bool else True)
    made = value if hasattr(type(value), "aval") else as_operand(value)
    return made if made.aval.dtype is dtype else convert(made, dtype, weak_type)


def promote(name: str, *values: object) -> list[Value]:
    """The arguments as operands of the dtype in which they meet. Raises TypeError for what is no array."""
    check_array_like(name, *values)
    dtype, weak = dtypes.lattice_result_type(*values, function_name=name)
    _remember(dtype)
    return [cast(value, dtype, weak) for value in values]


def promote_inexact(name: str, *values: object) -> list[Value]:
    """As `promote`; integers and booleans become floats."""
    check_array_like(name, *values)
    dtype, weak = dtypes.lattice_result_type(*values, function_name=name)
    _remember(dtype)
    return [cast(value, dtypes.to_inexact_dtype(dtype), weak) for value in values]


def inexact_operand(name: str, value: object) -> Value:
    """An array or number as floating or complex; integers and booleans of any width become the default float."""
    check_array_like(name, value)
    dtype, weak = dtypes.lattice_result_type(value)
    return cast(value, dtype if dtypes.issubdtype(dtype, np.inexact) else dtypes.default_float_dtype(), weak)


def promote_numeric(name: str, *values: ArrayLike) -> list[Value]:
    """As `promote`; booleans become int32."""
    check_array_like(name, *values)
    dtype, weak = dtypes.lattice_result_type(*values, function_name=name)
    _remember(dtype)
    return [cast(value, dtypes.to_numeric_dtype(dtype), weak) for value in values]


# --- broadcasting ---


def broadcast_shape(name: str, shapes: Sequence[tuple[object, ...]]) -> tuple[int, ...]:
    """The shape that `shapes` broadcast to. Raises ValueError naming the function and all shapes."""
    try:
        return common_shape(tuple(shapes))
    except ValueError:
        listed = ", ".join([str(shape) for shape in shapes])
        raise ArgumentError(f"{name} got shapes that do not broadcast together: {listed}") from None


@lru_cache(2048)
def common_shape(shapes: tuple[Dimensions, ...]) -> tuple[int, ...]:
    rank = max([len(shape) for shape in shapes], default=0)
    result = [1] * rank
    for shape in shapes:
        for position, size in enumerate(shape, rank - len(shape)):
            if size == 1 or size == result[position]:
                continue
            if result[position] != 1:
                raise ValueError
            result[position] = size
    return tuple(result)


def broadcast(name: str, operands: Sequence[Value]) -> Sequence[Value]:
    """Operands that elementwise primitives take: of one shape, or without dimensions beside it."""
    shapes = [value.aval.shape for value in operands]
    shaped = {shape for shape in shapes if shape}
    if len(shaped) < 2:
        return operands
    check_rank_promotion(name, shaped)
    shape = broadcast_shape(name, shapes)
    return [value if not value.aval.shape else broadcast_to_shape(value, shape) for value in operands]


def broadcast_all(name: str, operands: Sequence[Value]) -> list[Value]:
    """Operands all broadcast to their common shape, those without dimensions too."""
    shape = broadcast_shape(name, [value.aval.shape for value in operands])
    return [broadcast_to_shape(value, shape) for value in operands]


@overload
def broadcast_to_shape(value: Array, shape: Dimensions) -> Array: ...
@overload
def broadcast_to_shape(value: Value, shape: Dimensions) -> Value: ...
def broadcast_to_shape(value: Value, shape: Dimensions) -> Value:
    """An operand repeated to fill `shape`, which it is known to fit."""
    own = value.aval.shape
    if own == shape:
        return value
    rank = len(shape)
    return broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=tuple(range(rank - len(own), rank)))


def align(name: str, *values: object) -> Sequence[Value]:
    """Promote and broadcast: the operands of an elementwise primitive."""
    return broadcast(name, promote(name, *values))


def align_inexact(name: str, *values: object) -> Sequence[Value]:
    """As `align`; integers and booleans become floats."""
    return broadcast(name, promote_inexact(name, *values))


def align_numeric(name: str, *values: ArrayLike) -> Sequence[Value]:
    """As `align`; booleans become int32."""
    return broadcast(name, promote_numeric(name, *values))


# --- the tables of the fast paths ---


def scalar_beside(aval: ShapedArray, kind: type, number: float | None, key: object) -> Literal | None:
    """The literal for a Python number beside an array of that aval; None where the array would change its dtype.

    Stored under `key`. Raises OverflowError for an integer beyond the dtype.
    """
    dtype = aval.dtype
    if not (dtype in numeric_dtypes if kind is int else dtype in inexact_dtypes):
        return None
    if aval.weak_type and _widths.changed:  # two weak operands meet in the dtypes that there are now
        return None
    made = literal(number, dtype, True)
    if len(scalar_operands) >= TABLE_LIMIT:
        scalar_operands.clear()
    scalar_operands[key] = made
    return made


def number_beside(aval: ShapedArray, value: Any) -> Literal | None:
    """The literal for `value` beside an array of that aval; None where it is no Python number, or widens the array."""
    kind = type(value)
    if kind is not float and kind is not int:
        return None
    key = (aval, kind, value or str(value))  # 0.0 == -0.0, and they are two numbers
    found = scalar_operands.get(key)
    return scalar_beside(aval, kind, value, key) if found is None else found


def note_direct(x: ShapedArray, y: ShapedArray) -> None:
    """Remember a pair of avals that primitives take as they are."""
    if x.dtype is not y.dtype or x.dtype not in numeric_dtypes:
        return
    if x.shape == y.shape or not x.shape or not y.shape:
        if len(direct_pairs) >= TABLE_LIMIT:
            direct_pairs.clear()
        direct_pairs[x, y] = True


# --- arguments that are not arrays ---


def canonical_axis(name: str, axis: object, rank: int, argument: str = "axis") -> int:
    """An axis counted from the front. Raises TypeError for what is no integer, ValueError beyond the rank."""
    if type(axis) is not int:
        axis = index_argument(name, axis, argument)
    if not -rank <= axis < rank:
        raise ValueError(f"{name}: {argument} {axis} is out of bounds for an array of {rank} dimensions")
    return axis + rank if axis < 0 else axis


def is_sequence(axes: object) -> TypeGuard[Sequence[object]]:
    """Whether several axes are meant: a tuple or list, a range, or NumPy's vector."""
    return isinstance(axes, (tuple, list, range)) or (isinstance(axes, np.ndarray) and axes.ndim == 1)


def canonical_axes(name: str, axes: object, rank: int, argument: str = "axis") -> tuple[int, ...]:
    """A tuple of distinct axes from an integer, a sequence of integers, or None for all."""
    if axes is None:
        return tuple(range(rank))
    if not is_sequence(axes):
        return (canonical_axis(name, axes, rank, argument),)
    found = tuple([canonical_axis(name, axis, rank, argument) for axis in axes])
    if len(set(found)) != len(found):
        raise ValueError(f"{name}: {argument} names a dimension twice: {tuple(axes)}")
    return found


def index_argument(name: str, value: object, argument: str) -> int:
    """A Python integer, or a symbolic dimension. Raises ArgumentError for others, which NumPy takes for wrong kinds and
    JAX in places for wrong values; a traced one is named as such.
    """
    _check_not_traced(name, value, argument)
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return as_size(value)
    except TypeError:
        kind = type(value).__name__
        raise ArgumentError(f"{name}: {argument} must be an integer, got {value!r} of type {kind}") from None


def _check_not_traced(name: str, value: object, argument: str) -> None:
    if isinstance(value, Tracer) and value.concrete() is None:
        raise TracerIntegerConversionError(value, f"the argument {argument} of {name}")


def canonical_shape(name: str, shape: Any, argument: str = "shape") -> tuple[int, ...]:
    """A shape from an integer or a sequence of integers. Raises TypeError for floats, ValueError for negative sizes."""
    if type(shape) is int and shape >= 0:
        return (shape,)
    if type(shape) is int or not isinstance(shape, (tuple, list)):
        shape = _shape_sequence(name, shape, argument)
    sizes = [size if type(size) is int or is_symbolic(size) else _size(name, size, shape, argument) for size in shape]
    for size in sizes:
        if type(size) is int and size < 0:
            raise ArgumentError(f"{name}: {argument} must not have negative sizes, got {tuple(shape)}")
    return tuple(sizes)


def _shape_sequence(name: str, shape: Any, argument: str) -> tuple[Any, ...]:
    if is_symbolic(shape) or type(shape) is int:
        return (shape,)
    if isinstance(shape, (Array, np.ndarray, np.generic)):
        if len(shape_of(shape)) == 0:
            return (shape,)
        if len(shape_of(shape)) == 1:
            sizes: Any = shape
            return tuple(sizes)
    try:
        return (operator.index(shape),)
    except TypeError:
        pass
    try:
        return tuple(shape)
    except TypeError:
        kind = type(shape).__name__
        message = f"{name}: {argument} must be an integer or a sequence of integers, got {shape!r} of type {kind}"
        raise TypeError(message) from None


def _size(name: str, size: Value, shape: Sequence[ArrayLike], argument: str) -> int:
    _check_not_traced(name, size, argument)
    try:
        return operator.index(size)
    except TypeError:
        kind = type(size).__name__
        message = f"{name}: {argument} must consist of integers, got {shape!r} with {size!r} of type {kind}"
        raise TypeError(message) from None


def refuse_out(name: str, out: np.ndarray | None) -> None:
    """Arrays are immutable: results cannot be written into one."""
    if out is not None:
        raise NotImplementedError(f"{name}: the argument out is not supported, since arrays are immutable")


_user_dtypes: dict[object, np.dtype] = {}


@overload
def user_dtype(name: str, dtype: None) -> None: ...
@overload
def user_dtype(name: str, dtype: DTypeLike) -> np.dtype: ...
def user_dtype(name: str, dtype: DTypeLike | None) -> np.dtype | None:
    """The canonical form of a dtype that the caller asked for; None stays None. Raises TypeError for what is none."""
    if dtype is None:
        return None
    try:
        found = _user_dtypes.get((dtype, thread.enable_x64, thread.explicit_x64_dtypes))
    except TypeError:  # unhashable: no dtype, which a better error states
        found = None
    return _canonical_dtype(name, dtype) if found is None else found


def _canonical_dtype(name: str, dtype: DTypeLike) -> np.dtype:
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype
    # NumPy's scalar types only seem to have a dtype.
    asked = dtype if isinstance(dtype, type) and issubclass(dtype, np.generic) else getattr(dtype, "dtype", dtype)
    made = dtypes.check_user_dtype_supported(asked, name)
    if isinstance(asked, (str, type, np.dtype)) and (asked in _SCALARS or dtypes.as_dtype(asked) is made):
        if len(_user_dtypes) >= TABLE_LIMIT:
            _user_dtypes.clear()
        # Nothing was narrowed: there is no warning to repeat.
        _user_dtypes[dtype, thread.enable_x64, thread.explicit_x64_dtypes] = made
    return made


_SCALARS = frozenset(PYTHON_SCALARS)


def literal_like(value: Value, number: float) -> Literal:
    """A literal of an operand's dtype and weak type."""
    return literal(number, value.aval.dtype, value.aval.weak_type)


def is_kind(value: Value, scalar_class: object) -> bool:
    """Whether an operand's dtype is below a scalar class of NumPy (`np.floating`, ...)."""
    return dtypes.issubdtype(value.aval.dtype, scalar_class)


def is_complex(value: Any) -> bool:
    """Whether an operand is complex."""
    return value.aval.dtype.kind == "c"


def is_inexact(value: Value) -> bool:
    """Whether an operand is floating or complex."""
    return value.aval.dtype in inexact_dtypes or dtypes.issubdtype(value.aval.dtype, np.inexact)


def select(which: object, on_true: Value, on_false: Value) -> Array:
    """Operands of one dtype chosen by a boolean one; all of one shape, or without dimensions."""
    return select_n_p.bind(which, on_false, on_true)


# --- Whether a result is weakly typed: takes the dtype of what it meets, as Python numbers do ---


def of_known_type(values: Sequence[ArrayLike], operands: Sequence[Value]) -> Sequence[Value]:
    """What `values` were promoted to, weakly typed only if all of them are, or have no dimensions.

    A weak result takes the dtype of what it meets: that must not happen to what an array of booleans became, because a
    Python number was beside it.
    """
    if not any([made.aval.weak_type for made in operands]):
        return operands
    if all([made.aval.weak_type for made in operands]):
        if not any([made.aval.shape for made in operands]) or all([dtypes.is_weakly_typed(one) for one in values]):
            return operands
    return [strong(made) for made in operands]


@overload
def strong(value: Array) -> Array: ...
@overload
def strong(value: Value) -> Value: ...
def strong(value: Value) -> Value:
    """An operand not weakly typed."""
    return convert(value, value.aval.dtype) if value.aval.weak_type else value


def strong_if_converted(value: object, made: Value) -> Value:
    """What was made of `value`, not weakly typed if that is no float: the result of a conversion has its own dtype."""
    return made if dtypes.issubdtype(dtypes.dtype_of(value), np.inexact) else strong(made)
