"""`BCOO`: batches of coordinates and the values there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad import tree_util
from tangrad.core import Array, as_array, class_boundary, dtypes, method_boundaries, product
from tangrad.sparse_arrays import algebra


@class_boundary
class BCOO:
    """An array of which only some elements are kept: the others are 0.

    The dimensions of `shape` are, in this order, batches (each with coordinates of its own), those that coordinates are
    along (sparse), and those that are kept in full at each coordinate (dense). Coordinates may repeat: their values add
    up. A coordinate that is not within the array stands for nothing, which fills up what is kept to a fixed number. A
    pytree, of data and indices.

    Args:
        args: `(data, indices)`: the values (*batch, nse, *dense), and their coordinates, integers (*batch, nse,
            n_sparse).
        shape: of the array.
        indices_sorted, unique_indices: whether the coordinates are known to be in order, and each there once.

    Raises ValueError for shapes that do not fit together, TypeError for indices that are no integers.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.sparse import BCOO
    >>> matrix = BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> matrix
    BCOO(float32[2, 2], nse=2)
    >>> matrix @ np.array([1.0, 10.0])
    Array([20.,  3.], dtype=float32)
    """

    __array_ufunc__ = None  # NumPy's arrays leave their operators to this class

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices = args
        self.data, self.indices = as_array(data), as_array(indices)
        self.shape = tuple([int(size) for size in shape])
        self.indices_sorted = bool(indices_sorted)
        self.unique_indices = bool(unique_indices)
        self._check()

    def _check(self) -> None:
        if not dtypes.issubdtype(self.indices.dtype, np.integer):
            raise TypeError(f"BCOO: indices must be integers, got dtype {self.indices.dtype}")
        n_batch, n_sparse = self.n_batch, self.n_sparse
        if n_batch < 0 or self.n_dense < 0 or n_batch + n_sparse + self.n_dense != len(self.shape):
            raise ValueError(
                f"BCOO: data of shape {self.data.shape} and indices of shape {self.indices.shape} are not of "
                f"an array of shape {self.shape}"
            )
        batch, dense = self.shape[:n_batch], self.shape[n_batch + n_sparse :]
        if self.data.shape != (*batch, self.nse, *dense) or self.indices.shape != (*batch, self.nse, n_sparse):
            raise ValueError(
                f"BCOO: for the shape {self.shape}, with {n_batch} batch and {n_sparse} sparse dimensions, data must "
                f"be of shape {(*batch, self.nse, *dense)} and indices of shape {(*batch, self.nse, n_sparse)}, got "
                f"{self.data.shape} and {self.indices.shape}"
            )

    n_batch = property(lambda self: self.indices.ndim - 2, doc="How many dimensions are batches.")
    n_sparse = property(lambda self: self.indices.shape[-1], doc="How many dimensions coordinates are along.")
    n_dense = property(lambda self: self.data.ndim - 1 - self.n_batch, doc="How many dimensions are kept in full.")
    nse = property(lambda self: self.indices.shape[-2], doc="How many elements are kept, of each batch.")
    dtype = property(lambda self: self.data.dtype, doc="The dtype of the values.")
    ndim = property(lambda self: len(self.shape), doc="The number of dimensions.")
    size = property(lambda self: product(self.shape), doc="The number of elements, zeros included.")
    T = property(lambda self: self.transpose(), doc="With all dimensions in reverse order.")

    def like(self, data: Any) -> BCOO:
        """Other values at the same coordinates."""
        return BCOO((data, self.indices), shape=self.shape, **self.flags)

    @property
    def flags(self) -> dict[str, bool]:
        """What is known of the coordinates."""
        return {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}

    # --- conversions ------------------------------------------------------------------------------------------------

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """The elements of an array that are not 0; see `bcoo_fromdense`."""
        data, indices = algebra.from_dense(as_array(mat), nse, n_batch, n_dense, index_dtype)
        return cls((data, indices), shape=np.shape(mat), indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """A matrix of SciPy's. Raises NotImplementedError for batch and dense dimensions, which it does not have."""
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse: SciPy's matrices have sparse dimensions alone")
        coordinates = mat.tocoo()
        indices = np.stack([coordinates.row, coordinates.col], axis=1).astype(index_dtype or np.int32)
        return cls((coordinates.data, indices), shape=mat.shape)

    def todense(self) -> Array:
        """The array with its zeros."""
        return algebra.to_dense(self.data, self.indices, self.shape)

    def astype(self, dtype: Any) -> BCOO:
        """With values of another dtype."""
        return self.like(self.data.astype(dtype))

    # --- structure --------------------------------------------------------------------------------------------------

    def sort_indices(self) -> BCOO:
        """With the coordinates in order."""
        if self.indices_sorted:
            return self
        data, indices = algebra.in_order(self.data, self.indices)
        return BCOO((data, indices), shape=self.shape, indices_sorted=True, unique_indices=self.unique_indices)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """With each coordinate once, in order; see `bcoo_sum_duplicates`."""
        data, indices = algebra.without_duplicates(self.data, self.indices, self.shape, nse, remove_zeros)
        return BCOO((data, indices), shape=self.shape, indices_sorted=True, unique_indices=True)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """With the dimensions in another order, those of each kind among themselves; None: in reverse order.

        Raises ValueError for an order that mixes batch, sparse and dense dimensions.
        """
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple([int(axis) % self.ndim for axis in axes])
        n_batch, n_sparse = self.n_batch, self.n_sparse
        kinds = [order[:n_batch], order[n_batch : n_batch + n_sparse], order[n_batch + n_sparse :]]
        places = [range(n_batch), range(n_batch, n_batch + n_sparse), range(n_batch + n_sparse, self.ndim)]
        if any([sorted(kind) != list(place) for kind, place in zip(kinds, places, strict=True)]):
            raise ValueError(
                f"BCOO.transpose: axes {order} must keep the {n_batch} batch, {n_sparse} sparse and {self.n_dense} "
                "dense dimensions apart"
            )
        dense = [axis - n_sparse + 1 for axis in kinds[2]]
        data = tnp.transpose(self.data, (*kinds[0], n_batch, *dense))
        indices = tnp.transpose(self.indices, (*kinds[0], n_batch, n_batch + 1))
        indices = indices[..., np.array([axis - n_batch for axis in kinds[1]], np.int32)]
        shape = [self.shape[axis] for axis in order]
        return BCOO((data, indices), shape=shape, unique_indices=self.unique_indices)

    def sum(self, axis: int | Sequence[int] | None = None) -> BCOO:
        """The sums over dimensions, as a sparse array; None: over all."""
        axes = range(self.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        return algebra.reduced(self, sorted({int(one) % self.ndim for one in axes}), BCOO)

    # --- arithmetic -------------------------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        return algebra.matmul(self, other, BCOO)

    def __rmatmul__(self, other: Any) -> Any:
        return algebra.matmul(other, self, BCOO)

    def __neg__(self) -> BCOO:
        return self.like(-self.data)

    def __mul__(self, other: Any) -> BCOO:
        return algebra.multiplied(self, other, BCOO)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> BCOO:
        if np.ndim(other):
            raise NotImplementedError("BCOO: divide by a scalar; of two arrays, zeros divided by zeros would be NaN")
        return self.like(self.data / other)

    def __add__(self, other: Any) -> Any:
        return algebra.added(self, other, BCOO)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __repr__(self) -> str:
        layout = f", n_batch={self.n_batch}" if self.n_batch else ""
        layout += f", n_dense={self.n_dense}" if self.n_dense else ""
        return f"BCOO({dtypes.dtype_name(self.dtype)}{list(self.shape)}, nse={self.nse}{layout})"


# Of operators, class_boundary takes the commonest alone.
method_boundaries(BCOO, [f"__{name}__" for name in ("neg", "mul", "rmul", "truediv", "sub", "rsub", "rmatmul")])


def _unflatten(data: Any, children: tuple[Any, Any]) -> BCOO:
    made = object.__new__(BCOO)  # the children may be anything
    made.data, made.indices = children
    made.shape, made.indices_sorted, made.unique_indices = data
    return made


tree_util.register_pytree_node(
    BCOO,
    lambda matrix: ((matrix.data, matrix.indices), (matrix.shape, matrix.indices_sorted, matrix.unique_indices)),
    _unflatten,
)
