"""Functions that make and join arrays, and ask what is known of them: `tangrad.lax.iota`, `concatenate`, `dtype`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeVar, overload

import numpy as np

from tangrad import tree
from tangrad._lax.checks import INEXACT, canonical_axis, check_int, is_kind
from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._lax.operands import constant, float0_zeros, operand, scalar_like, size_operand
from tangrad._lax.operands import operand as as_lax_operand
from tangrad._lax.placement.functions import device_put
from tangrad._lax.placement.primitives import constrained, sharding_of
from tangrad._lax.structure.functions.shapes import broadcast_in_dim, expand_dims, operand_of, reshape
from tangrad._lax.structure.primitives import (
    broadcast_in_dim_p,
    concatenate_p,
    copy_p,
    iota_p,
    optimization_barrier_p,
    pad_p,
    reshape_p,
    stop_gradient_p,
)
from tangrad.core import Array, ShapedArray, Tracer, as_array, as_operand, dtypes, thread
from tangrad.core.arguments import canonicalize_shape, is_symbolic
from tangrad.core.transformations import device_beside
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, PyTree, ShardingLike, Value

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


def broadcasted_iota(
    dtype: DTypeLike, shape: Sequence[object], dimension: int, *, out_sharding: ShardingLike = None
) -> Array:
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


def full(
    shape: Sequence[object], fill_value: ArrayLike, dtype: DTypeLike | None = None, *, sharding: object = None
) -> Array:
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
    shape: Sequence[int] | None = None,
    sharding: object = None,
) -> Array:
    """An array of one value with the shape and dtype of another.

    Args:
        x: an array, or anything with `shape` and `dtype`.
        fill_value: a scalar.
        dtype: another dtype; None: that of `x`.
        shape: another shape; None: that of `x`.
        sharding: how the result is sharded; None: as `x`, if its type has a sharding or it is on several devices.

    Returns:
        An array of that shape and dtype.

    Raises:
        TypeError: for sizes that are no integers, or what is no dtype.
        ValueError: for negative sizes, or a `fill_value` with dimensions.

    >>> import tangrad
    >>> tangrad.lax.full_like(tangrad.lax.iota("float32", 2), 7)
    Array([7., 7.], dtype=float32)
    """
    given = getattr(x, "shape", None)
    if sharding is None and shape is None:
        sharding = sharding_of(x)
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


def empty(shape: Sequence[object], dtype: DTypeLike, *, out_sharding: ShardingLike = None) -> Array:
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


INT32 = np.dtype(np.int32)


def dtype(x: ArrayLike) -> np.dtype:
    """The dtype of an array or number, as operations take it.

    Raises TypeError for what is neither.

    >>> import tangrad
    >>> tangrad.lax.dtype(1.0)
    dtype('float32')
    """
    return operand("dtype", x).aval.dtype


def shape_as_value(shape: Sequence[object]) -> Array:
    """The sizes of a shape as a vector of int32; those of symbolic dimensions are computed when the program runs.

    Raises TypeError for sizes that are no integers.

    >>> import tangrad
    >>> tangrad.lax.shape_as_value((2, 3))
    Array([2, 3], dtype=int32)
    """
    sizes = canonicalize_shape(shape)
    if not sizes:
        return as_array(np.zeros(0, INT32))
    if all([type(size) is int for size in sizes]):
        return as_array(np.array(sizes, INT32))
    scalars = [as_operand(size_operand(size, INT32)) for size in sizes]
    return concatenate([reshape_p.bind(size, new_sizes=(1,), dimensions=None) for size in scalars], 0)


def stage(x: ArrayLike, /) -> Array:
    """The value itself; where a program is traced, as one that is traced too.

    Args:
        x: an array or number.

    Returns:
        An array.

    Raises:
        TypeError: for what is neither.

    >>> import tangrad
    >>> tangrad.lax.stage(2)
    Array(2, dtype=int32, weak_type=True)
    """
    made = operand("stage", x)
    if thread.trace.stages and not isinstance(made, Tracer):
        return copy_p.bind(made)
    return as_array(made)


def concatenate(operands: Sequence[Value], dimension: int) -> Array:
    """Arrays one after the other along a dimension.

    Args:
        operands: arrays of one dtype and rank, at least one, whose shapes agree in all other dimensions.
        dimension: the dimension, counted from the front.

    Returns:
        An array of that rank and dtype.

    Raises:
        TypeError: for dtypes that differ.
        ValueError: without operands, for shapes that do not fit, or a dimension that does not exist.

    >>> import tangrad
    >>> tangrad.lax.concatenate([tangrad.lax.iota("int32", 2), tangrad.lax.iota("int32", 3)], 0)
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    if hasattr(type(operands), "aval"):
        raise TypeError("concatenate: operands must be a sequence of arrays, got one array; unstack takes it apart")
    made = [operand_of("concatenate", value, f"operand {i}") for i, value in enumerate(operands)]
    if len(made) == 1 and isinstance(made[0], Array):
        canonical_axis("concatenate", dimension, made[0].aval.ndim, "dimension")
        return made[0]
    return concatenate_p.bind(*made, dimension=check_int("concatenate", dimension, "dimension"))


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Arrays of one shape along a new axis.

    Args:
        operands: arrays or numbers of one dtype and shape, at least one.
        axis: the new axis; negative: from the end of the result.

    Returns:
        An array of one more dimension.

    Raises:
        TypeError: for dtypes that differ.
        ValueError: without operands, for shapes that differ, or an axis that the result does not have.

    >>> import tangrad
    >>> tangrad.lax.stack([1.0, 2.0])
    Array([1., 2.], dtype=float32, weak_type=True)
    """
    made = [operand_of("stack", value, f"operand {i}") for i, value in enumerate(operands)]
    if not made:
        raise ValueError("stack requires at least one operand")
    if any([value.aval.shape != made[0].aval.shape for value in made]):
        raise ValueError(f"stack requires operands of one shape, got {', '.join([str(v.aval.shape) for v in made])}")
    axis = canonical_axis("stack", axis, made[0].aval.ndim + 1)
    return concatenate([expand_dims(value, (axis,)) for value in made], axis)


def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """An array with padding before, after and between its elements.

    Args:
        operand: an array.
        padding_value: a scalar of its dtype.
        padding_config: for each dimension `(low, high, interior)`: how many to add before and after, or to remove where
            negative, and how many between each two elements.

    Returns:
        An array of the same rank and dtype.

    Raises:
        TypeError: for dtypes that differ, or numbers that are no integers.
        ValueError: for negative interior padding, a negative size that is left, or another number of dimensions.

    >>> import tangrad
    >>> tangrad.lax.pad(tangrad.lax.iota("int32", 3), 9, [(1, 0, 1)])
    Array([9, 0, 9, 1, 9, 2], dtype=int32)
    """
    made = operand if isinstance(operand, Array) else as_lax_operand("pad", operand, "operand")
    if type(padding_value) in (bool, int, float, complex):
        padding_value = scalar_like(padding_value, made.aval.dtype)
    value = operand_of("pad", padding_value, "padding_value")
    return pad_p.bind(made, value, padding_config=_padding(padding_config))


def _padding(config: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(
            [tuple([p if is_symbolic(p) else check_int("pad", p, "padding_config") for p in item]) for item in config]
        )
    except TypeError:
        raise TypeError(f"pad: padding_config must hold three integers for each dimension, got {config!r}") from None


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """An array repeated as a whole along its dimensions.

    Args:
        operand: an array.
        reps: for each dimension, how often.

    Returns:
        An array of the same rank.

    Raises:
        TypeError: for numbers that are no integers.
        ValueError: for negative numbers, or another number of dimensions.

    >>> import tangrad
    >>> tangrad.lax.tile(tangrad.lax.iota("int32", 2), (2,))
    Array([0, 1, 0, 1], dtype=int32)
    """
    made = operand_of("tile", operand, "operand")
    shape = made.aval.shape
    reps = tuple([rep if is_symbolic(rep) else check_int("tile", rep, "reps") for rep in reps])
    if len(reps) != len(shape) or any([not is_symbolic(rep) and rep < 0 for rep in reps]):
        raise ValueError(f"tile: reps must hold a number, at least 0, for each dimension of shape {shape}, got {reps}")
    if all([rep == 1 for rep in reps]):
        return reshape(made, shape)
    # Each dimension becomes two, the first of which is repeated.
    pairs = [size for pair in zip(reps, shape) for size in pair]
    repeated = broadcast_in_dim(made, pairs, range(1, 2 * len(shape), 2))
    return reshape(repeated, [rep * size for rep, size in zip(reps, shape)])
