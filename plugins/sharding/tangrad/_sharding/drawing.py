"""The parts of an array and the devices that hold them, as a drawing: SVG, without anything to install."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

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
