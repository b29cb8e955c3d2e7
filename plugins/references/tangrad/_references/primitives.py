"""The primitives of references: reading, exchanging, adding. Their operands: the reference, indices, and a value."""

from __future__ import annotations

from typing import Any

from tangrad._references.indexing import from_template, read
from tangrad._references.types import AbstractRef, reads, writes
from tangrad.core import PrimitiveSet, ShapedArray, trace_to_closed_jaxpr

references = PrimitiveSet("references", api=1)


def _part_of(what: str, ref: Any, indices: Any, indexers: tuple[object, ...]) -> ShapedArray:
    """The type of the part that is meant."""
    if type(ref) is not AbstractRef:
        raise TypeError(f"{what}: expected a reference, got {ref.str_short()}; tangrad.new_ref(array) makes one")
    if not indexers:
        return ref.inner_aval
    part = lambda value, *arrays: (read(value, from_template(indexers, arrays)),)
    return trace_to_closed_jaxpr(part, [ref.inner_aval, *indices], what).out_avals[0]


def _checked(what: str, part: ShapedArray, value: Any) -> ShapedArray:
    """The type of the part. Raises TypeError or ValueError for a value that cannot take its place."""
    if value.dtype != part.dtype:
        raise TypeError(
            f"{what}: expected a value of the type of the part, {part.str_short()}, got {value.str_short()}"
        )
    trailing = part.shape[part.ndim - value.ndim :] if value.ndim <= part.ndim else None
    if trailing is None or any([size not in (1, wanted) for size, wanted in zip(value.shape, trailing, strict=True)]):
        raise ValueError(
            f"{what}: a value of shape {value.shape} does not broadcast to shape {part.shape}, that of the part"
        )
    return part


@references.primitive(name="ref_get", weak_type="never", effects=reads)
def get_p(ref: object, *indices: object, indexers: tuple[object, ...]) -> ShapedArray:
    """The part of the array behind a reference that `indexers` say, with `indices` in the places of arrays."""
    return _part_of("reading a reference", ref, indices, indexers)


@references.primitive(name="ref_swap", weak_type="never", effects=writes)
def swap_p(ref: object, *operands: object, indexers: tuple[object, ...]) -> ShapedArray:
    """That part as it was, before the last operand takes its place."""
    *indices, value = operands
    return _checked("writing a reference", _part_of("writing a reference", ref, indices, indexers), value)


@references.primitive(name="ref_addupdate", multiple_results=True, weak_type="never", effects=writes)
def addupdate_p(ref: object, *operands: object, indexers: tuple[object, ...]) -> tuple[ShapedArray, ...]:
    """Nothing; the last operand is added to that part."""
    *indices, value = operands
    _checked("adding to a reference", _part_of("adding to a reference", ref, indices, indexers), value)
    return ()
