"""Which device holds which part of an array, as text and as a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from tangrad._sharding.drawing import drawing
from tangrad.core import Array, Device, Sharding, Tracer
from tangrad.errors import ConcretizationTypeError
from tangrad.typing import ArrayLike


def visualize_array_sharding(arr: ArrayLike, *, file: str | PathLike[str] | None = None) -> None:
    """Print a table of the parts of an array of one or two dimensions, with the devices that hold each.

    Args:
        arr: the array.
        file: where to write a drawing, as SVG, in place of what is printed: parts as large as they are, with the
            elements that they begin at, and a colour for each.

    Raises ValueError for other numbers of dimensions, TypeError for what is no array.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.debug.visualize_array_sharding(np.ones((2, 2)))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    if isinstance(arr, Tracer):
        raise ConcretizationTypeError(arr, "drawing its sharding")
    if not isinstance(arr, Array):
        raise TypeError(f"visualize_array_sharding takes an array, got {arr!r} of type {type(arr).__name__}")
    visualize_sharding(arr.shape, arr.sharding, file=file)


def visualize_sharding(shape: Sequence[int], sharding: Sharding, *, file: str | PathLike[str] | None = None) -> None:
    """Print, or draw, the same for any array of a shape and sharding.

    >>> import tangrad
    >>> from tangrad.sharding import SingleDeviceSharding
    >>> tangrad.debug.visualize_sharding((3,), SingleDeviceSharding(tangrad.devices()[0]))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    table = _table(shape, sharding)
    if file is None:
        print(_drawn(table))
    else:
        Path(file).write_text(drawing(table, shape), encoding="utf-8")


def picture(shape: Sequence[int], sharding: Sharding) -> str:
    """The table as text: a cell for each part, in its place."""
    return _drawn(_table(shape, sharding))


def _table(shape: Sequence[int], sharding: Sharding) -> list[list[str]]:
    """The devices that hold each part, part by part."""
    ndim = len(shape)
    if ndim not in (1, 2):
        raise ValueError(f"only arrays of one or two dimensions can be drawn, got one of shape {tuple(shape)}")
    tiles = sharding.tiles(ndim)
    rows, columns = (1, *tiles) if ndim == 1 else tiles
    held: dict[tuple[int, ...], list[Any]] = {}
    for device, coordinate in zip(sharding.device_order, sharding.coordinates(ndim), strict=True):
        held.setdefault((0, *coordinate) if ndim == 1 else coordinate, []).append(device)
    return [[_label(held[row, column]) for column in range(columns)] for row in range(rows)]


def _label(devices: Sequence[Device]) -> str:
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
