"""Shardings by the axes of a mesh: partition specs, and what they are together with a mesh."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, overload

from tangrad._sharding.context import MissingMeshError, current_mesh, on_devices
from tangrad._sharding.hlo import HloSharding, hlo_of, part_numbers
from tangrad._sharding.manual_types import NOTHING, Combining, Shares, UnreducedKind
from tangrad._sharding.mesh import AbstractMesh, Mesh, canonical_axes, checked_axes
from tangrad._sharding.primitives import constrained
from tangrad._sharding.propagation import ShardedType
from tangrad._sharding.unnamed import GSPMDSharding, checked_memory_kind, memory_text
from tangrad.core import Array, Backend, Device, ShapedArray, Sharding, class_boundary, thread

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike


@class_boundary
class PartitionSpec:
    """For each dimension of an array, the axes of a mesh that cut it. `P` for short.

    Args:
        partitions: for each dimension, the name of an axis; several in a tuple, the slowest varying first; None where
            it is not cut; `PartitionSpec.UNCONSTRAINED` where a constraint leaves it to the compiler. Dimensions that
            are left out at the end are not cut.
        unreduced: the axes along which the parts are still to be combined: devices have shares of the value.
        reduced: the axes along which they were, and whose cotangents are unreduced.
        unreduced_kind: how parts are to be combined, for `unreduced`; default: `UnreducedKind.sum`.

    Names need not be those of a mesh, nor different, before a sharding is made with them.

    Raises TypeError for `unreduced` or `reduced` that are not sets and a kind that is none; ValueError for an axis that
    is in two of partitions, `unreduced` and `reduced`, for a kind where nothing is unreduced, and for a tuple of axes
    within a tuple.

    >>> from tangrad.sharding import PartitionSpec as P
    >>> P("data", None, ("model", "expert"))
    P('data', None, ('model', 'expert'))
    >>> P("data", unreduced={"model"})
    P('data', unreduced={'model'}, unreduced_kind=sum)
    """

    __slots__ = ("_partitions", "reduced", "unreduced", "unreduced_kind")

    class _Unconstrained:
        __slots__ = ()

        def __repr__(self) -> str:
            return "UNCONSTRAINED"

        def __reduce__(self) -> str:
            return "PartitionSpec.UNCONSTRAINED"

    UNCONSTRAINED = _Unconstrained()

    def __init__(
        self,
        *partitions: object,
        unreduced: AbstractSet[object] = frozenset(),
        reduced: AbstractSet[object] = frozenset(),
        unreduced_kind: UnreducedKind | None = None,
    ) -> None:
        # Names need not be a mesh's: libraries put logical ones there, and the same twice. NamedSharding asks.
        self._partitions = tuple([canonical_axes(entry) for entry in partitions])
        self.unreduced = checked_axes("unreduced", unreduced)
        self.reduced = checked_axes("reduced", reduced)
        if unreduced_kind is None and self.unreduced:
            unreduced_kind = UnreducedKind.sum
        self.unreduced_kind = unreduced_kind
        if unreduced or reduced or unreduced_kind is not None:
            self._check_apart()

    def _check_apart(self) -> None:
        kind = self.unreduced_kind
        if kind is not None and not isinstance(kind, UnreducedKind):
            raise TypeError(f"Expected unreduced_kind to be of type UnreducedKind or None, got {kind!r}")
        if kind is not None and not self.unreduced:
            raise ValueError(f"PartitionSpec: unreduced_kind={kind.name}, but no axes are unreduced")
        cutting = {axis for entry in self._partitions for axis in axes_of(entry)}
        for what, one, other in (
            ("partitions and unreduced", cutting, self.unreduced),
            ("partitions and reduced", cutting, self.reduced),
            ("unreduced and reduced", self.unreduced, self.reduced),
        ):
            if both := one & other:
                raise ValueError(f"PartitionSpec: {what} have no axis in common, got {sorted(both, key=str)} in both")

    @property
    def partitions(self) -> tuple[Any, ...]:
        """What cuts each dimension."""
        return self._partitions

    def update(
        self,
        partitions: Sequence[object] | None = None,
        unreduced: AbstractSet[object] | None = None,
        reduced: AbstractSet[object] | None = None,
        unreduced_kind: UnreducedKind | None = None,
    ) -> PartitionSpec:
        """Another spec, which differs in what is given. Raises as the class does.

        >>> from tangrad.sharding import PartitionSpec as P
        >>> P("data").update(unreduced={"model"})
        P('data', unreduced={'model'}, unreduced_kind=sum)
        """
        pending = self.unreduced if unreduced is None else unreduced
        return PartitionSpec(
            *(self._partitions if partitions is None else partitions),
            unreduced=pending,
            reduced=self.reduced if reduced is None else reduced,
            unreduced_kind=self.unreduced_kind if unreduced_kind is None and pending else unreduced_kind,
        )

    def to_sharding(self, what: str, array: object = None) -> NamedSharding:
        """The sharding by the mesh in use. Raises MissingMeshError where there is none; `what` asks for it."""
        mesh = current_mesh()
        if mesh.empty:
            raise MissingMeshError(
                f"{what} requires a non-empty mesh in context: {self} is a partition spec, which means axes of the "
                f"mesh in use, and there is none; call within `with mesh:`, or say NamedSharding(mesh, {self})"
            )
        return NamedSharding(mesh, self)

    @property
    def leaves_open(self) -> bool:
        """Whether dimensions are left to the compiler."""
        return UNCONSTRAINED in self._partitions

    def index(self, value: object) -> int:
        """The number of the first dimension that `value` cuts. Raises ValueError where there is none."""
        return self._partitions.index(value)

    def count(self, value: object) -> int:
        """How many dimensions `value` cuts."""
        return self._partitions.count(value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...

    def __getitem__(self, index: int | slice) -> Any:
        return self._partitions[index]

    def __add__(self, other: object) -> PartitionSpec:
        if not isinstance(other, (PartitionSpec, tuple)):
            return NotImplemented
        return self._joined(*self, *other, other=other)

    def __radd__(self, other: object) -> PartitionSpec:
        return self._joined(*other, *self, other=other, name="__radd__") if isinstance(other, tuple) else NotImplemented

    def _joined(
        self, *partitions: object, other: PartitionSpec | Iterable[object], name: str = "__add__"
    ) -> PartitionSpec:
        beside = other if isinstance(other, PartitionSpec) else PartitionSpec(*other)
        if beside.unreduced_kind is not self.unreduced_kind:
            raise TypeError(f"unreduced in `{name}` of PartitionSpec must be of one kind, got {self} and {other}")
        unreduced, reduced = self.unreduced | beside.unreduced, self.reduced | beside.reduced
        return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=self.unreduced_kind)

    def _key(self) -> tuple[Hashable, ...]:
        return self._partitions, self.unreduced, self.reduced, self.unreduced_kind

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            same = self._partitions == tuple([canonical_axes(entry) for entry in other])
            return same and not self.unreduced and not self.reduced
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._partitions)

    def __repr__(self) -> str:
        if not self.unreduced and not self.reduced:
            return f"P{self._partitions}"
        parts = [repr(entry) for entry in self._partitions]
        for name in ("unreduced", "reduced"):
            if axes := sorted(map(repr, getattr(self, name))):
                parts.append(f"{name}={{{', '.join(axes)}}}")
        if self.unreduced_kind is not None:
            parts.append(f"unreduced_kind={self.unreduced_kind.name}")
        return f"P({', '.join(parts)})"

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, self._key()


UNCONSTRAINED = PartitionSpec.UNCONSTRAINED


def _unpickled(
    partitions: tuple[object, ...], unreduced: frozenset[object], reduced: frozenset[object], kind: UnreducedKind | None
) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=kind)


MEMORY_KINDS = ("device", "pinned_host", "unpinned_host")  # of devices that are not known yet


def axes_of(entry: object) -> tuple[Hashable, ...]:
    """The axes in one entry of a spec, as a tuple."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


