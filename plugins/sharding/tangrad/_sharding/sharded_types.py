"""Types of arrays with a sharding along the explicit axes of a mesh.

Such a type is that of shape and dtype (`plain`), and a sharding. What operations make of it is said by rules of kind
`sharding`: see `propagation`. Types are interned, so that caches compare them by identity.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._sharding.primitives import auto_axes_p
from tangrad._sharding.propagation import types_of_results
from tangrad.core import Primitive, ShapedArray, dtypes
from tangrad.core.caches import free_after_fork

if TYPE_CHECKING:
    from tangrad.typing import Params

_interned: weakref.WeakValueDictionary[Any, ShardedType] = weakref.WeakValueDictionary()
_lock = free_after_fork(threading.RLock())


class ShardedType(ShapedArray):
    """A type that says along which explicit axes of a mesh each dimension is cut; along one at least.

    Attributes:
        plain: shape and dtype alone.
        placed: the sharding, a `NamedSharding` over devices that names explicit axes only, with an entry for each
            dimension.
    """

    __slots__ = ("placed", "plain")
    plain: ShapedArray
    placed: Any

    def __new__(cls, plain: ShapedArray, placed: object) -> ShardedType:
        with _lock:
            found = _interned.get((plain, placed))
            if found is None:
                found = object.__new__(cls)
                found.shape, found.dtype, found.ndim = plain.shape, plain.dtype, plain.ndim
                found.weak_type, found.named_shape = plain.weak_type, plain.named_shape
                found.plain, found.placed = plain, placed
                _interned[plain, placed] = found
            return found

    def infer_types(
        self, primitive: Primitive, avals: tuple[object, ...], params: Params, infer: Callable[..., Any]
    ) -> Any:
        """The types of the results of a primitive, one of whose operands has such a type."""
        return types_of_results(primitive, avals, params, infer)

    @property
    def sharding(self) -> Any:
        """The sharding, by the shape of the mesh."""
        return self.placed.abstract()

    @property
    def axes(self) -> tuple[tuple[Any, ...], ...]:
        """For each dimension the axes that cut it."""
        return self.placed.dimension_axes(self.ndim)

    @property
    def stated(self) -> Any:
        """The sharding that results of the type must have; None where a compiler may cut them further."""
        return None if self.placed.mesh.auto_axes else self.placed

    def cut_by(self, axes: Sequence[tuple[object, ...]], plain: ShapedArray) -> ShapedArray:
        """`plain` as a type that says by which axes of this mesh its dimensions are cut."""
        return self.placed.with_axes(axes).type_of(plain)

    def update(self, **changes: object) -> ShapedArray:
        """A copy with some parts replaced. A type of another shape has no sharding."""
        plain = self.plain.update(**changes)
        return ShardedType(plain, self.placed) if plain.shape == self.shape else plain

    def without_dimension(self, position: int) -> ShapedArray:
        """The type of the slices of an array along a dimension, which are sharded as the whole is."""
        plain = self.plain.update(shape=self.shape[:position] + self.shape[position + 1 :])
        return self.cut_by(self.axes[:position] + self.axes[position + 1 :], plain)

    def with_dimension(self, position: int, size: object) -> ShapedArray:
        """The type of a stack of arrays, along a new dimension that is not cut."""
        plain = self.plain.update(shape=(*self.shape[:position], size, *self.shape[position:]))
        return self.cut_by((*self.axes[:position], (), *self.axes[position:]), plain)

    def constrain(self, value: object) -> Any:
        """A value of this shape, constrained to the sharding of the type."""
        return self.placed.constrain(value)

    def as_plain(self, value: object) -> Any:
        """A value of this type, with the plain type."""
        return auto_axes_p.bind(value, axes=None)

    def _dimensions(self) -> str:
        dimensions = [
            f"{size}@{axes[0] if len(axes) == 1 else axes}" if axes else str(size)
            for size, axes in zip(self.shape, self.axes, strict=True)
        ]
        names = "".join([f";{name}:{size}" for name, size in self.named_shape])
        return f"[{','.join(dimensions)}{names}]"

    def to_tangent_aval(self) -> ShapedArray:
        if dtypes.issubdtype(self.dtype, np.inexact):
            return self
        return self.plain.to_tangent_aval()

    def __reduce__(self) -> Any:
        return ShardedType, (self.plain, self.placed)
