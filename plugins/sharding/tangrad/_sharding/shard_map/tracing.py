"""Functions of parts, traced, checked and mapped: what `shard_map` and maps that are made of it share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.constraints import check_constraints
from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad._sharding.shard_map.replication import types_suffice, varying_of_program
from tangrad._sharding.shard_map.sameness import with_cotangent_sums_for
from tangrad._sharding.shard_map.scope import axes_in_scope
from tangrad._sharding.shard_map.specs import mentioned, uncut
from tangrad.core import ClosedJaxpr, ShapedArray, closed_over_as_arguments, trace_to_jaxpr
from tangrad.sharding import Mesh, NamedSharding

if TYPE_CHECKING:
    from tangrad.typing import Value


class MappedProgram:
    """A program of parts, with how its arguments are cut.

    Attributes:
        jaxpr: of the parts; values that the function closed over, cut nowhere, are its first arguments.
        outer: those values.
        mesh, manual_axes, in_shardings: see `primitives`.
        checked: whether types in the program record along which axes values differ.
    """

    __slots__ = ("checked", "in_shardings", "jaxpr", "manual_axes", "mesh", "outer")

    def __init__(
        self,
        function: Callable[..., Sequence[Any]],
        parts: Sequence[ShapedArray],
        name: str,
        mesh: Mesh,
        manual_axes: tuple[Any, ...],
        shardings: Sequence[NamedSharding],
        checked: bool = False,
    ) -> None:
        """Trace a flat function of parts of certain types; `checked`: for a map that checks replication."""
        with axes_in_scope(mesh, manual_axes, checked):
            jaxpr, self.outer = trace_to_jaxpr(function, parts, name)
        check_constraints(jaxpr, manual_axes, name)
        self.checked = checked
        self.mesh = mesh
        self.manual_axes = manual_axes
        self.in_shardings = (*[uncut(mesh)] * len(self.outer), *shardings)
        with axes_in_scope(mesh, manual_axes, checked):
            self.jaxpr = with_cotangent_sums_for(
                ClosedJaxpr(closed_over_as_arguments(jaxpr)), mesh, manual_axes, self.in_shardings
            )

    def undeclared(self, out_shardings: Sequence[NamedSharding]) -> list[tuple[int, tuple[Any, ...]]]:
        """The results that may differ along axes that they are not put together along, and which axes.

        Of most programs types show it. Of others rules show more: what is gathered, say, is the same everywhere.
        """
        if self.checked and self._follows_from_types(out_shardings):
            return []
        inputs = [frozenset(mentioned(sharding)) for sharding in self.in_shardings]
        found = []
        for position, varying in enumerate(varying_of_program(self.jaxpr, inputs)):
            declared = mentioned(out_shardings[position])
            beyond = tuple([axis for axis in self.manual_axes if axis in varying and axis not in declared])
            if beyond:
                found.append((position, beyond))
        return found

    def _follows_from_types(self, out_shardings: Sequence[NamedSharding]) -> bool:
        """Whether types say that no result differs along an axis that it is not put together along."""
        for aval, sharding in zip(self.jaxpr.out_avals, out_shardings, strict=True):
            declared = mentioned(sharding)
            if any([axis in self.manual_axes and axis not in declared for axis, _ in aval.named_shape]):
                return False
        return types_suffice(self.jaxpr.jaxpr)

    def bind(self, values: Sequence[Value], out_shardings: Sequence[NamedSharding]) -> Any:
        """Map it over whole arrays."""
        return shard_map_p.bind(
            *self.outer,
            *values,
            jaxpr=self.jaxpr,
            mesh=self.mesh,
            in_shardings=self.in_shardings,
            out_shardings=tuple(out_shardings),
            manual_axes=self.manual_axes,
            checked=self.checked,
        )