@class_boundary
class NamedSharding(Sharding):
    """How an array is sharded over a mesh: along which of its axes each dimension is cut.

    Args:
        mesh: the mesh. One without devices stands for the mesh in use, wherever arrays or programs use it.
        spec: a `PartitionSpec`, or a tuple that could be one.
        memory_kind: the memory of the devices; None for the usual one.

    Raises ValueError for an axis that the mesh does not have or that occurs twice, TypeError for other types.

    >>> import tangrad
    >>> from tangrad.sharding import NamedSharding, PartitionSpec
    >>> mesh = tangrad.make_mesh((1,), ("data",))
    >>> NamedSharding(mesh, PartitionSpec("data")).shard_shape((8, 2))
    (8, 2)
    """

    __slots__ = ("_by_dimensions", "_hash", "_specific", "mesh", "other_memory", "spec", "summing")
    mesh: Any  # a Mesh, or an AbstractMesh
    spec: PartitionSpec
    summing: frozenset[Any]  # of types: axes along which sums of what they cut stay shares of the devices

    def __init__(self, mesh: Mesh | AbstractMesh, spec: object, *, memory_kind: str | None = None) -> None:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(f"NamedSharding takes a tangrad.sharding.Mesh, got {mesh!r} of type {type(mesh).__name__}")
        if isinstance(spec, tuple):
            spec = PartitionSpec(*spec)
        if not isinstance(spec, PartitionSpec):
            what = f"{spec!r} of type {type(spec).__name__}" if spec is not None else "an Unexpected None: P() is whole"
            raise TypeError(f"NamedSharding takes a PartitionSpec, got {what}")
        if mesh.empty and isinstance(mesh, Mesh):
            raise ValueError("NamedSharding needs a mesh with devices, got the empty mesh")
        axes = [*[axis for entry in spec for axis in axes_of(entry)], *spec.unreduced, *spec.reduced]
        for number, axis in enumerate(axes):
            if axis not in mesh.axis_names:
                kind = f"Unreduced axes {axis}" if axis in spec.unreduced else f"Resource axis: {axis}"
                raise ValueError(f"{kind} of {spec} is not found in mesh: {mesh.axis_names}, the axes of {mesh}")
            if axis in axes[:number]:
                raise ValueError(f"a sharding can use each mesh axis once, got {axis!r} twice in {spec}")
        if others := (spec.unreduced | spec.reduced).intersection(mesh.auto_axes):
            raise ValueError(f"{spec}: values are unreduced or reduced along Explicit axes only, and {others} are Auto")
        self.mesh, self.spec = mesh, spec
        if isinstance(mesh, Mesh):
            memory_kind = checked_memory_kind(memory_kind, mesh.devices.flat[0])
        elif memory_kind not in (None, *MEMORY_KINDS):
            raise ValueError(f"Got invalid memory kind {memory_kind!r}; there are {', '.join(MEMORY_KINDS)}")
        self.other_memory, self.summing = memory_kind, frozenset()
        self._hash = hash((mesh, spec, memory_kind))
        self._specific: dict[int, tuple[tuple[object, ...], ...]] = {}
        self._by_dimensions: dict[tuple[int, bool], NamedSharding | None] = {}

    @property
    def device_order(self) -> tuple[Device, ...]:
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError(f"{self} is of a mesh without devices")
        return self.mesh.device_order

    @property
    def backend(self) -> Backend:
        """The backend of its devices."""
        return self.device_order[0].backend

    @property
    def memory_kind(self) -> str | None:
        return self.other_memory if isinstance(self.mesh, AbstractMesh) else super().memory_kind

    @property
    def grid(self) -> tuple[tuple[Hashable, int], ...]:
        return self.mesh.shape_tuple

    @property
    def is_unspecified(self) -> bool:
        """Whether it is of no mesh: the sharding of a type that has none."""
        return bool(self.mesh.empty)

    def dimension_axes(self, ndim: int) -> tuple[tuple[object, ...], ...]:
        found = self._specific.get(ndim)
        if found is None:
            if len(self.spec) > ndim:
                raise ValueError(
                    f"{self.spec} is for arrays of rank {len(self.spec)} or more, and cannot be used for one of rank "
                    f"{ndim}"
                )
            found = tuple([axes_of(entry) for entry in self.spec]) + ((),) * (ndim - len(self.spec))
            self._specific[ndim] = found
        return found

    @property
    def leaves_open(self) -> bool:
        """Whether dimensions are left to the compiler."""
        return UNCONSTRAINED in self.spec

    def unconstrained_dimensions(self) -> frozenset[int]:
        return frozenset([number for number, entry in enumerate(self.spec) if entry is UNCONSTRAINED])

    @property
    def is_fully_replicated(self) -> bool:
        sizes = dict(self.grid)
        return not self.spec.unreduced and all([sizes[axis] == 1 for entry in self.spec for axis in axes_of(entry)])

    @property
    def combining(self) -> Combining:
        """What is unreduced and reduced, and how parts are combined."""
        return Combining(self.spec.unreduced, self.spec.reduced, self.spec.unreduced_kind)

    @property
    def summed_axes(self) -> tuple[Hashable, ...]:
        """The axes, in the order of the mesh, along which the parts that devices hold are to be summed."""
        how = self.combining
        return tuple([a for a in self.mesh.explicit_axes if a in how.unreduced and how.kind is UnreducedKind.sum])

    def combine(self) -> Shares | None:
        """How the parts of unreduced values are combined; None where nothing is unreduced."""
        return (
            Shares.of(self.grid, self.dimension_axes(len(self.spec)), self.combining) if self.spec.unreduced else None
        )

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        pending = getattr(other, "combining", NOTHING)
        return pending.unreduced == self.spec.unreduced and super().is_equivalent_to(other, ndim)

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The axes of the mesh along which devices hold the same."""
        cutting = {axis for entry in self.spec for axis in axes_of(entry)}
        return frozenset(self.mesh.axis_names) - cutting - self.spec.unreduced - self.spec.reduced

    @property
    def has_addressable_devices(self) -> bool:
        """Whether this process reaches any of the devices."""
        return bool(self.addressable_devices)

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Check that arrays of a shape have the dimensions that the spec cuts. Raises ValueError where they do not."""
        self.dimension_axes(len(aval_shape))

    def update(
        self, *, mesh: Mesh | AbstractMesh | None = None, spec: object = None, memory_kind: str | None = None
    ) -> NamedSharding:
        """Another sharding, which differs in what is given. Raises as the class does.

        >>> import tangrad
        >>> from tangrad.sharding import NamedSharding, PartitionSpec
        >>> sharding = NamedSharding(tangrad.make_mesh((1,), ("data",)), PartitionSpec("data"))
        >>> sharding.update(spec=PartitionSpec()).spec
        P()
        """
        return NamedSharding(
            self.mesh if mesh is None else mesh,
            self.spec if spec is None else spec,
            memory_kind=self.other_memory if memory_kind is None else memory_kind,
        )

    def resharded(self, tiles: Sequence[int], order: Sequence[Device]) -> Sharding:
        # Where it has the parts already, axes of size 1 are not lost.
        spec = self.spec if self._has_parts(tuple(tiles), order) else _spec_of(self.mesh, tiles, order)
        if spec is None:
            return GSPMDSharding(self.device_order, hlo_of(self.device_order, tiles, order))
        found = self if spec is self.spec else NamedSharding(self.mesh, spec, memory_kind=self.memory_kind)
        return found.of_rank(len(tiles)) if self.mesh.explicit_axes else found  # as types have it

    def _has_parts(self, tiles: tuple[int, ...], order: Sequence[Device]) -> bool:
        """Whether it cuts arrays of so many dimensions into these parts, on these devices."""
        if not tiles or len(self.spec) > len(tiles) or UNCONSTRAINED in self.spec:
            return False
        return self.tiles(len(tiles)) == tiles and [*part_numbers(self, len(tiles))] == [*order]

    def with_dimension(self, position: int, ndim: int, axes: object = None) -> NamedSharding:
        entries = [*self.spec, *[None] * (ndim - len(self.spec))]
        entries.insert(position, UNCONSTRAINED if axes is None else axes)
        return self.update(spec=self.spec.update(entries))

    def constrain(self, value: ArrayLike) -> Array:
        return constrained(value, self.to_sharding("a sharding", value))

    def to_sharding(self, what: str, array: object = None) -> NamedSharding:
        if not isinstance(self.mesh, AbstractMesh):
            return self
        return NamedSharding(on_devices(self.mesh, f"{what}: {self}", array), self.spec, memory_kind=self.other_memory)

    def abstract(self) -> NamedSharding:
        """The same by the shape of the mesh."""
        if isinstance(self.mesh, AbstractMesh):
            return self
        return NamedSharding(AbstractMesh.of(self.mesh), self.spec, memory_kind=self.other_memory)

    def with_axes(self, axes: Sequence[tuple[object, ...]], how: Combining = NOTHING) -> NamedSharding:
        """Another sharding by the mesh; `axes`: for each dimension those that cut it; `how` parts are combined."""
        spec = PartitionSpec(*axes, unreduced=how.unreduced, reduced=how.reduced, unreduced_kind=how.kind)
        return NamedSharding(self.mesh, spec).with_summing(self.summing)

    def with_summing(self, axes: frozenset[Any]) -> NamedSharding:
        """The same, of types by which sums of what is cut along axes stay shares of the devices."""
        self.summing = axes
        return self

    def of_rank(self, ndim: int) -> NamedSharding:
        missing = ndim - len(self.spec)
        return self.update(spec=self.spec.update([*self.spec, *[None] * missing])) if missing > 0 else self

    def where_it_divides(self, shape: Sequence[int]) -> NamedSharding:
        """The same, but for dimensions that Auto axes would not cut into equal parts: those are whole."""
        sizes = self.mesh.shape

        def divides(size: int, entry: object) -> bool:
            axes = () if entry is UNCONSTRAINED else axes_of(entry)
            stated = any([axis in self.mesh.explicit_axes for axis in axes])
            return stated or size % math.prod([sizes[axis] for axis in axes]) == 0

        entries = [entry if divides(size, entry) else None for size, entry in zip(shape, self.spec)]
        if len(self.spec) > len(shape) or entries == list(self.spec):
            return self
        return self.update(spec=self.spec.update(entries))

    def type_of(self, aval: ShapedArray) -> ShapedArray:
        plain = aval.plain
        key = plain.ndim, thread.types_without_axes_of_size_one
        if key not in self._by_dimensions:
            self._by_dimensions[key] = self._by_explicit_axes(plain.ndim)
        explicit = self._by_dimensions[key]
        return plain if explicit is None else ShardedType(plain, explicit)

    def _by_explicit_axes(self, ndim: int) -> NamedSharding | None:
        """The part of it that types record; None where it is nothing."""
        explicit = self.mesh.typed_axes
        if not explicit and self.combining == NOTHING:
            return None
        axes = [tuple([axis for axis in cut if axis in explicit]) for cut in self.dimension_axes(ndim)]
        return self.with_axes(axes, self.combining) if any(axes) or self.combining != NOTHING else None

    def with_memory_kind(self, kind: str | None) -> NamedSharding:
        """The same in another memory of the devices; None: the usual one. Raises ValueError for an unknown kind."""
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def to_hlo(self, ndim: int) -> HloSharding:
        """XLA's notation for it, for arrays of `ndim` dimensions."""
        return hlo_of(self.device_order, self.tiles(ndim), part_numbers(self, ndim))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, NamedSharding)
            and self._hash == other._hash
            and self.spec == other.spec
            and self.mesh == other.mesh
            and self.other_memory == other.other_memory
            and self.summing == other.summing
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec}{memory_text(self)})"


