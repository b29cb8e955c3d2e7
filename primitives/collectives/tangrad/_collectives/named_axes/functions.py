"""Functions that are not programs yet, such as a user's rule: substitution in what they will do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._collectives.named_axes.names import as_substitution
from tangrad._collectives.named_axes.substitution import subst_axis_names
from tangrad.core import ShapedArray, as_operand, eval_jaxpr, holding, trace_to_jaxpr


class RenamedFunction:
    """Runs functions written with the old names of axes where the new ones are in scope.

    Args:
        subst: what the rule was given.
        axes: pairs of a name and a size: the axes that were in scope where the functions were written.
    """

    __slots__ = ("_axes", "_subst")

    def __init__(self, subst: Any, axes: Sequence[tuple[Any, int]]) -> None:
        self._subst = as_substitution(subst)
        self._axes = tuple(axes)

    @property
    def axes(self) -> tuple[tuple[Any, Any], ...]:
        """The axes that are in scope with the new names; None for an unknown size."""
        found: list[tuple[Any, Any]] = []
        for name, size in self._axes:
            names = self._subst(name)
            found.extend([(new, size if len(names) == 1 else self._subst.known_size(new)) for new in names])
        return tuple(found)

    def run(self, function: Callable[..., Sequence[Any]], values: Sequence[Any]) -> list[Any]:
        """`function(*values)`, of flat values: as a program with the old names, which then get the new ones."""
        operands = [as_operand(value) for value in values]
        with holding(axis_environment=self._axes):
            jaxpr, consts = trace_to_jaxpr(function, [_without_names(operand.aval) for operand in operands])
        return eval_jaxpr(subst_axis_names(jaxpr, self._subst), consts, *operands)


def _without_names(aval: ShapedArray) -> Any:
    return aval.update(named_shape=()) if aval.named_shape else aval
