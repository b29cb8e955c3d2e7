"""Products of vectors, matrices and tensors: `tangrad.numpy.dot`, `matmul`, `tensordot`, `outer`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._numpy.arithmetic import multiply
from tangrad._numpy.axes import moveaxis
from tangrad._numpy.fusing import as_one
from tangrad._numpy.makers import operator_form
from tangrad._numpy.operands import (
    array_operand,
    broadcast_shape,
    canonical_axes,
    promote,
    refuse_out,
    user_dtype,
)
from tangrad._numpy.plain_products import MATMUL, note_plain, plain_product
from tangrad._numpy.rounding import conjugate
from tangrad._numpy.settings import check_dtypes, check_promotion, check_rank_promotion
from tangrad._numpy.shapes import expand_dims, ravel
from tangrad.core import Array
from tangrad.errors import ArgumentError
from tangrad.extend.lax import (
    DotDimensionNumbers,
    canonicalize_precision,
    dot_general_p,
    sharded_call,
    squeeze_p,
    transpose_p,
)
from tangrad.typing import ArrayLike, DTypeLike, ShardingLike, Value

if TYPE_CHECKING:
    from tangrad.lax import PrecisionLike
    from tangrad.typing import DType


def _prepared(name: str, *values: Any) -> list[Value]:
    """Operands of one dtype. Fast where they have it already."""
    avals = [value.aval if hasattr(type(value), "aval") else None for value in values]
    if avals[0] is not None and avals[1] is not None and avals[0].dtype is avals[1].dtype:
        return list(values)
    return promote(name, *values)


def _options(name: str, precision: object, preferred: DTypeLike | None) -> tuple[PrecisionLike, DType | None]:
    return canonicalize_precision(precision), None if preferred is None else user_dtype(name, preferred)


def _dot_general(lhs: Value, rhs: Value, numbers: object, options: tuple[object, object]) -> Array:
    chosen = {"precision": options[0], "preferred_element_type": options[1]}
    return dot_general_p.bind(lhs, rhs, dimension_numbers=DotDimensionNumbers(numbers), **chosen)


def _check_contraction(name: str, left: object, right: object, left_shape: object, right_shape: object) -> None:
    if left != right:
        raise ArgumentError(
            f"{name}: shapes {left_shape} and {right_shape} do not fit: {left} and {right} must be the same size"
        )


# --- matmul ---


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Multiply matrices; leading dimensions are batches, broadcast against each other.

    Args:
        a, b: arrays of at least one dimension. A vector counts as a row on the left, as a column on the right.
        precision: how exactly accelerators multiply: None, a name, `lax.Precision`, or a pair.
        preferred_element_type: the dtype in which products are added up, and of the result.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of shape (..., rows of `a`, columns of `b`), less the dimensions of vectors.

    Raises:
        TypeError: for what is no array.
        ValueError: for arrays without dimensions, and sizes that do not fit.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    Array([3., 7.], dtype=float32)
    """
    if out_sharding is not None:
        return sharded_call(
            out_sharding, matmul, a, b, precision=precision, preferred_element_type=preferred_element_type
        )
    if precision is None and preferred_element_type is None:
        result = plain_product(a, b)
        if result is not None:
            return result
    lhs, rhs = _prepared("matmul", a, b)
    note_plain(lhs.aval, rhs.aval)
    options = _options("matmul", precision, preferred_element_type)
    left, right = lhs.aval.shape, rhs.aval.shape
    numbers = MATMUL.get((len(left), len(right)))
    if numbers is None:
        return _batched_matmul(lhs, rhs, options)
    if left[-1] != right[0]:
        _check_contraction("matmul", left[-1], right[0], left, right)
    return dot_general_p.bind(
        lhs, rhs, dimension_numbers=numbers, precision=options[0], preferred_element_type=options[1]
    )


