"""Functions of parts, traced, checked and mapped, with sums of cotangents: what maps over a mesh share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._sharding.manual_types import NOTHING, of_type
from tangrad._sharding.primitives import sharding_constraint_p
from tangrad._sharding.shard_map.primitives import shard_map_p, without_combining
from tangrad._sharding.shard_map.replication import types_suffice, varying_of_program
from tangrad._sharding.shard_map.scope import axes_in_scope, mentioned, of_parts, out_of_scope, over_all, uncut
from tangrad.batching import SplitAxis, batch_flat
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Jaxpr,
    NamedAxisEffect,
    ShapedArray,
    Trace,
    Tracer,
    as_operand,
    closed_over_as_arguments,
    eval_jaxpr,
    get_aval,
    thread,
    trace_to_closed_jaxpr,
    trace_to_jaxpr,
)
from tangrad.core.caches import JaxprCache, params_key, register_cache
from tangrad.core.settings import cache_context
from tangrad.core.tools import sub_jaxprs
from tangrad.extend.collectives import psum_to_p
from tangrad.extend.lax import reshape_p
from tangrad.sharding import Mesh, NamedSharding

if TYPE_CHECKING:
    from tangrad.core import Literal, Primitive
    from tangrad.typing import Params, Value


def check_constraints(jaxpr: Jaxpr | ClosedJaxpr, manual_axes: Sequence[object], name: str) -> None:
    """Raise ValueError for a value that is constrained along an axis of which each device has its own part already."""
    for eqn in jaxpr.eqns:
        sharding = eqn.params.get("sharding") if eqn.primitive is sharding_constraint_p else None
        if isinstance(sharding, NamedSharding):
            mapped = [axis for axis in mentioned(sharding) if axis in manual_axes]
            if mapped:
                raise ValueError(
                    f"with_sharding_constraint in {name}: {sharding.spec} names the axis {mapped[0]!r}, over which "
                    f"shard_map maps the function: along a manual axis each device has its own part, and nothing is "
                    f"left to cut. Name axes that are left to the compiler: shard_map(axis_names=...) names those that "
                    "are not"
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
        types: those of the results while it was traced, which record what is to be combined, or was.
        checked: whether types in the program record along which axes values differ.
    """

    __slots__ = ("checked", "in_shardings", "jaxpr", "manual_axes", "mesh", "outer", "types")

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
        self.types = [atom.aval for atom in jaxpr.outvars]
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
        found = []
        for position, varying in enumerate(self.varying()):
            declared = mentioned(out_shardings[position])
            beyond = tuple([axis for axis in self.manual_axes if axis in varying and axis not in declared])
            if beyond:
                found.append((position, beyond))
        return found

    def varying(self) -> Sequence[frozenset[Hashable]]:
        """For each result the axes along which it differs, by rules."""
        return varying_of_program(self.jaxpr, [frozenset(mentioned(sharding)) for sharding in self.in_shardings])

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


# --- Functions of parts that run operation by operation: each is a map of its own ---


class PartTracer(Tracer):
    """The parts of a value while a function of parts runs; `whole` is the value, cut, or a stack where parts differ."""

    __slots__ = ("cut", "stacked", "whole")

    def __init__(self, trace: Trace, aval: ShapedArray, whole: Any, cut: NamedSharding, stacked: bool = False) -> None:
        self._trace, self.aval, self.whole, self.cut, self.stacked = trace, aval, whole, cut, stacked

    def concrete(self) -> Array | Literal | None:
        """The value, where it is the same on all devices."""
        if mentioned(self.cut):
            return None
        return self.whole.concrete() if isinstance(self.whole, Tracer) else self.whole

    def __float__(self) -> float:
        return super().__float__() if self._is_open() else float(self.whole)

    def __complex__(self) -> complex:
        return super().__complex__() if self._is_open() else complex(self.whole)

    def _is_open(self) -> bool:
        """Whether it is no number: it differs, or a derivative by it is taken."""
        return bool(mentioned(self.cut)) or isinstance(self.whole, Tracer)

    def known(self) -> dict[str, object]:
        axes = mentioned(self.cut)
        return {f"parts along {axes}" if axes else "value": self.whole}

    def origin(self) -> str:
        axes = mentioned(self.cut)
        differ = f"the parts of a value within shard_map, which differ along {axes}; lax.psum adds them up"
        return differ if axes else "a value within shard_map, by which a derivative is taken"

    def read(self, part: Value) -> Value:
        """A part, of its type, out of a stack."""
        if not self.stacked:
            return part
        how, part = of_type(self.aval), _narrower(part, 0)
        return part if how == NOTHING else of_parts(self.cut.mesh, how).constrain(part)


