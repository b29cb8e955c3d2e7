"""Shardings: how an array is split over several devices. Their kinds are plugins; here is what backends know of all.

A sharding arranges its devices in a grid with named axes, and names for each dimension of an array the axes of the
grid that cut it, the slowest varying first. Along the axes that cut nothing the parts are repeated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from tangrad._core.diagnostics.tracebacks import class_boundary
from tangrad._core.kernel.array import Array, Literal
from tangrad._core.kernel.aval import ShapedArray
from tangrad._core.kernel.backend import CompileOptions
from tangrad._core.kernel.device import Device
from tangrad._core.kernel.jaxpr import Atom, ClosedJaxpr, Jaxpr, sub_jaxprs

Index = tuple[slice, ...]
Bounds = tuple[tuple[int, int], ...]
PARTS_LIMIT = 4096  # pairs of a sharding and a shape whose parts are remembered


class Parts(NamedTuple):
    """Which part of an array of some shape each device holds, in the order of the devices.

    Attributes:
        numbers: the number of the part; devices that hold the same have the same.
        indices: the part as slices. bounds: the same as pairs of start and stop.
        distinct: the slices of each part once, by number.
    """

    numbers: tuple[int, ...]
    indices: tuple[Index, ...]
    bounds: tuple[Bounds, ...]
    distinct: tuple[Index, ...]


@class_boundary
class Sharding:
    """How an array is sharded over devices: the base class. A kind of shardings defines `device_order`, `grid`,
    `dimension_axes` and `resharded`.

    Shardings do not change, and compare and hash by what they are.

    Attributes:
        other_memory: the memory of the devices; None for the usual one, which `memory_kind` names.
    """

    __slots__ = ("__weakref__",)
    other_memory: str | None = None

    # --- what a kind of shardings defines ---

    @property
    def device_order(self) -> tuple[Device, ...]:
        """The devices in the order of the grid, whose last axis varies fastest."""
        raise NotImplementedError

    @property
    def grid(self) -> tuple[tuple[Any, int], ...]:
        """Name and size of each axis of the grid."""
        raise NotImplementedError

    def dimension_axes(self, ndim: int) -> tuple[tuple[Any, ...], ...]:
        """For each dimension of an array of `ndim` dimensions the axes that cut it. Raises ValueError: too few."""
        raise NotImplementedError

    def resharded(self, tiles: Sequence[int], order: Sequence[Device]) -> Sharding:
        """The sharding, of this kind if there is one, that a compiler chose.

        Args:
            tiles: in how many parts each dimension is cut.
            order: the devices by the part they hold: those of the first part, of the next along the last dimension, ….
        """
        raise NotImplementedError

    def with_dimension(self, position: int, ndim: int, axes: object = None) -> Sharding:
        """The sharding of arrays of `ndim` dimensions and one more at `position`, which `axes` (None: none) cut."""
        raise NotImplementedError

    def constrain(self, value: Any) -> Array:
        """`value`, which programs constrain to this sharding."""
        raise NotImplementedError

    def of_rank(self, ndim: int) -> Sharding:
        """The same, as arrays of `ndim` dimensions whose types have shardings state it."""
        return self

    def type_of(self, aval: ShapedArray) -> Any:
        """The type of arrays of such shape and dtype with this sharding: a refined one, if this kind has such."""
        return aval.plain

    def to_sharding(self, what: str) -> Sharding:
        """The sharding over devices that this one stands for, where `what` is given: itself, if it has devices."""
        return self

    def unconstrained_dimensions(self) -> frozenset[int]:
        """The dimensions that a constraint leaves to the compiler."""
        return frozenset()

    # --- what follows ---

    @property
    def memory_kind(self) -> str | None:
        """The memory of the devices; None for the usual one of devices that are not known yet."""
        return self.other_memory or self.device_order[0].memory_kinds[0]

    @property
    def device_set(self) -> set[Device]:
        """The devices, as a set."""
        return set(self.device_order)

    @property
    def num_devices(self) -> int:
        """How many devices there are."""
        return len(self.device_order)

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices that this process reaches."""
        return {device for device in self.device_order if is_addressable(device)}

    @property
    def _addressable_device_assignment(self) -> tuple[Device, ...]:
        """Those of this process in order, under the name by which libraries of checkpoints ask JAX's shardings."""
        return tuple([device for device in self.device_order if is_addressable(device)])

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process reaches every device."""
        return all([is_addressable(device) for device in self.device_order])

    @property
    def is_unspecified(self) -> bool:
        """Whether it is of a type without a sharding."""
        return False

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        sizes = dict(self.grid)
        return all([sizes[axis] == 1 for axes in self.dimension_axes(_MOST_DIMENSIONS) for axis in axes])

    def tiles(self, ndim: int) -> tuple[int, ...]:
        """In how many parts each dimension is cut."""
        sizes = dict(self.grid)
        return tuple([math.prod([sizes[axis] for axis in axes]) for axes in self.dimension_axes(ndim)])

    def coordinates(self, ndim: int) -> list[tuple[int, ...]]:
        """For each device, in order, which part it holds: its number along each dimension."""
        sizes, per_dimension, found = dict(self.grid), self.dimension_axes(ndim), []
        for place in itertools.product(*map(range, sizes.values())):
            at = dict(zip(sizes, place, strict=True))
            coordinate = []
            for axes in per_dimension:
                index = 0
                for axis in axes:
                    index = index * sizes[axis] + at[axis]
                coordinate.append(index)
            found.append(tuple(coordinate))
        return found

    def indices(self, shape: Sequence[int]) -> list[Index]:
        """For each device, in order, which part of an array of that shape it holds."""
        return list(self.parts(shape).indices)

    def parts(self, shape: Sequence[int]) -> Parts:
        """The parts of an array of that shape, and which each device holds."""
        return _parts(self, tuple(shape))

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the part that each device holds. Raises ValueError for a dimension that does not divide."""
        self.check_shape(global_shape)
        return tuple([size // count for size, count in zip(global_shape, self.tiles(len(global_shape)), strict=True)])

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        """Device -> which part of an array of that shape it holds, a slice for each dimension."""
        self.check_shape(global_shape)
        return dict(zip(self.device_order, self.indices(global_shape), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        """The same for the devices that this process reaches."""
        return {d: index for d, index in self.devices_indices_map(global_shape).items() if is_addressable(d)}

    def with_memory_kind(self, kind: str | None) -> Sharding:
        """The same in a memory of the devices; None: the usual one. Raises ValueError for one that it cannot be in."""
        if kind is not None and kind != self.device_order[0].memory_kinds[0]:
            raise ValueError(f"{type(self).__name__} is for the usual memory of devices, got memory_kind={kind!r}")
        return self

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether arrays of `ndim` dimensions are sharded alike, over the same devices."""
        if self is other or self == other:
            return True
        if self.device_set != other.device_set or self.tiles(ndim) != other.tiles(ndim):
            return False
        own, others = [
            dict(zip(sharding.device_order, sharding.coordinates(ndim), strict=True)) for sharding in (self, other)
        ]
        return own == others and self.other_memory == other.other_memory

    def check_shape(self, shape: Sequence[int], what: str = "an array") -> None:
        """Raise ValueError for a shape of which a dimension does not divide, or that has too few dimensions."""
        try:
            dimension = _undivided(self, tuple(shape))
        except ValueError as error:
            raise ValueError(f"{what} of shape {tuple(shape)} cannot be sharded by {self}: {error}") from None
        if dimension is not None:
            sizes, axes = dict(self.grid), self.dimension_axes(len(shape))[dimension]
            named = ", ".join([f"{axis!r} of size {sizes[axis]}" for axis in axes])
            raise ValueError(
                f"{what} of shape {tuple(shape)} cannot be sharded by {self}, which should evenly divide the shape: "
                f"dimension {dimension}, of size {shape[dimension]}, is not divisible into "
                f"{math.prod([sizes[axis] for axis in axes])} equal parts along the mesh axes {named}"
            )


@lru_cache(PARTS_LIMIT)
def _parts(sharding: Sharding, shape: tuple[int, ...]) -> Parts:
    steps = [-(-size // count) for size, count in zip(shape, sharding.tiles(len(shape)), strict=True)]
    coordinates = sharding.coordinates(len(shape))
    number_of = {coordinate: number for number, coordinate in enumerate(dict.fromkeys(coordinates))}
    bounds, indices = {}, {}
    for coordinate in number_of:
        along = zip(coordinate, steps, shape, strict=True)
        pairs = bounds[coordinate] = tuple([(min(at * step, n), min((at + 1) * step, n)) for at, step, n in along])
        cuts = zip(pairs, shape, strict=True)
        indices[coordinate] = tuple([slice(None) if pair == (0, n) else slice(*pair) for pair, n in cuts])
    return Parts(
        tuple([number_of[coordinate] for coordinate in coordinates]),
        tuple([indices[coordinate] for coordinate in coordinates]),
        tuple([bounds[coordinate] for coordinate in coordinates]),
        tuple(indices.values()),
    )


@lru_cache(PARTS_LIMIT)
def _undivided(sharding: Sharding, shape: tuple[int, ...]) -> int | None:
    """The first dimension that does not divide, or None."""
    counts = sharding.tiles(len(shape))
    return next((at for at, (size, count) in enumerate(zip(shape, counts, strict=True)) if size % count), None)


_MOST_DIMENSIONS = 64  # NumPy's limit


def is_addressable(device: Device) -> bool:
    """Whether this process reaches a device."""
    return bool(device.process_index == device.backend.process_index)


def as_sharding(value: object, what: str) -> Any:
    """What users give as a sharding: one as it is, and what has a method `to_sharding(what)` as that returns.

    Raises TypeError for anything else, naming `what` it was given as.
    """
    convert = getattr(value, "to_sharding", None)
    if convert is None or isinstance(value, type):
        raise TypeError(f"{what} takes shardings and partition specs, got {value!r} of type {type(value).__name__}")
    return convert(what)


# --- shardings of types ---


def types_by_shardings(avals: Sequence[ShapedArray], shardings: Sequence[Sharding | None]) -> list[ShapedArray]:
    """The types of values, some of which are sharded as given; `shardings`: one or None for each, or ()."""
    stated = shardings or (None,) * len(avals)
    return [aval if s is None else s.type_of(aval) for aval, s in zip(avals, stated, strict=True)]


def with_shardings_of_types(closed: ClosedJaxpr, options: CompileOptions) -> CompileOptions:
    """Options that state of results, beside what a caller states, what types say; one without a sharding is whole."""
    by_types: list[Any] = [getattr(aval, "stated", None) for aval in (*closed.out_avals, *closed.in_avals)]
    if all([sharding is None for sharding in by_types]):
        return options
    cut = next(sharding for sharding in by_types if sharding is not None).with_axes
    given = options.out_shardings or (None,) * len(closed.out_avals)
    found = [by_type or cut(((),) * aval.ndim) for by_type, aval in zip(by_types, closed.out_avals, strict=False)]
    return options.changed(out_shardings=tuple([one or own for one, own in zip(given, found, strict=True)]))


def program_shardings(closed: ClosedJaxpr) -> tuple[Sharding, ...]:
    """The shardings among the parameters of a program's equations, nested ones too, in the memory where it computes.

    Raises ValueError where two of them are for different sets of devices.
    """
    found = tuple([s if s.other_memory is None else s.with_memory_kind(None) for s in _shardings(closed.jaxpr, set())])
    for sharding in found[1:]:
        if sharding.device_set != found[0].device_set:
            raise ValueError(
                f"one program cannot run on two sets of devices: a part of it is for {found[0]} on "
                f"{list(map(str, found[0].device_order))}, another for {sharding} on "
                f"{list(map(str, sharding.device_order))}"
            )
    return found


def names_memories(closed: ClosedJaxpr, options: CompileOptions) -> bool:
    """Whether the options of a program, or its equations, name another memory than the usual one."""
    stated = (*options.shardings, *_shardings(closed.jaxpr, set()))
    return any([sharding.other_memory is not None for sharding in stated])


def sharding_of_result(jaxpr: Jaxpr, atom: Atom) -> Sharding | None:
    """The sharding of a result, where the equation that makes it has one."""
    if type(atom) is Literal:
        return None
    for eqn in jaxpr.eqns:
        if atom in eqn.outvars:
            position = list(eqn.outvars).index(atom)
            stated = eqn.params.get("sharding") or (eqn.params.get("out_shardings") or {position: None})[position]
            if isinstance(stated, Sharding):
                return stated
            inner = [sub.jaxpr if isinstance(sub, ClosedJaxpr) else sub for sub in sub_jaxprs(eqn.params)]
            if len(inner) == 1 and [v.aval for v in inner[0].outvars] == [v.aval for v in eqn.outvars]:
                return sharding_of_result(inner[0], inner[0].outvars[position])
    return None


def agreed_devices(name: str, claims: Sequence[tuple[str, Sequence[Device]]]) -> tuple[Device, ...]:
    """The devices on which a program runs, in the order of the first who claims some.

    Args:
        name: of the program.
        claims: who wants which devices, such as ("argument 0", …).

    Raises ValueError, naming both, where two want different sets.
    """
    last, devices = claims[-1]  # an argument, where two of them differ: what types state of results follows from them
    if others := [claim for claim in claims if set(claim[1]) != set(devices)]:
        first, wanted = others[-1]
        raise ValueError(
            f"Received incompatible devices for jitted computation {name}: {first} is for {_listed(wanted)}, "
            f"{last} for {_listed(devices)}; move arguments to the same devices first: tangrad.device_put(x, sharding)"
        )
    return tuple(claims[0][1])


def stated_claims(options: CompileOptions, program: Sequence[Sharding]) -> list[tuple[str, Sequence[Device]]]:
    """Who claims devices for a program: the shardings that its options (`CompileOptions`) and its equations state."""
    claims: list[tuple[str, Sequence[Device]]] = []
    for what, shardings in (("in_shardings", options.in_shardings), ("out_shardings", options.out_shardings)):
        claims += [(what, sharding.device_order) for sharding in shardings if sharding is not None]
    return claims + [("the program", sharding.device_order) for sharding in program[:1]]


def check_argument(name: str, position: int, aval: ShapedArray, given: Sharding | None, stated: Sharding) -> None:
    """Raise ValueError for an argument that a stated sharding cannot cut, or that is sharded in another way already."""
    stated.check_shape(aval.shape, f"{name}: argument {position}")
    if given is not None and not given.is_equivalent_to(stated, len(aval.shape)):
        raise ValueError(
            f"{name}: argument {position}, {aval.str_short()}, is sharded by {given}, and in_shardings say {stated}; "
            f"move it first: tangrad.device_put(x, sharding)"
        )


def _listed(devices: Sequence[Device]) -> str:
    return f"{devices[0].platform} device{'s' if len(devices) > 1 else ''} {', '.join([str(d.id) for d in devices])}"


def _shardings(jaxpr: Jaxpr | ClosedJaxpr, seen: set[int]) -> list[Sharding]:
    """The shardings among parameters. `seen`: the identities of programs that are done."""
    seen.add(id(jaxpr))
    found = []
    for params in [eqn.params for eqn in jaxpr.eqns if eqn.params]:
        for value in params.values():
            found += [item for item in (value if type(value) is tuple else (value,)) if isinstance(item, Sharding)]
        for sub in sub_jaxprs(params):
            found += _shardings(sub, seen) if id(sub) not in seen else []
    return found
