"""Parts of arrays outside of programs: `x[index]` as NumPy takes it, without an operation.

NumPy's rules for what it accepts are those of `tangrad.numpy`, with two exceptions, which are left to operations: what
is outside of an array (NumPy raises) and kinds of indices that only one of the two knows (lists, booleans, floats).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from types import EllipsisType, NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.array import NumpyArray
from tangrad.core import ShapedArray, dtypes
from tangrad.core.caches import register_cache
from tangrad.core.tools import own_fault

if TYPE_CHECKING:
    from tangrad.typing import Dimensions

TYPE_LIMIT = 4096
KEPT = 1 << 12  # bytes up to which a number may be a view, which keeps the array that it comes from
CHUNK = 64  # numbers that are copied together
_PLAIN = frozenset({int, NoneType, EllipsisType})
_FORWARDS = (None, 1)  # steps of slices that may be the whole array

# (type of an array, shape of a part) -> type of the part
_types: dict[object, ShapedArray] = {}
register_cache(_types.clear)
# The type of an array -> that of its slices along the first axis: as `_types` has it, in half the time.
_elements: dict[np.dtype, ShapedArray] = {}
register_cache(_elements.clear)


def part(array: np.ndarray, index: object) -> NumpyArray | None:
    """`array[index]`, or None where that is left to operations. Slices are views, as in NumPy; numbers of large arrays
    are copies.
    """
    if type(array) is not NumpyArray:
        return None
    aval, kind = array.aval, type(index)
    try:
        if kind is int:
            found = array.ndarray[index, ...]
            type_ = _elements.get(aval)
        else:
            if kind is slice:
                if type(index.start) not in _PLAIN or type(index.stop) not in _PLAIN or type(index.step) not in _PLAIN:
                    return None
                found = array.ndarray[index]
            elif kind is tuple and _is_basic(index):
                found = array.ndarray[(*index, ...)]  # an array, where NumPy would make a scalar
            else:
                found = array.ndarray[_in_numpy(index, kind)]
                if type(found) is not np.ndarray:
                    found = np.asarray(found)
            type_ = _types.get((aval, found.shape))
    except own_fault(AttributeError, IndexError, TypeError, ValueError):
        return None  # deleted, beyond the array, or no index
    if type_ is None:
        if isinstance(aval.dtype, dtypes.ExtendedDType):  # whose elements have dimensions of their own
            return None
        type_ = _type_of_part(aval, found.shape)
        if kind is int:
            _elements[aval] = type_
    if not found.ndim and array.ndarray.nbytes > KEPT:
        found = found.copy()
    if type_ is aval and kind is slice and index.step in _FORWARDS:
        return array
    out = NumpyArray()
    out.aval = type_
    out.ndarray = found
    return out


def _type_of_part(aval: ShapedArray, shape: Dimensions) -> ShapedArray:
    found = _types.get((aval, shape))
    if found is None:
        if len(_types) >= TYPE_LIMIT:
            _types.clear()
            _elements.clear()
        found = _types[aval, shape] = aval.update(shape=shape)
    return found


def rows(array: object) -> Iterator[NumpyArray] | None:
    """The slices along the first axis, which are views; None for an array that was put on a device."""
    return _rows(array) if type(array) is NumpyArray else None


def _rows(array: NumpyArray) -> Iterator[NumpyArray]:
    contents, shape = array.buffer(), array.aval.shape[1:]
    aval = _type_of_part(array.aval, shape)
    for part in contents if contents.ndim > 1 else _numbers(contents):
        out = NumpyArray()
        out.aval = aval
        out.ndarray = part
        yield out


def _numbers(vector: np.ndarray) -> Iterator[np.ndarray]:
    """The elements of a vector, of which NumPy would make scalars; those of a large one do not keep it."""
    if vector.nbytes <= KEPT:
        return map(vector.__getitem__, zip(range(len(vector)), repeat(...)))
    chunks = (vector[start : start + CHUNK].copy() for start in range(0, len(vector), CHUNK))
    return (chunk[at, ...] for chunk in chunks for at in range(len(chunk)))


def _is_basic(index: tuple[Any, ...]) -> bool:
    """Whether there are integers and slices of integers alone."""
    for item in index:
        kind = type(item)
        if kind is int:
            continue
        if kind is not slice:
            return False
        if type(item.start) not in _PLAIN or type(item.stop) not in _PLAIN or type(item.step) not in _PLAIN:
            return False
    return True


def _in_numpy(index: Any, kind: type) -> object:
    """An index as NumPy takes it. Raises TypeError for one that is left to operations."""
    if kind is slice:
        if type(index.start) in _PLAIN and type(index.stop) in _PLAIN and type(index.step) in _PLAIN:
            return index
    elif kind is tuple:
        return tuple([item if type(item) in _PLAIN else _in_numpy(item, type(item)) for item in index])
    elif kind is NumpyArray or kind is np.ndarray:
        contents = index.ndarray if kind is NumpyArray else index
        if contents.dtype.kind in "iu" or (contents.dtype.kind == "b" and contents.ndim):
            return contents
    elif kind in _PLAIN:
        return index
    raise TypeError(f"{index!r} is left to operations")
