"""`tangrad.lax.dot_general`, `dot` and `batch_matmul`."""

from __future__ import annotations

from typing import Any

from tangrad.core import dtypes
from tangrad.lax.contractions.precision import canonicalize_precision
from tangrad.lax.contractions.primitives import DotDimensionNumbers, dot_general_p
from tangrad.lax.operands import operand

_SIMPLE = {(left, right): DotDimensionNumbers((((left - 1,), (0,)), ((), ()))) for left in (1, 2) for right in (1, 2)}


def dot_general(
    lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """The products of two arrays, summed over some dimensions and paired along others.

    Args:
        lhs, rhs: arrays of one dtype, or of two of which one includes the other.
        dimension_numbers: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`, four sequences of dimensions,
            not negative. Contracting dimensions are summed over, batch dimensions paired; their sizes must agree.
        precision: None, a `lax.Precision` or its name, a pair of these, or a `lax.DotAlgorithm` or a preset of them.
        preferred_element_type: the dtype of the result, in which products are added up if it is wider; default: the
            operands' dtype.

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
    return _dot(lhs, rhs, DotDimensionNumbers(dimension_numbers), precision, preferred_element_type)


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The product of vectors and matrices; with `dimension_numbers`, any contraction.

    Args:
        lhs, rhs: arrays with one or two dimensions; with `dimension_numbers` any number.
        dimension_numbers: as for `lax.dot_general`; default: the last dimension of `lhs` and the first of `rhs`.
        precision: as for `lax.dot_general`.
        preferred_element_type: as for `lax.dot_general`.

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
        return _dot(lhs, rhs, DotDimensionNumbers(dimension_numbers), precision, preferred_element_type)
    lhs, rhs = _operand("dot", lhs, "lhs"), _operand("dot", rhs, "rhs")
    left, right = lhs.aval.shape, rhs.aval.shape
    numbers = _SIMPLE.get((len(left), len(right)))
    if numbers is None or left[-1] != right[0]:
        raise ValueError(
            "dot: without dimension_numbers, lhs and rhs must be vectors or matrices, the last dimension of lhs as "
            f"long as the first of rhs; got shapes {left} and {right}"
        )
    return _dot(lhs, rhs, numbers, precision, preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
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


def _operand(name: str, value: Any, argument: str) -> Any:
    return value if hasattr(value, "aval") else operand(name, value, argument)


def _dot(lhs: Any, rhs: Any, numbers: DotDimensionNumbers, precision: Any, preferred: Any) -> Any:
    return dot_general_p.bind(
        _operand("dot_general", lhs, "lhs"),
        _operand("dot_general", rhs, "rhs"),
        dimension_numbers=numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=None
        if preferred is None
        else dtypes.check_user_dtype_supported(preferred, "preferred_element_type"),
    )
