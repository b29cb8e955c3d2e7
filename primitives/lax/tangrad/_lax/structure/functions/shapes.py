"""Functions that change the shape and keep the elements: `tangrad.lax.broadcast_in_dim`, `reshape`, `transpose`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.checks import canonical_axis, check_int
from tangrad._lax.operands import operand as as_operand
from tangrad._lax.placement.primitives import sharded_call, sharding_of
from tangrad._lax.structure.primitives import broadcast_in_dim_p, reshape_p, rev_p, squeeze_p, transpose_p
from tangrad.core import Array
from tangrad.core.arguments import canonicalize_shape
from tangrad.typing import ArrayLike, ShardingLike


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: ShardingLike = None) -> Array:
    """The array repeated along new leading dimensions.

    Args:
        operand: an array or number.
        sizes: the sizes of the new dimensions.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of shape `(*sizes, *operand.shape)`.

    Raises:
        TypeError: for sizes that are no integers.
        ValueError: for negative sizes.

    >>> import tangrad
    >>> tangrad.lax.broadcast(1.0, (2, 3)).shape
    (2, 3)
    """
    made = operand if isinstance(operand, Array) else as_operand("broadcast", operand, "operand")
    shape = (*canonicalize_shape(sizes), *made.aval.shape)
    return broadcast_in_dim(made, shape, range(len(shape) - made.aval.ndim, len(shape)), out_sharding=out_sharding)


def broadcast_in_dim(
    operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int], *, out_sharding: ShardingLike = None
) -> Array:
    """The array repeated to fill `shape`.

    Args:
        operand: an array or number.
        shape: the shape of the result.
        broadcast_dimensions: for each dimension of `operand`, which dimension of the result it becomes, increasing;
            sizes must be equal, or 1 in `operand`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape, with the dtype of `operand`.

    Raises:
        TypeError: for sizes or dimensions that are no integers.
        ValueError: for sizes or dimensions that do not fit.

    >>> import tangrad
    >>> tangrad.lax.broadcast_in_dim(tangrad.lax.iota("int32", 2), (2, 3), (0,))
    Array([[0, 0, 0],
           [1, 1, 1]], dtype=int32)
    """
    if out_sharding is not None:
        return sharded_call(out_sharding, broadcast_in_dim, operand, shape, broadcast_dimensions)
    made = operand if isinstance(operand, Array) else as_operand("broadcast_in_dim", operand, "operand")
    shape = canonicalize_shape(shape)
    dimensions = int_tuple("broadcast_in_dim", broadcast_dimensions, "broadcast_dimensions")
    if made.aval.shape == shape and dimensions == tuple(range(len(shape))) and isinstance(made, Array):
        return made
    return broadcast_in_dim_p.bind(made, shape=shape, broadcast_dimensions=dimensions)


def int_tuple(name: str, values: Sequence[int], argument: str) -> tuple[int, ...]:
    """A parameter as a tuple of integers. Raises TypeError for anything else."""
    if type(values) is tuple and all([type(value) is int for value in values]):
        return values
    try:
        return tuple([check_int(name, value, argument) for value in values])
    except TypeError:
        raise TypeError(f"{name}: {argument} must be a sequence of integers, got {values!r}") from None


def broadcast_shapes(*shapes: Sequence[object]) -> tuple[int, ...]:
    """The shape to which NumPy's rules broadcast the given shapes.

    Args:
        shapes: any number of shapes.

    Returns:
        Their common shape; () for none.

    Raises:
        TypeError: for sizes that are no integers.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    if len(shapes) == 1:
        return canonicalize_shape(shapes[0])
    made = [canonicalize_shape(shape) for shape in shapes]
    rank = max([len(shape) for shape in made], default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in made]
    out = []
    for sizes in zip(*padded):
        common = 1
        for size in sizes:
            if size == 1 or size == common:
                continue
            if common != 1:
                raise ValueError(f"Incompatible shapes for broadcasting: {', '.join([str(tuple(s)) for s in shapes])}")
            common = size
        out.append(common)
    return tuple(out)


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """`arr` repeated, by NumPy's rules, to the shape of `like_arr`, and sharded as its type is.

    Args:
        arr: an array or number.
        like_arr: an array, or a `ShapeDtypeStruct`.

    Returns:
        An array of the shape of `like_arr`, with the dtype of `arr`.

    Raises:
        ValueError: for shapes that do not fit, and for another sharding in the type of `arr`.

    >>> import tangrad
    >>> tangrad.lax.broadcast_like(1.0, tangrad.lax.iota("int32", 3))
    Array([1., 1., 1.], dtype=float32, weak_type=True)
    """
    made = operand_of("broadcast_like", arr, "arr")
    own: Any = made.aval
    like: Any = like_arr if hasattr(like_arr, "shape") else operand_of("broadcast_like", like_arr, "like_arr")
    shape, is_typed = like.shape, not hasattr(type(like), "aval") or like.aval.infer_types is not None
    sharding: Any = sharding_of(like) if is_typed else None
    first = len(shape) - own.ndim
    if first < 0:
        raise ValueError(f"broadcast_like: arr of shape {own.shape} does not fit shape {shape}")
    if sharding is not None and own.infer_types is not None:
        for cut, wanted in zip(own.axes, sharding.dimension_axes(len(shape))[first:], strict=True):
            if cut and cut != wanted:
                raise ValueError(
                    f"broadcast_like: Incompatible shardings for broadcasting: arr is {own.str_short()}, and "
                    f"like_arr is sharded by {sharding}"
                )
    return broadcast_in_dim(made, shape, range(first, len(shape)), out_sharding=sharding)


