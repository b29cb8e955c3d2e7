"""Reductions along axes, and running totals: `tangrad.lax.reduce_sum`, `argmax`, `cumsum`, …

`reduce`, for any operation, is in generic.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._lax.checks import check_int
from tangrad._lax.operands import operand as _as_operand
from tangrad._lax.placement.primitives import sharded_call
from tangrad._lax.reductions import primitives as p
from tangrad._lax.reductions.generic import reduce as reduce
from tangrad.core import Array, dtypes, find_primitive, thread
from tangrad.typing import ArrayLike, DTypeLike, ShardingLike


def _operand(name: str, value: ArrayLike) -> Array:
    return _as_operand(name, value, "operand")


def _axes(name: str, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes as primitives take them: a sorted tuple of integers."""
    if type(axes) is tuple and len(axes) == 1 and type(axes[0]) is int:
        return axes
    try:
        return tuple(sorted([check_int(name, axis, "an axis in axes") for axis in axes]))
    except TypeError:
        if hasattr(axes, "__iter__"):
            raise
        found = f"{axes!r} of type {type(axes).__name__}"
        raise TypeError(f"{name}: axes must be a sequence of integers, got {found}") from None


def _names_among(axes: Sequence[int]) -> bool:
    """Whether a reduction goes over mapped axes, too: names that are in scope."""
    if not thread.axis_environment or not isinstance(axes, (tuple, list)):
        return False
    scope = [name for name, _ in thread.axis_environment]
    return any([not isinstance(axis, int) and axis in scope for axis in axes])


def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike = None) -> Array:
    """The sum of the elements along axes; integers wrap.

    Args:
        operand: an array or number, integer, floating or complex.
        axes: the dimensions to combine, distinct and not negative; names of mapped axes in scope may be among them.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of the dtype of `operand`, without those dimensions; 0 where nothing is summed.

    Raises:
        TypeError: for other dtypes, or axes that are not integers.
        ValueError: for axes that the operand does not have, or that are repeated.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.reduce_sum(np.array([[1.0, 2.0], [3.0, 4.0]]), (0,))
    Array([4., 6.], dtype=float32)
    """
    if out_sharding is not None:
        return sharded_call(out_sharding, reduce_sum, operand, axes)
    operand = operand if isinstance(operand, Array) else _operand("reduce_sum", operand)
    if _names_among(axes):
        return find_primitive("collectives.psum").bind(operand, axes=tuple(axes), axis_index_groups=None)
    return p.reduce_sum_p.bind(operand, axes=_axes("reduce_sum", axes))


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The product of the elements along axes; integers wrap.

    Args:
        operand: an array or number, integer, floating or complex.
        axes: the dimensions to combine, distinct and not negative.

    Returns:
        An array of the dtype of `operand`, without those dimensions; 1 where nothing is multiplied.

    Raises:
        TypeError: for other dtypes, or axes that are not integers.
        ValueError: for axes that the operand does not have, or that are repeated.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.reduce_prod(np.array([[1.0, 2.0], [3.0, 4.0]]), (0,))
    Array([3., 8.], dtype=float32)
    """
    return p.reduce_prod_p.bind(
        operand if isinstance(operand, Array) else _operand("reduce_prod", operand), axes=_axes("reduce_prod", axes)
    )


def reduce_max(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The greatest element along axes; NaN if there is one. Complex numbers go by their real parts first.

    Args:
        operand: an array or number, of any dtype.
        axes: the dimensions to combine, distinct and not negative; names of mapped axes in scope may be among them.

    Returns:
        An array of the dtype of `operand`, without those dimensions; where there is nothing, the least value
        of the dtype.

    Raises:
        TypeError: for other dtypes, or axes that are not integers.
        ValueError: for axes that the operand does not have, or that are repeated.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.reduce_max(np.array([[1.0, 2.0], [3.0, 4.0]]), (1,))
    Array([2., 4.], dtype=float32)
    """
    operand = operand if isinstance(operand, Array) else _operand("reduce_max", operand)
    if _names_among(axes):
        return find_primitive("collectives.pmax").bind(operand, axes=tuple(axes), axis_index_groups=None)
    return p.reduce_max_p.bind(operand, axes=_axes("reduce_max", axes))