def _batched_matmul(lhs: Value, rhs: Value, options: tuple[object, object]) -> Array:
    """A batch dimension that only one side has, or has with size 1 on the other, is a free dimension of that side."""
    left, right = lhs.aval.shape, rhs.aval.shape
    for position, shape in enumerate((left, right)):
        if not shape:
            raise ValueError(f"matmul: argument {position} must have at least one dimension")
    left_matrix, right_matrix = len(left) > 1, len(right) > 1
    left_batch, right_batch = left[:-2], right[:-2]
    _check_contraction("matmul", left[-1], right[-2] if right_matrix else right[0], left, right)
    rank = max(len(left_batch), len(right_batch))
    broadcast_shape("matmul", [left_batch, right_batch])
    roles = [_batch_role(position, rank, left_batch, right_batch) for position in range(rank)]
    lhs = _without(lhs, [axis for axis, _, role in roles if role == "right" and axis is not None])
    rhs = _without(rhs, [axis for _, axis, role in roles if role == "left" and axis is not None])
    left_axes, right_axes = _axes_after(roles, "left"), _axes_after(roles, "right")
    left_rank, right_rank = lhs.aval.ndim, rhs.aval.ndim
    contracting = ((left_rank - 1,), (right_rank - 2 if right_matrix else right_rank - 1,))
    both = [position for position, (_, _, role) in enumerate(roles) if role == "both"]
    batch = tuple([left_axes[p] for p in both]), tuple([right_axes[p] for p in both])
    result = _dot_general(lhs, rhs, (contracting, batch), options)
    return _in_order(result, roles, left_matrix, right_matrix)


def _batch_role(
    position: int, rank: int, left: Sequence[object], right: Sequence[object]
) -> tuple[int | None, int | None, str]:
    """Which axis of either side a batch dimension is, and who has it: both, left or right."""
    left_axis = position - (rank - len(left))
    right_axis = position - (rank - len(right))
    left_size = left[left_axis] if left_axis >= 0 else None
    right_size = right[right_axis] if right_axis >= 0 else None
    axes = left_axis if left_axis >= 0 else None, right_axis if right_axis >= 0 else None
    if left_size is not None and left_size == right_size:
        return (*axes, "both")
    return (*axes, "left" if right_size is None or (right_size == 1 and left_size is not None) else "right")


def _without(x: Value, axes: Sequence[int]) -> Value:
    return squeeze_p.bind(x, dimensions=tuple(axes)) if axes else x


def _axes_after(roles: Sequence[tuple[int | None, int | None, str]], side: str) -> dict[int, int]:
    """Batch dimension -> its axis on one side, after the dimensions that are the other side's have been dropped."""
    mine = [position for position, (_, _, role) in enumerate(roles) if role in ("both", side)]
    return {position: axis for axis, position in enumerate(mine)}


def _in_order(
    result: Array, roles: Sequence[tuple[int | None, int | None, str]], left_matrix: bool, right_matrix: bool
) -> Array:
    """From (both, left, row, right, column) to the order of broadcasting."""
    groups = [[p for p, (_, _, role) in enumerate(roles) if role == wanted] for wanted in ("both", "left", "right")]
    labels: list[object] = [*groups[0], *groups[1]]
    labels += ["row"] if left_matrix else []
    labels += groups[2]
    labels += ["column"] if right_matrix else []
    wanted = [*range(len(roles)), *(["row"] if left_matrix else []), *(["column"] if right_matrix else [])]
    permutation = tuple([labels.index(label) for label in wanted])
    return result if permutation == tuple(range(len(labels))) else transpose_p.bind(result, permutation=permutation)


matmul_operator = operator_form("matmul", "@", matmul)


# --- dot and its kin ---


