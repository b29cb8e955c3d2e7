"""References under `vmap`: a mapped one is a row of references; one from outside cannot hold a value for each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tangrad._references.indexing import added, from_template, read, written
from tangrad._references.primitives import addupdate_p, get_p, swap_p
from tangrad.batching import vmap
from tangrad.core import Array, RuleSet

if TYPE_CHECKING:
    from tangrad.core.protocols import AxisInfo
    from tangrad.typing import PyTree

batch = RuleSet("batch", api=1)

Dims = tuple[int | None, ...]


def _rows(function: Callable[..., object], ref: object, dims: Dims, size: int, *operands: object) -> PyTree:
    """`function(value, *operands)` for each row, where the reference, the operands or both are mapped."""
    whole = get_p.bind(ref, indexers=())
    return vmap(function, in_axes=dims, axis_size=size)(whole, *operands)


@batch.rule(get_p)
def _(args: tuple[Array, ...], dims: Dims, *, axis_info: AxisInfo, indexers: tuple[object, ...]) -> tuple[Array, int]:
    ref, *indices = args
    take = lambda value, *arrays: read(value, from_template(indexers, arrays))
    return _rows(take, ref, dims, axis_info.size, *indices), 0


def _changing(args: Any, dims: Dims, axis_info: AxisInfo, change: Callable[..., object]) -> object:
    """Change each row of a mapped reference, and return what `change` returns beside the new value."""
    ref, *operands = args
    if dims[0] is None:
        which = "value" if dims[-1] is not None else "index"
        raise ValueError(
            f"vmap: a mapped {which} is written to a reference from outside, of type {ref.aval.str_short()}, which "
            "has no row for each: pass the reference as an argument of the mapped function, or return the value and "
            "write it afterwards"
        )
    new, before = _rows(change, ref, dims, axis_info.size, *operands)
    swap_p.bind(ref, _placed(new, dims[0]), indexers=())
    return before


def _placed(rows: Array, dim: int) -> Array:
    """Rows with their axis in the place that it has in the reference."""
    return rows.transpose([*range(1, dim + 1), 0, *range(dim + 1, rows.ndim)])


@batch.rule(swap_p)
def _swap(args: object, dims: Dims, *, axis_info: AxisInfo, indexers: tuple[object, ...]) -> tuple[object, int]:
    def change(value: object, *operands: object) -> tuple[Array, Array]:
        *indices, part = operands
        chain = from_template(indexers, indices)
        return written(value, chain, part), read(value, chain)

    return _changing(args, dims, axis_info, change), 0


@batch.rule(addupdate_p)
def _add(args: object, dims: Dims, *, axis_info: AxisInfo, indexers: tuple[object, ...]) -> tuple[tuple[()], tuple[()]]:
    def change(value: Array, *operands: object) -> tuple[Array, tuple[()]]:
        *indices, part = operands
        return added(value, from_template(indexers, indices), part), ()

    _changing(args, dims, axis_info, change)
    return (), ()
