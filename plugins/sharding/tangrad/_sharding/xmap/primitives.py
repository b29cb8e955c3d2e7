"""The primitive that maps a program over named axes, and what it comes down to: dimensions, loops, parts on devices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._sharding.xmap.axes import REPLICATED, SPMD, Assigned, Positions
from tangrad._sharding.xmap.levels import Axis, Mapping, Places, placed
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    NamedAxisEffect,
    PrimitiveSet,
    ShapedArray,
    Sharding,
    as_operand,
    axes_of_effects,
    holding,
    literal,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache, weak_key
from tangrad.core.programs import backend_of, program_for, to_arrays
from tangrad.core.settings import is_checking_values
from tangrad.core.tools import sub_jaxprs
from tangrad.core.transformations import one_equation
from tangrad.extend.collectives import Substitution, all_gather, axis_index, psum, subst_axis_names
from tangrad.extend.lax import add_p, dynamic_slice_in_dim, iota, mul_p
from tangrad.extend.sharding import NamedSharding, PartitionSpec, shard_map

if TYPE_CHECKING:
    from tangrad._sharding.mesh import AbstractMesh, Mesh
    from tangrad.core import Effect
    from tangrad.typing import Params, Value, Values


# Programs over looped axes: each iteration has one chunk only, so where an example is must be handed to the program
# Collectives along a looped axis are refused: they would need the chunks of all iterations at once.

_INT32 = np.dtype(np.int32)
_programs = JaxprCache()
register_cache(_programs.clear)


def _is_index(eqn: JaxprEqn) -> bool:
    return eqn.primitive.identity == "collectives.axis_index"


def _is_call(eqn: JaxprEqn) -> bool:
    """Whether an equation runs its program once, on its operands, so that it can be put in its place."""
    return eqn.primitive.identity == "jit.jit"


def check_looped(jaxpr: Jaxpr, looped: Sequence[object]) -> None:
    """Raise NotImplementedError for a collective along a looped axis.

    The index along one is known, but not inside of loops and branches of the program.
    """
    for eqn in jaxpr.eqns:
        used = axes_of_effects(eqn.effects).intersection(looped)
        if not used or _is_index(eqn):
            continue
        if _is_call(eqn):
            check_looped(eqn.params["jaxpr"].jaxpr, looped)
            continue
        name = sorted(used, key=str)[0]
        inside = next(iter(sub_jaxprs(eqn.params)), None) is not None
        place = "" if eqn.source_info is None else f" at {eqn.source_info.summarize()}"
        raise NotImplementedError(
            f"xmap: axis {name!r} runs in a serial loop, each iteration has one chunk, and {eqn.primitive.name} "
            f"{'has a program that uses' if inside else 'uses'} the whole axis{place}; shard the axis over mesh axes "
            f"only, or leave it without resources"
        )


def with_given_indices(
    closed: ClosedJaxpr, looped: tuple[Hashable, ...], sizes: dict[Hashable, int]
) -> tuple[ClosedJaxpr, tuple[tuple[Hashable, Array], ...]]:
    """The program with the indices along looped axes as further arguments, as far as it reads them.

    Returns the program, and pairs of an axis and its indices.
    """
    used = tuple([name for name in looped if name in axes_of_effects(closed.effects)])
    if not used:
        return closed, ()
    program = _programs.get(closed, (used, tuple(sizes.items())), lambda: _without_indices(closed, used, sizes))
    return program, tuple([(name, iota(_INT32, sizes[name])) for name in used])


def _without_indices(closed: ClosedJaxpr, used: tuple[Hashable, ...], sizes: dict[Hashable, int]) -> ClosedJaxpr:
    count = len(closed.in_avals)
    index = ShapedArray((), _INT32)

    def run(*args: Value) -> list[Value]:
        return _evaluated(closed, args[:count], dict(zip(used, args[count:], strict=True)), sizes)

    return trace_to_closed_jaxpr(run, [*closed.in_avals, *[index] * len(used)], closed.jaxpr.debug_name)


def _evaluated(
    closed: ClosedJaxpr, args: Sequence[Value], indices: dict[Hashable, Value], sizes: dict[Hashable, int]
) -> list[Value]:
    """The results of a program with the indices given, calls in it included."""
    jaxpr = closed.jaxpr
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *args), strict=True))

    def read(atom: Any) -> Value:
        return atom if type(atom) is Literal else values[atom]

    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        if not axes_of_effects(eqn.effects) & indices.keys():
            outs = eqn.primitive.bind(*operands, **eqn.params)
        elif _is_index(eqn):
            outs = _index(eqn, indices, sizes)
        else:
            outs = _evaluated(eqn.params["jaxpr"], operands, indices, sizes)
        for var, out in zip(eqn.outvars, outs if eqn.primitive.multiple_results else (outs,), strict=True):
            values[var] = out
    return [read(atom) for atom in jaxpr.outvars]


def _index(eqn: JaxprEqn, indices: dict[Hashable, Value], sizes: dict[Hashable, int]) -> Array:
    """The index along the axes of an equation, the first one varying slowest."""
    given = eqn.params["axis_name"]
    names = given if isinstance(given, tuple) else (given,)
    known = {**dict(thread.axis_environment), **sizes}
    total: Any = None
    for name in names:
        index = indices[name] if name in indices else eqn.primitive.bind(axis_name=(name,))
        if total is None:
            total = index
        else:
            total = add_p.bind(mul_p.bind(total, literal(known[name], _INT32, False)), index)
    return total


# A mapped program as what it comes down to: dimensions, loops and constraints, or what each device of a mesh runs


class Local:
    """The name of a device's own part of an axis."""

    __slots__ = ("name",)

    def __init__(self, name: Hashable) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Local) and self.name == other.name

    def __hash__(self) -> int:
        return hash((Local, self.name))

    def __repr__(self) -> str:
        return f"part of {self.name!r}"