def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Multiply, summing over the last dimension of the first array and the last but one of the second.

    Args:
        a, b: arrays or numbers; of a vector the only dimension is summed over.
        precision: how exactly accelerators multiply: None, a name, `lax.Precision`, or a pair.
        preferred_element_type: the dtype in which products are added up, and of the result.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array with the other dimensions of `a`, then those of `b`; the product x * y if either is a number.

    Raises:
        TypeError: for what is no array.
        ValueError: for sizes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.dot(tangrad.numpy.array([1.0, 2.0]), tangrad.numpy.array([3.0, 4.0]))
    Array(11., dtype=float32)
    """
    if out_sharding is not None:
        return sharded_call(out_sharding, dot, a, b, precision=precision, preferred_element_type=preferred_element_type)
    if precision is None and preferred_element_type is None:
        result = plain_product(a, b)
        if result is not None:
            return result
    lhs, rhs = _prepared("dot", a, b)
    note_plain(lhs.aval, rhs.aval)
    options = _options("dot", precision, preferred_element_type)
    left, right = lhs.aval.shape, rhs.aval.shape
    numbers = MATMUL.get((len(left), len(right)))
    if numbers is None:
        if not left or not right:
            return _dot_general(lhs, rhs, (((), ()), ((), ())), options)
        numbers = DotDimensionNumbers((((len(left) - 1,), (max(len(right) - 2, 0),)), ((), ())))
    ((_, (right_axis,)), _) = numbers
    if left[-1] != right[right_axis]:
        _check_contraction("dot", left[-1], right[right_axis], left, right)
    return dot_general_p.bind(
        lhs, rhs, dimension_numbers=numbers, precision=options[0], preferred_element_type=options[1]
    )


@as_one("precision", "preferred_element_type")
def vdot(
    a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None
) -> Array:
    """Take the scalar product of two arrays as vectors; the first is conjugated.

    Args:
        a, b: arrays or numbers with as many elements.
        precision: how exactly accelerators multiply.
        preferred_element_type: the dtype of the result.

    Returns:
        An array without dimensions.

    Raises:
        TypeError: for what is no array.
        ValueError: for sizes that differ.

    >>> import tangrad
    >>> tangrad.numpy.vdot(tangrad.numpy.array([1j, 2]), tangrad.numpy.array([1j, 1]))
    Array(3.+0.j, dtype=complex64)
    """
    check_dtypes("vdot", a, b)
    left = ravel(conjugate(array_operand("vdot", a)))
    right = ravel(array_operand("vdot", b, 1))
    _check_contraction("vdot", left.shape[0], right.shape[0], left.shape, right.shape)
    return dot(left, right, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Take the scalar products of vectors along an axis; the first are conjugated, the other dimensions broadcast.

    Args:
        x1, x2: arrays of at least one dimension.
        axis: along which the vectors are, counted from the end (negative).
        precision: how exactly accelerators multiply.
        preferred_element_type: the dtype of the result.

    Returns:
        An array without that axis.

    Raises:
        TypeError: for what is no array.
        ValueError: for sizes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.vecdot(tangrad.numpy.ones((2, 3)), tangrad.numpy.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    left, right = [array_operand("vecdot", x, position) for position, x in enumerate((x1, x2))]
    for position, x in enumerate((left, right)):
        if not x.ndim:
            raise ValueError(f"vecdot: argument {position} must have at least one dimension")
    check_promotion("vecdot", left, right)
    left, right = moveaxis(left, axis, -1), moveaxis(right, axis, -1)
    _check_contraction("vecdot", left.shape[-1], right.shape[-1], left.shape, right.shape)
    products = matmul(
        expand_dims(conjugate(left), -2),
        expand_dims(right, -1),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    return squeeze_p.bind(products, dimensions=(products.ndim - 2, products.ndim - 1))


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply matrices by vectors; leading dimensions are batches.

    Args:
        x1: an array of at least two dimensions.
        x2: an array of at least one dimension.

    Returns:
        An array of shape (..., rows of `x1`).

    Raises:
        TypeError: for what is no array.
        ValueError: for sizes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.matvec(tangrad.numpy.ones((2, 3)), tangrad.numpy.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    left, right = _of_rank("matvec", x1, 0, 2), _of_rank("matvec", x2, 1, 1)
    check_rank_promotion("matvec", [left.shape[:-2], right.shape[:-1]])
    check_dtypes("matvec", left, right)
    result = matmul(left, expand_dims(right, -1))
    return squeeze_p.bind(result, dimensions=(result.ndim - 1,))


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply vectors, conjugated, by matrices; leading dimensions are batches.

    Args:
        x1: an array of at least one dimension.
        x2: an array of at least two dimensions.

    Returns:
        An array of shape (..., columns of `x2`).

    Raises:
        TypeError: for what is no array.
        ValueError: for sizes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.vecmat(tangrad.numpy.arange(3.0), tangrad.numpy.ones((3, 2)))
    Array([3., 3.], dtype=float32)
    """
    left, right = _of_rank("vecmat", x1, 0, 1), _of_rank("vecmat", x2, 1, 2)
    check_rank_promotion("vecmat", [left.shape[:-1], right.shape[:-2]])
    check_dtypes("vecmat", left, right)
    result = matmul(expand_dims(conjugate(left), -2), right)
    return squeeze_p.bind(result, dimensions=(result.ndim - 2,))


