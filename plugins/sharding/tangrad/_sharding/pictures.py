"""The parts of an array and the devices that hold them, as a drawing: SVG, without anything to install."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from tangrad._sharding.inspection import inspect_array_sharding
from tangrad.core import Array, Device, Sharding, Tracer
from tangrad.typing import ArrayLike

LONGEST, SHORTEST = 480.0, 28.0  # of the sides of the array, and of those of a part
LETTER = 7.2  # width of a character
LEFT, TOP, BORDER = 56, 36, 16
STYLE = (
    'text{font:13px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1d2530}.s{fill:#56616d}'
    "rect{stroke:#56616d;stroke-width:1}.paper{fill:#fff;stroke:none}"
)


def drawing(table: Sequence[Sequence[str]], shape: Sequence[int]) -> str:
    """An SVG picture of an array of one or two dimensions.

    Args:
        table: for each part, row by row, the text to write into it; equal texts get one colour.
        shape: the shape of the array, whose proportions it has as far as the texts allow.
    """
    height, width = (1, *shape) if len(shape) == 1 else shape
    rows, columns = len(table), len(table[0])
    longest = max([len(text) for row in table for text in row]) * LETTER + 16
    scale = LONGEST / max(width, height, 1)
    cell_width = max(width * scale / columns, longest)
    cell_height = max(height * scale / rows, SHORTEST)
    total = (LEFT + columns * cell_width + BORDER, TOP + rows * cell_height + BORDER)
    names = list(dict.fromkeys([text for row in table for text in row]))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total[0]:.0f} {total[1]:.0f}" width="{total[0]:.0f}">',
        f"<title>Which devices hold which part of an array of shape {escape(str(tuple(shape)))}</title>",
        f"<style>{STYLE}</style>",
        '<rect class="paper" width="100%" height="100%"/>',
    ]
    for column in range(columns):
        at = LEFT + (column + 0.5) * cell_width
        lines.append(_text(at, TOP - 12, str(column * width // columns), "s", "middle"))
    for row in range(rows):
        y = TOP + row * cell_height
        if len(shape) == 2:
            lines.append(_text(LEFT - 10, y + cell_height / 2 + 4, str(row * height // rows), "s", "end"))
        for column in range(columns):
            x, text = LEFT + column * cell_width, table[row][column]
            hue = 360 * names.index(text) / len(names) + 210
            lines.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell_width:.1f}" height="{cell_height:.1f}" '
                f'fill="hsl({hue % 360:.0f},60%,88%)"/>'
            )
            lines.append(_text(x + cell_width / 2, y + cell_height / 2 + 4, text, "", "middle"))
    return "\n".join([*lines, "</svg>", ""])


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def visualize_array_sharding(arr: ArrayLike, *, file: str | PathLike[str] | None = None) -> None:
    """Print a table of the parts of an array of one or two dimensions, with the devices that hold each.

    Args:
        arr: the array.
        file: where to write a drawing, as SVG, in place of what is printed: parts as large as they are, with the
            elements that they begin at, and a colour for each.

    Within a function that is compiled it is printed when the compiler has decided, as by `inspect_array_sharding`.

    Raises ValueError for other numbers of dimensions, TypeError for what is no array.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.debug.visualize_array_sharding(np.ones((2, 2)))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    if isinstance(arr, Tracer):
        shape = arr.shape
        _check_rank(shape)
        inspect_array_sharding(arr, callback=lambda sharding: visualize_sharding(shape, sharding, file=file))
        return
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
    ndim = _check_rank(shape)
    tiles = sharding.tiles(ndim)
    rows, columns = (1, *tiles) if ndim == 1 else tiles
    held: dict[tuple[int, ...], list[Any]] = {}
    for device, coordinate in zip(sharding.device_order, sharding.coordinates(ndim), strict=True):
        held.setdefault((0, *coordinate) if ndim == 1 else coordinate, []).append(device)
    return [[_label(held[row, column]) for column in range(columns)] for row in range(rows)]


def _check_rank(shape: Sequence[int]) -> int:
    """The number of dimensions. Raises ValueError where there is no way to draw so many."""
    if len(shape) not in (1, 2):
        raise ValueError(f"only arrays of one or two dimensions can be drawn, got one of shape {tuple(shape)}")
    return len(shape)


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
