"""Matrices expressed by primitives of `tangrad-lax`, beyond those of `tangrad._lax.linalg.primitives`."""

from __future__ import annotations

from tangrad._lax.elementwise import functions as e
from tangrad._lax.indexing.primitives import GatherDimensionNumbers, GatherScatterMode, gather_p
from tangrad._lax.reductions.functions import reduce_sum
from tangrad._lax.sorting.primitives import sort_p
from tangrad._lax.structure import functions as s
from tangrad.core import Array, dtypes, literal
from tangrad.typing import Dimensions, Value

INDEX = dtypes.as_dtype("int32")


def is_complex(matrix: Value) -> bool:
    """Whether the elements are complex."""
    return bool(matrix.aval.dtype.kind == "c")


def row(vector: Value) -> Array:
    """Vectors as matrices of one row."""
    return s.expand_dims(vector, (vector.aval.ndim - 1,))


def column(vector: Value) -> Array:
    """Vectors as matrices of one column."""
    return s.expand_dims(vector, (vector.aval.ndim,))


def _on_diagonal(shape: Dimensions) -> Array:
    rows, columns = [s.broadcasted_iota(INDEX, shape[-2:], d) for d in (0, 1)]
    mask = e.eq(rows, columns)
    return s.broadcast_in_dim(mask, shape, (len(shape) - 2, len(shape) - 1))


def identity_like(matrix: Value) -> Array:
    """Ones on the diagonals of matrices of the shape and dtype of others."""
    return e.convert_element_type(_on_diagonal(matrix.aval.shape), matrix.aval.dtype)


def dominated(matrix: Value) -> Array:
    """A square matrix with a multiple of the identity added: regular however often rows and columns are repeated."""
    factor = literal(2 * matrix.aval.shape[-1], matrix.aval.dtype)
    return e.add(matrix, e.mul(identity_like(matrix), factor))


def diagonal_of(matrix: Value) -> Array:
    """The elements on the diagonals; those of a wide or a tall matrix too."""
    *batch, rows, columns = matrix.aval.shape
    least = rows if rows <= columns else columns
    zeros, last = [0] * len(batch), (least - 1) * (columns + 1) + 1 if least else 0
    # In one row after the other, they are columns + 1 apart.
    flat = s.reshape(matrix, (*batch, rows * columns))
    return s.slice(flat, (*zeros, 0), (*batch, last), (*[1] * len(batch), columns + 1))


def with_diagonal(matrix: Value, value: int) -> Array:
    """The matrices with one number everywhere on their diagonals."""
    return e.select(_on_diagonal(matrix.aval.shape), s.full_like(matrix, value), matrix)


def on_diagonal(vector: Value) -> Array:
    """Square matrices with the elements of vectors on their diagonals."""
    shape = (*vector.aval.shape, vector.aval.shape[-1])
    spread = s.broadcast_in_dim(vector, shape, (*range(vector.aval.ndim - 1), vector.aval.ndim))
    return e.select(_on_diagonal(shape), spread, s.zeros_like_array(spread))


def trace_of(matrix: Value) -> Array:
    """The sums of the diagonals, as matrices of one element."""
    total = reduce_sum(diagonal_of(matrix), (matrix.aval.ndim - 2,))
    return s.expand_dims(total, (total.aval.ndim, total.aval.ndim + 1))


def safe_reciprocal(x: Value) -> Array:
    """1 / x, and 0 where x is 0."""
    vanishes = e.eq(x, s.zeros_like_array(x))
    one = s.full_like(x, 1)
    return e.select(vanishes, s.zeros_like_array(x), e.div(one, e.select(vanishes, one, x)))


def padded(matrix: Value, rows: int, columns: int) -> Array:
    """Zeros below and to the right, up to a size."""
    have = matrix.aval.shape[-2:]
    none = [(0, 0, 0)] * (matrix.aval.ndim - 2)
    config = [*none, (0, rows - have[0], 0), (0, columns - have[1], 0)]
    return s.pad(matrix, literal(0, matrix.aval.dtype), config)


def cropped(matrix: Value, rows: int, columns: int) -> Array:
    """The upper left corner."""
    lead = matrix.aval.shape[:-2]
    return s.slice(matrix, (0,) * matrix.aval.ndim, (*lead, rows, columns))


def take_rows(matrix: Value, order: Value) -> Array:
    """Row `order[i]` of each matrix as row i."""
    return _take(matrix, order, matrix.aval.ndim - 2)


def take_columns(matrix: Value, order: Value) -> Array:
    """Column `order[i]` of each matrix as column i."""
    return _take(matrix, order, matrix.aval.ndim - 1)


def _take(matrix: Value, order: Value, axis: int) -> Array:
    if 0 in matrix.aval.shape or 0 in order.aval.shape:
        shape = [*matrix.aval.shape]
        shape[axis] = order.aval.shape[-1]
        return s.full(shape, 0, matrix.aval.dtype)
    rank = matrix.aval.ndim
    batch = tuple(range(rank - 2))
    other = rank - 1 if axis == rank - 2 else rank - 2
    sizes = [1] * rank
    sizes[other] = matrix.aval.shape[other]
    return gather_p.bind(
        matrix,
        s.expand_dims(order, (order.aval.ndim,)),
        dimension_numbers=GatherDimensionNumbers((other,), (axis,), (axis,), batch, batch),
        slice_sizes=tuple(sizes),
        indices_are_sorted=False,
        unique_indices=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


def inverse_permutation(order: Value) -> Array:
    """The permutation p with p[order[i]] = i."""
    from_one = s.broadcasted_iota(order.aval.dtype, order.aval.shape, order.aval.ndim - 1)
    return sort_p.bind(order, from_one, dimension=order.aval.ndim - 1, is_stable=True, num_keys=1)[1]


def shifted(x: Value, offset: int, axis: int) -> Value:
    """Element i - offset at place i along a dimension; 0 where there is none."""
    config = [(offset, -offset, 0) if dimension == axis else (0, 0, 0) for dimension in range(x.aval.ndim)]
    return x if offset == 0 else s.pad(x, literal(0, x.aval.dtype), config)
