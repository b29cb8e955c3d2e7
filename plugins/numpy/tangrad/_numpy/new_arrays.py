"""What NumPy makes and computes for this, as arrays of the backend in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.operands import TABLE_LIMIT
from tangrad.core import EVAL_TRACE, Array, ShapedArray, Tracer, dtypes, get_backend, put, thread, transfers
from tangrad.core.caches import register_cache

if TYPE_CHECKING:
    from tangrad.typing import DType, Value


# --- What NumPy made for this, as arrays of the backend in use ---


# Outside of transformations arrays up to this size are made on the host: the XLA backend would compile a program for
# each shape. Larger ones are made on the device, without a transfer.
HOST_LIMIT = 1 << 16


def adopt(contents: np.ndarray, aval: ShapedArray) -> Array:
    """As `put`, of a NumPy array of the aval's shape and dtype that was made for this and is handed over."""
    if transfers.watch.on:
        transfers.brought(aval)
    return get_backend().adopt(contents, aval) if thread.default_device is None else put(contents, aval)


def type_of_array(shape: tuple[int, ...], dtype: DType, weak_type: bool = False) -> ShapedArray:
    """The type of an array whose shape is known to be one: from a table, in a third of the time."""
    aval = _types.get((shape, dtype, weak_type))
    if aval is None:
        aval = ShapedArray(shape, dtype, weak_type)
        if len(_types) >= TABLE_LIMIT:
            _types.clear()
        _types[shape, dtype, weak_type] = aval
    return aval


# (shape, dtype, whether it is weak) -> the type.
_types: dict[object, ShapedArray] = {}
register_cache(_types.clear)


def array_of(contents: np.ndarray, weak_type: bool = False) -> Array:
    """`adopt`, of the type that the contents have."""
    return adopt(contents, type_of_array(contents.shape, contents.dtype, weak_type))


# ----------------------------------------------------------------------------------------------------------------------
# Small arrays on the host: what NumPy computes where the contents of arrays decide the shape of the result.
# A backend that compiles would need a program for each shape, and NumPy has a function for what takes many operations.


_KINDS = frozenset("biuf")  # of dtypes whose order is NumPy's
_LONG = 1000  # elements from which on NumPy's stable order takes longer than another


def contents_on_host(x: Value) -> np.ndarray | None:
    """The contents of an array that NumPy may compute with, not to be written to; None: by operations.

    Where results are looked at one by one, or the user chose the device that they are to be on, there are operations.
    """
    aval = x.aval
    if thread.trace is not EVAL_TRACE or EVAL_TRACE.watched or isinstance(x, Tracer):
        return None
    if aval.dtype.kind not in _KINDS:
        return None
    if thread.default_device is not None or x.backend is not get_backend() or x.committed:
        return None
    if aval.size > HOST_LIMIT and x.device.platform != "cpu":  # whose memory is another
        return None
    return x.to_numpy()


def unique_on_host(
    x: np.ndarray, weak_type: bool, equal_nan: bool, wanted: tuple[bool, bool, bool]
) -> tuple[Value | None, ...]:
    """The different numbers of a vector that is not empty; of equal ones the first, as zeros have signs.

    And, where wanted, where each is first, the positions that rebuild the vector, and the counts.
    """
    kind, length = dtypes.default_int_dtype(), len(x)
    order: Any = x.argsort(kind="stable") if wanted[0] or wanted[1] else None
    quick = length > _LONG and order is None
    ordered = x[order] if order is not None else np.sort(x, kind=None if quick else "stable")
    starts = np.empty(length, bool)
    starts[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    if equal_nan and ordered[-1] != ordered[-1]:  # NaN comes last
        starts[ordered.searchsorted(ordered[-1]) + 1 :] = False
    places = starts.nonzero()[0]
    if quick and x.dtype.kind == "f":  # zeros of both signs came in any order
        zero = int(ordered[places].searchsorted(0))
        if zero < len(places) and ordered[places[zero]] == 0:
            ordered[places[zero]] = x[(x == 0).argmax()]
    first = array_of(order[places].astype(kind)) if wanted[0] else None
    rebuilt = counts = None
    if wanted[1]:
        numbers = np.empty(length, kind)
        numbers[order] = starts.cumsum() - 1
        rebuilt = array_of(numbers)
    if wanted[2]:
        ends = np.append(places[1:], length)
        counts = array_of((ends - places).astype(kind))
    return array_of(ordered[places], weak_type), first, rebuilt, counts
