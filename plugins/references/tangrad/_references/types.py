"""The type of a reference, the effects of what is done to it, and the rule kind of what is applied to it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tangrad.core import AbstractValue, Array, Effect, Primitive, RuleKind, ShapedArray, class_boundary

if TYPE_CHECKING:
    import numpy as np

    from tangrad.core import ClosedJaxpr
    from tangrad.typing import Dimensions

# --- The type of a reference, and the effects of what is done to it ---------------------------------------------------


@class_boundary
class AbstractRef(AbstractValue):
    """The type of a reference: that of the array behind it, and its kind, None or `NO_GRAD_NO_REMAT`.

    Equal types are one object.

    >>> from tangrad.core import ShapedArray
    >>> import tangrad
    >>> tangrad.ref.AbstractRef(ShapedArray((3,), "float32"))
    Ref{float32[3]}
    """

    __slots__ = ("dtype", "inner_aval", "kind", "named_shape", "ndim", "shape")
    weak_type = False
    inner_aval: ShapedArray
    kind: str | None
    shape: Dimensions
    dtype: np.dtype
    ndim: int
    named_shape: tuple[tuple[object, object], ...]

    def __new__(cls, inner_aval: ShapedArray, kind: str | None = None) -> AbstractRef:
        if not isinstance(inner_aval, ShapedArray):
            raise TypeError(f"AbstractRef: inner_aval must be the type of an array, a ShapedArray, got {inner_aval!r}")
        inner_aval = inner_aval.strip_weak_type()
        found = _interned.get((inner_aval, kind))
        if found is None:
            found = object.__new__(AbstractRef)
            found.inner_aval, found.kind, found.named_shape = inner_aval, kind, inner_aval.named_shape
            found.shape, found.dtype, found.ndim = inner_aval.shape, inner_aval.dtype, inner_aval.ndim
            found = _interned.setdefault((inner_aval, kind), found)  # of several threads, one wins
        return found

    def update(self, **changes: object) -> AbstractRef:
        """A copy with some fields of the array's type replaced."""
        return AbstractRef(self.inner_aval.update(**changes), self.kind)

    def strip_weak_type(self) -> AbstractRef:
        return self

    def to_tangent_aval(self) -> ShapedArray:
        """References have no tangents: what is written to them is a value, and no derivative."""
        return ShapedArray(self.shape, "int32").to_tangent_aval()

    @property
    def size(self) -> int:
        return self.inner_aval.size

    @property
    def sharding(self) -> Any:
        """How the array behind it is sharded, as far as its type records it."""
        return self.inner_aval.sharding

    def __len__(self) -> int:
        return len(self.inner_aval)

    def str_short(self, short_dtypes: bool = True) -> str:
        kind = "" if self.kind is None else f", {self.kind}"
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}{kind}}}"

    def __repr__(self) -> str:
        return self.str_short(False)

    def __reduce__(self) -> tuple[type[AbstractRef], tuple[ShapedArray, str | None]]:
        return AbstractRef, (self.inner_aval, self.kind)

    # What a value of this type does where users hold a tracer of it: the kernel and `tangrad.numpy` ask for these.

    def get_item(self, reference: object, index: object) -> Array:
        return accesses.get(reference, index)

    def set_item(self, reference: object, index: object, value: object) -> None:
        accesses.set(reference, index, value)

    def part_at(self, reference: object) -> object:
        return accesses.at(reference)

    def add_to(self, reference: object, value: object) -> None:
        """Add a value to what is behind the reference: where `vjp` leaves a gradient."""
        accesses.add(reference, (), value)

    def program_of_values(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        """A program of references as one that takes their values, and returns the last ones after its results."""
        return accesses.lowered(closed)


class Accesses:
    """Reading and writing, which stand in a module above this one."""

    get: Callable[[object, object], Array]
    set: Callable[[object, object, object], None]
    at: Callable[[Any], object]
    add: Callable[[object, object, object], None]
    lowered: Callable[[ClosedJaxpr], ClosedJaxpr]


accesses = Accesses()
_interned: weakref.WeakValueDictionary[tuple[ShapedArray, str | None], AbstractRef] = weakref.WeakValueDictionary()


# References that hold values without derivatives; checkpointed functions read and write them once.
NO_GRAD_NO_REMAT = "no_grad_no_remat"


class ReferenceEffect(Effect):
    """A reference is read or written: in the order of the program, and as often as in it.

    Attributes:
        kept: whether checkpointed functions keep the results, and do not do it again. What is read is always kept: the
            reference may hold another value by then.
    """

    __slots__ = ("droppable", "kept", "what")

    def __init__(self, what: str, kept: bool = False) -> None:
        self.what, self.kept = what, kept
        self.droppable = what == "read"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReferenceEffect) and (self.what, self.kept) == (other.what, other.kept)

    def __hash__(self) -> int:
        return hash((ReferenceEffect, self.what, self.kept))

    def __repr__(self) -> str:
        return f"Reference({self.what})"


_READS = frozenset([ReferenceEffect("read", True)])
_WRITES = {kind: frozenset([ReferenceEffect("write", kind is not None)]) for kind in (None, NO_GRAD_NO_REMAT)}


def reads(avals: object, params: object) -> frozenset[ReferenceEffect]:
    """The effects of reading a reference."""
    return _READS


def writes(avals: Sequence[object], params: object) -> frozenset[ReferenceEffect]:
    """The effects of writing the reference that is the first operand."""
    return _WRITES[getattr(avals[0], "kind", None)]


def is_reference(value: object) -> bool:
    """Whether a value is a reference: a cell, or a tracer that stands for one."""
    return type(getattr(value, "aval", None)) is AbstractRef


# --- The rule kind of references: how a primitive that is given some is applied to the values behind them -------------


def _refusal(primitive: Primitive) -> Callable[..., NoReturn]:
    """What reads no references: it raises where it is applied, also where it is in a program."""

    def refuse(args: object, own: tuple[bool, ...], **params: object) -> NoReturn:
        places = ", ".join([str(place) for place, is_own in enumerate(own) if is_own])
        if primitive.carries_programs or primitive.evaluate is not None:
            raise NotImplementedError(
                f"{primitive.name} cannot hand references on to its program, got one as operand {places}: read it "
                "before, ref[...], pass the value, and write what the program returns"
            )
        raise TypeError(
            f"{primitive.name} takes arrays, got a reference as operand {places}; ref[...] is the array behind it"
        )

    return refuse


discharge = RuleKind(
    "discharge",
    api=1,
    signature="(args, own, **params) -> results",
    doc="a primitive applied to references: where `own` is true, args[i].value is read and replaced",
    default=_refusal,
    optional=True,
)
