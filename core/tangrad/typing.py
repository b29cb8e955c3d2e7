"""Types for annotations. `isinstance` takes `ArrayLike` as well.

>>> import tangrad
>>> from tangrad.typing import ArrayLike
>>> def squared(x: ArrayLike) -> tangrad.Array:
...     return tangrad.numpy.square(x)
>>> isinstance(3.0, ArrayLike), isinstance([3.0], ArrayLike)
(True, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias, runtime_checkable

import numpy as np

from tangrad._core.dtypes.objects import ExtendedDType
from tangrad._core.kernel import jaxpr, keys
from tangrad._core.kernel.array import Array, Literal
from tangrad._core.kernel.device import Device
from tangrad._core.kernel.sharding import Sharding
from tangrad._core.tree import tables as trees


class _HasDType(Protocol):
    @property
    def dtype(self) -> np.dtype[Any]: ...


class HasShapeAndDType(_HasDType, Protocol):  # `ShapeDtypeStruct`s, avals, arrays of any kind
    @property
    def shape(self) -> Sequence[Any]: ...


@runtime_checkable
class SupportsArray(Protocol):  # what has a method for the array that it represents
    def __tangrad_array__(self) -> Array: ...


class _Shards(Protocol):  # shardings; partition specs, by the mesh in use
    def to_sharding(self, what: str) -> Sharding: ...


if TYPE_CHECKING:  # for whom `complex` stands for all numbers of Python
    ArrayLike: TypeAlias = Array | Literal | SupportsArray | np.ndarray | np.bool_ | np.number[Any] | complex
else:  # isinstance refuses generic classes with parameters
    ArrayLike = Array | SupportsArray | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | _HasDType
Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
Axis: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None  # one, several or all
PyTree: TypeAlias = trees.PyTree  # a tree of arrays, whose kind its maker alone knows
Key: TypeAlias = Array
ShardingLike: TypeAlias = _Shards | None  # how a result is sharded; None: as it follows from the operands
DeviceLike: TypeAlias = Device | _Shards | None  # where an array is made; None: on the default device

# For authors of rules, traces and backends.
Value: TypeAlias = Array | Literal  # what rules get and return
Values: TypeAlias = tuple[Value, ...]
Dims: TypeAlias = tuple[int | None, ...]  # where in each operand, or result, the mapped axis is; None: it has none
Atom: TypeAlias = jaxpr.Atom  # what equations read, and programs return: a variable or a literal
Params: TypeAlias = keys.Params  # a primitive's parameters by name
DType: TypeAlias = np.dtype[Any] | ExtendedDType  # a dtype that is one already
Dimensions: TypeAlias = tuple[Any, ...]  # the shape of a type: integers, or symbolic sizes, which calculate like them