def _of_rank(name: str, value: object, position: int, rank: int) -> Array:
    x = array_operand(name, value, position)
    if x.ndim < rank:
        raise ValueError(f"{name}: argument {position} must have at least {rank} dimensions, got shape {x.shape}")
    return x


@as_one("precision", "preferred_element_type")
def inner(
    a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None
) -> Array:
    """Multiply, summing over the last dimension of both arrays.

    Args:
        a, b: arrays or numbers.
        precision: how exactly accelerators multiply.
        preferred_element_type: the dtype of the result.

    Returns:
        An array with the other dimensions of `a`, then those of `b`; the product x * y if either is a number.

    Raises:
        TypeError: for what is no array.
        ValueError: for sizes that differ.

    >>> import tangrad
    >>> tangrad.numpy.inner(tangrad.numpy.ones((2, 3)), tangrad.numpy.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    lhs, rhs = _prepared("inner", a, b)
    if not lhs.aval.ndim or not rhs.aval.ndim:
        return multiply(lhs, rhs)
    return tensordot(lhs, rhs, (-1, -1), precision=precision, preferred_element_type=preferred_element_type)


@as_one("out")
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Multiply each element of one array by each of another.

    Args:
        a, b: arrays or numbers, which count as vectors.
        out: must be None.

    Returns:
        An array of shape (size of `a`, size of `b`).

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.outer(tangrad.numpy.array([1, 2]), tangrad.numpy.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    refuse_out("outer", out)
    check_dtypes("outer", a, b)
    left = expand_dims(ravel(array_operand("outer", a)), 1)
    return multiply(left, expand_dims(ravel(array_operand("outer", b, 1)), 0))


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Multiply, summing over any dimensions.

    Args:
        a, b: arrays or numbers.
        axes: how many of the last dimensions of `a` and the first of `b`; or a pair: which of `a`, which of `b`.
        precision: how exactly accelerators multiply.
        preferred_element_type: the dtype of the result.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array with the other dimensions of `a`, then those of `b`.

    Raises:
        TypeError: for what is no array, and axes that are no integers.
        ValueError: for sizes that differ, and axes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.tensordot(tangrad.numpy.ones((2, 3, 4)), tangrad.numpy.ones((3, 4, 5))).shape
    (2, 5)
    """
    if out_sharding is not None:
        options = {"precision": precision, "preferred_element_type": preferred_element_type}
        return sharded_call(out_sharding, tensordot, a, b, axes, **options)
    lhs, rhs = _prepared("tensordot", a, b)
    left, right = lhs.aval.shape, rhs.aval.shape
    left_axes, right_axes = _tensordot_axes(axes, len(left), len(right))
    sizes = [left[axis] for axis in left_axes], [right[axis] for axis in right_axes]
    if sizes[0] != sizes[1]:
        raise ArgumentError(
            f"tensordot: axes {axes} of shapes {left} and {right} have different sizes, {sizes[0]} and {sizes[1]}"
        )
    chosen = _options("tensordot", precision, preferred_element_type)
    return _dot_general(lhs, rhs, ((left_axes, right_axes), ((), ())), chosen)


def _tensordot_axes(axes: object, left_rank: int, right_rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise ValueError(f"tensordot: axes must be an integer or a pair, got {axes!r}")
        left = canonical_axes("tensordot", axes[0], left_rank, "axes[0]")
        right = canonical_axes("tensordot", axes[1], right_rank, "axes[1]")
        if len(left) != len(right):
            raise ValueError(f"tensordot: axes {axes!r} must name as many dimensions of both arrays")
        return left, right
    count = int(axes.__index__()) if hasattr(axes, "__index__") else None
    if count is None:
        raise TypeError(f"tensordot: axes must be an integer or a pair, got {axes!r} of type {type(axes).__name__}")
    if not 0 <= count <= min(left_rank, right_rank):
        raise ValueError(f"tensordot: axes {count} is beyond the ranks {left_rank} and {right_rank}")
    return tuple(range(left_rank - count, left_rank)), tuple(range(count))
