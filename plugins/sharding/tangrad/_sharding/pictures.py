"""How values are sharded: asked for within programs, too, and drawn as SVG, without anything to install."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from xml.sax.saxutils import escape

from tangrad import tree
from tangrad._sharding.primitives import inspect_sharding_p
from tangrad.core import Array, Device, Sharding, Tracer, api_boundary, as_operand, is_array_value
from tangrad.tree_util import keystr
from tangrad.typing import ArrayLike, PyTree

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
    held: dict[tuple[int, ...], list[Device]] = {}
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


@api_boundary
def inspect_array_sharding(value: PyTree, *, callback: Callable[[Sharding], object]) -> None:
    """Call a Python function with the sharding of each array of a tree, as soon as that is known.

    Outside of programs that is at once. Within a function that is compiled it is when the compiler has decided: once
    for each compilation, and not at later calls. Mapped by `vmap`, an array is shown with the mapped dimension.

    Args:
        value: a tree of arrays.
        callback: a function of one argument, the sharding; what it returns is ignored. It must not call the function
            that is being compiled.

    Raises TypeError for what is no array, and for a `callback` that cannot be called.

    On the NumPy backend compiled programs have their values on one device, and such is shown, but for types with a
    sharding. Within `shard_map` it is the part of one device, which is cut no further.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> seen = []
    >>> def doubled(x):
    ...     y = 2 * x
    ...     tangrad.debug.inspect_array_sharding(y, callback=seen.append)
    ...     return y
    >>> _ = tangrad.jit(doubled)(np.arange(3))
    >>> [sharding.num_devices for sharding in seen]
    [1]
    """
    if not callable(callback):
        raise TypeError(
            f"inspect_array_sharding: callback must be a function of a sharding, such as print, got {callback!r} of "
            f"type {type(callback).__name__}"
        )
    for path, leaf in tree.leaves_with_path(value):
        if not is_array_value(leaf):
            raise TypeError(
                f"inspect_array_sharding: value{keystr(path)} must be an array, got {leaf!r} of type "
                f"{type(leaf).__name__}"
            )
        inspect_sharding_p.bind(as_operand(leaf), callback=_Shown(callback))


class _Shown:
    """The user's function as a parameter: by identity, since it need not be hashable (`list.append` is not)."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Sharding], object]) -> None:
        self.function = function

    def __call__(self, sharding: Sharding) -> None:
        self.function(sharding)

    def __repr__(self) -> str:
        return repr(self.function)
