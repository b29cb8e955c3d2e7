"""`jax.sharding`, `jax.experimental.layout`: what describes devices, values and layouts there, in other terms here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tangrad import tree
from tangrad.core import Array
from tangrad.core.backends import as_sharding
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


class AutoLayout:
    """The type of `Layout.AUTO`: whichever order the compiler chooses."""

    def __repr__(self) -> str:
        return "Layout.AUTO"


@dataclass(frozen=True)
class Layout:
    """The order of the dimensions in memory. Compilers choose it here: what a program asks for is compared and printed.

    Attributes:
        major_to_minor: the dimensions, the outermost first.
    """

    AUTO: ClassVar[AutoLayout] = AutoLayout()

    major_to_minor: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "major_to_minor", tuple(self.major_to_minor))


@dataclass(frozen=True)
class Format:
    """A layout and a sharding. As an argument of `jit` or `device_put` it stands for its sharding.

    Attributes:
        layout: the layout, `Layout.AUTO`, or None.
        sharding: the sharding; None: that of the values.

    >>> Format(Layout((1, 0)))
    Format(layout=Layout(major_to_minor=(1, 0)), sharding=None)
    """

    layout: Layout | AutoLayout | None = None
    sharding: Sharding | None = None

    def to_sharding(self, what: str) -> Sharding | None:
        """The sharding that functions take which are given a format; `what` names the argument for errors."""
        return None if self.sharding is None else as_sharding(self.sharding, what)


def format_of(array: Array) -> Format:
    """`array.format`: its sharding, and the layout that programs see, the last dimension the innermost."""
    return Format(Layout(tuple(range(array.ndim))), array.sharding)


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
