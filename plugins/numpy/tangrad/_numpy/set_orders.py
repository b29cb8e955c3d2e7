"""The order of the elements of a set, and which of them are new: what `tangrad.numpy.unique` and its like share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._numpy.at import at
from tangrad._numpy.creation import ones, zeros
from tangrad._numpy.indexing import getitem
from tangrad._numpy.joining import concatenate
from tangrad._numpy.operands import is_inexact
from tangrad._numpy.reductions import any as any_of
from tangrad._numpy.shapes import reshaped
from tangrad.core import Array, dtypes
from tangrad.extend.lax import and_p, iota_p, ne_p, not_p, sort_p

if TYPE_CHECKING:
    from tangrad.typing import Value


def order_of(rows: Value) -> Array:
    """The positions that sort rows, the first column counting most."""
    length = rows.aval.shape[0]
    positions = iota_p.bind(dtype=dtypes.default_int_dtype(), shape=(length,), dimension=0)
    flat = reshaped(rows, (length, -1)) if rows.aval.size else reshaped(rows, (length, 0))
    columns = [flat[:, i] for i in range(flat.aval.shape[1])]
    if not columns:
        return positions
    return sort_p.bind(*columns, positions, dimension=0, is_stable=True, num_keys=len(columns))[-1]


def starts_of(ordered: Value, equal_nan: bool) -> Array:
    """Which of the sorted rows differs from the one before."""
    earlier, later = ordered[:-1], ordered[1:]
    different = ne_p.bind(earlier, later)
    if equal_nan and is_inexact(ordered):
        both = and_p.bind(ne_p.bind(earlier, earlier), ne_p.bind(later, later))
        different = and_p.bind(different, not_p.bind(both))
    if different.ndim > 1:
        different = any_of(different, axis=tuple(range(1, different.ndim)))
    return concatenate([ones(1, bool), different])


def first_ones(x: Value) -> Array:
    """Which elements of a vector are the first that equal them."""
    order = order_of(x)
    starts = starts_of(getitem(x, order), True)
    return at(zeros(order.aval.shape[0], bool))[order].set(starts, unique_indices=True)
