"""Pictures of the examples, as SVG files: lines, points, images and text in panels beside each other.

So that the examples need nothing but Tangrad and NumPy.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as onp
from numpy.typing import ArrayLike, NDArray

COLOURS = ("#4269d0", "#ff725c", "#3ca951", "#a463f2", "#9c6b4e", "#6cc5b0")
WIDTH, HEIGHT, MARGIN = 300, 240, 44

Numbers: TypeAlias = Sequence[float] | NDArray[onp.floating | onp.integer]


class Panel:
    """One part of a picture: a title, an axis for each direction where there is something to read off, and marks.

    Args:
        title: above it.
        x, y: the limits of what is drawn; the default for panels without axes is the unit square.
        labels: under the horizontal axis, and beside the vertical one.
        logarithmic: whether heights are drawn by their logarithm.
    """

    def __init__(
        self,
        title: str,
        x: tuple[float, float] = (0, 1),
        y: tuple[float, float] = (0, 1),
        labels: tuple[str, str] = ("", ""),
        logarithmic: bool = False,
    ) -> None:
        self.title, self.x, self.labels, self.logarithmic = title, x, labels, logarithmic
        self.y = tuple(onp.log10(y)) if logarithmic else y
        self.marks: list[str] = []

    def place(self, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[onp.float64], NDArray[onp.float64]]:
        """Coordinates in the panel of points in the units of the axes."""
        heights = onp.log10(y) if self.logarithmic else onp.asarray(y, float)
        across = (onp.asarray(x, float) - self.x[0]) / (self.x[1] - self.x[0])
        up = (heights - self.y[0]) / (self.y[1] - self.y[0])
        return MARGIN + across * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN)

    def line(self, x: Numbers, y: Numbers, colour: int = 0, width: float = 1.5, name: str = "") -> None:
        """A line through points; with a name, that stands at its end."""
        across, down = self.place(x, y)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
        self.marks.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[colour]}" stroke-width="{width}"/>'
        )
        if name:
            self.text(x[-1], y[-1], name, colour, anchor="end")

    def points(self, x: Numbers, y: Numbers, colour: int = 0, radius: float = 2.5) -> None:
        """A dot for each point."""
        for a, b in zip(*self.place(x, y), strict=True):
            self.marks.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius}" fill="{COLOURS[colour]}"/>')

    def text(
        self, x: float, y: float, text: str, colour: int | None = None, anchor: str = "start", size: int = 10
    ) -> None:
        """Words at a point."""
        a, b = self.place(x, y)
        fill = "#222" if colour is None else COLOURS[colour]
        self.marks.append(
            f'<text x="{a:.1f}" y="{b - 4:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
            f'xml:space="preserve">{html.escape(text)}</text>'
        )

    def image(
        self, values: ArrayLike, low: float, high: float, box: tuple[float, float, float, float] = (0, 0, 1, 1)
    ) -> None:
        """A matrix as shades from blue (`low`) over white to red (`high`), its first row on top, in a box of the panel.

        `box`: left, bottom, right, top, in the units of the axes.
        """
        shares = onp.clip((onp.asarray(values, float) - low) / (high - low), 0, 1)
        faded = 1 - onp.abs(2 * shares - 1)
        colours = onp.stack([onp.where(shares > 0.5, 1, faded), faded, onp.where(shares > 0.5, faded, 1)], axis=-1)
        left, bottom = self.place(box[0], box[1])
        right, top = self.place(box[2], box[3])
        data = base64.b64encode(png((255 * colours).round().astype(onp.uint8))).decode()
        self.marks.append(
            f'<image x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
            f'preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
        )

    def svg(self) -> str:
        """The panel as part of a picture."""
        parts = [f'<text x="{WIDTH / 2}" y="22" font-size="13" text-anchor="middle">{html.escape(self.title)}</text>']
        if any(self.labels):
            parts += self._axes()
        return "\n".join([*parts, *self.marks])

    def _axes(self) -> list[str]:
        left, right, top, bottom = MARGIN, WIDTH - MARGIN, MARGIN, HEIGHT - MARGIN
        turned = f'<text x="12" y="{HEIGHT / 2}" font-size="11" transform="rotate(-90 12 {HEIGHT / 2})">{{}}</text>'
        parts = [
            f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#888"/>',
            f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" font-size="11" text-anchor="middle">{self.labels[0]}</text>',
            turned.format(html.escape(self.labels[1])),
        ]
        for end, x in zip(self.x, (left, right), strict=True):
            parts.append(f'<text x="{x}" y="{bottom + 14}" font-size="10" text-anchor="middle">{end:.3g}</text>')
        for end, y in zip(self.y, (bottom, top), strict=True):
            value = 10**end if self.logarithmic else end
            parts.append(f'<text x="{left - 4}" y="{y + 4}" font-size="10" text-anchor="end">{value:.3g}</text>')
        return parts


def png(pixels: NDArray[onp.uint8]) -> bytes:
    """Bytes (rows, columns, 3) of red, green and blue as a PNG file (ISO/IEC 15948), no row filtered."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows, columns, _ = pixels.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def curve(title: str, values: Sequence[float], labels: tuple[str, str] = ("step", "loss")) -> Panel:
    """A panel with positive numbers in their order, such as losses, by their logarithm."""
    heights = onp.asarray(values, float)
    panel = Panel(title, (0, max(len(heights) - 1, 1)), (heights.min() * 0.9, heights.max() * 1.1), labels, True)
    panel.line(onp.arange(len(heights)), heights, width=1)
    return panel


def save(path: Path, panels: Sequence[Panel], columns: int = 3, about: Mapping[str, str] | None = None) -> None:
    """Write panels, so many in a row, as one SVG file. `about`: the text of a caption below, name by name."""
    rows = -(-len(panels) // columns)
    caption = "; ".join(f"{name}: {value}" for name, value in (about or {}).items())
    width, height = WIDTH * min(columns, len(panels)), HEIGHT * rows + (24 if caption else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f"<title>{html.escape('; '.join([panel.title for panel in panels]))}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for index, panel in enumerate(panels):
        across, down = index % columns * WIDTH, index // columns * HEIGHT
        parts.append(f'<g transform="translate({across} {down})">\n{panel.svg()}\n</g>')
    if caption:
        parts.append(f'<text x="{width / 2}" y="{height - 8}" font-size="11" text-anchor="middle">{caption}</text>')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")
