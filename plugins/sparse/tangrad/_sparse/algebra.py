"""What sparse arrays are computed with, on data and indices.

Batch dimensions become coordinates where an operation mixes them with others: each element then has its place among the
batches in front of its coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as tnp
from tangrad.core import Array, as_array, is_concrete
from tangrad.core.arguments import product

if TYPE_CHECKING:
    from tangrad.typing import DTypeLike, Value

# Of both arrays the dimensions that are summed over, and those that are batches.
Numbers = tuple[tuple[tuple[int, ...], ...], ...]

Pair = tuple[Any, Any]


def unbatched(data: Value, indices: Value) -> Pair:
    """The same elements, with the batch dimensions as the first coordinates."""
    n_batch = indices.ndim - 2
    if not n_batch:
        return data, indices
    batch, nse = indices.shape[:n_batch], indices.shape[-2]
    places = np.stack(np.meshgrid(*[np.arange(size) for size in (*batch, nse)], indexing="ij"), -1)[..., :n_batch]
    count = product((*batch, nse))
    whole = tnp.concatenate([tnp.asarray(places.astype(indices.dtype)), indices], -1)
    return data.reshape((count, *data.shape[n_batch + 1 :])), whole.reshape((count, n_batch + indices.shape[-1]))


def at(indices: Value) -> tuple[Array, ...]:
    """Coordinates as an index."""
    return tuple([indices[..., axis] for axis in range(indices.shape[-1])])


def to_dense(data: Value, indices: Value, shape: Sequence[int]) -> Array:
    """The array with its zeros; several values at one place add up (of truth values: any)."""
    data, indices = unbatched(data, indices)
    zeros = tnp.zeros(shape, data.dtype)
    if not indices.shape[-1]:
        return zeros + (data.any(0) if data.dtype == np.bool_ else data.sum(0, dtype=data.dtype))
    places = zeros.at[at(indices)]
    if data.dtype == np.bool_:
        return places.max(data, mode="drop", wrap_negative_indices=False)
    return places.add(data, mode="drop", wrap_negative_indices=False)


def extracted(mat: Value, indices: Value) -> Array:
    """The values of an array at coordinates; 0 at those that are not within it."""
    n_batch = indices.ndim - 2
    _, whole = unbatched(tnp.zeros(indices.shape[:-1]), indices)
    if not whole.shape[-1]:
        return tnp.broadcast_to(mat, (*indices.shape[:-1], *mat.shape))
    found = mat.at[at(whole)].get(mode="fill", fill_value=0, wrap_negative_indices=False)
    return found.reshape((*indices.shape[:-1], *mat.shape[n_batch + indices.shape[-1] :]))


def first_of_each(indices: Value, shape: Sequence[int]) -> Array:
    """Of each element of a sparse array of a shape, whether none before it has its coordinates."""
    if not indices.shape[-1]:
        return tnp.broadcast_to(tnp.arange(indices.shape[-2]) == 0, indices.shape[:-1])
    _, whole = unbatched(tnp.zeros(indices.shape[:-1]), indices)
    numbers = tnp.arange(whole.shape[0])
    sizes = shape[: whole.shape[-1]]
    first = tnp.full(sizes, whole.shape[0]).at[at(whole)].min(numbers, mode="drop", wrap_negative_indices=False)
    found = first.at[at(whole)].get(mode="fill", fill_value=-1, wrap_negative_indices=False)
    return (found == numbers).reshape(indices.shape[:-1])


def from_dense(mat: Value, nse: int | None, n_batch: int, n_dense: int, index_dtype: DTypeLike) -> Pair:
    """Data and indices of what is not 0; as many as there are in the fullest batch, where `nse` is not given."""
    n_sparse = mat.ndim - n_batch - n_dense
    if n_batch < 0 or n_dense < 0 or n_sparse < 0:
        raise ValueError(
            f"BCOO: n_batch={n_batch} and n_dense={n_dense} are not those of an array of {mat.ndim} dimensions"
        )
    batch, sparse = mat.shape[:n_batch], mat.shape[n_batch : n_batch + n_sparse]
    is_there = mat != 0
    if n_dense:
        is_there = is_there.any(tuple(range(n_batch + n_sparse, mat.ndim)))
    rows = is_there.reshape((product(batch), product(sparse)))
    if nse is None:
        if not is_concrete(rows):
            raise ValueError("BCOO: how many elements are kept must be known in a function that is traced: give nse")
        nse = int(rows.sum(1).max()) if product(batch) else 0
    # The places of what is there, in order, and then a place beyond the array.
    places = tnp.where(rows, np.arange(rows.shape[1]), rows.shape[1])
    places = tnp.pad(
        tnp.sort(places, axis=1), ((0, 0), (0, max(nse - rows.shape[1], 0))), constant_values=rows.shape[1]
    )
    places = places[:, :nse]
    coordinates = (
        tnp.stack(tnp.unravel_index(tnp.minimum(places, max(rows.shape[1] - 1, 0)), sparse), -1) if sparse else None
    )
    if coordinates is None:
        indices = tnp.zeros((product(batch), nse, 0), index_dtype)
    else:
        indices = tnp.where((places == rows.shape[1])[..., None], np.array(sparse), coordinates).astype(index_dtype)
    indices = indices.reshape((*batch, nse, n_sparse))
    return extracted(mat, indices), indices


def _order(indices: Value) -> Value:
    keys = [indices[..., axis] for axis in range(indices.shape[-1])][::-1]
    return tnp.lexsort(keys, axis=-1) if keys else tnp.broadcast_to(np.arange(indices.shape[-2]), indices.shape[:-1])


def in_order(data: Value, indices: Value) -> Pair:
    """With the coordinates in order."""
    order = _order(indices)
    n_batch = indices.ndim - 2
    along = order.reshape((*order.shape, *[1] * (data.ndim - n_batch - 1)))
    return tnp.take_along_axis(data, along, n_batch), tnp.take_along_axis(indices, order[..., None], n_batch)


def without_duplicates(data: Value, indices: Value, shape: Sequence[int], nse: int | None, remove_zeros: bool) -> Pair:
    """Each coordinate once, in order; `nse` of them, or as many as there are where that is known."""
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    sizes = np.array(shape[n_batch : n_batch + n_sparse])
    data, indices = in_order(*_normalised(data, indices, sizes, remove_zeros))
    batch, count = indices.shape[:n_batch], indices.shape[-2]
    outside = (indices >= sizes).any(-1) if n_sparse else tnp.zeros(indices.shape[:-1], bool)
    is_new = tnp.concatenate(
        [tnp.ones((*batch, min(count, 1)), bool), (indices[..., 1:, :] != indices[..., :-1, :]).any(-1)], -1
    )
    groups = tnp.cumsum(is_new, -1) - 1
    if nse is None:
        known = (is_new & ~outside).sum(-1)
        nse = (int(known.max()) if known.size else 0) if is_concrete(known) else count
    flat, places = unbatched(data, groups[..., None])
    summed = to_dense(flat, places, (*batch, nse, *data.shape[n_batch + 1 :]))
    empty = tnp.broadcast_to(sizes.astype(indices.dtype), (*batch, nse, n_sparse))
    rows, places = unbatched(indices, groups[..., None])
    kept = empty.at[at(places)].set(rows, mode="drop") if n_sparse else empty
    return summed, kept


def _normalised(data: Value, indices: Value, sizes: np.ndarray, remove_zeros: bool) -> Pair:
    """With the size of the array as the coordinate of all that stands for nothing, and 0 as its value."""
    n_batch = indices.ndim - 2
    nothing = ((indices >= sizes) | (indices < 0)).any(-1)
    if remove_zeros:
        nothing = nothing | (data == 0).all(tuple(range(n_batch + 1, data.ndim)))
    return values_where(~nothing, data), tnp.where(nothing[..., None], sizes, indices).astype(indices.dtype)


def values_where(holds: Value, data: Value) -> Array:
    """The values of elements (*batch, nse) of which something holds; 0 of the others."""
    return tnp.where(holds.reshape((*holds.shape, *[1] * (data.ndim - holds.ndim))), data, tnp.zeros((), data.dtype))


def without_coordinates(data: Value, indices: Value, sizes: Sequence[int], left: Sequence[int]) -> Pair:
    """With these coordinates left; what stands outside along one that goes must not come within."""
    if len(left) == len(sizes):
        return data, indices
    within = ((indices >= 0) & (indices < np.array(sizes))).all(-1)
    return values_where(within, data), indices[..., np.array(left, np.int32)]


# --- sums and products -----------------------------------------------------------------------------------------------


def reduced(mat: Any, axes: Sequence[int]) -> Any:
    """The sums over dimensions: of dense ones they are computed, of others the coordinates are left out."""
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    dense = tuple([axis - n_sparse + 1 for axis in axes if axis >= n_batch + n_sparse])
    data = mat.data.sum(dense) if dense else mat.data
    indices = mat.indices
    batches = [axis for axis in axes if axis < n_batch]
    shape = list(mat.shape)
    if batches:  # their elements stand side by side
        kept = [axis for axis in range(n_batch) if axis not in batches]
        nse = product([mat.shape[axis] for axis in batches]) * mat.nse
        order = [*kept, *batches]
        data = tnp.transpose(data, (*order, *range(n_batch, data.ndim)))
        indices = tnp.transpose(indices, (*order, n_batch, n_batch + 1))
        outer = [mat.shape[axis] for axis in kept]
        data = data.reshape((*outer, nse, *data.shape[n_batch + 1 :]))
        indices = indices.reshape((*outer, nse, n_sparse))
    left = [axis - n_batch for axis in range(n_batch, n_batch + n_sparse) if axis not in axes]
    data, indices = without_coordinates(data, indices, shape[n_batch : n_batch + n_sparse], left)
    return type(mat)((data, indices), shape=[size for axis, size in enumerate(shape) if axis not in axes])


def _sparse(mat: object) -> bool:
    return hasattr(mat, "indices") and hasattr(mat, "nse")


def dot_general(lhs: Any, rhs: Any, numbers: Numbers) -> Any:
    """The contraction of two arrays, of which one or both are sparse: dense, or sparse where both are."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    if any([_sparse(one) and one.n_dense for one in (lhs, rhs)]):
        raise NotImplementedError("bcoo_dot_general: dense dimensions of sparse arrays; give them as sparse ones")
    check_contraction("bcoo_dot_general", lhs, rhs, numbers)
    if _sparse(lhs) and _sparse(rhs):
        return _of_two(lhs, rhs, numbers)
    if _sparse(lhs):
        return _with_dense(lhs, rhs, numbers)
    swapped = _with_dense(rhs, lhs, ((rhs_contract, lhs_contract), (rhs_batch, lhs_batch)))
    count = len(lhs_batch)
    own = rhs.ndim - len(rhs_contract) - count
    return tnp.moveaxis(swapped, list(range(count, count + own)), list(range(swapped.ndim - own, swapped.ndim)))


