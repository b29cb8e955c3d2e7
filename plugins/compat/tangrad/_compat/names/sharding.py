"""`jax.sharding`, `jax.memory`, `jax.experimental.layout`: what describes devices, values and layouts there, in other
terms here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

from tangrad import ShapeDtypeStruct, devices, tree
from tangrad._compat.finder import is_installed
from tangrad.core import Array, Tracer
from tangrad.core.backends import as_sharding
from tangrad.errors import ArgumentError
from tangrad.extend.sharding import current_mesh
from tangrad.sharding import AbstractMesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding
from tangrad.stages import Compiled
from tangrad.typing import PyTree

# jaxlib itself calls `make_single_device_sharding` of the module, with devices of its own: it is not here.


class Space(enum.Enum):
    """A memory of whichever devices an array is on, for `device_put`.

    `Device` is the one where programs compute, `Host` the processor's, where arrays wait that are not needed; `Any` the
    one that an array is in. Devices without a memory of their own have one.

    >>> import tangrad
    >>> tangrad.device_put(1.0, Space.Device).sharding.memory_kind
    'device'
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def to_sharding(self, what: str, array: object = None) -> Sharding | None:
        """Where a value goes: it stays on its devices, which the compiler knows of a traced one on a mesh.

        Returns None where it is to stay as it is. Raises TypeError where there is no value, NotImplementedError for a
        traced one that may be on any of several devices: of its program nothing is known but a mesh in use.
        """
        if array is None:
            raise TypeError(f"{what}: {self} alone is for device_put; name devices: sharding.with_memory_kind(...)")
        place, home = getattr(array, "sharding", None), devices()[0]
        if place is not None and not isinstance(getattr(place, "mesh", None), AbstractMesh):
            home = place.device_order[0]
        if self is Space.Any or len(home.memory_kinds) == 1:
            return None
        if place is None and isinstance(array, Tracer) and not current_mesh().empty:
            place = NamedSharding(current_mesh(), PartitionSpec(*[PartitionSpec.UNCONSTRAINED] * array.ndim))
        if place is None and isinstance(array, Tracer) and len(devices()) > 1:
            raise NotImplementedError(
                f"{what}: {self} in a program for several devices needs a mesh in use (jax.set_mesh(mesh)), or the "
                "sharding of the value: sharding.with_memory_kind(...)"
            )
        place = SingleDeviceSharding(home) if place is None else place
        return place.with_memory_kind("pinned_host" if self is Space.Host else None)


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

    def to_sharding(self, what: str, array: object = None) -> Sharding | None:
        """The sharding that functions take which are given a format; `what` names the argument for errors.

        Raises ArgumentError, which is a ValueError and a TypeError, for a layout that is open where there is no program
        to choose one, and for one of another rank than the array's.
        """
        layout, rank = self.layout, getattr(array, "ndim", None)
        if isinstance(layout, AutoLayout) and "_shardings" not in what:
            raise ArgumentError(
                f"{what}: sharding and layout should be concrete, got {self}: Layout.AUTO is for jit(in_shardings=, "
                "out_shardings=)"
            )
        if isinstance(layout, Layout) and rank is not None and len(layout.major_to_minor) != rank:
            raise ArgumentError(
                f"{what}: major_to_minor must have the rank of the value, which is {rank}, got {layout.major_to_minor}"
            )
        return None if self.sharding is None else as_sharding(self.sharding, what)


def format_of(array: Array | ShapeDtypeStruct) -> Format:
    """`array.format`: its sharding, and the layout that programs see, the last dimension the innermost."""
    return Format(Layout(tuple(range(len(array.shape)))), array.sharding)


def _formats_of(shardings: PyTree, types: PyTree) -> PyTree:
    """The formats of a program's arguments or results: it takes and gives arrays as they are."""
    own, structure = tree.flatten(types)
    given = structure.flatten_up_to(shardings)
    return structure.unflatten(
        [Format(Layout(tuple(range(len(one.shape)))), place) for one, place in zip(own, given, strict=True)]
    )


def _inputs(compiled: Compiled) -> PyTree:
    return _formats_of(compiled.input_shardings, compiled.in_avals)


def _outputs(compiled: Compiled) -> PyTree:
    return _formats_of(compiled.output_shardings, compiled.out_info)


OF_FORMATS: tuple[tuple[type, str, object], ...] = (
    (Compiled, "input_formats", property(_inputs)),
    (Compiled, "output_formats", property(_outputs)),
    (ShapeDtypeStruct, "format", property(format_of)),
)
if is_installed():  # where the alias is not, `input_formats` are shardings
    for _owner, _name, _property in OF_FORMATS:
        setattr(_owner, _name, _property)


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
