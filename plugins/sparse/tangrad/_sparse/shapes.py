"""Sparse arrays of other shapes: repeated along new dimensions, joined, reshaped."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._sparse import algebra
from tangrad._sparse.parts import kinds
from tangrad.core.arguments import product

if TYPE_CHECKING:
    from tangrad._sparse.coordinates import BCOO


def broadcast(mat: Any, shape: Sequence[int], dimensions: Sequence[int]) -> BCOO:
    """Repeated along new dimensions, and along those of size 1.

    New dimensions before the first that is no batch are batches, those behind the first dense one are dense, others
    sparse: what is repeated along these has a coordinate there, and an element for each.
    """
    batch_to, along_to, dense_to = kinds(mat, dimensions)
    n_batch = next(iter((*along_to, *dense_to)), len(shape))
    end = next(iter(dense_to), len(shape))
    batch, sparse, dense = shape[:n_batch], range(n_batch, end), shape[end:]
    own = dict(zip(dimensions, mat.shape, strict=True))
    repeats = [axis for axis in sparse if own.get(axis) != shape[axis]]
    counts = [shape[axis] for axis in repeats]
    elements = (*batch, mat.nse, *counts)
    lead = [*batch_to, n_batch]
    data = _into(mat.data, (*elements, *dense), [*lead, *[len(elements) + axis - end for axis in dense_to]])
    within = ((mat.indices >= 0) & (mat.indices < np.array(kinds(mat, mat.shape)[1], np.int64))).all(-1)
    data = algebra.values_where(_into(within, elements, lead), data)
    columns = []
    for axis in sparse:
        if axis in repeats:
            line = np.arange(shape[axis]).reshape([-1 if one == axis else 1 for one in repeats])
            columns.append(tnp.broadcast_to(line.astype(mat.indices.dtype), elements))
        else:
            columns.append(_into(mat.indices[..., along_to.index(axis)], elements, lead))
    indices = tnp.stack(columns, -1) if columns else tnp.zeros((*elements, 0), mat.indices.dtype)
    total = mat.nse * product(counts)
    pair = data.reshape((*batch, total, *dense)), indices.reshape((*batch, total, len(sparse)))
    return type(mat)(pair, shape=shape, unique_indices=mat.unique_indices)


def _into(x: Any, shape: Sequence[int], dimensions: Sequence[int]) -> Any:
    """Repeated to a shape, in which the dimensions of `x` have these places."""
    sizes = [1] * len(shape)
    for axis, size in zip(dimensions, x.shape, strict=True):
        sizes[axis] = size
    return tnp.broadcast_to(x.reshape(sizes), tuple(shape))


def reshaped(mat: Any, shape: Sequence[int]) -> BCOO:
    """The elements in order in another shape; those of batch, sparse and dense dimensions stay apart."""
    batch, along, dense = _parted(mat, shape)
    data = mat.data.reshape((*batch, mat.nse, *dense))
    indices = mat.indices.reshape((*batch, mat.nse, mat.n_sparse))
    own = kinds(mat, mat.shape)[1]
    if tuple(along) != own:
        within = ((indices >= 0) & (indices < np.array(own, np.int64))).all(-1)
        columns = [tnp.where(within, indices[..., place], 0) for place in range(len(own))]
        places = (
            tnp.ravel_multi_index(columns, own, mode="clip") if own and product(own) else tnp.zeros(within.shape, int)
        )
        found = tnp.unravel_index(places, along) if along and product(along) else [places] * len(along)
        columns = [tnp.where(within, column, size) for column, size in zip(found, along, strict=True)]
        made = tnp.stack(columns, -1) if columns else tnp.zeros((*within.shape, 0), int)
        data, indices = algebra.values_where(within, data), made.astype(indices.dtype)
    return type(mat)((data, indices), shape=shape)


def _parted(mat: Any, shape: Sequence[int]) -> list[Sequence[int]]:
    """The sizes of the batch, sparse and dense dimensions of another shape."""
    sizes = [product(kind) for kind in kinds(mat, mat.shape)]
    first = _end(shape, 0, sizes[0])
    last = _end(shape, first, sizes[1]) if mat.n_dense else len(shape)
    parts = [shape[:first], shape[first:last], shape[last:]]
    if [product(part) for part in parts] != sizes:
        raise ValueError(
            f"reshape: {mat} cannot have the shape {tuple(shape)}: elements of batch, sparse and dense dimensions stay "
            "apart; see bcoo_update_layout"
        )
    return parts


def _end(shape: Sequence[int], start: int, size: int) -> int:
    """Up to where a part of a shape has so many elements."""
    return next((end for end in range(start, len(shape)) if product(shape[start:end]) == size), len(shape))


def joined(mats: Sequence[Any], dimension: int) -> BCOO:
    """Arrays of one layout one after the other along a dimension."""
    first = mats[0]
    shape = list(first.shape)
    shape[dimension] = sum([mat.shape[dimension] for mat in mats])
    n_batch, middle = first.n_batch, first.n_batch + first.n_sparse
    if dimension < n_batch:  # each batch has room for as many elements as the fullest array
        nse = max([mat.nse for mat in mats])
        pairs = [_with_room(mat, nse) for mat in mats]
        axis = dimension
    else:
        if dimension >= middle:  # elements of one have zeros where the other has its part
            mats = [_widened(mats, place, dimension) for place in range(len(mats))]
            offsets = [0] * len(mats)
        else:
            offsets = np.cumsum([0, *[mat.shape[dimension] for mat in mats[:-1]]]).tolist()
        total = shape[dimension]
        pairs = [(mat.data, _shifted(mat, dimension, offset, total)) for mat, offset in zip(mats, offsets, strict=True)]
        axis = n_batch
    data = tnp.concatenate([data for data, _ in pairs], axis)
    indices = tnp.concatenate([indices for _, indices in pairs], axis)
    return type(first)((data, indices), shape=shape)


def _with_room(mat: Any, nse: int) -> algebra.Pair:
    missing = nse - mat.nse
    data = tnp.pad(mat.data, [(0, missing if axis == mat.n_batch else 0) for axis in range(mat.data.ndim)])
    sizes = np.array(kinds(mat, mat.shape)[1]).astype(mat.indices.dtype)
    outside = tnp.broadcast_to(sizes, (*mat.indices.shape[:-2], missing, mat.n_sparse))
    return data, tnp.concatenate([mat.indices, outside], -2)


def _shifted(mat: Any, dimension: int, offset: int, total: int) -> Any:
    """The coordinates with an offset along a sparse dimension; what stands outside stays outside of the whole."""
    place = dimension - mat.n_batch
    if place >= mat.n_sparse:
        return mat.indices
    column = mat.indices[..., place]
    within = (column >= 0) & (column < mat.shape[dimension])
    return mat.indices.at[..., place].set(tnp.where(within, column + offset, total).astype(mat.indices.dtype))


def _widened(mats: Sequence[Any], place: int, dimension: int) -> Any:
    """One of several arrays with zeros along a dense dimension, where the others are."""
    mat = mats[place]
    sizes = [one.shape[dimension] for one in mats]
    widths = [(0, 0)] * mat.data.ndim
    widths[dimension - mat.n_sparse + 1] = (sum(sizes[:place]), sum(sizes[place + 1 :]))
    shape = [*mat.shape[:dimension], sum(sizes), *mat.shape[dimension + 1 :]]
    return type(mat)((tnp.pad(mat.data, widths), mat.indices), shape=shape, **mat.flags)


def whole_shape(mat: Any, shape: Any) -> list[int]:
    """A shape with the size that is given as -1. Raises ValueError for shapes of another number of elements."""
    sizes = [operator.index(size) for size in ([shape] if isinstance(shape, int) else shape)]
    if sizes.count(-1) == 1 and (rest := product([size for size in sizes if size != -1])) and not mat.size % rest:
        sizes[sizes.index(-1)] = mat.size // rest
    if any([size < 0 for size in sizes]) or product(sizes) != mat.size:
        raise ValueError(f"reshape: an array of shape {mat.shape} cannot have the shape {tuple(sizes)}")
    return sizes
