"""What part of a reference is meant: indices one after the other, each of those that arrays take.

Within a program an index is a template, which is part of the program, and the arrays in it, which are operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._references.windows import Slice, window
from tangrad.core import Array, as_array, as_operand, dtypes, get_aval, is_array_value
from tangrad.extend.lax import convert_element_type_p
from tangrad.numpy import array, broadcast_to

if TYPE_CHECKING:
    from tangrad.typing import DType

Chain = tuple[Any, ...]


def chained(chain: Chain, index: Any) -> Chain:
    """A chain with one more index; one that means everything adds nothing."""
    return chain if _is_whole(index) else (*chain, index)


def _is_whole(index: Any) -> bool:
    if index is None or index is Ellipsis:
        return True
    if isinstance(index, tuple):
        return all([entry is Ellipsis or _is_whole_slice(entry) for entry in index])
    return _is_whole_slice(index)


def _is_whole_slice(entry: Any) -> bool:
    return type(entry) is slice and entry == slice(None)


# --- templates ------------------------------------------------------------------------------------------------------


def as_template(chain: Chain) -> tuple[tuple[Any, ...], list[Any]]:
    """A chain as a template and its arrays. Raises TypeError for what is no index."""
    arrays: list[Any] = []
    return tuple([tuple([_entry(e, arrays) for e in _entries(index)]) for index in chain]), arrays


def _entries(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _entry(entry: Any, arrays: list[Any]) -> Any:
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


def from_template(template: tuple[Any, ...], arrays: Sequence[Any]) -> Chain:
    """The chain of a template with these arrays."""
    given = iter(arrays)
    return tuple([tuple([_index(entry, given) for entry in entries]) for entries in template])


def _index(entry: Any, arrays: Iterator[Any]) -> Any:
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


def added(value: Any, chain: Chain, part: Any) -> Array:
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


def fitted(part: Any, dtype: DType) -> Array:
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
