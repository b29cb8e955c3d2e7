"""`jax.experimental.layout`: memory layouts of arrays, which Tangrad leaves to the backend."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad.sharding import Sharding


class Layout:
    """The order of the dimensions in memory. No array has one here: it is there for `isinstance` and annotations.

    Args:
        major_to_minor: the dimensions, the outermost first.
    """

    def __init__(self, major_to_minor: Sequence[int]) -> None:
        self.major_to_minor = tuple(major_to_minor)

    def __repr__(self) -> str:
        return f"Layout(major_to_minor={self.major_to_minor})"


class Format:
    """A layout and a sharding. No array has one here: `device_put` goes by its sharding."""

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: object = None, sharding: Sharding | None = None) -> None:
        self.layout = layout
        self.sharding = sharding

    def __repr__(self) -> str:
        return f"Format(layout={self.layout!r}, sharding={self.sharding!r})"
