"""Kernels in interpreted form: the primitive, and the loop over the places of its grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad._references.pallas.grids import Block
from tangrad.core import ClosedJaxpr, Literal, PrimitiveSet, ShapedArray, as_operand, dtypes, eval_jaxpr, literal
from tangrad.extend.lax import (
    convert_element_type,
    div,
    dynamic_slice,
    dynamic_update_slice,
    fori_loop,
    full,
    mul,
    pad_p,
    rem,
    reshape,
    slice_p,
    split_list,
)

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import ArrayLike, DTypeLike, Value, Values


# --- Memory that nothing was written to: NaN, the least integer, False ------------------------------------------------


def unwritten_number(dtype: object) -> int | float | bool:
    """What is read where nothing was written. Raises TypeError for dtypes that kernels do not have."""
    if dtypes.issubdtype(dtype, np.inexact):
        return float("nan")
    if dtypes.issubdtype(dtype, np.integer):
        return int(dtypes.iinfo(dtype).min)
    if dtype == np.dtype(bool):
        return False
    raise TypeError(f"kernels have no memory of dtype {dtypes.dtype_name(dtype)}: numbers and truth values alone")


def unwritten(shape: tuple[int, ...], dtype: DTypeLike) -> Value:
    """An array to which nothing was written."""
    return as_operand(full(shape, unwritten_number(dtype), dtype))


# ----------------------------------------------------------------------------------------------------------------------
# Kernels in interpreted form: one loop over the places of the grid, which takes blocks, runs the kernel on them, and
# puts back those that it wrote. What is read stays outside of what the loop carries.


def interpreted(
    *operands: Array,
    jaxpr: ClosedJaxpr,
    index_map: ClosedJaxpr,
    grid: tuple[int | None, ...],
    blocks: tuple[Block, ...],
    layout: Layout,
    out_types: tuple[ShapedArray, ...],
    aliases: tuple[tuple[int, int], ...],
    name: str,
) -> Values:
    """The results of `pallas_call_p`, which has the parameters."""
    sizes, captured, prefetched, inputs = split_list(operands, grid.count(None), layout.captured, layout.prefetched)
    results = _first_results([*prefetched, *inputs], out_types, aliases)
    arrays = [_padded(array, block) for array, block in zip([*inputs, *results], blocks, strict=True)]
    first = len(jaxpr.in_avals) - layout.scratch
    scratch = [unwritten(aval.shape, aval.dtype) for aval in jaxpr.in_avals[first:]]
    behind = [*prefetched, *arrays, *scratch]
    places = written_places(jaxpr)
    known = _known_starts(index_map, len(grid))

    def step(ids: Sequence[object], carried: Sequence[Value]) -> list[Value]:
        values: list[Any] = list(behind)
        for place, value in zip(places, carried, strict=True):
            values[place] = value
        starts = eval_jaxpr(index_map.jaxpr, index_map.consts, *ids, *values[: layout.prefetched])
        views = _views(blocks, [*zip(starts, known, strict=True)], layout.prefetched)
        seen = [views[place].taken(value) if place in views else value for place, value in enumerate(values)]
        last = eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *captured, *ids, *sizes, *seen)
        return [views[place].put(values[place], last[place]) if place in views else last[place] for place in places]

    ends = dict(zip(places, _run(grid, sizes, step, [behind[place] for place in places]), strict=True))
    begin = layout.prefetched + layout.inputs
    outs = [ends.get(begin + position, array) for position, array in enumerate(arrays[layout.inputs :])]
    return tuple(
        [
            _cut(out, block, aval.shape)
            for out, block, aval in zip(outs, blocks[layout.inputs :], out_types, strict=True)
        ]
    )


def _first_results(
    given: Sequence[Value], out_types: Sequence[ShapedArray], aliases: Sequence[tuple[int, int]]
) -> list[Any]:
    """What results are before the kernel runs: an operand, or memory to which nothing was written."""
    of_result = {result: position for position, result in aliases}
    return [
        given[of_result[position]] if position in of_result else unwritten(aval.shape, aval.dtype)
        for position, aval in enumerate(out_types)
    ]


def written_places(jaxpr: ClosedJaxpr) -> list[int]:
    """Which references the kernel writes, of all of them: prefetched scalars, inputs, results, scratch memory."""
    outs, ins = jaxpr.jaxpr.outvars, jaxpr.jaxpr.invars
    first = len(ins) - len(outs)
    return [place for place, out in enumerate(outs) if out is not ins[first + place]]


# --- the grid -------------------------------------------------------------------------------------------------------


def _run(
    grid: Sequence[int | None],
    sizes: Sequence[Any],
    step: Callable[[Sequence[object], Sequence[Value]], list[Value]],
    carried: list[Value],
) -> Sequence[Value]:
    """`step(program ids, carried)` at each place of the grid, the last dimension first."""
    given = iter(sizes)
    dims = [next(given) if size is None else size for size in grid]
    if not sizes and math.prod(dims) == 1:
        return step([_integer(0) for _ in dims], carried)
    if 0 in [size for size in dims if type(size) is int]:
        return carried  # blocks of arrays without elements could not even be traced
    strides: list[Any] = []
    total: Any = 1
    for size in reversed(dims):
        strides.insert(0, total)
        total = size * total if type(size) is int and type(total) is int else mul(_as_int32(size), _as_int32(total))

    def at(place: ArrayLike, carried: Sequence[Any]) -> Values:
        place, ids = convert_element_type(place, "int32"), []
        for dimension, (size, stride) in enumerate(zip(dims, strides, strict=True)):
            index = place if _is_one(stride) else div(place, _as_int32(stride))
            ids.append(index if dimension == 0 else rem(index, _as_int32(size)))
        return tuple(step(ids, carried))

    return fori_loop(_integer(0), _integer(total), at, tuple(carried))


def _is_one(value: object) -> bool:
    return type(value) is int and value == 1


def _integer(value: object) -> Any:
    """An int32 scalar as a number of the program."""
    return literal(value, "int32") if type(value) is int else value


def _as_int32(value: ArrayLike) -> ArrayLike:
    return _integer(value) if type(value) is int else convert_element_type(value, "int32")


# --- blocks ---------------------------------------------------------------------------------------------------------


def _known_starts(index_map: ClosedJaxpr, ids: int) -> list[object]:
    """What is known of each start: its value, "id" where it is a program id, None."""
    outs, places = index_map.jaxpr.outvars, index_map.jaxpr.invars[:ids]
    return [int(out.val) if type(out) is Literal else "id" if out in places else None for out in outs]


def _views(blocks: Sequence[Block], starts: Sequence[tuple[object, object]], first: int) -> dict[int, View]:
    views, begin = {}, 0
    for place, block in enumerate(blocks, first):
        views[place] = View(block, starts[begin : begin + len(block.sizes)])
        begin += len(block.sizes)
    return views


class View:
    """One block of an array.

    Attributes:
        block: how the array is divided.
        starts: where the block starts, in each dimension.
        may_be_negative: whether a start may count from the end.
        at_start: whether the block is known to start with the array.
    """

    __slots__ = ("at_start", "block", "may_be_negative", "starts")

    def __init__(self, block: Block, starts: Sequence[tuple[Any, Any]]) -> None:
        self.block = block
        self.starts = [
            _start(start, known, size if kind == "b" else 1)
            for (start, known), size, kind in zip(starts, block.sizes, block.kinds, strict=True)
        ]
        self.may_be_negative = [known is None for _, known in starts]
        self.at_start = all([known == 0 for _, known in starts])

    def _is_whole(self, value: Array) -> bool:
        return self.at_start and value.aval.shape == self.block.sizes

    def taken(self, value: Array) -> Array:
        """The block, as the kernel sees it."""
        part = value
        if not self._is_whole(value):
            part = dynamic_slice(value, self.starts, self.block.sizes, allow_negative_indices=self.may_be_negative)
        return part if part.aval.shape == self.block.seen else reshape(part, self.block.seen)

    def put(self, value: Array, part: Array) -> Array:
        """The array with the block replaced."""
        part = part if part.aval.shape == self.block.sizes else reshape(part, self.block.sizes)
        if self._is_whole(value):
            return part
        return dynamic_update_slice(value, part, self.starts, allow_negative_indices=self.may_be_negative)


def _start(start: ArrayLike, known: object, size: int) -> ArrayLike:
    if type(known) is int:
        return _integer(known * size)
    start = _as_int32(start)
    return start if size == 1 else mul(start, _integer(size))


def _padded(array: Array, block: Block) -> Array:
    """An array with so much unwritten memory around it that whole blocks fit."""
    widths = block.padded(array.aval.shape)
    if not any([low or high for low, high in widths]):
        return array
    fill = literal(unwritten_number(array.aval.dtype), array.aval.dtype)
    return pad_p.bind(array, fill, padding_config=tuple([(low, high, 0) for low, high in widths]))


def _cut(array: Any, block: Block, shape: tuple[int, ...]) -> Array:
    """A result without what was padded."""
    if array.aval.shape == shape:
        return array
    lows = [low for low, _ in block.padding]
    ends = [low + size for low, size in zip(lows, shape, strict=True)]
    return slice_p.bind(array, start_indices=tuple(lows), limit_indices=tuple(ends), strides=None)


# --- The primitive of kernels: a program for one place in a grid, and what of each array it gets there ----------------


pallas = PrimitiveSet("pallas", api=1)


class Layout(NamedTuple):
    """How many operands there are of each sort, in their order, after the sizes of the grid that are computed.

    Attributes:
        captured: what the kernel closed over.
        prefetched: scalars that the index maps get, too.
        inputs: arrays that are divided into blocks.
        scratch: references to memory that the kernel has beside operands and results; no operands.
    """

    captured: int
    prefetched: int
    inputs: int
    scratch: int


@pallas.primitive(
    name="pallas_call",
    multiple_results=True,
    weak_type="never",
    effects=lambda avals, params: params["jaxpr"].effects,
    decompose=interpreted,
)
def pallas_call_p(
    *avals: ShapedArray,
    jaxpr: ClosedJaxpr,
    index_map: ClosedJaxpr,
    grid: tuple[int | None, ...],
    blocks: tuple[Block, ...],
    layout: Layout,
    out_types: tuple[ShapedArray, ...],
    aliases: tuple[tuple[int, int], ...],
    name: str,
) -> tuple[ShapedArray, ...]:
    """The results of a kernel that runs at each place of a grid, in order, on blocks of the operands.

    Operands: sizes of the grid where `grid` has None, what the kernel closed over, prefetched scalars, inputs.

    Args:
        jaxpr: what the kernel closed over, program ids, those sizes, and the values behind all references -> the
            last value behind each: of prefetched scalars, blocks of inputs, blocks of results, scratch memory.
        index_map: program ids and prefetched scalars -> where in its array each block starts.
        blocks: of inputs and of results.
        aliases: pairs of a prefetched scalar or input, and the result that starts as it.
    """
    return out_types