def check_contraction(name: str, lhs: Any, rhs: Any, numbers: Numbers) -> None:
    """Raise ValueError for dimensions that are not there, and those of different sizes."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    for one, axes in ((lhs, (*lhs_contract, *lhs_batch)), (rhs, (*rhs_contract, *rhs_batch))):
        if any([not 0 <= axis < one.ndim for axis in axes]):
            raise ValueError(f"{name}: dimensions {axes} of an array of shape {one.shape}")
    if len(lhs_contract) != len(rhs_contract) or len(lhs_batch) != len(rhs_batch):
        raise ValueError(f"{name}: dimension_numbers {numbers} name more dimensions of one array than of the other")
    for a, b in zip((*lhs_contract, *lhs_batch), (*rhs_contract, *rhs_batch), strict=True):
        if lhs.shape[a] != rhs.shape[b]:
            raise ValueError(f"{name}: shapes {lhs.shape} and {rhs.shape} differ in dimensions {a} and {b}")


def _rest(ndim: int, *used: Sequence[int]) -> list[int]:
    taken = {axis for axes in used for axis in axes}
    return [axis for axis in range(ndim) if axis not in taken]


def _with_dense(mat: Any, dense: Value, numbers: Numbers) -> Array:
    """Each element times the row of the dense array that it meets, added where it belongs."""
    (contract, dense_contract), (batch, dense_batch) = numbers
    data, indices = unbatched(mat.data, mat.indices)
    dense = as_array(dense)
    mine, others = _rest(mat.ndim, contract, batch), _rest(dense.ndim, dense_contract, dense_batch)
    rows = tnp.transpose(dense, (*dense_batch, *dense_contract, *others))
    met = indices[:, np.array([*batch, *contract], np.int32)]
    shape = [dense.shape[axis] for axis in others]
    dtype = tnp.result_type(data, dense)
    products = data.reshape((-1, *[1] * len(others))) * extracted(rows, met)
    place = indices[:, np.array([*batch, *mine], np.int32)]
    valid = ((indices >= 0) & (indices < np.array(mat.shape))).all(-1) if mat.ndim else tnp.ones(data.shape[:1], bool)
    products = tnp.where(valid.reshape((-1, *[1] * len(others))), products, 0).astype(dtype)
    return to_dense(products, place, (*[mat.shape[axis] for axis in (*batch, *mine)], *shape))


def _of_two(lhs: Any, rhs: Any, numbers: Numbers) -> Any:
    """Every element of one with every element of the other: those whose coordinates do not meet count as 0."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    (a, a_at), (b, b_at) = unbatched(lhs.data, lhs.indices), unbatched(rhs.data, rhs.indices)
    pick = lambda indices, axes: indices[:, np.array(axes, np.int32)]
    meets = (pick(a_at, [*lhs_batch, *lhs_contract])[:, None] == pick(b_at, [*rhs_batch, *rhs_contract])[None]).all(-1)
    within = lambda indices, shape: ((indices >= 0) & (indices < np.array(shape))).all(-1)
    meets = meets & within(a_at, lhs.shape)[:, None] & within(b_at, rhs.shape)[None]
    mine, theirs = _rest(lhs.ndim, lhs_contract, lhs_batch), _rest(rhs.ndim, rhs_contract, rhs_batch)
    shape = [*[lhs.shape[axis] for axis in (*lhs_batch, *mine)], *[rhs.shape[axis] for axis in theirs]]
    left, right = pick(a_at, [*lhs_batch, *mine]), pick(b_at, theirs)
    pairs = (a.shape[0], b.shape[0])
    places = tnp.concatenate(
        [
            tnp.broadcast_to(left[:, None], (*pairs, left.shape[1])),
            tnp.broadcast_to(right[None], (*pairs, right.shape[1])).astype(left.dtype),
        ],
        -1,
    )
    count = pairs[0] * pairs[1]
    values = tnp.where(meets, a[:, None] * b[None], 0).reshape(count)
    places = tnp.where(meets[..., None], places, np.array(shape)).astype(left.dtype).reshape((count, len(shape)))
    made = type(lhs)((values, places), shape=shape)
    return made.sum_duplicates(made.size, remove_zeros=False) if count > made.size else made


