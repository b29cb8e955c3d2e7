"""Functions of parts, traced, checked and mapped, with sums of cotangents: what maps over a mesh share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from tangrad._sharding.manual_types import of_type
from tangrad._sharding.primitives import sharding_constraint_p
from tangrad._sharding.shard_map.primitives import shard_map_p, without_combining
from tangrad._sharding.shard_map.replication import types_suffice, varying_of_program
from tangrad._sharding.shard_map.scope import axes_in_scope, mentioned, uncut
from tangrad.batching import SplitAxis, batch_flat
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Jaxpr,
    NamedAxisEffect,
    ShapedArray,
    as_operand,
    closed_over_as_arguments,
    eval_jaxpr,
    trace_to_closed_jaxpr,
    trace_to_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.tools import sub_jaxprs
from tangrad.extend.collectives import psum_to_p
from tangrad.extend.lax import reshape_p
from tangrad.sharding import Mesh, NamedSharding

if TYPE_CHECKING:
    from tangrad.typing import Value


def check_constraints(jaxpr: Jaxpr | ClosedJaxpr, manual_axes: Sequence[object], name: str) -> None:
    """Raise ValueError for a value that is constrained along an axis of which each device has its own part already."""
    for eqn in jaxpr.eqns:
        sharding = eqn.params.get("sharding") if eqn.primitive is sharding_constraint_p else None
        if isinstance(sharding, NamedSharding):
            mapped = [axis for axis in mentioned(sharding) if axis in manual_axes]
            if mapped:
                raise ValueError(
                    f"with_sharding_constraint in {name}: {sharding.spec} names the axis {mapped[0]!r}, over which "
                    f"shard_map maps the function: along it each device has its own part, and nothing is left to "
                    f"cut. Name axes that are left to the compiler: shard_map(axis_names=...) names those that are not"
                )
        for inner in sub_jaxprs(eqn.params):
            check_constraints(inner, manual_axes, name)


_programs = JaxprCache()
register_cache(_programs.clear)


def with_cotangent_sums(
    closed: ClosedJaxpr, sizes: dict[Hashable, int], varying: Sequence[frozenset[Hashable]]
) -> ClosedJaxpr:
    """The program of parts without sums that wait for what differs; itself where it has none.

    Args:
        closed: the program of one device, traced or about to be within the axes.
        sizes: the axes that it is mapped over.
        varying: for each input the axes along which it differs.
    """
    names = tuple([name for name in sizes if NamedAxisEffect(name) in closed.effects])
    if not names or not _waits(closed.jaxpr):
        return closed
    key = tuple(sizes.items()), tuple(varying)
    return _programs.get(closed, key, lambda: _with_sums(closed, names, sizes, varying))


def with_cotangent_sums_for(
    closed: ClosedJaxpr, mesh: Mesh, manual_axes: Sequence[object], in_shardings: Sequence[NamedSharding]
) -> ClosedJaxpr:
    """The same of a program of parts that are cut as shardings say."""
    sizes = {name: mesh.shape[name] for name in manual_axes}
    return with_cotangent_sums(closed, sizes, [frozenset(mentioned(sharding)) for sharding in in_shardings])


def _waits(jaxpr: Jaxpr | ClosedJaxpr) -> bool:
    """Whether there is such a sum in a program, or in those of its equations."""
    for eqn in jaxpr.eqns:
        if eqn.effects and (eqn.primitive is psum_to_p or any([_waits(sub) for sub in sub_jaxprs(eqn.params)])):
            return True
    return False


def _with_sums(
    closed: ClosedJaxpr, names: Sequence[Hashable], sizes: dict[Hashable, int], varying: Sequence[frozenset[Hashable]]
) -> ClosedJaxpr:
    for name in names:
        closed = _along(closed, SplitAxis(name, 1, name, sizes[name]), [name in axes for axes in varying])
    return closed


def _along(closed: ClosedJaxpr, axis: SplitAxis, differs: Sequence[bool]) -> ClosedJaxpr:
    def run(*inputs: Value) -> list[Value]:
        values = [_wider(value) if wide else value for value, wide in zip(inputs, differs, strict=True)]
        outs, dims = batch_flat(
            lambda *parts: eval_jaxpr(closed.jaxpr, closed.consts, *parts),
            values,
            [0 if wide else None for wide in differs],
            axis,
        )
        return [_narrower(as_operand(out), dim) for out, dim in zip(outs, dims, strict=True)]

    return trace_to_closed_jaxpr(run, closed.in_avals, closed.jaxpr.debug_name)


def _wider(value: Value) -> Array:
    return reshape_p.bind(value, new_sizes=(1, *value.aval.shape), dimensions=None)


def _narrower(value: Value, dim: int | None) -> Value:
    if dim is None:
        return value
    shape = value.aval.shape
    return reshape_p.bind(value, new_sizes=(*shape[:dim], *shape[dim + 1 :]), dimensions=None)


class MappedProgram:
    """A program of parts, with how its arguments are cut.

    Attributes:
        jaxpr: of the parts; values that the function closed over, cut nowhere, are its first arguments.
        outer: those values.
        mesh, manual_axes, in_shardings: see `primitives`.
        combining: how the parts of each result are to be combined, or were, by the types while it was traced.
        checked: whether types in the program record along which axes values differ.
    """

    __slots__ = ("checked", "combining", "in_shardings", "jaxpr", "manual_axes", "mesh", "outer")

    def __init__(
        self,
        function: Callable[..., Sequence[Value]],
        parts: Sequence[ShapedArray],
        name: str,
        mesh: Mesh,
        manual_axes: tuple[Hashable, ...],
        shardings: Sequence[NamedSharding],
        checked: bool = False,
    ) -> None:
        """Trace a flat function of parts of certain types; `checked`: for a map that checks replication."""
        with axes_in_scope(mesh, manual_axes, checked):
            jaxpr, self.outer = trace_to_jaxpr(function, parts, name)
        self.combining = [of_type(atom.aval) for atom in jaxpr.outvars]
        jaxpr = without_combining(jaxpr)
        check_constraints(jaxpr, manual_axes, name)
        self.checked = checked
        self.mesh = mesh
        self.manual_axes = manual_axes
        self.in_shardings = (*[uncut(mesh)] * len(self.outer), *shardings)
        with axes_in_scope(mesh, manual_axes, checked):
            self.jaxpr = with_cotangent_sums_for(
                ClosedJaxpr(closed_over_as_arguments(jaxpr)), mesh, manual_axes, self.in_shardings
            )

    def undeclared(self, out_shardings: Sequence[NamedSharding]) -> list[tuple[int, tuple[Hashable, ...]]]:
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

    def bind(self, values: Sequence[Value], out_shardings: Sequence[NamedSharding]) -> tuple[Array, ...]:
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
