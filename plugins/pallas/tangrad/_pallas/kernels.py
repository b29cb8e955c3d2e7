"""Kernels and index maps as programs: traced once, on references, into programs of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._pallas.grids import Block, Grid, within
from tangrad.core import ClosedJaxpr, ShapedArray, Tracer, as_operand, closed_over_as_arguments
from tangrad.errors import UnexpectedTracerError
from tangrad.extend.lax import convert_element_type
from tangrad.extend.references import value_program

INDEX = ShapedArray((), "int32")


def name_of(function: object) -> str:
    """The name of a kernel or an index map."""
    function = getattr(function, "func", function)  # of a partial application
    return getattr(function, "__name__", None) or type(function).__name__


def kernel_program(
    kernel: Callable[..., Any],
    name: str,
    grid: tuple[int | None, ...],
    types: Sequence[ShapedArray],
    call: Callable[[Sequence[Any]], Any],
) -> tuple[ClosedJaxpr, list[Any]]:
    """The program of a kernel, and what it closed over, which are its first operands.

    `types`: of the values behind its references; `call`: the kernel, applied to these. Raises TypeError for a kernel
    that returns something.
    """
    dynamic = grid.count(None)

    def run(*values: Any) -> list[Any]:
        ids, sizes, references = values[: len(grid)], iter(values[len(grid) :]), values[len(grid) + dynamic :]
        with within(Grid(ids, tuple([next(sizes) if size is None else size for size in grid]))):
            returned = call(references)
        if returned is not None:
            raise TypeError(
                f"pallas_call: kernel {name} returned {returned!r}; it must return None, and write its results to the "
                "references that come after those of the operands: o_ref[...] = value"
            )
        return []

    numbers = len(grid) + dynamic
    own = [False] * numbers + [True] * len(types)
    jaxpr, consts = value_program(run, [*[INDEX] * numbers, *types], own, name)
    closed = ClosedJaxpr(closed_over_as_arguments(jaxpr))
    return closed, [as_operand(const) for const in consts]


def index_program(
    maps: Sequence[tuple[str, object, Block]], grid: tuple[int | None, ...], scalars: Sequence[ShapedArray]
) -> ClosedJaxpr:
    """The program of all index maps: program ids and prefetched scalars -> where blocks start, one after the other.

    `maps`: for each array what errors call it, its index map, or None for zeros, and its block.
    """

    def run(*values: Any) -> list[Any]:
        starts: list[Any] = []
        for what, index_map, block in maps:
            starts += (
                [as_operand(0)] * len(block.sizes) if index_map is None else _starts(what, index_map, block, values)
            )
        return [convert_element_type(start, "int32") for start in starts]

    own = [False] * len(grid) + [True] * len(scalars)
    with within(None):
        jaxpr, consts = value_program(run, [*[INDEX] * len(grid), *scalars], own, "index maps")
    if any([isinstance(const, Tracer) for const in consts]):
        raise UnexpectedTracerError(
            "pallas_call: an index map closes over a value that is traced; give the kernel that value as a prefetched "
            "scalar (tpu.PrefetchScalarGridSpec), which index maps get as a reference"
        )
    outs = jaxpr.outvars[: len(jaxpr.outvars) - len(scalars)]
    return ClosedJaxpr(jaxpr.replace(outvars=outs), consts)


def _starts(what: str, index_map: Any, block: Block, values: Sequence[Any]) -> list[Any]:
    """What an index map returns. Raises ValueError for another number of results, TypeError for no integer scalars."""
    returned = index_map(*values)
    results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    name = name_of(index_map)
    if len(results) != len(block.sizes):
        raise ValueError(
            f"{what}: index map {name} returned {len(results)} values, expected {len(block.sizes)}: one for each "
            "dimension of the block"
        )
    starts = []
    for position, result in enumerate(results):
        try:
            start = as_operand(result)
        except TypeError:
            start = None
        if start is None or start.aval.shape or start.aval.dtype.kind not in "iu":
            raise TypeError(
                f"{what}: index map {name} returned {result!r} for dimension {position}, expected an integer scalar: "
                "the number of the block"
            )
        starts.append(start)
    return starts
