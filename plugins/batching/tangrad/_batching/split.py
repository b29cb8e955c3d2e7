"""A mapped axis in two parts: the outer one is mapped by the caller, with a name of its own, the inner one here.

What names the axis has a rule of kind `split_axis`, which computes it by what names the outer part and by the dimension
that the inner part is. Where there is no rule, the axis is named by its two parts (kind `axis_subst`), and the inner
one is mapped as any other. What does not name the axis, and what carries programs that do, has its batch rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._batching.trace import BATCH, AxisInfo, bad_result
from tangrad.core import NamedAxisEffect, Primitive, as_operand, calls_rules, equation_effects, rule_table

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tangrad.core.protocols import BatchRule, SplitAxisRule


AXIS_SUBST = rule_table("axis_subst")
SPLIT = rule_table("split_axis")


@calls_rules("split_axis", inner="rule")
def _checked(primitive: Primitive) -> SplitAxisRule:
    """The `split_axis` rule of a primitive; what is wrong with it is not reported as wrong with its batch rule."""
    found = SPLIT[primitive]

    def rule(
        args: tuple[object, ...], dims: tuple[object, ...], *, axis_info: SplitAxis, **params: object
    ) -> tuple[object, object]:
        out = found(args, dims, axis_info=axis_info, **params)
        if type(out) is not tuple or len(out) != 2:
            raise TypeError(f"the split_axis rule of {primitive.identity!r} must return (outs, out_dims), got {out!r}")
        outs, out_dims = out if primitive.multiple_results else ((out[0],), (out[1],))
        for value, dim in zip(outs, out_dims, strict=True):
            if dim is not None and not _is_mapped(value, dim, axis_info.size):
                raise bad_result("split_axis", primitive, value, dim, axis_info.size)
        return out

    return rule


def _is_mapped(value: object, dim: object, size: object) -> bool:
    shape = getattr(getattr(value, "aval", None), "shape", ())
    return type(dim) is int and 0 <= dim < len(shape) and bool(shape[dim] == size)


class _Rules:
    """For primitives that may name an axis themselves their `split_axis` rules, for others their batch rules."""

    __slots__ = ()

    def __getitem__(self, primitive: Primitive) -> BatchRule:
        direct = primitive.effects is not None and not primitive.carries_programs
        return _checked(primitive) if direct else BATCH[primitive]


class SplitAxis(AxisInfo):
    """The inner part of an axis.

    Attributes:
        name: that of the whole axis, for the function of one example.
        size: that of the inner part.
        outer: the name of the outer part, which is in scope and varies slowest.
        count: its size.

    >>> from tangrad.batching import SplitAxis
    >>> SplitAxis("i", 4, "devices", 2).in_scope
    ('i', 8)
    """

    __slots__ = ("count", "outer")
    rules = _Rules()

    def __init__(self, name: Hashable, size: int, outer: Hashable, count: int) -> None:
        super().__init__(name, size)
        self.outer = outer
        self.count = count

    @property
    def in_scope(self) -> tuple[Hashable, int]:
        return self.name, self.size * self.count

    def _key(self) -> tuple[object, ...]:
        return self.name, self.size, self.outer, self.count


class InnerPart:
    """The name of the inner part of an axis, where both are named: it is private to this map."""

    __slots__ = ("axis",)

    def __init__(self, axis: Hashable) -> None:
        self.axis = axis

    def __eq__(self, other: object) -> bool:
        return type(other) is InnerPart and other.axis == self.axis

    def __hash__(self) -> int:
        return hash((InnerPart, self.axis))

    def __repr__(self) -> str:
        return f"part of {self.axis}"


@calls_rules("axis_subst", inner="rule")
def split_by_names(primitive: Primitive) -> SplitAxisRule:
    """The rule for a primitive that has none: the axis is named by its two parts, of which the inner one is mapped."""

    def rule(
        args: tuple[object, ...], dims: tuple[object, ...], *, axis_info: SplitAxis, **params: object
    ) -> tuple[object, object]:
        avals = tuple([as_operand(arg).aval for arg in args])
        if NamedAxisEffect(axis_info.name) not in equation_effects(primitive, avals, params):
            return BATCH[primitive](args, dims, axis_info=axis_info, **params)
        inner = InnerPart(axis_info.name)
        parts = axis_info.outer, inner
        renamed = AXIS_SUBST[primitive](params, lambda name: parts if name == axis_info.name else (name,))
        return BATCH[primitive](args, dims, axis_info=AxisInfo(inner, axis_info.size), **renamed)

    return rule
