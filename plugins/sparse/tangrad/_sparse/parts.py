"""Parts of sparse arrays, and sparse arrays of other shapes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import tangrad
import tangrad.numpy as tnp
from tangrad._sparse import algebra
from tangrad.core import Array, as_array, dtypes
from tangrad.core.arguments import product
from tangrad.extend.lax import dynamic_slice

if TYPE_CHECKING:
    from tangrad._sparse.base import JAXSparse
    from tangrad.typing import ArrayLike

T = TypeVar("T")
S = TypeVar("S", bound="JAXSparse")

# ----------------------------------------------------------------------------------------------------------------------
# Parts of sparse arrays: slices, also from places that are traced, the reverse order, dimensions left out.


def check_dimensions(name: str, mat: JAXSparse, dimensions: Sequence[int]) -> list[int]:
    """The dimensions as numbers from 0 on; raises ValueError for those that the array does not have."""
    found = [operator.index(one) for one in dimensions]
    if any([not -mat.ndim <= one < mat.ndim for one in found]):
        raise ValueError(f"{name}: dimensions {tuple(dimensions)} of an array of shape {mat.shape}")
    found = [one % mat.ndim for one in found]
    if len({*found}) < len(found):
        raise ValueError(f"{name}: dimensions {tuple(dimensions)} name one twice")
    return found


def kinds(mat: JAXSparse, values: Sequence[T]) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
    """What there is a value of for each dimension, for the batch, sparse and dense ones."""
    middle = mat.n_batch + mat.n_sparse
    return tuple(values[: mat.n_batch]), tuple(values[mat.n_batch : middle]), tuple(values[middle:])


def sliced(mat: S, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> S:
    """The elements from `starts` up to `limits`, in steps."""
    batch, along, dense = kinds(mat, [slice(*one) for one in zip(starts, limits, strides, strict=True)])
    data, indices = mat.data[(*batch, slice(None), *dense)], mat.indices[batch]
    sizes = kinds(mat, [len(range(*one)) for one in zip(starts, limits, strides, strict=True)])
    shape = [size for kind in sizes for size in kind]
    if sizes[1] == kinds(mat, mat.shape)[1]:
        return type(mat)((data, indices), shape=shape, **mat.flags)
    first, step = [np.array([getattr(one, name) for one in along]) for name in ("start", "step")]
    return _moved(mat, data, indices, first, step, shape)


def _moved(
    mat: S, data: Array, indices: Array, starts: Array | np.ndarray, steps: int | np.ndarray, shape: Sequence[int]
) -> S:
    """With coordinates counted from `starts` in steps; elements that are not met stand outside."""
    sizes = np.array(kinds(mat, shape)[1])
    offsets = indices - starts
    places = offsets // steps
    met = ((offsets % steps == 0) & (places >= 0) & (places < sizes)).all(-1)
    made = type(mat)(
        (algebra.values_where(met, data), tnp.where(met[..., None], places, sizes).astype(indices.dtype)),
        shape=shape,
        unique_indices=mat.unique_indices,
    )
    room = product(sizes.tolist())
    # Values that happen to be 0 stay, for the sake of their derivatives.
    return made.sum_duplicates(room, remove_zeros=False) if made.nse > room else made


def dynamically_sliced(mat: S, starts: Sequence[ArrayLike], sizes: Sequence[int]) -> S:
    """The part of these sizes from places that may be traced, moved so that it is within the array."""
    starts = [tnp.clip(start, 0, full - size) for start, full, size in zip(starts, mat.shape, sizes, strict=True)]
    batch, along, dense = kinds(mat, starts)
    batch_sizes, along_sizes, dense_sizes = kinds(mat, sizes)
    zero = tnp.zeros((), np.int32)
    data = dynamic_slice(mat.data, [*batch, zero, *dense], [*batch_sizes, mat.nse, *dense_sizes])
    indices = dynamic_slice(mat.indices, [*batch, zero, zero], [*batch_sizes, mat.nse, mat.n_sparse])
    if along_sizes == kinds(mat, mat.shape)[1]:
        return type(mat)((data, indices), shape=sizes, **mat.flags)
    return _moved(mat, data, indices, tnp.stack(along), 1, sizes)


def reversed_along(mat: S, dimensions: Sequence[int]) -> S:
    """In reverse order along dimensions."""
    turned = [axis in dimensions for axis in range(mat.ndim)]
    batch, along, dense = kinds(mat, turned)
    flip = lambda marks: [axis for axis, mark in enumerate(marks) if mark]
    data = tnp.flip(mat.data, flip((*batch, False, *dense)))
    indices = tnp.flip(mat.indices, flip(batch))
    if not any(along):
        return type(mat)((data, indices), shape=mat.shape, **mat.flags)
    sizes = np.array(kinds(mat, mat.shape)[1])
    within = (indices >= 0) & (indices < sizes)  # what stands outside stays there
    indices = tnp.where(within & np.array(along), sizes - 1 - indices, indices).astype(indices.dtype)
    return type(mat)((data, indices), shape=mat.shape, unique_indices=mat.unique_indices)


def squeezed(mat: S, dimensions: Sequence[int]) -> S:
    """Without dimensions of size 1."""
    left = [axis not in dimensions for axis in range(mat.ndim)]
    shape = [size for size, stays in zip(mat.shape, left, strict=True) if stays]
    batch, along, dense = kinds(mat, left)
    gone = lambda marks: tuple([axis for axis, mark in enumerate(marks) if not mark])
    data = tnp.squeeze(mat.data, gone((*batch, True, *dense)))
    indices = tnp.squeeze(mat.indices, gone(batch))
    data, indices = algebra.without_coordinates(
        data, indices, kinds(mat, mat.shape)[1], [place for place, stays in enumerate(along) if stays]
    )
    return type(mat)((data, indices), shape=shape, **(mat.flags if all(along) else {}))


# --- as arrays of NumPy are indexed ----------------------------------------------------------------------------------


def indexed(mat: S, index: object) -> S:
    """`mat[index]` of integers, also traced ones, slices, `...` and None; of arrays in front of these.

    Raises NotImplementedError for arrays behind slices, IndexError for what NumPy does not take either.
    """
    given = index if isinstance(index, tuple) else (index,)
    items = list[Any]()
    for one in given:
        is_front = all([isinstance(item, int) or _is_array(item) for item in items])
        items += _items(one, mat.shape[len(items) :] if is_front else None)
    if any([_is_array(one) for one in items]):
        return _at_rows(mat, items)
    places = _expanded(mat, items)
    chosen = [place for place in places if place is not None]
    traced = [not isinstance(part, (int, slice)) for part in chosen]
    spans = [_span(part, size) for part, size in zip(chosen, mat.shape, strict=True)]
    out = sliced(mat, *zip(*[span[:3] for span in spans], strict=True)) if spans else mat
    if any(traced):
        starts = [
            tnp.where(part < 0, part + size, part) if moves else 0
            for part, size, moves in zip(chosen, mat.shape, traced, strict=True)
        ]
        out = dynamically_sliced(out, starts, [1 if m else size for m, size in zip(traced, out.shape, strict=True)])
    turned = [axis for axis, span in enumerate(spans) if span[3]]
    out = reversed_along(out, turned) if turned else out
    gone = [axis for axis, part in enumerate(chosen) if not isinstance(part, slice)]
    return _with_new_axes(squeezed(out, gone) if gone else out, places)


def _at_rows(mat: S, items: list[Any]) -> S:
    """The parts at arrays of places, as batches."""
    count = next(
        (place for place, one in enumerate(items) if one is None or one is Ellipsis or isinstance(one, slice)),
        len(items),
    )
    fronts, rest = items[:count], items[count:]
    if any([_is_array(one) for one in rest]):
        raise NotImplementedError("sparse arrays: arrays as indices must stand in front of slices, `...` and None")
    places = tnp.broadcast_arrays(*fronts)
    flat = [place.reshape(-1) for place in places]
    out = tangrad.vmap(lambda *at: indexed(mat, (*at, *rest)))(*flat)
    return reshape_batches(out, places[0].shape)


def reshape_batches(mat: S, sizes: Sequence[int]) -> S:
    """With other dimensions in the place of the first batch."""
    data, indices = [x.reshape((*sizes, *x.shape[1:])) for x in (mat.data, mat.indices)]
    return type(mat)((data, indices), shape=(*sizes, *mat.shape[1:]), **mat.flags)


def _is_array(item: Any) -> bool:
    return not isinstance(item, (int, slice)) and item is not None and item is not Ellipsis and bool(np.ndim(item))


def _expanded(mat: JAXSparse, items: list[object]) -> list[Any]:
    """An index with a place for each dimension, and None for each new one."""
    if sum([one is Ellipsis for one in items]) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    given = sum([one is not None and one is not Ellipsis for one in items])
    if given > mat.ndim:
        raise IndexError(f"too many indices: {given} of a sparse array of {mat.ndim} dimensions")
    if not any([one is Ellipsis for one in items]):
        items = [*items, Ellipsis]
    middle = next(place for place, one in enumerate(items) if one is Ellipsis)
    return [*items[:middle], *[slice(None)] * (mat.ndim - given), *items[middle + 1 :]]


def _items(one: object, sizes: Sequence[int] | None) -> list[Any]:
    """What an index stands for: an array of booleans, which must be known, for the places where it is true.

    `sizes`: of the dimensions from its own on; None where no array may stand.
    """
    if isinstance(one, (np.ndarray, Array)) and one.dtype == bool and one.ndim:
        if sizes is not None and one.shape != tuple(sizes[: one.ndim]):
            raise IndexError(f"a boolean index of shape {one.shape} stands for dimensions of sizes {tuple(sizes)}")
        return [as_array(places.astype(np.int32)) for places in np.nonzero(np.asarray(one))]
    return [_item(one)]


def _item(one: object) -> Any:
    if one is None or one is Ellipsis or isinstance(one, slice):
        return one
    if isinstance(one, (int, np.integer)) and not isinstance(one, bool):
        return int(one)
    dtype = None if isinstance(one, (bool, str)) else as_array(one).dtype
    if dtype is None or not dtypes.issubdtype(dtype, np.integer):
        raise IndexError(
            f"sparse arrays are indexed with integers and slices, got {one!r} of type {type(one).__name__}"
        )
    return as_array(one)


def _span(part: object, size: int) -> tuple[int, int, int, bool]:
    """Start, limit and step, and whether they are to be reversed, of what an index takes of a dimension."""
    if isinstance(part, int):
        if not -size <= part < size:
            raise IndexError(f"index {part} is out of bounds for a dimension of size {size}")
        return part % size, part % size + 1, 1, False
    if not isinstance(part, slice):
        return 0, size, 1, False
    taken = range(*part.indices(size))
    if not taken:
        return 0, 0, 1, False
    first, last = min(taken[0], taken[-1]), max(taken[0], taken[-1])
    return first, last + 1, abs(taken.step), taken.step < 0


def _with_new_axes(mat: Any, places: Sequence[object]) -> Any:
    kept = [place for place in places if place is None or isinstance(place, slice)]
    if all([place is not None for place in kept]):
        return mat
    sizes = iter(mat.shape)
    shape = [1 if place is None else next(sizes) for place in kept]
    return mat.broadcast_in_dim(shape, [axis for axis, place in enumerate(kept) if place is not None])


# --- Sparse arrays of other shapes: repeated along new dimensions, joined, reshaped -----------------------------------


def broadcast(mat: S, shape: Sequence[int], dimensions: Sequence[int]) -> S:
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


def _into(x: Array, shape: Sequence[int], dimensions: Sequence[int]) -> Array:
    """Repeated to a shape, in which the dimensions of `x` have these places."""
    sizes = [1] * len(shape)
    for axis, size in zip(dimensions, x.shape, strict=True):
        sizes[axis] = size
    return tnp.broadcast_to(x.reshape(sizes), tuple(shape))


def reshaped(mat: S, shape: Sequence[int]) -> S:
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


def _parted(mat: JAXSparse, shape: Sequence[int]) -> list[Sequence[int]]:
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


def joined(mats: Sequence[S], dimension: int) -> S:
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


def _with_room(mat: JAXSparse, nse: int) -> algebra.Pair:
    missing = nse - mat.nse
    data = tnp.pad(mat.data, [(0, missing if axis == mat.n_batch else 0) for axis in range(mat.data.ndim)])
    sizes = np.array(kinds(mat, mat.shape)[1]).astype(mat.indices.dtype)
    outside = tnp.broadcast_to(sizes, (*mat.indices.shape[:-2], missing, mat.n_sparse))
    return data, tnp.concatenate([mat.indices, outside], -2)


def _shifted(mat: JAXSparse, dimension: int, offset: int, total: int) -> Array:
    """The coordinates with an offset along a sparse dimension; what stands outside stays outside of the whole."""
    place = dimension - mat.n_batch
    if place >= mat.n_sparse:
        return mat.indices
    column = mat.indices[..., place]
    within = (column >= 0) & (column < mat.shape[dimension])
    return mat.indices.at[..., place].set(tnp.where(within, column + offset, total).astype(mat.indices.dtype))


def _widened(mats: Sequence[S], place: int, dimension: int) -> S:
    """One of several arrays with zeros along a dense dimension, where the others are."""
    mat = mats[place]
    sizes = [one.shape[dimension] for one in mats]
    widths = [(0, 0)] * mat.data.ndim
    widths[dimension - mat.n_sparse + 1] = (sum(sizes[:place]), sum(sizes[place + 1 :]))
    shape = [*mat.shape[:dimension], sum(sizes), *mat.shape[dimension + 1 :]]
    return type(mat)((tnp.pad(mat.data, widths), mat.indices), shape=shape, **mat.flags)


def whole_shape(mat: JAXSparse, shape: Any) -> list[int]:
    """A shape with the size that is given as -1. Raises ValueError for shapes of another number of elements."""
    sizes = [operator.index(size) for size in ([shape] if isinstance(shape, int) else shape)]
    if sizes.count(-1) == 1 and (rest := product([size for size in sizes if size != -1])) and not mat.size % rest:
        sizes[sizes.index(-1)] = mat.size // rest
    if any([size < 0 for size in sizes]) or product(sizes) != mat.size:
        raise ValueError(f"reshape: an array of shape {mat.shape} cannot have the shape {tuple(sizes)}")
    return sizes
