"""`tangrad.lax.dot_general`, `dot`, `batch_matmul` and their ragged relations, and `scaled_dot`."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._lax.checks import FLOATING, check_dtype
from tangrad._lax.contractions.precision import PrecisionLike, canonicalize_precision
from tangrad._lax.contractions.primitives import (
    DotDimensionNumbers,
    RaggedDotDimensionNumbers,
    dot_general_p,
    ragged_dot_general_p,
    ragged_numbers,
)
from tangrad._lax.elementwise.primitives import convert_element_type_p, mul_p
from tangrad._lax.operands import operand
from tangrad._lax.placement.primitives import sharded_call
from tangrad._lax.structure.primitives import broadcast_in_dim_p, reshape_p
from tangrad.core import Array, dtypes
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, ShardingLike, Value

_SIMPLE = {(left, right): DotDimensionNumbers((((left - 1,), (0,)), ((), ()))) for left in (1, 2) for right in (1, 2)}


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """The products of two arrays, summed over some dimensions and paired along others.

    Args:
        lhs, rhs: arrays of one dtype, or of two of which one includes the other.
        dimension_numbers: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`, four sequences of dimensions,
            not negative. Contracting dimensions are summed over, batch dimensions paired; their sizes must agree.
        precision: None, a `lax.Precision` or its name, a pair of these, or a `lax.DotAlgorithm` or a preset of them.
        preferred_element_type: the dtype of the result, in which products are added up if it is wider; default: the
            operands' dtype.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array whose dimensions are the batch dimensions, the others of `lhs`, and the others of `rhs`.

    Raises:
        TypeError: for dtypes that do not meet, or dimension numbers that are not such sequences.
        ValueError: for dimensions that do not exist, are repeated, or differ in size, or an unknown precision.

    >>> import numpy as np
    >>> import tangrad
    >>> batch = np.ones((2, 3, 4), np.float32)
    >>> tangrad.lax.dot_general(batch, batch, (([2], [2]), ([0], [0]))).shape
    (2, 3, 3)
    """
    options = (DotDimensionNumbers(dimension_numbers), precision, preferred_element_type)
    return _dot(lhs, rhs, *options) if out_sharding is None else sharded_call(out_sharding, _dot, lhs, rhs, *options)


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: object = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """The product of vectors and matrices; with `dimension_numbers`, any contraction.

    Args:
        lhs, rhs: arrays with one or two dimensions; with `dimension_numbers` any number.
        dimension_numbers: as for `lax.dot_general`; default: the last dimension of `lhs` and the first of `rhs`.
        precision: as for `lax.dot_general`.
        preferred_element_type: as for `lax.dot_general`.
        out_sharding: as for `lax.dot_general`.

    Returns:
        An array: the number u·v, the vector M·v or u·M, or the matrix M·N.

    Raises:
        TypeError: for dtypes that do not meet.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    Array(11., dtype=float32)
    """
    if dimension_numbers is not None:
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding)
    lhs, rhs = _operand("dot", lhs, "lhs"), _operand("dot", rhs, "rhs")
    left, right = lhs.aval.shape, rhs.aval.shape
    numbers = _SIMPLE.get((len(left), len(right)))
    if numbers is None or left[-1] != right[0]:
        raise ValueError(
            "dot: without dimension_numbers, lhs and rhs must be vectors or matrices, the last dimension of lhs as "
            f"long as the first of rhs; got shapes {left} and {right}"
        )
    options = (numbers, precision, preferred_element_type)
    return _dot(lhs, rhs, *options) if out_sharding is None else sharded_call(out_sharding, _dot, lhs, rhs, *options)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """The matrix products of the last two dimensions, paired along all dimensions before them.

    Args:
        lhs, rhs: arrays of equal rank, at least 2, with equal dimensions before the last two.
        precision: as for `lax.dot_general`.

    Returns:
        An array of the same rank.

    Raises:
        TypeError: for dtypes that do not meet.
        ValueError: for ranks or shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.batch_matmul(np.ones((5, 2, 3), np.float32), np.ones((5, 3, 4), np.float32)).shape
    (5, 2, 4)
    """
    lhs, rhs = _operand("batch_matmul", lhs, "lhs"), _operand("batch_matmul", rhs, "rhs")
    rank = lhs.aval.ndim
    if rank < 2 or rhs.aval.ndim != rank:
        raise ValueError(
            "batch_matmul: lhs and rhs must have equal rank, at least 2, "
            f"got shapes {lhs.aval.shape} and {rhs.aval.shape}"
        )
    batch = tuple(range(rank - 2))
    numbers = DotDimensionNumbers((((rank - 1,), (rank - 2,)), (batch, batch)))
    return _dot(lhs, rhs, numbers, precision, None)


def _operand(name: str, value: ArrayLike, argument: str) -> Array:
    return value if isinstance(value, Array) else operand(name, value, argument)


def _dot(lhs: ArrayLike, rhs: ArrayLike, numbers: DotDimensionNumbers, precision: object, preferred: object) -> Array:
    return dot_general_p.bind(
        _operand("dot_general", lhs, "lhs"),
        _operand("dot_general", rhs, "rhs"),
        dimension_numbers=numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=_checked_dtype(preferred),
    )


# --- ragged ---

_ROWS_IN_GROUPS = RaggedDotDimensionNumbers(DotDimensionNumbers((((1,), (1,)), ((), ()))), (0,), (0,))


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: object = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """The product of a matrix whose rows are in groups, with a matrix for each group.

    Args:
        lhs: a matrix (m, k). The first `group_sizes[0]` rows are those of the first group, and so on; rows beyond the
            last group give zeros.
        rhs: matrices (g, k, n), one for each group.
        group_sizes: integers (g,).
        precision: as for `lax.dot_general`.
        preferred_element_type: as for `lax.dot_general`.
        group_offset: None.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        A matrix (m, n).

    Raises:
        TypeError: for dtypes that do not meet, or sizes that are not integers.
        ValueError: for shapes that do not fit.
        NotImplementedError: for a `group_offset`.

    >>> import numpy as np
    >>> import tangrad
    >>> rows, matrices = np.ones((4, 1), np.float32), np.array([[[1.0]], [[2.0]]], np.float32)
    >>> tangrad.lax.ragged_dot(rows, matrices, np.array([1, 2]))
    Array([[1.],
           [2.],
           [2.],
           [0.]], dtype=float32)
    """
    lhs, rhs = _operand("ragged_dot", lhs, "lhs"), _operand("ragged_dot", rhs, "rhs")
    sizes = _operand("ragged_dot", group_sizes, "group_sizes")
    ranks = tuple([len(x.aval.shape) for x in (lhs, rhs, sizes)])
    if ranks != (2, 3, 1):
        found = ", ".join([str(x.aval.shape) for x in (lhs, rhs, sizes)])
        raise ValueError(f"ragged_dot takes lhs (m, k), rhs (g, k, n) and group_sizes (g,), got shapes {found}")
    return _ragged(
        lhs, rhs, sizes, _ROWS_IN_GROUPS, precision, preferred_element_type, group_offset, out_sharding, "ragged_dot"
    )


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: object = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """A contraction in which one dimension of `lhs` is divided into groups.

    Where that dimension is left over, each group meets its own part of `rhs`, which has a dimension that counts the
    groups; what is beyond the last group gives zeros. Where it is contracted, the sums of each group stand by
    themselves. Where it is a batch dimension, this is `lax.dot_general`.

    Args:
        lhs, rhs: arrays of numbers.
        group_sizes: integers (g,), or (*prefix, g) with sizes for each element of the batch dimensions of `lhs` and
            those of its dimensions that are of one sort with the ragged one and stand before it.
        ragged_dot_dimension_numbers: a `lax.RaggedDotDimensionNumbers`.
        precision: as for `lax.dot_general`.
        preferred_element_type: as for `lax.dot_general`.
        group_offset: None.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array with the dimensions of that of `lax.dot_general`, without that of the groups; or, where the ragged
        dimension is contracted, with the groups as first one.

    Raises:
        TypeError: for dtypes that do not meet, sizes that are not integers, or dimension numbers that are none.
        ValueError: for dimensions that do not exist or shapes that do not fit.
        NotImplementedError: for a `group_offset`.

    >>> import numpy as np
    >>> import tangrad
    >>> lax = tangrad.lax
    >>> numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    >>> x = np.ones((3, 1), np.float32)
    >>> lax.ragged_dot_general(x, x, np.array([1, 2]), numbers).shape
    (2, 1, 1)
    """
    numbers = ragged_numbers(ragged_dot_dimension_numbers)
    name = "ragged_dot_general"
    lhs, rhs = _operand(name, lhs, "lhs"), _operand(name, rhs, "rhs")
    sizes = _operand(name, group_sizes, "group_sizes")
    return _ragged(lhs, rhs, sizes, numbers, precision, preferred_element_type, group_offset, out_sharding, name)


def _ragged(
    lhs: Value,
    rhs: Value,
    sizes: Value,
    numbers: object,
    precision: object,
    preferred: object,
    offset: object,
    sharding: object,
    name: str,
) -> Array:
    if offset is not None:
        raise NotImplementedError(f"{name}: group_offset is not supported; leave out the groups before it")
    params = {
        "ragged_dot_dimension_numbers": numbers,
        "precision": canonicalize_precision(precision),
        "preferred_element_type": _checked_dtype(preferred),
    }
    if sharding is None:
        return ragged_dot_general_p.bind(lhs, rhs, sizes, **params)
    return sharded_call(sharding, ragged_dot_general_p.bind, lhs, rhs, sizes, **params)


def _checked_dtype(preferred: object) -> DType | None:
    if preferred is None:
        return None
    return dtypes.check_user_dtype_supported(preferred, "preferred_element_type")


# Rank of both operands -> the dimensions where none are given: matrices, and batches of them.
_USUAL = {
    2: DotDimensionNumbers((((1,), (0,)), ((), ()))),
    3: DotDimensionNumbers((((2,), (1,)), ((0,), (0,)))),
}


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The contraction of two arrays, each times the scales of its blocks.

    Args:
        lhs, rhs: arrays of floats, with two dimensions or more.
        lhs_scale, rhs_scale: floats of the operand's shape, but that contracting dimensions may be shorter, by a factor
            that is the size of blocks; None: all 1.
        dimension_numbers: as for `lax.dot_general`; None: those of the product of matrices, or of batches of them.
        preferred_element_type: bfloat16 or float32, the dtype in which is computed and that of the result; None:
            bfloat16.

    Returns:
        An array, as of `lax.dot_general`.

    Raises:
        TypeError: for dtypes that are not floats, or another `preferred_element_type`.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> x, scales = np.ones((1, 4), np.float32), np.array([[1.0, 10.0]], np.float32)
    >>> tangrad.lax.scaled_dot(x, x.T, lhs_scale=scales, preferred_element_type="float32")
    Array([[22.]], dtype=float32)
    """
    dtype = dtypes.as_dtype("bfloat16" if preferred_element_type is None else preferred_element_type)
    if dtypes.dtype_name(dtype) not in ("bfloat16", "float32"):
        found = dtypes.dtype_name(dtype)
        raise TypeError(f"scaled_dot: preferred_element_type must be bfloat16 or float32, got {found}")
    left, right = operand("scaled_dot", lhs, "lhs"), operand("scaled_dot", rhs, "rhs")
    if dimension_numbers is None:
        ranks = {x.aval.ndim for x in (left, right)}
        numbers = _USUAL.get(ranks.pop()) if len(ranks) == 1 else None
        if numbers is None:
            raise ValueError(
                "scaled_dot: without dimension_numbers, lhs and rhs must both have two dimensions or three; got shapes "
                f"{left.aval.shape} and {right.aval.shape}"
            )
    else:
        numbers = DotDimensionNumbers(dimension_numbers)
    operands = [
        _scaled(side, x, scale, numbers[0][place], dtype)
        for place, (side, x, scale) in enumerate((("lhs", left, lhs_scale), ("rhs", right, rhs_scale)))
    ]
    return dot_general_p.bind(*operands, dimension_numbers=numbers, precision=None, preferred_element_type=dtype)


def _scaled(side: str, x: Value, scale: ArrayLike | None, contracting: Sequence[int], dtype: DType) -> Value:
    check_dtype("scaled_dot", x.aval, (FLOATING,), side)
    x = _in_dtype(x, dtype)
    if scale is None:
        return x
    scales = operand("scaled_dot", scale, f"{side}_scale")
    check_dtype("scaled_dot", scales.aval, (FLOATING,), f"{side}_scale")
    return mul_p.bind(x, _repeated(side, _in_dtype(scales, dtype), x.aval.shape, contracting))


def _in_dtype(x: Value, dtype: DType) -> Value:
    if x.aval.dtype is dtype and not x.aval.weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _repeated(side: str, scales: Value, shape: Dimensions, contracting: Sequence[int]) -> Value:
    """Each scale for all elements of its block."""
    sizes = scales.aval.shape
    fits = len(sizes) == len(shape) and all(
        [
            size == whole if axis not in contracting else size and whole % size == 0
            for axis, (size, whole) in enumerate(zip(sizes, shape))
        ]
    )
    if not fits:
        raise ValueError(
            f"scaled_dot: {side}_scale must have the shape {shape} of {side}, but that its contracting dimensions "
            f"{tuple(contracting)} may be divided; got {sizes}"
        )
    if sizes == shape:
        return scales
    # Every dimension with one for the elements of a block behind it.
    blocks = [part for size, whole in zip(sizes, shape) for part in (size, whole // size if size else 1)]
    spread = broadcast_in_dim_p.bind(scales, shape=tuple(blocks), broadcast_dimensions=tuple(range(0, len(blocks), 2)))
    return reshape_p.bind(spread, new_sizes=shape, dimensions=None)
