"""Parts of sparse arrays at several places: as batches."""

from __future__ import annotations

from typing import Any

import tangrad
from tangrad._sparse import parts
from tangrad._sparse.base import JAXSparse
from tangrad.core import RuleSet
from tangrad.core.arguments import product
from tangrad.extend.lax import GatherScatterMode, gather_p

sparse: RuleSet[Any] = RuleSet("sparse", api=1)


@sparse.rule(gather_p)
def _(operand: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any, **options: Any) -> Any:
    numbers, lead = dimension_numbers, indices.aval.shape[:-1]
    _check(operand, indices, numbers, lead, mode)
    mat = operand.to_bcoo()

    def part(starts: Any) -> Any:
        places = [0] * mat.ndim
        for position, axis in enumerate(numbers.start_index_map):
            places[axis] = starts[position]
        found = parts.dynamically_sliced(mat, places, slice_sizes)
        return parts.squeezed(found, numbers.collapsed_slice_dims)

    if not lead:
        return part(indices)
    rows = tangrad.vmap(part)(tangrad.numpy.reshape(indices, (product(lead), indices.aval.shape[-1])))
    return parts.reshape_batches(rows, lead)


def _check(operand: Any, indices: Any, numbers: Any, lead: tuple[int, ...], mode: Any) -> None:
    """Raise NotImplementedError for what would not be batches of parts."""
    if not isinstance(operand, JAXSparse) or isinstance(indices, JAXSparse):
        raise NotImplementedError("sparsify: indices that are sparse; give them as `sparse.todense(x)`")
    if numbers.operand_batching_dims or tuple(numbers.offset_dims) != tuple(
        range(len(lead), len(lead) + len(numbers.offset_dims))
    ):
        raise NotImplementedError("sparsify: arrays as indices must stand in front of slices, and not be mapped")
    if mode in (GatherScatterMode.FILL_OR_DROP,):
        raise NotImplementedError("sparsify: values of its own for places that are not within a sparse array")
