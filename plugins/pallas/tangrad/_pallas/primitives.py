"""The primitive of kernels: a program for one place in a grid, and what of each array it gets there."""

from __future__ import annotations

from typing import NamedTuple

from tangrad._pallas.blocks import Block
from tangrad._pallas.interpretation import interpreted
from tangrad.core import ClosedJaxpr, PrimitiveSet, ShapedArray

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
