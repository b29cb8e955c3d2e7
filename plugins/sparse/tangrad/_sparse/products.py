"""Products of sparse arrays."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

import tangrad.numpy as tnp
from tangrad._sparse import algebra
from tangrad._sparse.base import JAXSparse, as_coordinates
from tangrad._sparse.bcoo import BCOO
from tangrad._sparse.conversions import checked
from tangrad.core import Array, api_boundary, as_array, dtypes
from tangrad.extend.lax import DotDimensionNumbers, canonicalize_precision, constrained, with_plain_type
from tangrad.lax import PrecisionLike
from tangrad.typing import ArrayLike, DTypeLike, ShardingLike

_KINDS = (np.bool_, np.integer, np.floating, np.complexfloating)


@overload
def bcoo_dot_general(
    lhs: BCOO,
    rhs: BCOO,
    *,
    dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> BCOO: ...
@overload
def bcoo_dot_general(
    lhs: BCOO,
    rhs: ArrayLike,
    *,
    dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array: ...
@overload
def bcoo_dot_general(
    lhs: ArrayLike,
    rhs: BCOO,
    *,
    dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array: ...
@api_boundary
def bcoo_dot_general(
    lhs: object,
    rhs: object,
    *,
    dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> BCOO | Array:
    """A contraction as `lax.dot_general`, of arrays of which one or both are sparse.

    Args:
        lhs, rhs: the arrays, without dense dimensions where they are sparse.
        dimension_numbers: `((lhs contracting, rhs contracting), (lhs batch, rhs batch))` dimensions.
        preferred_element_type: the dtype of the result, in which products are added up if it is wider; None: that of
            the operands together.
        precision: as of `lax.dot_general`. Elements are multiplied one by one, as exactly as their dtype has it,
            whatever it is.
        out_sharding: how a dense result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        a dense array; where both are sparse a sparse one, with an element for each pair of elements.

    Raises:
        TypeError: for a dtype that cannot hold the result.
        ValueError: for dimensions that do not fit, or an unknown precision.
        NotImplementedError: for sparse arrays with dense dimensions, and a sharding of a sparse result.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> sparse.bcoo_dot_general(sparse.eye(2), np.array([3.0, 4.0]), dimension_numbers=numbers)
    Array([3., 4.], dtype=float32)
    """
    if not isinstance(lhs, JAXSparse) and not isinstance(rhs, JAXSparse):
        raise TypeError("bcoo_dot_general: one of the arrays must be a BCOO")
    return placed_product(
        "bcoo_dot_general", lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding
    )


def placed_product(
    name: str,
    lhs: object,
    rhs: object,
    numbers: object,
    precision: object,
    dtype: Any,
    out_sharding: object,
) -> Array:
    """The contraction, of operands and with options as users write them."""
    canonicalize_precision(precision)
    if out_sharding is None:
        return product_of(lhs, rhs, numbers, dtype)
    if isinstance(lhs, JAXSparse) and isinstance(rhs, JAXSparse):
        raise NotImplementedError(f"{name}: out_sharding where both operands are sparse: so is the result")
    return constrained(product_of(with_plain_type(lhs), with_plain_type(rhs), numbers, dtype), out_sharding)


def product_of(lhs: object, rhs: object, numbers: object, dtype: np.dtype | None) -> Array:
    """The contraction of arrays of which some are sparse, of any format."""
    lhs, rhs = [as_coordinates(one) if isinstance(one, JAXSparse) else as_array(one) for one in (lhs, rhs)]
    if dtype is None:
        return algebra.dot_general(lhs, rhs, DotDimensionNumbers(numbers))
    wide = _computed_in(tnp.result_type(lhs.dtype, rhs.dtype), dtypes.canonicalize_dtype(dtype))
    return algebra.dot_general(lhs.astype(wide), rhs.astype(wide), DotDimensionNumbers(numbers)).astype(dtype)


def _computed_in(own: np.dtype, preferred: np.dtype) -> np.dtype:
    """The dtype that holds the products and the result: narrow integers would wrap before they are converted."""
    wide = tnp.promote_types(own, preferred)
    if not any([tnp.issubdtype(wide, kind) and tnp.issubdtype(preferred, kind) for kind in _KINDS]):
        raise TypeError(f"dot_general: preferred_element_type {preferred} cannot hold products of dtype {own}")
    return wide


@api_boundary
def bcoo_dot_general_sampled(A: ArrayLike, B: ArrayLike, indices: object, *, dimension_numbers: object) -> Array:
    """The elements at some coordinates of the contraction of two dense arrays, which alone are computed.

    Args:
        A, B: the arrays.
        indices: integers (*batch, nse, n_sparse): coordinates in the result, as of a `BCOO` without dense dimensions.
        dimension_numbers: as of `lax.dot_general`.

    Returns:
        an array (*batch, nse), with 0 for coordinates that are not within the result.

    >>> import numpy
    >>> from tangrad.experimental import sparse
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> places = numpy.array([[0, 1], [1, 0]])
    >>> sparse.bcoo_dot_general_sampled(numpy.eye(2), numpy.ones((2, 2)), places, dimension_numbers=numbers)
    Array([1., 1.], dtype=float32)
    """
    return algebra.sampled_product(as_array(A), as_array(B), as_array(indices), DotDimensionNumbers(dimension_numbers))


@api_boundary
def bcoo_multiply_dense(sp_mat: BCOO, v: ArrayLike) -> BCOO:
    """A sparse array times a dense one that can be repeated to its shape, element by element.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_multiply_dense(sparse.eye(2), np.array([3.0, 4.0])).data
    Array([3., 4.], dtype=float32)
    """
    return algebra.multiplied(checked("bcoo_multiply_dense", sp_mat), as_array(v))


@api_boundary
def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Two sparse arrays of one shape multiplied element by element.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_multiply_sparse(sparse.eye(2), sparse.eye(2)).sum_duplicates().data
    Array([1., 1.], dtype=float32)
    """
    for one in (lhs, rhs):
        checked("bcoo_multiply_sparse", one)
    return algebra.multiplied(lhs, rhs)
