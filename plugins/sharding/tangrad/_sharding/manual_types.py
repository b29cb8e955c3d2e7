"""How values differ along the axes of a mesh that a function is mapped over, as their types record it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from tangrad._sharding.mesh import AbstractMesh, Mesh
from tangrad.core import ShapedArray, class_boundary, get_aval


@class_boundary
@dataclass(frozen=True, init=False)
class ManualAxisType:
    """How a value within `shard_map` differs along the axes of its mesh: `typeof(x).mat`.

    Args, and attributes:
        varying: the axes along which it differs.
        unreduced: those along which its parts are still to be summed.
        reduced: those along which they were.

    Raises ValueError where an axis is varying, and unreduced or reduced, too.

    >>> from tangrad.sharding import ManualAxisType
    >>> ManualAxisType(varying={"x"}).varying
    frozenset({'x'})
    """

    varying: frozenset[object]
    unreduced: frozenset[object]
    reduced: frozenset[object]

    def __init__(
        self,
        *,
        varying: Iterable[object] = frozenset(),
        unreduced: Iterable[object] = frozenset(),
        reduced: Iterable[object] = frozenset(),
    ) -> None:
        for name, axes in (("varying", varying), ("unreduced", unreduced), ("reduced", reduced)):
            object.__setattr__(self, name, frozenset(axes))
        for name in ("unreduced", "reduced"):
            if both := self.varying & getattr(self, name):
                raise ValueError(f"ManualAxisType: the axes {sorted(both, key=str)} cannot be varying and {name}")

    def invarying(self, mesh: Mesh | AbstractMesh) -> frozenset[Hashable]:
        """The axes of a mesh that a function is mapped over, along which the value is the same."""
        return frozenset(mesh.manual_axes) - self.varying - self.unreduced - self.reduced


def _mat(array: object) -> Any:  # as the stub of arrays has it, which knows no type of this distribution
    """A `ManualAxisType`: along which mapped axes the array differs, as far as its type records it.

    >>> import tangrad
    >>> from tangrad.sharding import PartitionSpec as P
    >>> mesh = tangrad.make_mesh((1,), ("i",))
    >>> def f(x):
    ...     print(tangrad.typeof(x).mat.varying)
    ...     return x
    >>> y = tangrad.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(tangrad.numpy.ones(2))
    frozenset({'i'})
    """
    aval = array if isinstance(array, ShapedArray) else get_aval(array)
    return ManualAxisType(varying=[name for name, _ in aval.named_shape])


mat = property(_mat)
