"""Pytrees of arrays as one vector, and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tangrad import lax
from tangrad.core import dtypes, typeof
from tangrad.tree_util import PyTreeDef, tree_flatten

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import ArrayLike, Dimensions, DType, PyTree

_EMPTY = dtypes.as_dtype("float32")


def ravel_pytree(pytree: object) -> tuple[Array, Unravel]:
    """Return the leaves of a pytree as one vector, and the function that makes pytrees of such vectors.

    Args:
        pytree: a pytree of arrays and numbers.

    Returns:
        The vector, of the dtype in which all leaves meet (an empty float32 one for a tree without leaves), and a
        function from a vector of that length to a pytree whose leaves have the shapes and dtypes of these. The function
        can be transformed; it is hashable, and equal for trees of equal structures, shapes and dtypes.

    Raises:
        TypeError: a leaf is no array or number, or two leaves have no common dtype.

    Example:
        >>> import tangrad
        >>> from tangrad.flatten_util import ravel_pytree
        >>> vector, unravel = ravel_pytree({"b": 3.0, "w": tangrad.numpy.array([[1.0, 2.0]])})
        >>> vector
        Array([3., 1., 2.], dtype=float32)
        >>> unravel(vector + 1)["w"]
        Array([[2., 3.]], dtype=float32)
    """
    leaves, structure = tree_flatten(pytree)
    if not leaves:
        return lax.full((0,), 0, _EMPTY), Unravel(structure, (), (), _EMPTY)
    avals = [typeof(leaf) for leaf in leaves]
    dtype = dtypes.result_type(*leaves)
    unravel = Unravel(structure, tuple([aval.shape for aval in avals]), tuple([aval.dtype for aval in avals]), dtype)
    parts = [lax.reshape(leaf, (math.prod(aval.shape),)) for leaf, aval in zip(leaves, avals)]
    if unravel.converts:
        parts = [lax.convert_element_type(part, dtype) for part in parts]
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, 0), unravel


class Unravel:
    """The function that makes pytrees of vectors: see `ravel_pytree`.

    Attributes:
        structure: that of the pytrees.
        shapes: of the leaves.
        dtypes: of the leaves.
        dtype: of the vectors. One of another dtype is refused where leaves would be converted from it; otherwise the
            leaves get the dtype of the vector.
        converts: the leaves have different dtypes.
    """

    __slots__ = ("converts", "dtype", "dtypes", "shapes", "sizes", "structure")

    def __init__(
        self, structure: PyTreeDef, shapes: tuple[Dimensions, ...], leaf_dtypes: tuple[np.dtype, ...], dtype: DType
    ) -> None:
        self.structure, self.shapes, self.dtypes, self.dtype = structure, shapes, leaf_dtypes, dtype
        self.sizes = tuple([math.prod(shape) for shape in shapes])
        self.converts = any(leaf_dtype != dtype for leaf_dtype in leaf_dtypes)

    def __call__(self, vector: ArrayLike) -> PyTree:
        """Return the pytree of a vector.

        Args:
            vector: an array of the length and dtype that `ravel_pytree` returned.

        Raises:
            TypeError: it has another dtype, and leaves would be converted from it.
            ValueError: it has another length.
        """
        if not self.shapes:
            return self.structure.unflatten(())
        aval = typeof(vector)
        length = sum(self.sizes)
        if not aval.shape or aval.shape[0] != length or math.prod(aval.shape) != length:
            raise ValueError(f"unravel expects a vector of {length} elements, got an array of shape {aval.shape}")
        if self.converts and aval.dtype != self.dtype:
            raise TypeError(f"unravel expects a vector of dtype {self.dtype}, got {aval.dtype}")
        if len(aval.shape) > 1:
            vector = lax.reshape(vector, (length,))
        parts = [vector] if len(self.sizes) == 1 else lax.split(vector, self.sizes)
        leaves = [lax.reshape(part, shape) for part, shape in zip(parts, self.shapes)]
        if self.converts:
            leaves = [_converted(leaf, dtype) for leaf, dtype in zip(leaves, self.dtypes)]
        return self.structure.unflatten(leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unravel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Unravel({self.structure!r}, shapes={self.shapes}, dtypes={[str(dtype) for dtype in self.dtypes]})"

    def _key(self) -> tuple[object, ...]:
        return self.structure, self.shapes, self.dtypes, self.dtype


def _converted(leaf: ArrayLike, dtype: np.dtype) -> Array:
    """Return a part of the vector in the dtype of its leaf; a real one never had an imaginary part to lose."""
    complex_to_real = typeof(leaf).dtype.kind == "c" and getattr(dtype, "kind", "") != "c"
    return lax.convert_element_type(lax.real(leaf) if complex_to_real else leaf, dtype)
