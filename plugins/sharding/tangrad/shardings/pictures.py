"""Which device holds which part of an array, drawn as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad.core import Array, Sharding, Tracer
from tangrad.errors import ConcretizationTypeError


def visualize_array_sharding(array: Any) -> None:
    """Print a table of the parts of an array of one or two dimensions, with the devices that hold each.

    Args:
        array: the array.

    Raises ValueError for other numbers of dimensions, TypeError for what is no array.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.debug.visualize_array_sharding(np.ones((2, 2)))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    if isinstance(array, Tracer):
        raise ConcretizationTypeError(array, "drawing its sharding")
    if not isinstance(array, Array):
        raise TypeError(f"visualize_array_sharding takes an array, got {array!r} of type {type(array).__name__}")
    visualize_sharding(array.shape, array.sharding)


def visualize_sharding(shape: Sequence[int], sharding: Sharding) -> None:
    """Print the same for any array of a shape that lies as a sharding says.

    >>> import tangrad
    >>> from tangrad.sharding import SingleDeviceSharding
    >>> tangrad.debug.visualize_sharding((3,), SingleDeviceSharding(tangrad.devices()[0]))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    print(picture(shape, sharding))


def picture(shape: Sequence[int], sharding: Sharding) -> str:
    """The table as text: a cell for each part, in its place."""
    ndim = len(shape)
    if ndim not in (1, 2):
        raise ValueError(f"only arrays of one or two dimensions can be drawn, got one of shape {tuple(shape)}")
    tiles = sharding.tiles(ndim)
    rows, columns = (1, *tiles) if ndim == 1 else tiles
    held: dict[tuple[int, ...], list[Any]] = {}
    for device, coordinate in zip(sharding.device_order, sharding.coordinates(ndim), strict=True):
        held.setdefault((0, *coordinate) if ndim == 1 else coordinate, []).append(device)
    table = [[_label(held[row, column]) for column in range(columns)] for row in range(rows)]
    return _drawn(table)


def _label(devices: Sequence[Any]) -> str:
    """The devices that hold one part, such as `CPU 0,4`."""
    return f"{devices[0].platform.upper()} {','.join([str(number) for number in sorted([d.id for d in devices])])}"


def _drawn(table: list[list[str]]) -> str:
    width = max([len(label) for row in table for label in row]) + 2
    bars = ["─" * width] * len(table[0])
    lines = ["┌" + "┬".join(bars) + "┐"]
    for number, row in enumerate(table):
        if number:
            lines.append("├" + "┼".join(bars) + "┤")
        lines.append("│" + "│".join([label.center(width) for label in row]) + "│")
    lines.append("└" + "┴".join(bars) + "┘")
    return "\n".join(lines)