def sampled_product(lhs: Array, rhs: Array, indices: Array, numbers: Numbers) -> Array:
    """The elements of a contraction at coordinates: of each row that is met, the sum of its products with the other."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    check_contraction("bcoo_dot_general_sampled", lhs, rhs, numbers)
    mine, theirs = _rest(lhs.ndim, lhs_contract, lhs_batch), _rest(rhs.ndim, rhs_contract, rhs_batch)
    shape = [*[lhs.shape[axis] for axis in (*lhs_batch, *mine)], *[rhs.shape[axis] for axis in theirs]]
    n_batch = indices.ndim - 2
    if n_batch < 0 or n_batch + indices.shape[-1] != len(shape) or list(indices.shape[:n_batch]) != shape[:n_batch]:
        raise ValueError(
            f"bcoo_dot_general_sampled: indices of shape {indices.shape} are not those of a result of shape {shape}"
        )
    _, places = unbatched(tnp.zeros(indices.shape[:-1]), indices)
    pick = lambda axes: places[:, np.array(axes, np.int32)]
    batches = range(len(lhs_batch))
    last = len(batches) + len(mine)
    left = extracted(
        tnp.transpose(lhs, (*lhs_batch, *mine, *lhs_contract)), pick([*batches, *range(len(batches), last)])
    )
    right = extracted(
        tnp.transpose(rhs, (*rhs_batch, *theirs, *rhs_contract)), pick([*batches, *range(last, len(shape))])
    )
    return (left * right).sum(tuple(range(1, left.ndim))).reshape(indices.shape[:-1])


def matmul(lhs: Any, rhs: Any) -> Array:
    """`lhs @ rhs`, as of NumPy's arrays without batches that are repeated."""
    lhs, rhs = [one if _sparse(one) else as_array(one) for one in (lhs, rhs)]
    if not lhs.ndim or not rhs.ndim:
        raise ValueError("matmul: operands need a dimension at least, got a scalar")
    batch = min(lhs.ndim, rhs.ndim) - 2
    if lhs.ndim > 2 and rhs.ndim > 2 and lhs.shape[:-2] != rhs.shape[:-2]:
        raise ValueError(f"matmul: batches must be equal where an operand is sparse, got {lhs.shape} and {rhs.shape}")
    places = tuple(range(batch)) if lhs.ndim > 2 and rhs.ndim > 2 else ()
    contract = lhs.ndim - 1, max(rhs.ndim - 2, 0)
    out = dot_general(lhs, rhs, (((contract[0],), (contract[1],)), (places, places)))
    if rhs.ndim > 2 >= lhs.ndim == 2 and not _sparse(out):
        return tnp.moveaxis(out, 0, -2)
    return out


