"""Functions that join arrays and surround them: `tangrad.lax.concatenate`, `stack`, `pad`, `tile`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.checks import canonical_axis, check_int
from tangrad._lax.operands import operand as as_operand
from tangrad._lax.operands import scalar_like
from tangrad._lax.structure.functions.shapes import broadcast_in_dim, expand_dims, operand_of, reshape
from tangrad._lax.structure.primitives import concatenate_p, pad_p
from tangrad.core import Array
from tangrad.core.arguments import is_symbolic
from tangrad.typing import ArrayLike, Value


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


def stack(operands: Sequence[Any], axis: int = 0) -> Array:
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
    made = operand if isinstance(operand, Array) else as_operand("pad", operand, "operand")
    if type(padding_value) in (bool, int, float, complex):
        padding_value = scalar_like(padding_value, made.aval.dtype)
    value = operand_of("pad", padding_value, "padding_value")
    return pad_p.bind(made, value, padding_config=_padding(padding_config))


def _padding(config: Sequence[tuple[int, ...]]) -> tuple[tuple[Any, ...], ...]:
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
