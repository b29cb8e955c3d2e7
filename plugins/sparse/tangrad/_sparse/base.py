"""What sparse arrays of all formats have: a shape, values, operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import tangrad
from tangrad import tree_util
from tangrad._sparse import algebra
from tangrad.core import Array, as_array, class_boundary, dtypes
from tangrad.core.arguments import product
from tangrad.core.backends import method_boundaries

if TYPE_CHECKING:
    from tangrad.typing import DTypeLike


@class_boundary
class JAXSparse:
    """An array of which only some elements are kept; the class of all formats. A pytree.

    Attributes:
        data: the values that are kept.
        indices_sorted, unique_indices: whether the coordinates are known to be in order, and each there once.

    >>> from tangrad.experimental import sparse
    >>> isinstance(sparse.eye(2), sparse.JAXSparse)
    True
    """

    __array_ufunc__ = None  # NumPy's arrays leave their operators to this class
    __hash__ = None  # type: ignore[assignment]
    coordinates: tuple[str, ...] = ()  # the attributes that say where the values are

    data: Array
    indices: Any
    _own: tuple[int, ...]  # the sizes of the dimensions that are no batches

    def __init__(
        self,
        args: Sequence[object],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        names = ("data", *self.coordinates)
        if len(args) != len(names):
            raise TypeError(f"{type(self).__name__}: args must be ({', '.join(names)}), got {len(args)} of them")
        for name, value in zip(names, args, strict=True):
            setattr(self, name, as_array(value))
        whole = tuple([int(size) for size in shape])
        self._own = whole[max(self.n_batch, 0) :]
        self.indices_sorted: Any = bool(indices_sorted)
        self.unique_indices = bool(unique_indices)
        for name in self.coordinates:
            if not dtypes.issubdtype(getattr(self, name).dtype, np.integer):
                raise TypeError(
                    f"{type(self).__name__}: {name} must be integers, got dtype {getattr(self, name).dtype}"
                )
        self._check(whole)

    def __init_subclass__(cls) -> None:
        tree_util.register_pytree_node(cls, _flatten, lambda data, children: _unflatten(cls, data, children))

    n_batch: int
    n_sparse: int
    n_dense = property(lambda self: self.data.ndim - 1 - self.n_batch, doc="How many dimensions are kept in full.")
    nse = property(lambda self: self.indices.shape[self.n_batch], doc="How many elements are kept, of each batch.")
    dtype = property(lambda self: self.data.dtype, doc="The dtype of the values.")
    ndim = property(lambda self: len(self.shape), doc="The number of dimensions.")
    size = property(lambda self: product(self.shape), doc="The number of elements, zeros included.")
    T = property(lambda self: self.transpose(), doc="With all dimensions in reverse order.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions: those of batches are those of its arrays, also in a function that is mapped."""
        return (*self.indices.shape[: self.n_batch], *self._own)

    def _check(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError for arrays that do not fit together, or are not of an array of this shape."""
        raise NotImplementedError

    def to_bcoo(self) -> Any:
        """The same array as a `BCOO`."""
        raise NotImplementedError

    def todense(self) -> Array:
        """The array with its zeros."""
        raise NotImplementedError

    def transpose(self, axes: Sequence[int] | None = None) -> JAXSparse:
        """With the dimensions in another order."""
        raise NotImplementedError

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> Self:
        """With each element once, in order."""
        raise NotImplementedError

    def with_unique_indices(self) -> Self:
        """With each element once; itself where that is known."""
        return self if self.unique_indices else self.sum_duplicates(self.nse, remove_zeros=False)

    def like(self, data: object) -> Self:
        """Other values at the same coordinates."""
        return type(self)((data, *[getattr(self, name) for name in self.coordinates]), shape=self.shape, **self.flags)

    @property
    def flags(self) -> dict[str, bool]:
        """What is known of the coordinates."""
        return {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}

    def astype(self, dtype: DTypeLike) -> Self:
        """With values of another dtype."""
        return self.like(self.data.astype(dtype))

    def block_until_ready(self) -> Self:
        """Wait until what it holds is computed; return it."""
        tangrad.block_until_ready([self.data, *[getattr(self, name) for name in self.coordinates]])
        return self

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a sparse array without dimensions has no length")
        return self.shape[0]

    # --- operators --------------------------------------------------------------------------------------------------

    def __matmul__(self, other: object) -> Array:
        return algebra.matmul(self.to_bcoo(), as_coordinates(other))

    def __rmatmul__(self, other: object) -> Array:
        return algebra.matmul(as_coordinates(other), self.to_bcoo())

    def __neg__(self) -> Self:
        return self.like(-self.data)

    def __pos__(self) -> JAXSparse:
        return self

    def __mul__(self, other: Any) -> JAXSparse:
        if not isinstance(other, JAXSparse) and not np.ndim(other):
            return self.like(self.data * other)
        return algebra.multiplied(self.to_bcoo(), as_coordinates(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> JAXSparse:
        if isinstance(other, JAXSparse):
            raise NotImplementedError("division by a sparse array, whose zeros would give NaN or infinity")
        if not np.ndim(other):
            return self.like(self.data / other)
        return algebra.divided(self.to_bcoo(), as_array(other))

    def __pow__(self, exponent: int) -> JAXSparse:
        """Powers of the elements. Raises NotImplementedError for exponents of which those of zeros are not zero."""
        if not isinstance(exponent, int):
            return NotImplemented
        if exponent < 1:
            raise NotImplementedError(f"a sparse array to the power {exponent}, in which 0 would be 1 or infinite")
        values = self.to_bcoo().with_unique_indices()
        return values.like(values.data**exponent)

    def __add__(self, other: object) -> JAXSparse | Array:
        return algebra.added(self.to_bcoo(), as_coordinates(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> JAXSparse | Array:
        return self + (-other)

    def __rsub__(self, other: object) -> JAXSparse | Array:
        return -self + other

    def __repr__(self) -> str:
        if not hasattr(self.data, "dtype"):  # a tree of something else
            return f"{type(self).__name__}({self.data!r})"
        layout = f", n_batch={self.n_batch}" if self.n_batch else ""
        layout += f", n_dense={self.n_dense}" if self.n_dense else ""
        dtype = dtypes.dtype_name(self.dtype)
        return f"{type(self).__name__}({dtype}{list(self.shape)}, nse={self.nse}{layout})"


# Of operators, class_boundary takes the commonest alone.
method_boundaries(JAXSparse, [f"__{name}__" for name in ("neg", "mul", "rmul", "truediv", "sub", "rsub", "rmatmul")])


def as_coordinates(value: object) -> Any:
    """A sparse array as a `BCOO`, what is none as it is."""
    return value.to_bcoo() if isinstance(value, JAXSparse) else value


def _flatten(mat: JAXSparse) -> tuple[tuple[Array, ...], tuple[tuple[int, ...], bool, bool]]:
    arrays = tuple([getattr(mat, name) for name in ("data", *mat.coordinates)])
    return arrays, (mat._own, mat.indices_sorted, mat.unique_indices)


def _unflatten(cls: type[JAXSparse], data: tuple[tuple[int, ...], bool, bool], children: Sequence[object]) -> JAXSparse:
    made = object.__new__(cls)  # the children may be anything
    for name, child in zip(("data", *cls.coordinates), children, strict=True):
        setattr(made, name, child)
    made._own, made.indices_sorted, made.unique_indices = data
    return made
