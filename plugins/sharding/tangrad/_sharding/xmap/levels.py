"""Axis by axis: a program of one example is run for all, the first axis outermost, each mapped or looped over."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from tangrad._sharding.xmap.axes import Positions
from tangrad.batching import AxisInfo, batch_flat, move_axis, place_axis
from tangrad.core import ClosedJaxpr, as_operand, eval_jaxpr, literal, trace_to_jaxpr
from tangrad.extend.lax import add_p, full, mul_p, reduce_sum_p, reshape_p, scan, transpose_p

if TYPE_CHECKING:
    from tangrad.typing import Value

# Axis -> the dimension of a value that it is.
Places = dict[Hashable, int]


class Axis:
    """One named axis, or the chunks of one.

    Attributes:
        name, size: of the axis.
        mesh_axes: the mesh axes that cut it.
        parts: into how many parts these cut it.
        loop: the iterations of its serial loop, 1 for none.
    """

    __slots__ = ("loop", "mesh_axes", "name", "parts", "size")

    def __init__(
        self, name: Hashable, size: int, mesh_axes: tuple[Hashable, ...] = (), parts: int = 1, loop: int = 1
    ) -> None:
        self.name = name
        self.size = size
        self.mesh_axes = mesh_axes
        self.parts = parts
        self.loop = loop

    @property
    def chunk(self) -> Axis:
        """The axis of one iteration of the loop."""
        return Axis(self.name, self.size // self.loop, self.mesh_axes, self.parts)

    @property
    def info(self) -> AxisInfo:
        """The axis as batch rules know it."""
        return AxisInfo(self.name, self.size, self.mesh_axes or None)


class Mapping:
    """A program that is to be mapped.

    Attributes:
        program: closed jaxpr of one example.
        axes: what it is mapped over, the first one outermost.
        sums: for each result the axes over which it is summed.
    """

    __slots__ = ("axes", "program", "sums")

    def __init__(self, program: ClosedJaxpr, axes: Sequence[Axis], sums: Sequence[tuple[Hashable, ...]]) -> None:
        self.program = program
        self.axes = tuple(axes)
        self.sums = sums

    def run(self, values: Sequence[Value], places: Sequence[Places]) -> tuple[list[Value], list[Places]]:
        """Results of values with dimensions for axes, and which axes are which of their dimensions.

        A result has dimensions for the axes that it varies along and is not summed over.
        """
        if not self.axes:
            return eval_jaxpr(self.program.jaxpr, self.program.consts, *values), [{} for _ in self.sums]
        axis, inner = self.axes[0], Mapping(self.program, self.axes[1:], self.sums)
        if axis.loop > 1:
            return _loop(axis, Mapping(self.program, (axis.chunk, *self.axes[1:]), self.sums), values, places)
        return _map(axis, inner, values, places)


def _without(places: Places, name: object) -> Places:
    """The places in a value that has lost the dimension of one axis."""
    gone = places.get(name)
    if gone is None:
        return places
    return {other: at - (at > gone) for other, at in places.items() if other != name}


def _with(places: Places, name: object, position: int) -> Places:
    """The places in a value that has got a dimension for one axis."""
    return {name: position, **{other: at + (at >= position) for other, at in places.items()}}


# --- one axis as a dimension ---


def _map(
    axis: Axis, inner: Mapping, values: Sequence[Value], places: Sequence[Places]
) -> tuple[list[Value], list[Places]]:
    found: list[Places] = []

    def run(*examples: Value) -> list[Value]:
        outs, out_places = inner.run(examples, [_without(place, axis.name) for place in places])
        found.extend(out_places)
        return outs

    outs, dims = batch_flat(run, values, [place.get(axis.name) for place in places], axis.info)
    results = [
        _summed(out, dim, place, axis)
        if axis.name in sums
        else (out, place if dim is None else _with(place, axis.name, dim))
        for out, dim, place, sums in zip(outs, dims, found, inner.sums, strict=True)
    ]
    return [value for value, _ in results], [place for _, place in results]


def _summed(out: Value, dim: int | None, place: Places, axis: Axis) -> tuple[Value, Places]:
    """The sum of all examples of a result; of one that is the same for all, a multiple."""
    if dim is not None:
        return reduce_sum_p.bind(out, axes=(dim,)), place
    value = as_operand(out)
    return mul_p.bind(value, literal(axis.size, value.aval.dtype, False)), place


# --- one axis in chunks ---


def _loop(
    axis: Axis, inner: Mapping, values: Sequence[Value], places: Sequence[Places]
) -> tuple[list[Value], list[Places]]:
    """Chunk after chunk: results that vary along the axis are put together, sums added up, the others are those of the
    last iteration."""
    dims = [place.get(axis.name) for place in places]
    chunked = [
        move_axis(_in_chunks(as_operand(value), dim, axis), dim, 0)
        for value, dim in zip(values, dims, strict=True)
        if dim is not None
    ]
    found: list[Places] = []

    def iteration(*chunks: Value) -> list[Value]:
        given = iter(chunks)
        operands = [value if dim is None else next(given) for value, dim in zip(values, dims, strict=True)]
        outs, out_places = inner.run(operands, places)
        front = []
        for out, place in zip(outs, out_places, strict=True):
            dim = place.get(axis.name)
            front.append(out if dim is None else move_axis(out, dim, 0))
            found.append(place if dim is None else _with(_without(place, axis.name), axis.name, 0))
        return front

    avals = [chunk.aval.update(shape=chunk.aval.shape[1:]) for chunk in chunked]
    jaxpr, consts = trace_to_jaxpr(iteration, avals, "serial_loop")
    stacked = [axis.name in place for place in found]
    added = [axis.name in sums for sums in inner.sums]
    types = [atom.aval for atom in jaxpr.outvars]

    def body(carry: Sequence[Value], chunks: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        outs = eval_jaxpr(jaxpr, consts, *chunks)
        kept, ys, before = [], [], iter(carry)
        for out, is_stacked, is_sum in zip(outs, stacked, added, strict=True):
            if is_stacked:
                ys.append(out)
            else:
                last = next(before)
                kept.append(add_p.bind(last, out) if is_sum else out)
        return kept, ys

    init = [full(aval.shape, 0, aval.dtype) for aval, is_stacked in zip(types, stacked, strict=True) if not is_stacked]
    kept, ys = scan(body, init, chunked, length=axis.loop)
    rest, pieces = iter(kept), iter(ys)
    results = [_joined(next(pieces), axis) if is_stacked else next(rest) for is_stacked in stacked]
    return results, found


def _in_chunks(value: Value, dim: int, axis: Axis) -> Value:
    """A value whose dimension of the axis is two: the iteration, and the chunk of that iteration.

    Each part along the mesh is cut into chunks of its own, so that every device has its share of each iteration.
    """
    shape = value.aval.shape
    before, after = shape[:dim], shape[dim + 1 :]
    share = axis.size // (axis.parts * axis.loop)
    if axis.parts > 1:
        value = reshape_p.bind(value, new_sizes=(*before, axis.parts, axis.loop, share, *after), dimensions=None)
        value = move_axis(value, dim + 1, dim)
    return reshape_p.bind(value, new_sizes=(*before, axis.loop, axis.parts * share, *after), dimensions=None)


def _joined(value: Value, axis: Axis) -> Value:
    """The chunks of all iterations, in front, as one dimension again."""
    share = axis.size // (axis.parts * axis.loop)
    rest = value.aval.shape[2:]
    if axis.parts > 1:
        value = reshape_p.bind(value, new_sizes=(axis.loop, axis.parts, share, *rest), dimensions=None)
        value = move_axis(value, 1, 0)
    return reshape_p.bind(value, new_sizes=(axis.size, *rest), dimensions=None)


def placed(out: Value, place: Places, wanted: Positions, sizes: dict[Hashable, int]) -> Value:
    """A result with its named axes where they are to be; repeated along those that it does not vary along.

    Raises RuntimeError for a result that varies along an axis which it is to have no dimension for.
    """
    missing = place.keys() - {axis for axis, _ in wanted}
    if missing:
        raise RuntimeError(f"a result varies along axes that it has no dimensions for: {missing}")
    value, place = as_operand(out), dict(place)
    for axis, _ in wanted:
        if axis not in place:
            value = place_axis(value, None, 0, sizes[axis])
            place = {axis: 0, **{other: at + 1 for other, at in place.items()}}
    ndim, target = len(value.aval.shape), {position: axis for axis, position in wanted}
    others = iter([at for at in range(ndim) if at not in place.values()])
    order = tuple([place[target[position]] if position in target else next(others) for position in range(ndim)])
    return value if order == tuple(range(ndim)) else transpose_p.bind(value, permutation=order)


def total_size(sizes: dict[Hashable, int], names: Iterable[Hashable]) -> int:
    """The product of the sizes of axes."""
    return math.prod([sizes[name] for name in names])
