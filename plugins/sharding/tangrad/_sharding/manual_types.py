"""How the parts of values along the axes of a mesh are related, as types record it: whether they differ, and whether
they are shares that are still to be combined."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tangrad._sharding.mesh import AbstractMesh, Mesh
from tangrad.core import ShapedArray, class_boundary, dtypes, get_aval


class UnreducedKind(enum.Enum):
    """How the parts of a value along unreduced axes are to be combined.

    >>> from tangrad.sharding import UnreducedKind
    >>> UnreducedKind.sum.name
    'sum'
    """

    sum = 1
    max = 2
    min = 3


class Combining(NamedTuple):
    """What is still to be combined of a value.

    Attributes:
        unreduced: the axes along which its parts are shares of it.
        reduced: those along which they were, and those of cotangents are.
        kind: how shares are combined; None where nothing is unreduced.
    """

    unreduced: frozenset[Any]
    reduced: frozenset[Any]
    kind: UnreducedKind | None

    @property
    def dual(self) -> Combining:
        """That of cotangents."""
        return Combining(self.reduced, self.unreduced, UnreducedKind.sum if self.reduced else None)

    @property
    def described(self) -> str:
        """In the words of messages."""
        axes = (("unreduced", self.unreduced), ("reduced", self.reduced))
        return " and ".join([f"{word} along {sorted(own, key=str)}" for word, own in axes if own]) or "not unreduced"


NOTHING = Combining(frozenset(), frozenset(), None)
_UFUNCS = {UnreducedKind.sum: np.add, UnreducedKind.max: np.maximum, UnreducedKind.min: np.minimum}


class Shares(NamedTuple):
    """How the parts that the devices of a grid hold make a value that is unreduced.

    Attributes:
        counts: for each device, whether it holds something that others do not.
        holds: for each device, whether it gets the value where one that is known becomes unreduced.
        join: the NumPy function of two shares.
    """

    counts: Sequence[bool]
    holds: Sequence[bool]
    join: Callable[..., np.ndarray]

    @classmethod
    def of(cls, grid: Sequence[tuple[Hashable, int]], cuts: Sequence[tuple[Hashable, ...]], how: Combining) -> Shares:
        """Those of a grid by how dimensions are cut along its axes."""
        own = {axis for cut in cuts for axis in cut} | how.unreduced
        counts, holds = [], []
        for place in product(*[range(size) for _, size in grid]):
            at = {name: number for (name, _), number in zip(grid, place, strict=True)}
            counts.append(not any([number for name, number in at.items() if name not in own]))
            holds.append(how.kind is not UnreducedKind.sum or not any([at[name] for name in how.unreduced]))
        return cls(counts, holds, _UFUNCS[how.kind or UnreducedKind.sum])

    def whole(self, shape: tuple[int, ...], indices: Sequence[Any], parts: Sequence[np.ndarray]) -> np.ndarray:
        """The value of a shape, of the parts in the order of the devices and their indices."""
        found = np.zeros(shape, parts[0].dtype)
        begun: set[str] = set()
        for index, part, counted in zip(indices, parts, self.counts, strict=True):
            if counted:
                found[index] = self.join(found[index], part) if str(index) in begun else part
                begun.add(str(index))
        return found

    def split(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The shares of a value, of its parts."""
        return [part if held else np.zeros_like(part) for part, held in zip(parts, self.holds, strict=True)]


# --- how results are to be combined, given how operands are ---

Rule = TypeVar("Rule", bound=Callable[..., object])


class Unclear(Exception):
    """What a rule raises: why the sharding of a result is ambiguous, and maybe the kind of mistake, in a few words.

    The error names the primitive and the operands.
    """


def check_divides(dimension: int, size: int, cut: Sequence[Hashable], sizes: Mapping[Any, int], what: str = "") -> None:
    """Raise Unclear, saying `what`, for a dimension of a result that axes of a mesh do not cut into equal parts.

    Args:
        dimension, size: its number and its size.
        cut: the axes that would cut it. sizes: those of all axes of the mesh.
    """
    parts = math.prod([sizes[axis] for axis in cut])
    if size % parts:
        raise Unclear(
            f"{what}{': ' * bool(what)}dimension {dimension} of the result, of size {size}, does not divide into "
            f"{parts} parts along {cut}"
        )


def of_type(aval: Any) -> Combining:
    """What a type records."""
    return NOTHING if aval.infer_types is None else aval.placed.combining


def varying(aval: Any) -> frozenset[Any]:
    """The axes along which values of a type differ from device to device, and are not to be combined."""
    how = of_type(aval)
    return frozenset([name for name, _ in aval.named_shape]) - how.unreduced - how.reduced


