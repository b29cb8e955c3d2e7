"""`jax.sharding`, `jax.experimental.layout`: what describes devices, values and layouts there, in other terms here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tangrad import tree
from tangrad.sharding import Sharding
from tangrad.typing import PyTree

# jaxlib itself calls `make_single_device_sharding` of the module, with devices of its own: it is not here.


@dataclass(frozen=True)
class AbstractDevice:
    """What is known of devices that are not there.

    Attributes:
        device_kind: such as "NVIDIA H100 80GB HBM3".
        num_cores: the number of cores, or None.
        platform: such as "gpu"; None: that of the backend.
    """

    device_kind: str
    num_cores: int | None
    platform: str | None = None


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


def with_layout_constraint(x: PyTree, layouts: PyTree) -> PyTree:
    """The same tree: compilers choose layouts here.

    Raises TypeError for what is no `Layout`.

    >>> with_layout_constraint(1.0, Layout((0,)))
    1.0
    """
    for layout in tree.leaves(layouts):
        if not isinstance(layout, Layout):
            raise TypeError(f"with_layout_constraint: layouts must be Layouts, got {layout!r}")
    return x