def _spec_of(mesh: Mesh, tiles: Sequence[int], order: Sequence[Device]) -> PartitionSpec | None:
    """The spec by which each device of the mesh holds the part that it holds in a list of parts; None if none does."""
    copies = len(order) // math.prod(tiles)
    part = {device: number // copies for number, device in enumerate(order)}
    steps = [math.prod(tiles[dimension + 1 :]) for dimension in range(len(tiles))]
    entries: list[list[tuple[int, Hashable]]] = [[] for _ in tiles]
    for axis, name in enumerate(mesh.axis_names):
        if mesh.devices.shape[axis] == 1:
            continue
        neighbour = [0] * mesh.devices.ndim
        neighbour[axis] = 1
        distance = part[mesh.devices[tuple(neighbour)]] - part[mesh.devices.flat[0]]
        dimension = next((d for d, step in enumerate(steps) if 0 < step <= distance and tiles[d] > 1), None)
        if dimension is not None:
            entries[dimension].append((-distance, name))
    spec = [tuple([name for _, name in sorted(entry, key=lambda pair: pair[0])]) for entry in entries]
    while spec and not spec[-1]:
        spec.pop()
    found = PartitionSpec(*spec)
    sharding = NamedSharding(mesh, found)
    if sharding.tiles(len(tiles)) != tuple(tiles):
        return None
    for device, coordinate in zip(mesh.device_order, sharding.coordinates(len(tiles)), strict=True):
        if part[device] != sum([index * step for index, step in zip(coordinate, steps, strict=True)]):
            return None
    return found
