"""What part of a reference is meant: indices, and windows whose start the program computes."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad.core import Array, as_array, as_operand, class_boundary, dtypes, get_aval, is_array_value
from tangrad.extend.lax import convert_element_type_p, dynamic_slice, dynamic_update_slice, pad_p
from tangrad.numpy import array, broadcast_to

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, DType, Value


# --- Parts of a size that is known, whose start the program computes: `Slice`, as kernels use them --------------------


@class_boundary
class Slice:
    """`size` elements from `start` on, `stride` apart: an index of references, beside those that arrays take.

    Args:
        start: an integer, or an integer scalar that the program computes.
        size: how many elements.
        stride: their distance.

    Raises TypeError for a size or stride that is no integer, ValueError for a negative size or a stride below one.

    >>> import tangrad, tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> ref = tangrad.new_ref(np.arange(6))
    >>> ref[pl.Slice(1, 2, stride=3)]
    Array([1, 4], dtype=int32)
    """

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: int, stride: int = 1) -> None:
        try:
            self.size, self.stride = operator.index(size), operator.index(stride)
        except TypeError:
            raise TypeError(
                f"Slice: size and stride must be integers that are known when the program is traced, got {size!r} and "
                f"{stride!r}; only start may be computed by the program"
            ) from None
        if self.size < 0 or self.stride < 1:
            raise ValueError(
                f"Slice: size must not be negative and stride at least 1, got size {size} and stride {stride}"
            )
        self.start = operator.index(start) if hasattr(type(start), "__index__") and not _is_array(start) else start
        if _is_array(self.start):
            aval = get_aval(self.start)
            if aval.shape or aval.dtype.kind not in "iu":
                raise TypeError(f"Slice: start must be an integer scalar, got {aval.str_short()}")

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the start is computed by the program."""
        return type(self.start) is not int

    @property
    def span(self) -> int:
        """How many elements there are from the first to the last one."""
        return (self.size - 1) * self.stride + 1 if self.size else 0

    def __repr__(self) -> str:
        return f"Slice({self.start!r}, {self.size}, stride={self.stride})"


def _is_array(value: object) -> bool:
    return hasattr(value, "aval")


class Window(NamedTuple):
    """The part of an array from the first to the last element that slices mean, and what remains to be taken of it."""

    starts: tuple[ArrayLike, ...]
    sizes: tuple[int, ...]
    rest: tuple[object, ...]

    def taken(self, value: Array) -> Array:
        return dynamic_slice(value, self.starts, self.sizes)

    def put(self, value: Array, part: Array) -> Array:
        return dynamic_update_slice(value, part, self.starts)


def window(value: Value, index: object) -> Window | None:
    """The window of an index that has slices, None for any other.

    Raises IndexError for too many indices, and for slices with known ends that leave the array.
    """
    entries = index if isinstance(index, tuple) else (index,)
    if not any([type(entry) is Slice for entry in entries]):
        return None
    shape = value.aval.shape
    starts: list[ArrayLike] = [0 for _ in shape]
    sizes, rest = list(shape), []
    for dimension, entry in _by_dimension(entries, len(shape)):
        if type(entry) is Slice:
            _check_within(entry, dimension, shape[dimension])
            starts[dimension], sizes[dimension] = entry.start, entry.span
            entry = slice(None, None, None if entry.stride == 1 else entry.stride)
        rest.append(entry)
    return Window(tuple(starts), tuple(sizes), tuple(rest))


def _by_dimension(entries: tuple[object, ...], count: int) -> list[tuple[int, object]]:
    """Each entry with the dimension it is for; those that are for none, or for several, with that of the next one."""
    used = sum([entry is not None and entry is not Ellipsis for entry in entries])
    if used > count:
        raise IndexError(f"a reference of {count} dimensions is indexed by {used} entries: {entries!r}")
    found, dimension = [], 0
    for entry in entries:
        found.append((dimension, entry))
        dimension += count - used if entry is Ellipsis else entry is not None
    return found


def _check_within(entry: Slice, dimension: int, size: int) -> None:
    if entry.span > size or (not entry.is_dynamic_start and not 0 <= entry.start <= size - entry.span):
        raise IndexError(
            f"{entry!r} leaves dimension {dimension}, which has {size} elements; for what overhangs load and store "
            "with a mask"
        )


def beyond(value: Array, index: object, fill: object) -> Array:
    """The array with as much of `fill` after each dimension that slices are for as they could overhang."""
    entries = index if isinstance(index, tuple) else (index,)
    high = [0 for _ in value.aval.shape]
    for dimension, entry in _by_dimension(entries, len(high)):
        if type(entry) is Slice:
            high[dimension] = entry.span
    if not any(high):
        return value
    return pad_p.bind(value, fill, padding_config=tuple([(0, more, 0) for more in high]))


# --- What part of a reference is meant: indices one after the other, each of those that arrays take -------------------
# Within a program an index is a template, which is part of the program, and the arrays in it, which are operands.