def run_on_parts(
    mapping: Mapping,
    values: Sequence[Value],
    places: Sequence[Places],
    out_axes: Sequence[Positions],
    mesh: Mesh,
    replicated: bool,
) -> list[Value]:
    """The results of a mapped program, by a map over the mesh axes that its axes are sharded over.

    Args:
        replicated: whether the devices get whole arguments and gather the results, or are given parts.
    """
    axes = {axis.name: axis for axis in mapping.axes}
    local = _local_mapping(mapping)
    ins = [_spec(place.items(), as_operand(value).aval, axes) for value, place in zip(values, places, strict=True)]

    def on_device(*given: Value) -> list[Value]:
        parts = given
        if replicated:
            parts = tuple([_own_part(value, place, axes) for value, place in zip(given, places, strict=True)])
        outs, found = local.run(
            [as_operand(part) for part in parts], [{Local(name): at for name, at in place.items()} for place in places]
        )
        results = []
        for out, place, wanted, sums in zip(outs, found, out_axes, mapping.sums, strict=True):
            total = [mesh_axis for name in sums for mesh_axis in axes[name].mesh_axes]
            out = psum(out, tuple(total)) if total else out
            sizes = {axis.name: axis.size for axis in local.axes}
            result = placed(out, place, tuple([(Local(name), at) for name, at in wanted]), sizes)
            results.append(_gathered(result, wanted, axes) if replicated else result)
        return results

    ranks = [len(aval.shape) + len(wanted) for aval, wanted in zip(mapping.program.out_avals, out_axes, strict=True)]
    outs = [PartitionSpec(*_entries(wanted, rank, axes)) for wanted, rank in zip(out_axes, ranks, strict=True)]
    whole = PartitionSpec()
    mapped = shard_map(
        on_device,
        mesh=mesh,
        in_specs=tuple([whole if replicated else spec for spec in ins]),
        out_specs=[whole if replicated else spec for spec in outs],
        axis_names={mesh_axis for axis in mapping.axes for mesh_axis in axis.mesh_axes},
        check_vma=False,
    )
    return [as_operand(out) for out in mapped(*values)]