def multiplied(mat: Any, other: Any) -> Any:
    """Element by element: with an array that fits, or a sparse array, repeated where it has to be."""
    if _sparse(other):
        return _multiplied_sparse(mat, other)
    return mat.like(mat.data * _met_by("multiply", mat, as_array(other)))


def divided(mat: Any, other: Array) -> Any:
    """Element by element by an array that fits; what is not kept stays 0."""
    return mat.like(mat.data / _met_by("divide", mat, other))


def _met_by(verb: str, mat: Any, other: Value) -> Value:
    """The elements of a dense array that the values of a sparse one meet."""
    if not other.ndim:
        return other
    if tnp.broadcast_shapes(mat.shape, other.shape) != mat.shape:
        raise ValueError(f"BCOO: cannot {verb} an array of shape {mat.shape} by one of shape {other.shape}")
    return extracted(tnp.broadcast_to(other, mat.shape), mat.indices)


def _multiplied_sparse(mat: Any, other: Any) -> Any:
    if mat.shape != other.shape:
        shape = tnp.broadcast_shapes(mat.shape, other.shape)
        mat, other = [
            x if x.shape == shape else x.broadcast_in_dim(shape, range(len(shape) - x.ndim, len(shape)))
            for x in (mat, other)
        ]
    if mat is other or (mat.indices is other.indices and mat.unique_indices):
        mat, other = mat.with_unique_indices(), mat.with_unique_indices() if mat is other else other
        return mat.like(mat.data * other.data)
    if mat.n_dense or other.n_dense:
        raise NotImplementedError("BCOO: products of sparse arrays with dense dimensions")
    axes = tuple(range(mat.ndim))
    return _of_two(mat, other, (((), ()), (axes, axes)))


def added(mat: Any, other: Any) -> Any:
    """The sum: sparse with a sparse array of the same layout, dense with a dense one of the same shape."""
    if not _sparse(other):
        if not np.ndim(other) and is_concrete(other) and other == 0:
            return mat
        if np.shape(other) != mat.shape:
            raise NotImplementedError(
                f"the sum of a sparse array of shape {mat.shape} and a dense one of shape {np.shape(other)} would have "
                "no zeros: add it to `sparse.todense(x)`"
            )
        return mat.todense() + other
    if mat.shape != other.shape or (mat.n_batch, mat.n_dense) != (other.n_batch, other.n_dense):
        raise ValueError(f"BCOO: {mat} and {other} cannot be added: shapes and layouts must be equal")
    if mat.indices is other.indices:
        return mat.like(mat.data + other.data)
    axis = mat.n_batch
    dtype = tnp.result_type(mat.data, other.data)
    data = tnp.concatenate([mat.data.astype(dtype), other.data.astype(dtype)], axis)
    indices = tnp.concatenate([mat.indices, other.indices.astype(mat.indices.dtype)], axis)
    return type(mat)((data, indices), shape=mat.shape)