def operand_of(name: str, value: ArrayLike, argument: str) -> Array:
    """`value` if traces know it, else as an array or literal."""
    return value if isinstance(value, Array) else as_operand(name, value, argument)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """The array with leading dimensions of size 1, as many as give it that rank.

    Args:
        x: an array or number.
        rank: at least the rank of `x`.

    Returns:
        An array of that rank.

    Raises:
        ValueError: `rank` is less than that of `x`.

    >>> import tangrad
    >>> tangrad.lax.broadcast_to_rank(tangrad.lax.iota("int32", 3), 3).shape
    (1, 1, 3)
    """
    made = operand_of("broadcast_to_rank", x, "x")
    missing = check_int("broadcast_to_rank", rank, "rank") - made.aval.ndim
    if missing < 0:
        raise ValueError(f"broadcast_to_rank: rank {rank} is less than that of x, of shape {made.aval.shape}")
    return expand_dims(made, range(missing))


def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[Any] | int,
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """The same elements in another shape, in row-major order.

    Args:
        operand: an array or number.
        new_sizes: the shape of the result, or its one size; it must have as many elements.
        dimensions: the order in which the dimensions of `operand` are gone through; None: as they are.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape.

    Raises:
        TypeError: for sizes that are no integers.
        ValueError: for another number of elements, negative sizes, or dimensions that are no permutation.

    >>> import tangrad
    >>> tangrad.lax.reshape(tangrad.lax.iota("int32", 6), (2, 3))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    if out_sharding is not None:
        return sharded_call(out_sharding, reshape, operand, new_sizes, dimensions)
    made = operand if isinstance(operand, Array) else as_operand("reshape", operand, "operand")
    sizes = canonicalize_shape((new_sizes,) if isinstance(new_sizes, int) else new_sizes)
    if dimensions is not None:
        dimensions = int_tuple("reshape", dimensions, "dimensions")
        if dimensions == tuple(range(made.aval.ndim)):
            dimensions = None
    if dimensions is None and made.aval.shape == sizes and isinstance(made, Array):
        return made
    return reshape_p.bind(made, new_sizes=sizes, dimensions=dimensions)


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """The array with a range of its dimensions made into one.

    Args:
        operand: an array.
        start_dimension: the first dimension of the range; negative: from the end.
        stop_dimension: the one after the last; negative: from the end; None: all that follow.

    Returns:
        An array with the same elements.

    Raises:
        ValueError: for a range outside the dimensions, or one that ends before it starts.

    >>> import tangrad
    >>> tangrad.lax.collapse(tangrad.lax.broadcast(1.0, (2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    made = operand_of("collapse", operand, "operand")
    shape, rank = made.aval.shape, made.aval.ndim
    start, stop, _ = slice(start_dimension, stop_dimension).indices(rank)
    if stop < start:
        raise ValueError(
            f"collapse: stop_dimension {stop_dimension} comes before start_dimension {start_dimension} "
            f"for shape {shape}"
        )
    size = 1
    for dimension in shape[start:stop]:
        size = size * dimension
    return reshape(made, (*shape[:start], size, *shape[stop:]))


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """The array with its dimensions reordered.

    Args:
        operand: an array.
        permutation: dimension i of the result is dimension `permutation[i]` of `operand`.

    Returns:
        An array with the same elements.

    Raises:
        TypeError: for dimensions that are no integers.
        ValueError: `permutation` is no permutation of the dimensions.

    >>> import tangrad
    >>> tangrad.lax.transpose(tangrad.lax.broadcast(1.0, (2, 3)), (1, 0)).shape
    (3, 2)
    """
    made = operand if isinstance(operand, Array) else as_operand("transpose", operand, "operand")
    order = int_tuple("transpose", permutation, "permutation")
    if order == tuple(range(made.aval.ndim)) and isinstance(made, Array):
        return made
    return transpose_p.bind(made, permutation=order)


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The array without some of its dimensions of size 1.

    Args:
        array: an array.
        dimensions: the dimensions to leave out; negative: from the end.

    Returns:
        An array with the same elements.

    Raises:
        TypeError: for dimensions that are no integers.
        ValueError: for dimensions that do not exist, come twice, or have another size.

    >>> import tangrad
    >>> tangrad.lax.squeeze(tangrad.lax.broadcast(1.0, (1, 3)), (0,)).shape
    (3,)
    """
    made = operand_of("squeeze", array, "array")
    axes = tuple([canonical_axis("squeeze", axis, made.aval.ndim, "dimensions") for axis in dimensions])
    if not axes and isinstance(made, Array):
        return made
    return squeeze_p.bind(made, dimensions=axes)


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The array with new dimensions of size 1.

    Args:
        array: an array or number.
        dimensions: where the new dimensions are in the result; negative: from the end.

    Returns:
        An array with the same elements.

    Raises:
        TypeError: for dimensions that are no integers.
        ValueError: for dimensions that the result does not have, or that come twice.

    >>> import tangrad
    >>> tangrad.lax.expand_dims(tangrad.lax.iota("int32", 3), (0, -1)).shape
    (1, 3, 1)
    """
    made = operand_of("expand_dims", array, "array")
    dimensions = tuple(dimensions)
    rank = made.aval.ndim + len(dimensions)
    new = [canonical_axis("expand_dims", axis, rank, "dimensions") for axis in dimensions]
    if len(set(new)) != len(new):
        raise ValueError(f"expand_dims: dimensions must not repeat, got {dimensions}")
    if not new and isinstance(made, Array):
        return made
    old = tuple([axis for axis in range(rank) if axis not in new])
    shape = [1] * rank
    for axis, size in zip(old, made.aval.shape):
        shape[axis] = size
    return broadcast_in_dim_p.bind(made, shape=tuple(shape), broadcast_dimensions=old)


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The array with the order of its elements reversed along some dimensions.

    Args:
        operand: an array.
        dimensions: the dimensions, counted from the front.

    Returns:
        An array of the same shape.

    Raises:
        TypeError: for dimensions that are no integers.
        ValueError: for dimensions that do not exist or come twice.

    >>> import tangrad
    >>> tangrad.lax.rev(tangrad.lax.iota("int32", 3), (0,))
    Array([2, 1, 0], dtype=int32)
    """
    made = operand_of("rev", operand, "operand")
    return rev_p.bind(made, dimensions=int_tuple("rev", dimensions, "dimensions"))