def _local_mapping(mapping: Mapping) -> Mapping:
    """The program over the parts of one device: each axis is the mesh axes that cut it, and what is left of it."""
    names = {axis.name: (*axis.mesh_axes, Local(axis.name)) for axis in mapping.axes}
    axes = [Axis(Local(axis.name), axis.size // axis.parts, loop=axis.loop) for axis in mapping.axes]
    sums = tuple([tuple([Local(name) for name in one]) for one in mapping.sums])
    sizes = {axis.name: axis.size for axis in axes}
    return Mapping(subst_axis_names(mapping.program, Substitution(names, sizes)), axes, sums)


def _entries(positions: Iterable[tuple[Hashable, int]], ndim: int, axes: dict[Hashable, Axis]) -> list[object]:
    entries: list[object] = [None] * ndim
    for name, position in positions:
        entries[position] = axes[name].mesh_axes
    return entries


def _spec(positions: Iterable[tuple[Hashable, int]], aval: ShapedArray, axes: dict[Hashable, Axis]) -> PartitionSpec:
    return PartitionSpec(*_entries(positions, len(aval.shape), axes))


def _own_part(value: Value, place: Places, axes: dict[Hashable, Axis]) -> Value:
    """This device's part of a whole array."""
    for name, position in place.items():
        axis = axes[name]
        if axis.mesh_axes:
            share = axis.size // axis.parts
            value = dynamic_slice_in_dim(value, axis_index(axis.mesh_axes) * share, share, position)
    return value


def _gathered(value: Value, wanted: Positions, axes: dict[Hashable, Axis]) -> Value:
    """The whole array of which each device has a part."""
    for name, position in wanted:
        if axes[name].parts > 1:
            value = all_gather(value, axes[name].mesh_axes, axis=position, tiled=True)
    return value


def evaluate_mapped(
    args: Sequence[Value],
    *,
    jaxpr: ClosedJaxpr,
    name: str,
    in_axes: tuple[Positions, ...],
    out_axes: tuple[Positions, ...],
    sums: tuple[tuple[Hashable, ...], ...],
    sizes: tuple[tuple[Hashable, int], ...],
    resources: tuple[tuple[Hashable, Assigned], ...],
    sharding: NamedSharding | None,
    lowering: str,
) -> list[Value]:
    """The results of a mapped program: by operations on whole arrays, those of `vmap` for each axis, or on parts."""
    known, assigned = dict(sizes), dict(resources)
    mesh = None if sharding is None else sharding.mesh
    looped = tuple([axis for axis, one in resources if one.loop > 1])
    program, indices = with_given_indices(jaxpr, looped, known)
    axes = [_axis(axis, size, assigned.get(axis, Assigned()), mesh) for axis, size in sizes]
    axes.sort(key=lambda axis: axis.loop == 1)  # loops outside: a chunk of one is all that the others see
    mapping = Mapping(program, axes, sums)
    values = [*[as_operand(arg) for arg in args], *[value for _, value in indices]]
    places = [*[dict(positions) for positions in in_axes], *[{axis: 0} for axis, _ in indices]]
    if mesh is not None and lowering != SPMD:
        return run_on_parts(mapping, values, places, out_axes, mesh, lowering == REPLICATED)
    sharded = [_constrained(value, place.items(), assigned, mesh) for value, place in zip(values, places, strict=True)]
    outs, found = mapping.run(sharded, places)
    return [
        _constrained(placed(out, place, wanted, known), wanted, assigned, mesh)
        for out, place, wanted in zip(outs, found, out_axes, strict=True)
    ]


def _axis(name: Hashable, size: int, assigned: Assigned, mesh: Any) -> Axis:
    parts = 1
    for axis in assigned.mesh_axes:
        parts *= mesh.shape[axis]
    return Axis(name, size, assigned.mesh_axes, parts, assigned.loop)


def partition_of(
    positions: Iterable[tuple[Hashable, int]], ndim: int, assigned: dict[Hashable, Assigned]
) -> PartitionSpec:
    """Over which mesh axes the dimensions of an array with these named axes are cut."""
    entries: list[object] = [None] * ndim
    for name, position in positions:
        entries[position] = assigned.get(name, Assigned()).mesh_axes
    return PartitionSpec(*entries)


def _constrained(
    value: Value,
    positions: Iterable[tuple[Hashable, int]],
    assigned: dict[Hashable, Assigned],
    mesh: Mesh | AbstractMesh | None,
) -> Value:
    """A value whose named axes are constrained to devices; other dimensions are its choice."""
    if mesh is None or not any([assigned.get(name, Assigned()).mesh_axes for name, _ in positions]):
        return value
    spec = partition_of(positions, len(value.aval.shape), assigned)
    named = {position for _, position in positions}
    entries = [entry if position in named else PartitionSpec.UNCONSTRAINED for position, entry in enumerate(spec)]
    return NamedSharding(mesh, PartitionSpec(*entries)).constrain(value)


# --- The primitive that maps a program over named axes ---

xmapping = PrimitiveSet("xmapping", api=1)


def without_axes(shape: Sequence[object], positions: Positions) -> tuple[object, ...]:
    """The shape of one example."""
    named = {position for _, position in positions}
    return tuple([size for position, size in enumerate(shape) if position not in named])


def with_axes(shape: Sequence[object], positions: Positions, sizes: dict[Hashable, int]) -> tuple[object, ...]:
    """The shape of all examples."""
    full = list(shape)
    for name, position in positions:  # by position, the first one first: so each is where it is to be
        full.insert(position, sizes[name])
    return tuple(full)


@contextmanager
def in_scope(sizes: Sequence[tuple[object, object]]) -> Iterator[None]:
    """What is traced meanwhile is within these axes."""
    with holding(axis_environment=(*thread.axis_environment, *sizes)):
        yield


def _effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Effect]:
    bound = {NamedAxisEffect(name) for name, _ in params["sizes"]}
    return frozenset(params["jaxpr"].effects - bound)


def _decompose(*args: Value, **params: Any) -> Values:
    return tuple(evaluate_mapped(args, **params))


def _run(args: Values, params: Params) -> Values:
    """Outside of programs: as one compiled program, which is kept as long as the program that is mapped."""
    sharding = params["sharding"]
    backend = backend_of(args) if sharding is None else sharding.device_order[0].backend
    arrays = to_arrays(backend, args)
    if is_checking_values():  # one by one, so that the error names the operation
        return _decompose(*arrays, **params)
    closed = params["jaxpr"]
    avals = tuple([array.aval for array in arrays])
    others = {name: value for name, value in params.items() if name != "jaxpr"}

    def alone() -> ClosedJaxpr:  # of a copy, or what is kept would keep the program alive
        return one_equation(xmap_p, avals, {**others, "jaxpr": ClosedJaxpr(closed.jaxpr, closed.consts)})

    place = backend.placement(arrays) if backend.has_placements and sharding is None else None
    key = ("xmap", avals, weak_key(others))
    program = program_for(
        closed, backend, params["name"], place, key, alone, keep_unused=True, places=backend.places(arrays)
    )
    return tuple(program.execute(arrays))


@xmapping.primitive(
    name="xmap", multiple_results=True, weak_type="own", effects=_effects, decompose=_decompose, evaluate=_run
)
def xmap_p(
    *avals: ShapedArray,
    jaxpr: ClosedJaxpr,
    name: str,
    in_axes: tuple[Positions, ...],
    out_axes: tuple[Positions, ...],
    sums: tuple[tuple[Hashable, ...], ...],
    sizes: tuple[tuple[Hashable, int], ...],
    resources: tuple[tuple[Hashable, Assigned], ...],
    sharding: Sharding | None,
    lowering: str,
) -> tuple[ShapedArray, ...]:
    """The program `jaxpr`, of one example, for all examples along named axes.

    `in_axes` and `out_axes` say which dimensions of operands and results are which axis, `sums` over which axes a
    result is summed; `sizes` are all axes, `resources` what some are sharded over; `sharding` has the mesh that these
    mean, None where they mean none. Results depend neither on these nor on `lowering`.
    """
    if len(avals) != len(jaxpr.in_avals):
        raise TypeError(f"xmap: program {name!r} takes {len(jaxpr.in_avals)} arguments, got {len(avals)}")
    known = dict(sizes)
    for number, (given, positions, inner) in enumerate(zip(avals, in_axes, jaxpr.in_avals, strict=True)):
        expected = with_axes(inner.shape, positions, known)
        if given.shape != expected or given.dtype != inner.dtype:
            raise TypeError(
                f"xmap: argument {number} of program {name!r} is {inner.str_short()} of each example, and so of shape "
                f"{expected}, got {given.str_short()}"
            )
    return tuple(
        [
            ShapedArray(with_axes(aval.shape, positions, known), aval.dtype, aval.weak_type)
            for aval, positions in zip(jaxpr.out_avals, out_axes, strict=True)
        ]
    )