# With the types of results, and the axes along which each differs.
_Step = tuple[MappedProgram, list[ShapedArray], list[tuple[Hashable, ...]]]
_steps: dict[Hashable, _Step] = {}
register_cache(_steps.clear)
_MOST_STEPS = 1024


class StepTrace(Trace):
    """Maps each operation over the devices when it is called, so that values can be looked at that are the same."""

    __slots__ = ("_around", "_map")

    def __init__(self, mesh: Mesh, manual: tuple[Hashable, ...], checked: bool) -> None:
        super().__init__(thread.trace)
        self._map = mesh, manual, checked
        self._around = out_of_scope()

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Value], params: Params
    ) -> Value | tuple[Value, ...]:
        def run(*parts: Value) -> Sequence[Value]:
            outs = primitive.bind(*parts, **params)
            return outs if primitive.multiple_results else (outs,)

        mesh = self._map[0]
        with self._around():
            own = [self._own(arg) for arg in args]
            types = tuple([(each.aval, each.cut, each.stacked) for each in own])
            key: Hashable = (primitive, params_key(params), types, self._map, cache_context())
            try:
                step = _steps.get(key)
            except TypeError:  # parameters that are compared by nothing
                step, key = None, None
            if step is None:
                step = self._step(run, own, primitive.name)
                if len(_steps) >= _MOST_STEPS:
                    _steps.clear()
                if key is not None:
                    _steps[key] = step
            program, avals, axes = step
            cuts = [over_all(mesh, names) if names else uncut(mesh) for names in axes]
            outs = program.bind([each.whole for each in own], cuts)
        made = zip(avals, outs, cuts, map(bool, axes), strict=True)
        found = tuple([PartTracer(self, *each) for each in made])
        return found if primitive.multiple_results else found[0]

    def _own(self, value: Value) -> PartTracer:
        if isinstance(value, PartTracer) and value._trace is self:
            return value
        return PartTracer(self, get_aval(value).plain, as_operand(value), uncut(self._map[0]))

    def _step(self, run: Callable[..., Sequence[Value]], values: Sequence[PartTracer], name: str) -> _Step:
        """The map of an operation, whose results are stacked where they differ."""
        program = self._mapped(run, values, name)
        axes = [tuple([axis for axis in program.manual_axes if axis in differs]) for differs in program.varying()]

        def stacked(*parts: Value) -> list[Value]:
            return [_wider(as_operand(out)) if cut else out for out, cut in zip(run(*parts), axes, strict=True)]

        return self._mapped(stacked, values, name) if any(axes) else program, program.types, axes

    def _mapped(self, run: Callable[..., Sequence[Value]], values: Sequence[PartTracer], name: str) -> MappedProgram:
        mesh, manual, checked = self._map

        def of_own(*parts: Value) -> Sequence[Value]:
            return run(*[value.read(part) for part, value in zip(parts, values, strict=True)])

        avals = [one.aval.plain.update(shape=(1, *one.aval.shape)) if one.stacked else one.aval for one in values]
        return MappedProgram(of_own, avals, name, mesh, manual, [value.cut for value in values], checked)

    def returning(self, leaves: Sequence[Value], name: str) -> tuple[MappedProgram, list[Value]]:
        """The map that returns what the function did, and its arguments; the function has ended."""
        own = [self._own(leaf) for leaf in leaves]
        self.alive = False
        return self._mapped(lambda *parts: parts, own, name), [each.whole for each in own]
