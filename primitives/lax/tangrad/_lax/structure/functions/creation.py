"""Functions that make arrays, and identities that mean something: `tangrad.lax.iota`, `full`, `stop_gradient`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeVar, overload

import numpy as np

from tangrad import tree
from tangrad._lax.checks import INEXACT, check_int, is_kind
from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._lax.operands import constant, float0_zeros
from tangrad._lax.placement.functions import device_put
from tangrad._lax.placement.out_sharding import constrained
from tangrad._lax.structure.functions.shapes import operand_of
from tangrad._lax.structure.primitives import broadcast_in_dim_p, iota_p, optimization_barrier_p, stop_gradient_p
from tangrad.core import Array, ShapedArray, Tracer, dtypes
from tangrad.core.arguments import canonicalize_shape
from tangrad.core.transformations import device_beside
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, PyTree, Value

T = TypeVar("T")


def iota(dtype: DTypeLike, size: SupportsIndex) -> Array:
    """The numbers 0, 1, 2, …

    Args:
        dtype: an integer, floating or complex dtype.
        size: how many.

    Returns:
        An array of shape `(size,)`.

    Raises:
        TypeError: for another dtype, or a size that is no integer.
        ValueError: for a negative size.

    >>> import tangrad
    >>> tangrad.lax.iota("int32", 3)
    Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: DTypeLike, shape: Sequence[Any], dimension: int, *, out_sharding: Any = None) -> Array:
    """The numbers 0, 1, 2, … along one dimension, the same along the others.

    Args:
        dtype: an integer, floating or complex dtype.
        shape: the shape of the result.
        dimension: along which the numbers count.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape and dtype.

    Raises:
        TypeError: for another dtype, or sizes that are no integers.
        ValueError: for negative sizes, or a dimension that does not exist.

    >>> import tangrad
    >>> tangrad.lax.broadcasted_iota("int32", (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    made = iota_p.bind(
        dtype=dtypes.canonicalize_dtype(dtype),
        shape=canonicalize_shape(shape),
        dimension=check_int("broadcasted_iota", dimension, "dimension"),
    )
    return made if out_sharding is None else constrained(made, out_sharding)


def full(shape: Sequence[Any], fill_value: ArrayLike, dtype: DTypeLike | None = None, *, sharding: Any = None) -> Array:
    """An array of one value.

    Args:
        shape: its shape.
        fill_value: a scalar.
        dtype: its dtype; None: that of `fill_value`.
        sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape and dtype.

    Raises:
        TypeError: for sizes that are no integers, or what is no dtype.
        ValueError: for negative sizes, or a `fill_value` with dimensions.

    >>> import tangrad
    >>> tangrad.lax.full((2,), 7, "float32")
    Array([7., 7.], dtype=float32)
    """
    shape = canonicalize_shape(shape)
    dtype = None if dtype is None else dtypes.check_user_dtype_supported(dtype, "full")
    made = _filled("full", shape, fill_value, dtype, False)
    return made if sharding is None else constrained(made, sharding)


def _filled(name: str, shape: Dimensions, value: ArrayLike, dtype: DType | None, weak_type: bool) -> Array:
    if dtype is not None and dtype == dtypes.float0:
        return float0_zeros(shape)
    if isinstance(dtype, dtypes.ExtendedDType) and type(value) is int:  # random keys, of which each word is the number
        physical = dtype.physical_aval(ShapedArray(shape, dtype))
        return dtype.of_physical(_filled(name, physical.shape, value, physical.dtype, False))
    return broadcast_in_dim_p.bind(_scalar(name, value, dtype, weak_type), shape=shape, broadcast_dimensions=())


def _scalar(name: str, value: Any, dtype: DType | None, weak_type: bool) -> Value:
    """A fill value as an operand without dimensions, of `dtype` if that is not None."""
    if not hasattr(type(value), "aval") and dtype is not None and np.ndim(value) == 0:
        return constant(value, dtype, weak_type)
    made = operand_of(name, value, "fill_value")
    if made.aval.shape:
        raise ValueError(f"{name}: fill_value must be a scalar, got shape {made.aval.shape}")
    if dtype is None or (made.aval.dtype == dtype and made.aval.weak_type is weak_type):
        return made
    return convert_element_type_p.bind(made, new_dtype=dtype, weak_type=weak_type)


def full_like(
    x: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Sequence[Any] | None = None,
    sharding: Any = None,
) -> Array:
    """An array of one value with the shape and dtype of another.

    Args:
        x: an array, or anything with `shape` and `dtype`.
        fill_value: a scalar.
        dtype: another dtype; None: that of `x`.
        shape: another shape; None: that of `x`.
        sharding: how the result is sharded; None: as the type of `x` says, if it does.

    Returns:
        An array of that shape and dtype.

    Raises:
        TypeError: for sizes that are no integers, or what is no dtype.
        ValueError: for negative sizes, or a `fill_value` with dimensions.

    >>> import tangrad
    >>> tangrad.lax.full_like(tangrad.lax.iota("float32", 2), 7)
    Array([7., 7.], dtype=float32)
    """
    aval, given = x.aval if hasattr(type(x), "aval") else None, getattr(x, "shape", None)
    if sharding is None and shape is None and aval is not None and aval.infer_types is not None:
        sharding = aval.placed
    shape = canonicalize_shape((np.shape(x) if given is None else given) if shape is None else shape)
    weak_type = dtype is None and dtypes.is_weakly_typed(x)
    dtype = dtypes.dtype_of(x) if dtype is None else dtypes.check_user_dtype_supported(dtype, "full_like")
    made = _filled("full_like", shape, fill_value, dtype, weak_type)
    if sharding is not None:
        return constrained(made, sharding)
    device = device_beside(x)
    return made if device is None or isinstance(made, Tracer) else device_put(made, device)


def zeros_like_array(x: Value) -> Array:
    """An array of zeros with the shape and dtype of another.

    Args:
        x: an array, or anything with `shape` and `dtype`.

    Returns:
        An array of that shape and dtype.

    >>> import tangrad
    >>> tangrad.lax.zeros_like_array(tangrad.lax.iota("float32", 2))
    Array([0., 0.], dtype=float32)
    """
    return full_like(x, 0)


def empty(shape: Sequence[Any], dtype: DTypeLike, *, out_sharding: Any = None) -> Array:
    """An array whose contents do not matter; they are zeros.

    Args:
        shape: its shape.
        dtype: its dtype.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape and dtype.

    Raises:
        TypeError: for sizes that are no integers, or what is no dtype.
        ValueError: for negative sizes.

    >>> import tangrad
    >>> tangrad.lax.empty((2,), "float32").shape
    (2,)
    """
    return full(shape, 0, dtype, sharding=out_sharding)


@overload
def stop_gradient(x: ArrayLike) -> Array: ...
@overload
def stop_gradient(x: T) -> T: ...
def stop_gradient(x: PyTree) -> PyTree:
    """The same values, which differentiation takes for constants.

    Args:
        x: a pytree of arrays and numbers.

    Returns:
        A pytree of the same structure. Arrays of integers and booleans are themselves.

    Raises:
        TypeError: for leaves that are neither arrays nor numbers.

    >>> import tangrad
    >>> tangrad.grad(lambda x: tangrad.lax.mul(x, tangrad.lax.stop_gradient(x)))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    if hasattr(type(x), "aval"):
        return _stop(x)
    return tree.map(_stop, x)


def _stop(leaf: ArrayLike) -> Array:
    made = operand_of("stop_gradient", leaf, "a leaf of x")
    if made is leaf and not is_kind(made.aval.dtype, INEXACT):
        return leaf
    return stop_gradient_p.bind(made)


@overload
def optimization_barrier(operand: ArrayLike, /) -> Array: ...
@overload
def optimization_barrier(operand: T, /) -> T: ...
def optimization_barrier(operand: PyTree, /) -> PyTree:
    """The same values; a compiler moves no computation across, and removes none before.

    Args:
        operand: a pytree of arrays and numbers.

    Returns:
        A pytree of the same structure.

    Raises:
        TypeError: for leaves that are neither arrays nor numbers.

    >>> import tangrad
    >>> tangrad.lax.optimization_barrier((1.0, 2))
    (Array(1., dtype=float32, weak_type=True), Array(2, dtype=int32, weak_type=True))
    """
    leaves, structure = tree.flatten(operand)
    made = [operand_of("optimization_barrier", leaf, "a leaf of operand") for leaf in leaves]
    return tree.unflatten(structure, list(optimization_barrier_p.bind(*made)))
