"""`ragged_all_to_all`: examples send each other slices of lengths of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._collectives.axes import AxisNames, checked_axes, checked_groups, group_size, size_of_axes
from tangrad._collectives.exchanges import all_gather, all_to_all
from tangrad.core import Array, as_array, as_operand, dtypes
from tangrad.extend.lax import (
    add,
    bitwise_not,
    broadcast_in_dim_p,
    broadcasted_iota,
    clamp,
    convert_element_type,
    index_take,
    lt,
    mul,
    reduce_max_p,
    select,
    sub,
)
from tangrad.typing import ArrayLike, Value

_INT32 = np.dtype(np.int32)


def ragged_all_to_all(
    operand: ArrayLike,
    output: ArrayLike,
    input_offsets: ArrayLike,
    send_sizes: ArrayLike,
    output_offsets: ArrayLike,
    recv_sizes: ArrayLike,
    *,
    axis_name: AxisNames,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> Array:
    """Every example sends slices of its rows to the others, and writes those that it receives into `output`.

    The k slices of an example go in turn to the examples along the axis, k divided by their number to each. Every
    example gets the rows of all others on the way.

    Args:
        operand: the rows from which slices are sent: an array of one dimension or more.
        output: the array that is written to, of the dtype of `operand` and its dimensions but for the first.
        input_offsets: where each slice begins in `operand`: k integers.
        send_sizes: how many rows each slice has, as in the receiver's `recv_sizes`.
        output_offsets: where each slice begins in the `output` of the example that receives it.
        recv_sizes: how many rows come with each slice that this example receives.
        axis_name: the name of a mapped axis; or several in a tuple or list, the first one varying slowest.
        axis_index_groups: lists of one length of indices along the axis, each index in exactly one: slices go round
            within a group. None: all examples are one group.

    Returns:
        `output` with the rows that were received; where slices overlap the last one counts.

    Raises:
        NameError: for a name that no mapped axis in scope has.
        TypeError: for offsets and sizes that are no integers, and another dtype of `output`.
        ValueError: for shapes that do not fit, and a number of slices that the examples do not divide.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> rows = np.array([[1, 2, 2], [3, 4, 0]])
    >>> offsets, sizes = np.array([[0, 1], [0, 1]]), np.array([[1, 2], [1, 1]])
    >>> starts, received = np.array([[0, 0], [1, 2]]), np.array([[1, 1], [2, 1]])
    >>> send = lambda *args: tangrad.lax.ragged_all_to_all(*args, axis_name="i")
    >>> tangrad.vmap(send, axis_name="i")(rows, np.zeros((2, 4), int), offsets, sizes, starts, received)
    Array([[1, 3, 0, 0],
           [2, 2, 4, 0]], dtype=int32)
    """
    names = checked_axes("ragged_all_to_all", axis_name)
    groups = checked_groups("ragged_all_to_all", axis_index_groups, size_of_axes("ragged_all_to_all", names))
    members = group_size(groups, size_of_axes("ragged_all_to_all", names))
    rows, target = as_operand(operand), as_operand(output)
    _check_rows(rows, target)
    given = {"input_offsets": input_offsets, "send_sizes": send_sizes}
    given |= {"output_offsets": output_offsets, "recv_sizes": recv_sizes}
    slices = {name: _checked_slices(name, value, members) for name, value in given.items()}
    count = _count(slices)

    def exchanged(value: object) -> Any:
        return all_to_all(value, names, 0, 0, axis_index_groups=axis_index_groups, tiled=True)

    length = rows.aval.shape[0]
    everything = all_gather(rows, names, axis_index_groups=axis_index_groups, tiled=True)
    sender = np.arange(count, dtype=_INT32) // (count // members)
    begins = exchanged(slices["output_offsets"])
    source = add(exchanged(slices["input_offsets"]), as_operand(sender * np.int32(length)))
    written, chosen = _chosen(begins, slices["recv_sizes"], target.aval.shape[0])
    shift = _taken(sub(source, begins), chosen)
    places = clamp(0, add(shift, broadcasted_iota(_INT32, (target.aval.shape[0],), 0)), members * length - 1)
    received = index_take(everything, (places,), (0,))
    shape = target.aval.shape
    mask = broadcast_in_dim_p.bind(as_operand(written), shape=shape, broadcast_dimensions=(0,))
    return as_array(select(mask, received, target))


def _chosen(begins: Value, sizes: Value, length: int) -> tuple[Array, Array]:
    """For each row of the output whether it is written, and by which slice."""
    count = begins.aval.shape[0]
    row = broadcasted_iota(_INT32, (count, length), 1)
    which = broadcasted_iota(_INT32, (count, length), 0)
    begin = broadcast_in_dim_p.bind(as_operand(begins), shape=(count, length), broadcast_dimensions=(0,))
    size = broadcast_in_dim_p.bind(as_operand(sizes), shape=(count, length), broadcast_dimensions=(0,))
    after = sub(row, begin)
    covers = mul(convert_element_type(bitwise_not(lt(after, 0)), _INT32), convert_element_type(lt(after, size), _INT32))
    last = reduce_max_p.bind(as_operand(sub(mul(add(which, 1), covers), 1)), axes=(0,))
    return bitwise_not(lt(last, 0)), clamp(0, last, count - 1)


def _taken(values: object, positions: object) -> Array:
    return index_take(as_operand(values), (positions,), (0,))


def _check_rows(rows: Value, target: Value) -> None:
    shapes = rows.aval.shape, target.aval.shape
    if not shapes[0] or not shapes[1] or shapes[0][1:] != shapes[1][1:]:
        raise ValueError(
            f"ragged_all_to_all: operand and output must have the same dimensions but for the first, got shapes "
            f"{shapes[0]} and {shapes[1]}"
        )
    if rows.aval.dtype is not target.aval.dtype:
        raise TypeError(
            f"ragged_all_to_all: output must have the dtype of operand, {dtypes.dtype_name(rows.aval.dtype)}, got "
            f"{dtypes.dtype_name(target.aval.dtype)}"
        )


def _checked_slices(name: str, value: ArrayLike, members: int) -> Array:
    found = as_operand(value)
    if not dtypes.issubdtype(found.aval.dtype, np.integer):
        raise TypeError(f"ragged_all_to_all: {name} must be integers, got {found.aval.str_short()}")
    shape = found.aval.shape
    if len(shape) != 1 or not shape[0] or shape[0] % members:
        raise ValueError(
            f"ragged_all_to_all: {name} must have one dimension, of a multiple of the {members} examples, got shape "
            f"{shape}"
        )
    return convert_element_type(found, _INT32)


def _count(slices: dict[str, Array]) -> int:
    """How many slices there are. Raises ValueError unless there are as many offsets as sizes."""
    counts = {name: value.aval.shape[0] for name, value in slices.items()}
    if len({*counts.values()}) > 1:
        raise ValueError(f"ragged_all_to_all: offsets and sizes must be of one number of slices, got {counts}")
    return int(counts["send_sizes"])