def linear_in(*positions: int) -> Callable[[Rule], Rule]:
    """Decorator for a `sharding` rule of a primitive that is linear in the operands at these positions, all together.

    Without positions: in all operands. Of shares of values it makes shares of the result.
    """
    return _combined(
        lambda avals, results: _linear([avals[at] for at in positions] if positions else avals, avals, results)
    )


def _combined(how: Callable[[Sequence[Any], Sequence[Any]], Combining]) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        vars(rule)["combining"] = how
        return rule

    return add


def _linear(chosen: Sequence[Any], avals: Sequence[Any], results: Sequence[Any]) -> Combining:
    if dtypes.issubdtype(chosen[0].dtype, np.inexact) and not dtypes.issubdtype(results[0].dtype, np.inexact):
        _none_unreduced(chosen)  # it is rounded
    pending = {of_type(aval)[::2] for aval in chosen}
    if len(pending) > 1:
        raise Unclear(f"parts of operands are still to be combined in different ways: {_listed(chosen)}")
    _none_unreduced([aval for aval in avals if aval not in chosen])
    ((unreduced, kind),) = pending
    return Combining(unreduced, _reduced(chosen), kind)


def _of_product(avals: Sequence[Any], results: Sequence[Any]) -> Combining:
    """Of one that is unreduced the other must be reduced."""
    pending = [of_type(aval) for aval in avals]
    found = next((one for one in pending if one.unreduced), None)
    if found is None:
        return Combining(frozenset(), _reduced(avals), None)
    others = [one for one in pending if one is not found]
    if found.kind is not UnreducedKind.sum or any(
        [one != Combining(frozenset(), found.unreduced, None) for one in others]
    ):
        raise Unclear(
            f"parts of one operand are still to be summed along {sorted(found.unreduced, key=str)}, and the others are "
            f"not reduced along them: {_listed(avals)}"
        )
    return Combining(found.unreduced, frozenset(), found.kind)


def _of_quotient(avals: Sequence[Any], results: Sequence[Any]) -> Combining:
    _none_unreduced(avals[1:])
    return _of_product(avals, results)


def _whole(avals: Sequence[Any], results: Sequence[Any]) -> Combining:
    """Of parts within a map nothing is cut: what is made of such that are all reduced is, too."""
    _none_unreduced(avals)
    within = [aval for aval in avals if aval.infer_types is not None and aval.placed.mesh.are_all_axes_manual]
    reduced = {of_type(aval).reduced for aval in avals}
    if not within or len(reduced) > 1 or any([varying(aval) & axes for aval in avals for axes in reduced]):
        return NOTHING
    return Combining(frozenset(), reduced.pop(), None)


def of_any(avals: Sequence[Any], results: Sequence[Any]) -> Combining:
    """That of the results of a primitive of which nothing is known: reduced, as all operands are."""
    _none_unreduced(avals)
    return Combining(frozenset(), _reduced(avals), None)


def of_collective(aval: Any, names: Iterable[Hashable], does: str) -> Combining:
    """That of the result of a collective along axes, of parts of a type, which "sums" or "exchanges" them, or finds
    "extremes"."""
    how, along = of_type(aval), frozenset(names)
    if does == "extremes" or (does == "exchanges" and how.unreduced & along):
        _none_unreduced([aval])
    if does == "sums" and how.reduced & along:
        raise Unclear(f"the operand is the same along {sorted(how.reduced & along, key=str)}, and to be summed over it")
    unreduced = how.unreduced - along
    return Combining(unreduced, how.reduced - along, how.kind if unreduced else None)


cases = _combined(lambda avals, results: _linear(avals[1:], avals, results))
product_of = _combined(_of_product)
quotient_of = _combined(_of_quotient)
sums_over = _combined(_whole)  # over what one operand may be reduced along


def _none_unreduced(avals: Sequence[Any]) -> None:
    if any([of_type(aval).unreduced for aval in avals]):
        raise Unclear(f"parts of an operand are still to be combined: {_listed(avals)}")


def _reduced(avals: Sequence[Any]) -> frozenset[Any]:
    """The axes along which all are reduced, but for numbers, which may be of any kind.

    Along an axis along which an operand differs from device to device the result does, too.
    """
    differing = frozenset[Any]().union(*[varying(aval) for aval in avals])
    found = {of_type(aval).reduced - differing for aval in avals if aval.ndim or of_type(aval).reduced}
    found = found or {frozenset()}
    if len(found) > 1:
        raise Unclear(f"operands are reduced along different axes: {_listed(avals)}")
    return found.pop()


def _listed(avals: Sequence[Any]) -> str:
    return ", ".join([aval.str_short() for aval in avals])


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
    how = of_type(aval)
    return ManualAxisType(varying=varying(aval), unreduced=how.unreduced, reduced=how.reduced)


mat = property(_mat)