def reduce_min(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The least element along axes; NaN if there is one. Complex numbers go by their real parts first.

    Args:
        operand: an array or number, of any dtype.
        axes: the dimensions to combine, distinct and not negative; names of mapped axes in scope may be among them.

    Returns:
        An array of the dtype of `operand`, without those dimensions; where there is nothing, the greatest
        value of the dtype.

    Raises:
        TypeError: for other dtypes, or axes that are not integers.
        ValueError: for axes that the operand does not have, or that are repeated.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.reduce_min(np.array([[1.0, 2.0], [3.0, 4.0]]), (1,))
    Array([1., 3.], dtype=float32)
    """
    operand = operand if isinstance(operand, Array) else _operand("reduce_min", operand)
    if _names_among(axes):
        return find_primitive("collectives.pmin").bind(operand, axes=tuple(axes), axis_index_groups=None)
    return p.reduce_min_p.bind(operand, axes=_axes("reduce_min", axes))


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """All bits that every element along axes has set; of booleans, whether all are true.

    Args:
        operand: an array or number, boolean or integer.
        axes: the dimensions to combine, distinct and not negative.

    Returns:
        An array of the dtype of `operand`, without those dimensions; all bits, or True, where there is no element.

    Raises:
        TypeError: for other dtypes, or axes that are not integers.
        ValueError: for axes that the operand does not have, or that are repeated.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.reduce_and(np.array([[True, False], [True, True]]), (0,))
    Array([ True, False], dtype=bool)
    """
    return p.reduce_and_p.bind(
        operand if isinstance(operand, Array) else _operand("reduce_and", operand), axes=_axes("reduce_and", axes)
    )


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """All bits that some element along axes has set; of booleans, whether any is true.

    Args:
        operand: an array or number, boolean or integer.
        axes: the dimensions to combine, distinct and not negative.

    Returns:
        An array of the dtype of `operand`, without those dimensions; 0, or False, where there is no element.

    Raises:
        TypeError: for other dtypes, or axes that are not integers.
        ValueError: for axes that the operand does not have, or that are repeated.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.reduce_or(np.array([[True, False], [False, False]]), (0,))
    Array([ True, False], dtype=bool)
    """
    return p.reduce_or_p.bind(
        operand if isinstance(operand, Array) else _operand("reduce_or", operand), axes=_axes("reduce_or", axes)
    )


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """All bits that an odd number of elements along axes have set; of booleans, the parity.

    Args:
        operand: an array or number, boolean or integer.
        axes: the dimensions to combine, distinct and not negative.

    Returns:
        An array of the dtype of `operand`, without those dimensions; 0, or False, where there is no element.

    Raises:
        TypeError: for other dtypes, or axes that are not integers.
        ValueError: for axes that the operand does not have, or that are repeated.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.reduce_xor(np.array([1, 3, 6]), (0,))
    Array(4, dtype=int32)
    """
    return p.reduce_xor_p.bind(
        operand if isinstance(operand, Array) else _operand("reduce_xor", operand), axes=_axes("reduce_xor", axes)
    )


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The position of the greatest element along an axis: of equal ones the first, or of the first NaN.

    Args:
        operand: an array, boolean, integer or floating.
        axis: the dimension to look along, not negative and not empty.
        index_dtype: the integer dtype of the result.

    Returns:
        An array of positions, without that dimension.

    Raises:
        TypeError: for other dtypes, or an axis that is not an integer.
        ValueError: for an axis that the operand does not have, or an empty one.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.argmax(np.array([1.0, 3.0, 0.0]), 0, "int32")
    Array(1, dtype=int32)
    """
    return p.argmax_p.bind(
        operand if isinstance(operand, Array) else _operand("argmax", operand),
        axes=(axis if type(axis) is int else check_int("argmax", axis, "axis"),),
        index_dtype=dtypes.check_user_dtype_supported(index_dtype, "argmax"),
    )


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The position of the least element along an axis: of equal ones the first, or of the first NaN.

    Args:
        operand: an array, boolean, integer or floating.
        axis: the dimension to look along, not negative and not empty.
        index_dtype: the integer dtype of the result.

    Returns:
        An array of positions, without that dimension.

    Raises:
        TypeError: for other dtypes, or an axis that is not an integer.
        ValueError: for an axis that the operand does not have, or an empty one.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.argmin(np.array([1.0, 3.0, 0.0]), 0, "int32")
    Array(2, dtype=int32)
    """
    return p.argmin_p.bind(
        operand if isinstance(operand, Array) else _operand("argmin", operand),
        axes=(axis if type(axis) is int else check_int("argmin", axis, "axis"),),
        index_dtype=dtypes.check_user_dtype_supported(index_dtype, "argmin"),
    )


def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The sums of all elements up to each one along an axis; integers wrap.

    Args:
        operand: an array, integer, floating or complex.
        axis: the dimension to go along, not negative.
        reverse: whether to start from its end.

    Returns:
        An array of the shape and dtype of `operand`.

    Raises:
        TypeError: for other dtypes, or an axis that is not an integer.
        ValueError: for an axis that the operand does not have.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.cumsum(np.array([1.0, 2.0, 3.0]))
    Array([1., 3., 6.], dtype=float32)
    """
    return p.cumsum_p.bind(
        operand if isinstance(operand, Array) else _operand("cumsum", operand),
        axis=axis if type(axis) is int else check_int("cumsum", axis, "axis"),
        reverse=bool(reverse),
    )


def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The products of all elements up to each one along an axis; integers wrap.

    Args:
        operand: an array, integer, floating or complex.
        axis: the dimension to go along, not negative.
        reverse: whether to start from its end.

    Returns:
        An array of the shape and dtype of `operand`.

    Raises:
        TypeError: for other dtypes, or an axis that is not an integer.
        ValueError: for an axis that the operand does not have.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.cumprod(np.array([1.0, 2.0, 3.0]))
    Array([1., 2., 6.], dtype=float32)
    """
    return p.cumprod_p.bind(
        operand if isinstance(operand, Array) else _operand("cumprod", operand),
        axis=axis if type(axis) is int else check_int("cumprod", axis, "axis"),
        reverse=bool(reverse),
    )


def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The greatest of all elements up to each one along an axis; NaN from the first NaN on.

    Args:
        operand: an array, integer, floating or complex.
        axis: the dimension to go along, not negative.
        reverse: whether to start from its end.

    Returns:
        An array of the shape and dtype of `operand`.

    Raises:
        TypeError: for other dtypes, or an axis that is not an integer.
        ValueError: for an axis that the operand does not have.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.cummax(np.array([1.0, 2.0, 3.0]))
    Array([1., 2., 3.], dtype=float32)
    """
    return p.cummax_p.bind(
        operand if isinstance(operand, Array) else _operand("cummax", operand),
        axis=axis if type(axis) is int else check_int("cummax", axis, "axis"),
        reverse=bool(reverse),
    )


def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The least of all elements up to each one along an axis; NaN from the first NaN on.

    Args:
        operand: an array, integer, floating or complex.
        axis: the dimension to go along, not negative.
        reverse: whether to start from its end.

    Returns:
        An array of the shape and dtype of `operand`.

    Raises:
        TypeError: for other dtypes, or an axis that is not an integer.
        ValueError: for an axis that the operand does not have.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.cummin(np.array([1.0, 2.0, 3.0]))
    Array([1., 1., 1.], dtype=float32)
    """
    return p.cummin_p.bind(
        operand if isinstance(operand, Array) else _operand("cummin", operand),
        axis=axis if type(axis) is int else check_int("cummin", axis, "axis"),
        reverse=bool(reverse),
    )


def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The logarithms of the sums of the exponentials of all elements up to each one along an axis, without overflow.

    Args:
        operand: an array, floating or complex.
        axis: the dimension to go along, not negative.
        reverse: whether to start from its end.

    Returns:
        An array of the shape and dtype of `operand`.

    Raises:
        TypeError: for other dtypes, or an axis that is not an integer.
        ValueError: for an axis that the operand does not have.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.cumlogsumexp(np.array([1.0, 2.0, 3.0]))
    Array([1.       , 2.3132617, 3.4076061], dtype=float32)
    """
    return p.cumlogsumexp_p.bind(
        operand if isinstance(operand, Array) else _operand("cumlogsumexp", operand),
        axis=axis if type(axis) is int else check_int("cumlogsumexp", axis, "axis"),
        reverse=bool(reverse),
    )
