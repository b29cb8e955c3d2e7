"""`COO`, `CSR` and `CSC`: matrices without batches, by coordinates, by rows and by columns; and their functions.

What they compute goes by way of `BCOO`: they are other ways to say where the elements are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeVar

import numpy as np

import tangrad.numpy as tnp
from tangrad._sparse.base import JAXSparse
from tangrad._sparse.bcoo import BCOO
from tangrad._sparse.compressed import BCSR
from tangrad.core import Array, api_boundary, as_array, class_boundary
from tangrad.typing import ArrayLike, DTypeLike

K = TypeVar("K")


class _Matrix(JAXSparse):
    """What the three have in common."""

    n_batch = property(lambda self: 0, doc="How many dimensions are batches.")
    n_sparse = property(lambda self: 2, doc="How many dimensions have coordinates: rows and columns.")

    def _check(self, shape: tuple[int, ...]) -> None:
        name, places = type(self).__name__, self._places_of(shape)
        if len(shape) != 2:
            raise ValueError(f"{name}: shape must have two dimensions, got {shape}")
        found = self.data.shape, *[getattr(self, one).shape for one in self.coordinates]
        if self.data.ndim != 1 or found != (self.data.shape, *places):
            names = ", ".join(["data", *self.coordinates])
            raise ValueError(
                f"{name}: of a matrix of shape {shape} {names} must be of shapes {((self.nse,), *places)}, got {found}"
            )

    def _places_of(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """The shapes that the coordinates must have."""
        raise NotImplementedError

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: DTypeLike = np.int32) -> Self:
        """The elements of a matrix that are not 0, in order; `nse`: how many, needed while a function is traced."""
        if np.ndim(mat) != 2:
            raise ValueError(f"{cls.__name__}.fromdense expects a matrix, got an array of shape {np.shape(mat)}")
        return cls.from_bcoo(BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype))

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        """The elements of a `BCOO` that is a matrix without batches and dense dimensions. Else raises ValueError."""
        raise NotImplementedError

    def todense(self) -> Array:
        """The matrix with its zeros."""
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> Self:
        """With each element once, in order; `nse`: how many are kept, needed while a function is traced."""
        return self.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))

    def _check_axes(self, axes: Sequence[int] | None) -> None:
        if axes is not None and tuple(axes) != (1, 0):
            raise NotImplementedError(f"{type(self).__name__}.transpose: axes must be None or (1, 0), got {axes!r}")


def _plain(name: str, arr: BCOO) -> BCOO:
    if arr.n_batch or arr.n_dense or arr.n_sparse != 2:
        raise ValueError(f"{name} expects a matrix without batch and dense dimensions, got {arr}")
    return arr


@class_boundary
class COO(_Matrix):
    """A matrix of which only some elements are kept, each with its row and its column.

    Args:
        args: `(data, row, col)`: the values, their rows and their columns, each (nse,); the latter two integers.
        shape: of the matrix.
        rows_sorted, cols_sorted: whether rows are known to be in order, or columns.

    Raises ValueError for shapes that do not fit together, TypeError for coordinates that are no integers.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.sparse import COO
    >>> matrix = COO.fromdense(np.array([[0.0, 2.0], [3.0, 4.0]]))
    >>> matrix, matrix.row
    (COO(float32[2, 2], nse=3), Array([0, 1, 1], dtype=int32))
    >>> matrix @ np.array([1.0, 10.0])
    Array([20., 43.], dtype=float32)
    """

    coordinates = ("row", "col")
    row: Array
    col: Array

    def __init__(
        self,
        args: Sequence[object],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        super().__init__(args, shape=shape, unique_indices=unique_indices)
        self.indices_sorted: object = (bool(rows_sorted), bool(cols_sorted))  # each for itself, unlike those of a BCOO

    @property
    def indices(self) -> Array:
        """The coordinates, as those of a `BCOO`."""
        return tnp.stack([self.row, self.col], -1)

    rows_sorted = property(lambda self: self.indices_sorted[0], doc="Whether the rows are known to be in order.")
    cols_sorted = property(lambda self: self.indices_sorted[1], doc="Whether the columns are known to be in order.")
    nse = property(lambda self: self.data.shape[0], doc="How many elements are kept.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return self._own

    @property
    def flags(self) -> dict[str, bool]:
        """What is known of the coordinates."""
        known = {"rows_sorted": self.rows_sorted, "cols_sorted": self.cols_sorted}
        return {**known, "unique_indices": self.unique_indices}

    def _places_of(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return self.data.shape, self.data.shape

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> COO:
        """The elements of a `BCOO` that is a matrix without batches and dense dimensions. Else raises ValueError."""
        rows, columns = [_plain("COO.from_bcoo", arr).indices[:, axis] for axis in (0, 1)]
        known = {"rows_sorted": arr.indices_sorted, "unique_indices": arr.unique_indices}
        return cls((arr.data, rows, columns), shape=arr.shape, **known)

    def to_bcoo(self) -> BCOO:
        """The same matrix as a `BCOO`."""
        return BCOO((self.data, self.indices), shape=self.shape, unique_indices=self.unique_indices)

    def transpose(self, axes: Sequence[int] | None = None) -> COO:
        """With rows for columns. Raises NotImplementedError for other `axes` than None and (1, 0)."""
        self._check_axes(axes)
        known = {"rows_sorted": self.cols_sorted, "cols_sorted": self.rows_sorted}
        parts = self.data, self.col, self.row
        return COO(parts, shape=self.shape[::-1], unique_indices=self.unique_indices, **known)


class _Compressed(_Matrix):
    """Indices along one axis, and where each slice along the other one begins."""

    coordinates = ("indices", "indptr")
    indptr: object
    along = 0  # the axis whose slices stand one after the other

    def _places_of(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return self.data.shape, (shape[self.along] + 1 if len(shape) == 2 else 0,)


@class_boundary
class CSR(_Compressed):
    """A matrix of which only some elements are kept, row after row.

    Args:
        args: `(data, indices, indptr)`: the values and their columns, each (nse,), and where the elements of each row
            begin among them, (rows + 1,); the latter two integers.
        shape: of the matrix.
        indices_sorted, unique_indices: whether columns are known to be in order within rows, and each there once.

    Raises ValueError for shapes that do not fit together, TypeError for indices that are no integers.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.sparse import CSR
    >>> matrix = CSR.fromdense(np.array([[0.0, 2.0], [3.0, 4.0]]))
    >>> matrix.indptr
    Array([0, 1, 3], dtype=int32)
    >>> matrix.T
    CSC(float32[2, 2], nse=3)
    """

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> CSR:
        """The elements of a `BCOO` that is a matrix without batches and dense dimensions. Else raises ValueError."""
        made = BCSR.from_bcoo(_plain("CSR.from_bcoo", arr))
        return cls((made.data, made.indices, made.indptr), shape=made.shape, **made.flags)

    def to_bcoo(self) -> BCOO:
        """The same matrix as a `BCOO`."""
        return BCSR((self.data, self.indices, self.indptr), shape=self.shape, **self.flags).to_bcoo()

    def transpose(self, axes: Sequence[int] | None = None) -> CSC:
        """With rows for columns. Raises NotImplementedError for other `axes` than None and (1, 0)."""
        self._check_axes(axes)
        return CSC((self.data, self.indices, self.indptr), shape=self.shape[::-1], **self.flags)


@class_boundary
class CSC(_Compressed):
    """A matrix of which only some elements are kept, column after column.

    Args:
        args: `(data, indices, indptr)`: the values and their rows, each (nse,), and where the elements of each column
            begin among them, (columns + 1,); the latter two integers.
        shape: of the matrix.
        indices_sorted, unique_indices: whether rows are known to be in order within columns, and each there once.

    Raises ValueError for shapes that do not fit together, TypeError for indices that are no integers.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.sparse import CSC
    >>> matrix = CSC.fromdense(np.array([[0.0, 2.0], [3.0, 4.0]]))
    >>> matrix.data
    Array([3., 2., 4.], dtype=float32)
    """

    along = 1

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> CSC:
        """The elements of a `BCOO` that is a matrix without batches and dense dimensions. Else raises ValueError."""
        return CSR.from_bcoo(_plain("CSC.from_bcoo", arr).transpose()).transpose()

    def to_bcoo(self) -> BCOO:
        """The same matrix as a `BCOO`."""
        return self.transpose().to_bcoo().transpose()

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """With rows for columns. Raises NotImplementedError for other `axes` than None and (1, 0)."""
        self._check_axes(axes)
        return CSR((self.data, self.indices, self.indptr), shape=self.shape[::-1], **self.flags)


# --- functions ------------------------------------------------------------------------------------------------------


def _checked(name: str, mat: object, kind: type[K]) -> K:
    if not isinstance(mat, kind):
        raise TypeError(f"{name} expects a {kind.__name__}, got {mat!r} of type {type(mat).__name__}")
    return mat


def _product(name: str, mat: object, kind: type[COO] | type[CSR], other: object, rank: int, transpose: bool) -> Array:
    matrix, dense = _checked(name, mat, kind), as_array(other)
    if dense.ndim != rank:
        raise ValueError(f"{name}: the dense operand must have {rank} dimensions, got shape {dense.shape}")
    return (matrix.T if transpose else matrix) @ dense


@api_boundary
def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: DTypeLike = np.int32) -> COO:
    """The elements of a matrix that are not 0, as a `COO`.

    Args:
        mat: a matrix.
        nse: how many are kept, the first ones; None: all; needed while a function is traced.
        index_dtype: the dtype of rows and columns.

    Raises ValueError for arrays of other ranks, and without `nse` in a function that is traced.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.coo_fromdense(np.eye(2)).col
    Array([0, 1], dtype=int32)
    """
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)


@api_boundary
def coo_todense(mat: COO) -> Array:
    """The matrix with its zeros. Raises TypeError for what is no `COO`.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.coo_todense(sparse.coo_fromdense(np.eye(2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _checked("coo_todense", mat, COO).todense()


@api_boundary
def coo_matvec(mat: COO, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of a matrix, or of its transpose, with a vector.

    Raises TypeError for what is no `COO`, ValueError for another rank, and sizes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.coo_matvec(sparse.coo_fromdense(2 * np.eye(2)), np.ones(2))
    Array([2., 2.], dtype=float32)
    """
    return _product("coo_matvec", mat, COO, v, 1, transpose)


@api_boundary
def coo_matmat(mat: COO, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of a matrix, or of its transpose, with a dense matrix.

    Raises TypeError for what is no `COO`, ValueError for another rank, and sizes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.coo_matmat(sparse.coo_fromdense(2 * np.eye(2)), np.ones((2, 1))).shape
    (2, 1)
    """
    return _product("coo_matmat", mat, COO, B, 2, transpose)


@api_boundary
def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: DTypeLike = np.int32) -> CSR:
    """The elements of a matrix that are not 0, as a `CSR`.

    Args:
        mat: a matrix.
        nse: how many are kept, the first ones; None: all; needed while a function is traced.
        index_dtype: the dtype of columns and of where rows begin.

    Raises ValueError for arrays of other ranks, and without `nse` in a function that is traced.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.csr_fromdense(np.eye(2)).indptr
    Array([0, 1, 2], dtype=int32)
    """
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


@api_boundary
def csr_todense(mat: CSR) -> Array:
    """The matrix with its zeros. Raises TypeError for what is no `CSR`.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.csr_todense(sparse.csr_fromdense(np.eye(2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _checked("csr_todense", mat, CSR).todense()


@api_boundary
def csr_matvec(mat: CSR, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of a matrix, or of its transpose, with a vector.

    Raises TypeError for what is no `CSR`, ValueError for another rank, and sizes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.csr_matvec(sparse.csr_fromdense(2 * np.eye(2)), np.ones(2))
    Array([2., 2.], dtype=float32)
    """
    return _product("csr_matvec", mat, CSR, v, 1, transpose)


@api_boundary
def csr_matmat(mat: CSR, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of a matrix, or of its transpose, with a dense matrix.

    Raises TypeError for what is no `CSR`, ValueError for another rank, and sizes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.csr_matmat(sparse.csr_fromdense(2 * np.eye(2)), np.ones((2, 1))).shape
    (2, 1)
    """
    return _product("csr_matmat", mat, CSR, B, 2, transpose)