Chain = tuple[Any, ...]
Template = tuple[tuple[Any, ...], ...]  # of each index of a chain its entries, arrays left out


def chained(chain: Chain, index: object) -> Chain:
    """A chain with one more index; one that means everything adds nothing."""
    return chain if _is_whole(index) else (*chain, index)


def _is_whole(index: object) -> bool:
    if index is None or index is Ellipsis:
        return True
    if isinstance(index, tuple):
        return all([entry is Ellipsis or _is_whole_slice(entry) for entry in index])
    return _is_whole_slice(index)


def _is_whole_slice(entry: object) -> bool:
    return type(entry) is slice and entry == slice(None)


# --- templates ------------------------------------------------------------------------------------------------------


def as_template(chain: Chain) -> tuple[Template, list[Value]]:
    """A chain as a template and its arrays. Raises TypeError for what is no index."""
    arrays: list[Value] = []
    return tuple([tuple([_entry(e, arrays) for e in _entries(index)]) for index in chain]), arrays


def _entries(index: object) -> tuple[ArrayLike, ...]:
    return index if isinstance(index, tuple) else (index,)


def _entry(entry: ArrayLike, arrays: list[Value]) -> object:
    if entry is None or entry is Ellipsis:
        return ("new",) if entry is None else ("rest",)
    if type(entry) is int:
        return "int", entry
    if type(entry) is slice:
        bounds = (entry.start, entry.stop, entry.step)
        if not all([bound is None or hasattr(type(bound), "__index__") for bound in bounds]):
            raise TypeError(f"index of a reference: slices have integers, got {entry!r}")
        return "slice", *[None if bound is None else bound.__index__() for bound in bounds]
    if type(entry) is Slice:
        if not entry.is_dynamic_start:
            return "part", entry.start, entry.size, entry.stride
        arrays.append(as_operand(entry.start))
        return "moving", entry.size, entry.stride
    if isinstance(entry, list):
        entry = array(entry, "int32" if not entry else None)
    if not is_array_value(entry):
        raise TypeError(
            f"index of a reference: expected integers, slices, None, ... or integer arrays, got {entry!r} of type "
            f"{type(entry).__name__}"
        )
    arrays.append(as_operand(entry))
    return ("array",)


def from_template(template: tuple[Any, ...], arrays: Sequence[object]) -> Chain:
    """The chain of a template with these arrays."""
    given = iter(arrays)
    return tuple([tuple([_index(entry, given) for entry in entries]) for entries in template])


def _index(entry: tuple[Any, ...], arrays: Iterator[Any]) -> object:
    kind, *rest = entry
    if kind == "int":
        return rest[0]
    if kind == "slice":
        return slice(*rest)
    if kind in ("part", "moving"):
        return Slice(*rest) if kind == "part" else Slice(next(arrays), *rest)
    return next(arrays) if kind == "array" else None if kind == "new" else Ellipsis


# --- parts of values ------------------------------------------------------------------------------------------------


def read(value: Any, chain: Chain) -> Array:
    """The part of an array that a chain of indices means."""
    for index in chain:
        around = window(value, index)
        value = value[index] if around is None else read(around.taken(value), chained((), around.rest))
    return value


def written(value: Any, chain: Chain, part: Any) -> Array:
    """The array with that part replaced."""
    if not chain:
        if part.aval.shape == value.aval.shape:
            return part
        if part.aval.ndim > value.aval.ndim:
            raise ValueError(
                f"a value of shape {part.aval.shape} is written to a reference of shape {value.aval.shape}"
            )
        return broadcast_to(part, value.aval.shape)
    index, *rest = chain
    around = window(value, index)
    if around is not None:
        return around.put(value, written(around.taken(value), (*chained((), around.rest), *rest), part))
    return value.at[index].set(written(value[index], tuple(rest), part) if rest else part)


def added(value: Any, chain: Chain, part: object) -> Array:
    """The array with `part` added there, once for each time that an index names an element."""
    if not chain:
        return value + part
    index, *rest = chain
    around = window(value, index)
    if around is not None:
        return around.put(value, added(around.taken(value), (*chained((), around.rest), *rest), part))
    if rest:
        return value.at[index].set(added(value[index], tuple(rest), part))
    return value.at[index].add(part)


def fitted(part: object, dtype: DType) -> Array:
    """What is written, in the dtype of the reference. Raises TypeError where that would change its kind."""
    aval = get_aval(part)
    if aval.dtype != dtype and (not aval.weak_type or dtypes.result_type(aval, dtype) != dtype):
        names = dtypes.dtype_name(dtype), dtypes.dtype_name(aval.dtype)
        raise TypeError(
            f"a value of dtype {names[1]} is written to a reference of dtype {names[0]}: convert it, "
            f"value.astype({names[0]!r})"
        )
    if aval.dtype != dtype or aval.weak_type:
        return convert_element_type_p.bind(as_array(part), new_dtype=dtype, weak_type=False)
    return as_array(part)
