"""Exported programs as bytes: as StableHLO, or as `tangrad.runtime` writes them; and how arguments are sharded."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

from tangrad._export.structures import described_tree
from tangrad.core import ClosedJaxpr, Device, ShapedArray, Sharding, dtypes, get_backend
from tangrad.dtypes import ExtendedDType
from tangrad.extend import runtime
from tangrad.extend.runtime import DEFAULT, SavedProgram, pack, program_sections, unpack
from tangrad.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec

# How the arguments and results of a program over several devices are sharded, as files say it: without the devices
# The devices of a program are numbered, in the order of their ids.

MOST_DEVICES = 1 << 20


class SavedSharding(NamedTuple):
    """A sharding over numbered devices.

    Attributes:
        grid: name and size of each axis of the grid of devices.
        dimensions: for each dimension of the array the axes that cut it.
        order: the numbers of the devices in the order of the grid; () where they are in order.
    """

    grid: tuple[tuple[str, int], ...]
    dimensions: tuple[tuple[str, ...], ...]
    order: tuple[int, ...] = ()

    def on(self, devices: Sequence[Device]) -> Placed:
        """The same on devices, the first of which has the number 0."""
        return Placed(self, tuple([devices[number] for number in self.order] if self.order else devices))


class Placed(Sharding):
    """A saved sharding on devices."""

    __slots__ = ("_devices", "_saved")

    def __init__(self, saved: SavedSharding, devices: Sequence[Device]) -> None:
        self._saved = saved
        self._devices = tuple(devices)

    @property
    def device_order(self) -> tuple[Device, ...]:
        """The devices in the order of the grid."""
        return self._devices

    @property
    def grid(self) -> tuple[tuple[str, int], ...]:
        """Name and size of each axis of the grid."""
        return self._saved.grid

    def dimension_axes(self, ndim: int) -> tuple[tuple[str, ...], ...]:
        """For each dimension of an array the axes that cut it; keys have dimensions of their own behind these."""
        return self._saved.dimensions + ((),) * (ndim - len(self._saved.dimensions))


def devices_of(shardings: Iterable[Sharding | None]) -> list[Device]:
    """The devices of a program with such shardings, by their numbers in it; none for a program on one device.

    Raises ValueError where two of them are over different devices.
    """
    sets = {frozenset(sharding.device_order) for sharding in shardings if sharding is not None}
    if len(sets) > 1:
        counts = sorted(map(len, sets))
        raise ValueError(f"export: one program cannot run on two sets of devices; it states some of {counts} devices")
    devices = sorted(next(iter(sets), ()), key=lambda device: device.id)
    return devices if len(devices) > 1 else []


def saved(sharding: Sharding | None, ndim: int, devices: Sequence[Device]) -> SavedSharding | None:
    """A sharding of arrays of `ndim` dimensions as files have it; None for none.

    Raises NotImplementedError for one in another memory than the usual one.
    """
    if sharding is None or not devices:
        return None
    if sharding.other_memory not in (None, devices[0].memory_kinds[0]):
        raise NotImplementedError(
            f"export: programs have arguments and results in the usual memory, not in {sharding.memory_kind!r}"
        )
    names = {name: _word(name, number) for number, (name, _) in enumerate(sharding.grid)}
    numbers = tuple([devices.index(device) for device in sharding.device_order])
    return SavedSharding(
        tuple([(names[name], size) for name, size in sharding.grid]),
        tuple([tuple([names[axis] for axis in axes]) for axes in sharding.dimension_axes(ndim)]),
        () if numbers == tuple(range(len(numbers))) else numbers,
    )


def _word(name: object, number: int) -> str:
    """What an axis is called in files: by its name, if that is a word."""
    return name if isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name) else f"axis_{number}_"


def over_mesh(sharding: SavedSharding | None, mesh: Mesh | AbstractMesh) -> Sharding | None:
    """A `NamedSharding` over the devices of a mesh: over the mesh itself, if its axes are those of the sharding."""
    if sharding is None:
        return None
    spec = PartitionSpec(*[axes[0] if len(axes) == 1 else axes or None for axes in sharding.dimensions])
    count = prod([size for _, size in sharding.grid])
    if mesh.size != count:
        raise ValueError(f"the program is for {count} devices, and the mesh {mesh} has {mesh.size}")
    if not sharding.order and tuple(mesh.shape.items()) == sharding.grid:
        # Over devices the usual memory needs no name; over the shape of a mesh it is one of those that there may be.
        return NamedSharding(mesh, spec, memory_kind=None if isinstance(mesh, Mesh) else "device")
    if not isinstance(mesh, Mesh):
        raise ValueError(
            f"the program is for a mesh {dict(sharding.grid)}, and {mesh} has another shape, and no devices to arrange"
        )
    devices = mesh.devices.flat[list(sharding.order)] if sharding.order else mesh.devices.reshape(-1)
    sizes, names = [size for _, size in sharding.grid], [name for name, _ in sharding.grid]
    return NamedSharding(Mesh(devices.reshape(sizes), names), spec)


# --- in files ---------------------------------------------------------------------------------------------------------


def described(sharding: SavedSharding | None) -> list[object] | None:
    """A sharding as JSON: `null`, or grid, dimensions and order."""
    if sharding is None:
        return None
    grid = [[name, size] for name, size in sharding.grid]
    return [grid, [list(axes) for axes in sharding.dimensions], list(sharding.order)]


def read(entry: Any, ndim: int, device_count: int) -> SavedSharding | None:
    """A sharding from its description, of arrays of `ndim` dimensions. Raises ValueError for anything else."""
    if entry is None:
        return None
    grid, dimensions, order = entry
    found = SavedSharding(
        tuple([(_name(name), _count(size)) for name, size in grid]),
        tuple([tuple(map(_name, axes)) for axes in dimensions]),
        tuple(map(_count, order)),
    )
    names = [name for name, _ in found.grid]
    used = [axis for axes in found.dimensions for axis in axes]
    fits = prod([size for _, size in found.grid]) == device_count and len(found.dimensions) == ndim
    known = len(set(names)) == len(names) and len(set(used)) == len(used) and set(used) <= set(names)
    if not (fits and known and sorted(found.order) in ([], list(range(device_count)))):
        raise ValueError(f"a sharding over {device_count} devices of {ndim} dimensions is none: {entry!r:.200}")
    return found


def _name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_]\w{0,200}", value):
        raise ValueError(f"{value!r:.80} is no name of an axis")
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value <= MOST_DEVICES:
        raise ValueError(f"{value!r:.80} is no number of devices")
    return value


# ----------------------------------------------------------------------------------------------------------------------
# Exported programs for NumPy as bytes: as `tangrad.runtime` writes them, with flat arguments and results.


# --- Exported programs as bytes: for XLA as StableHLO, for NumPy as `tangrad.runtime` writes them ---


def written_program(closed: ClosedJaxpr, names: Sequence[str]) -> bytes:
    """A program, which takes arguments of these names. Raises ArtifactError for what has no form in files."""
    arguments = ["tuple", ["tuple", *["*"] * len(closed.in_avals)], ["dict"]]
    results = [f"result[{number}]" for number in range(len(closed.out_avals))]
    return pack(program_sections(closed, arguments, ["tuple", *["*"] * len(results)], names, results))


def read_program(data: bytes | memoryview) -> ClosedJaxpr:
    """The program of such bytes, all of it checked. Raises ArtifactError for anything else."""
    return SavedProgram(unpack(data), DEFAULT, get_backend("numpy")).closed


# --- Exported programs as bytes: a header of lengths and a digest, a description in JSON, and StableHLO ---------------
# docs/export.md has the format. Nothing in a file is executed, unpickled or evaluated; what it claims is compared with
# what there is before memory is taken for it.


MAGIC = b"tangrad\xe6"
# Magic, version, reserved, lengths of description, module, derivative (and, from version 2, program); SHA-256.
HEADERS = {1: struct.Struct("<8sHHIQQ32s"), 2: struct.Struct("<8sHHIQQQ32s")}
HEADER = HEADERS[1]
MOST = {
    "description": 16 << 20,
    "module": 2 << 30,
    "program": 2 << 30,
    "derivatives": 8,
    "arguments": 100_000,
    "dimensions": 64,
}


def serialize(exported: Any, vjp_order: int = 0) -> bytes:
    """A program as bytes, with `vjp_order` derivatives. See `Exported.serialize`."""
    if not isinstance(vjp_order, int) or not 0 <= vjp_order <= MOST["derivatives"]:
        raise ValueError(f"serialize: vjp_order must be an integer from 0 to {MOST['derivatives']}, got {vjp_order!r}")
    description = json.dumps(_described(exported), ensure_ascii=True, separators=(",", ":")).encode()
    module = exported.mlir_module_serialized
    derivative = serialize(exported.vjp(), vjp_order - 1) if vjp_order else b""
    parts = [description, module, derivative]
    if exported.program_serialized:
        parts.append(exported.program_serialized)
    version = len(parts) - 2  # earlier releases read what has no program for NumPy
    body = b"".join(parts)
    digest = hashlib.sha256(body).digest()
    return HEADERS[version].pack(MAGIC, version, 0, *map(len, parts), digest) + body


def _described(exported: Any) -> dict[str, object]:
    scope = exported._plan.scope
    return {
        "name": exported.fun_name,
        "in_tree": described_tree(exported.in_tree),
        "in_avals": [described_aval(aval) for aval in exported.in_avals],
        "out_tree": described_tree(exported.out_tree),
        "out_avals": [described_aval(aval) for aval in exported.out_avals],
        "constraints": [] if scope is None else list(scope.constraints),
        "platforms": list(exported.platforms),
        "calling_convention": exported.calling_convention_version,
        "devices": exported.nr_devices,
        **_described_shardings(exported),
        "disabled_checks": [[check.kind, check.target] for check in exported.disabled_safety_checks],
        "global_constants": exported.uses_global_constants,
        **_described_types(exported),
    }


def _described_shardings(exported: Any) -> dict[str, object]:
    """Those of a program over several devices; nothing for others, so that earlier releases read them."""
    if exported.nr_devices == 1:
        return {}
    return {key: list(map(described, getattr(exported, key))) for key in ("in_shardings", "out_shardings")}


def _described_types(exported: Any) -> dict[str, object]:
    """What types record along Explicit axes; nothing where they record nothing, so that earlier releases read them."""
    found = {key: [_explicit(aval) for aval in getattr(exported, f"{key}_avals")] for key in ("in", "out")}
    return {"explicit": found} if any(map(any, found.values())) else {}


def _explicit(aval: ShapedArray) -> list[object] | None:
    if aval.infer_types is None:
        return None
    mesh, (unreduced, reduced, _) = aval.sharding.mesh, aval.sharding.combining
    words = {name: _word(name, number) for number, name in enumerate(mesh.axis_names)}
    saved = SavedSharding(
        tuple([(words[name], size) for name, size in mesh.shape.items()]),
        tuple([tuple([words[axis] for axis in axes]) for axes in aval.sharding.dimension_axes(aval.ndim)]),
    )
    shares = [sorted([words[axis] for axis in axes]) for axes in (unreduced, reduced)]
    return [described(saved), [kind.name for kind in mesh.axis_types], *shares]


def typed(aval: ShapedArray, entry: Any, device_count: int) -> ShapedArray:
    """A type with what it records along Explicit axes. Raises ValueError, KeyError or TypeError for anything else."""
    if entry is None:
        return aval
    sharding, kinds, unreduced, reduced = entry
    saved = read(sharding, aval.ndim, device_count)
    if saved is None or len(kinds) != len(saved.grid):
        raise ValueError(f"the type of an array has no axes, or other ones: {entry!r:.200}")
    sizes, names = [size for _, size in saved.grid], [name for name, _ in saved.grid]
    mesh = AbstractMesh(sizes, names, axis_types=tuple([AxisType[kind] for kind in kinds]))
    spec = PartitionSpec(*saved.dimensions, unreduced=frozenset(unreduced), reduced=frozenset(reduced))
    return NamedSharding(mesh, spec).type_of(aval)


def described_aval(aval: ShapedArray) -> list[object]:
    """A type as JSON: its dtype and its shape."""
    try:
        dtype = runtime.written(aval.dtype, None) if isinstance(aval.dtype, ExtendedDType) else None  # type: ignore[arg-type]
    except runtime.NotSavedError:
        raise ValueError(f"serialize: arrays of dtype {aval.dtype} have no form in files") from None
    return [dtype or dtypes.dtype_name(aval.dtype), [size if type(size) is int else str(size) for size in aval.shape]]
