"""What NumPy made for this, as arrays of the backend in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.operands import TABLE_LIMIT
from tangrad.core import Array, ShapedArray, get_backend, put, thread, transfers
from tangrad.core.caches import register_cache

if TYPE_CHECKING:
    from tangrad.typing import DType

# Outside of transformations arrays up to this size are made on the host: the XLA backend would compile a program for
# each shape. Larger ones are made on the device, without a transfer.
HOST_LIMIT = 1 << 16


def adopt(contents: Any, aval: ShapedArray) -> Array:
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
_types: dict[Any, ShapedArray] = {}
register_cache(_types.clear)


def array_of(contents: np.ndarray, weak_type: bool = False) -> Array:
    """`adopt`, of the type that the contents have."""
    return adopt(contents, type_of_array(contents.shape, contents.dtype, weak_type))
