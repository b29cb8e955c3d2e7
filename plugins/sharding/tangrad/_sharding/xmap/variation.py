"""Along which axes the values of a program vary, and where these live: axes that meet must not need one resource."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._sharding.xmap.axes import Assigned, Positions
from tangrad.batching import AxisInfo, BatchTracer, batch_flat
from tangrad.core import ClosedJaxpr, JaxprEqn, Literal, axes_of_effects, trace_to_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.tools import sub_jaxprs
from tangrad.errors import ArgumentError, TracerTypeError

if TYPE_CHECKING:
    from collections.abc import Container

    Body = tuple[ClosedJaxpr, tuple[frozenset[Hashable], ...], tuple[tuple[Hashable, int], ...]]

    from tangrad.core import Jaxpr, Var
    from tangrad.typing import Value


Names = frozenset[Hashable]
Sizes = tuple[tuple[Hashable, int], ...]

_known = JaxprCache()
register_cache(_known.clear)


def named(in_axes: Sequence[Positions]) -> tuple[Names, ...]:
    """The names alone of the axes of each operand."""
    return tuple([frozenset([name for name, _ in positions]) for positions in in_axes])


def varying_results(closed: ClosedJaxpr, given: tuple[Names, ...], sizes: Sizes) -> tuple[Names, ...]:
    """For each result the axes that it varies along; `given`: the same for each argument."""
    return _known.get(closed, (given, sizes), lambda: trace_variation(closed, given, sizes, lambda *_: None))


def axes_of(value: Value) -> Names:
    """The axes for which a value within mapped functions has a dimension."""
    found = set()
    while isinstance(value, BatchTracer):
        found.add(value._trace.axis.name)
        value = value.value
    return frozenset(found)


# What is recorded of each value: "result" of an equation, or "argument" of its program; the equation, the variable, the
# axes, the sizes of all axes in scope.
Observer = Callable[[str, JaxprEqn, Any, Names, Sizes], None]


def trace_variation(closed: ClosedJaxpr, given: Sequence[Names], sizes: Sizes, observe: Observer) -> tuple[Names, ...]:
    """Trace a program with arguments that vary along the given axes; `observe` each value that it computes.

    Returns the axes of each result.
    """
    names = [name for name, _ in sizes]
    known = dict(sizes)
    orders = [[name for name in names if name in axes] for axes in given]
    avals = [
        aval.update(shape=(*[known[name] for name in order], *aval.shape), named_shape=())
        for aval, order in zip(closed.in_avals, orders, strict=True)
    ]
    found: list[Names] = []

    def level(number: int, values: Sequence[Value]) -> list[Value]:
        if number == len(names):
            outs = _Walk(sizes, observe).run(closed, values)
            found.extend([axes_of(out) for out in outs])
            return outs
        dims = [0 if names[number] in order else None for order in orders]
        info = AxisInfo(names[number], known[names[number]])
        # Of what is left in front the next axis is the first one: they were put there in this order.
        return batch_flat(lambda *inner: level(number + 1, inner), values, dims, info)[0]

    trace_to_jaxpr(lambda *values: level(0, values), avals, closed.jaxpr.debug_name or "xmap")
    return tuple(found)


class _Walk:
    """Goes through a program on mapped values."""

    __slots__ = ("_observe", "_sizes")

    def __init__(self, sizes: Sizes, observe: Observer) -> None:
        self._sizes = sizes
        self._observe = observe

    def run(self, closed: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
        jaxpr = closed.jaxpr
        values: dict[Var, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *args), strict=True))
        for eqn in jaxpr.eqns:
            operands = [atom if type(atom) is Literal else values[atom] for atom in eqn.invars]
            if eqn.primitive.identity in _CALLS:
                outs: Any = self.run(eqn.params["jaxpr"], operands)
            else:
                outs = eqn.primitive.bind(*operands, **eqn.params)
                outs = outs if eqn.primitive.multiple_results else (outs,)
                self._look_inside(eqn, operands, outs)
            for var, out in zip(eqn.outvars, outs, strict=True):
                values[var] = out
                self._observe("result", eqn, var, axes_of(out), self._sizes)
        return [atom if type(atom) is Literal else values[atom] for atom in jaxpr.outvars]

    def _look_inside(self, eqn: JaxprEqn, operands: Sequence[Value], outs: Sequence[Value]) -> None:
        if next(iter(sub_jaxprs(eqn.params)), None) is None:
            return
        before, after = [axes_of(value) for value in operands], [axes_of(value) for value in outs]
        for closed, given, bound in _BODIES.get(eqn.primitive.identity, _any_body)(eqn, before, after):
            sizes = (*self._sizes, *bound)
            for var, axes in zip(closed.jaxpr.invars, given, strict=True):
                self._observe("argument", eqn, var, axes, sizes)
            trace_variation(closed, given, sizes, self._observe)


_CALLS = ("jit.jit", "checkpointing.remat")


def _scan_body(eqn: JaxprEqn, before: list[Names], after: list[Names]) -> Iterator[Body]:
    first = eqn.params["num_consts"]
    carry = eqn.params["num_carry"]
    yield eqn.params["jaxpr"], (*before[:first], *after[:carry], *before[first + carry :]), ()


def _while_bodies(eqn: JaxprEqn, before: list[Names], after: list[Names]) -> Iterator[Body]:
    first = eqn.params["cond_nconsts"]
    second = first + eqn.params["body_nconsts"]
    yield eqn.params["cond_jaxpr"], (*before[:first], *after), ()
    yield eqn.params["body_jaxpr"], (*before[first:second], *after), ()


def _cond_bodies(eqn: JaxprEqn, before: list[Names], after: list[Names]) -> Iterator[Body]:
    for branch in eqn.params["branches"]:
        yield branch, tuple(before[1:]), ()


def _xmap_body(eqn: JaxprEqn, before: list[Names], after: list[Names]) -> Iterator[Body]:
    own = named(eqn.params["in_axes"])
    given = tuple([outer | inner for outer, inner in zip(before, own, strict=True)])
    yield eqn.params["jaxpr"], given, eqn.params["sizes"]


def _any_body(eqn: JaxprEqn, before: list[Names], after: list[Names]) -> Iterator[Body]:
    """Of an unknown carrier of programs every value may vary along all axes that come in or out, or are used."""
    every = frozenset().union(*before, *after, axes_of_effects(eqn.effects))
    for jaxpr in sub_jaxprs(eqn.params):
        if isinstance(jaxpr, ClosedJaxpr):
            yield jaxpr, (every,) * len(jaxpr.in_avals), ()


_BODIES = {
    "control_flow.cond": _cond_bodies,
    "control_flow.scan": _scan_body,
    "control_flow.while": _while_bodies,
    "xmapping.xmap": _xmap_body,
}


Resources = Mapping[Hashable, Assigned]


class ResourceClashError(TracerTypeError):
    """Two axes that one value varies along need the same axis of a mesh, or the same named serial loop."""


class UnnamedAxisError(ArgumentError):
    """A result varies along an axis that its spec in `out_axes` does not name."""


def check_clashes(
    closed: ClosedJaxpr,
    in_axes: Sequence[Positions],
    out_axes: Sequence[Positions],
    sizes: Sizes,
    resources: Resources,
    name: str,
) -> None:
    """Raise ResourceClashError where axes that need the same mesh axis or serial loop meet in one value.

    Looks at arguments, at every value of the program and of those in it, and at results, those of mapped functions
    within it too, with the axes that they are repeated along.
    """
    every = {**resources, **_nested_resources(closed)}
    used = [resource for assigned in every.values() for resource in assigned.exclusive]
    if len(used) == len({*used}):
        return
    for number, positions in enumerate(in_axes):
        _check([axis for axis, _ in positions], every, lambda at=number: f"argument {at} of {name}")

    def observe(what: str, eqn: JaxprEqn, var: Var, axes: Names, _: Sizes) -> None:
        if what == "result" and eqn.primitive.identity == "xmapping.xmap":
            axes = axes | {axis for axis, _ in eqn.params["out_axes"][eqn.outvars.index(var)]}
        _check(axes, every, lambda: _described(what, eqn, var))

    found = trace_variation(closed, named(in_axes), sizes, observe)
    for number, (positions, varying) in enumerate(zip(out_axes, found, strict=True)):
        repeated = [axis for axis, _ in positions if axis not in varying]
        _check(
            [axis for axis, _ in positions],
            every,
            lambda at=number, also=repeated: (
                f"result {at} of {name}" + (f", which is repeated along {also[0]!r}" if also else "")
            ),
        )


def _nested_resources(closed: Jaxpr | ClosedJaxpr) -> dict[Hashable, Assigned]:
    found: dict[Hashable, Assigned] = {}
    for eqn in closed.eqns:
        for sub in sub_jaxprs(eqn.params):
            if eqn.primitive.identity == "xmapping.xmap":
                found.update(dict(eqn.params["resources"]))
            found.update(_nested_resources(sub))
    return found


def _check(axes: Iterable[Hashable], resources: Resources, what: Callable[..., str]) -> None:
    taken: dict[tuple[str, Hashable], Hashable] = {}
    for axis in sorted(axes, key=str):
        for resource in resources.get(axis, Assigned()).exclusive:
            if resource in taken:
                kind, name = resource
                raise ResourceClashError(
                    f"xmap: axes {taken[resource]!r} and {axis!r} both need the {kind} {name!r}, and meet in one "
                    f"value: {what()}; give one of them another resource, or none"
                )
            taken[resource] = axis


def _described(what: str, eqn: JaxprEqn, var: Var) -> str:
    place = "" if eqn.source_info is None else f" at {eqn.source_info.summarize()}"
    return f"the {what} {var.aval.str_short()} of {eqn.primitive.name}{place}"


# --- the picture ---


class Row(NamedTuple):
    """One value of a program: what it is, its type for one example, and the axes that it varies along."""

    what: str
    type: str
    axes: Container[Hashable]
    sizes: Sizes


def picture(
    closed: ClosedJaxpr, in_axes: Sequence[Positions], out_axes: Sequence[Positions], sizes: Sizes, resources: Resources
) -> str:
    """A table with a row for each value of a program, and a column for each axis with the place where it is."""
    every = {**resources, **_nested_resources(closed)}
    rows = [
        Row(f"argument {number}", aval.str_short(), {axis for axis, _ in positions}, sizes)
        for number, (aval, positions) in enumerate(zip(closed.in_avals, in_axes, strict=True))
    ]
    trace_variation(
        closed,
        named(in_axes),
        sizes,
        lambda what, eqn, var, axes, known: rows.append(Row(_titled(what, eqn), var.aval.str_short(), axes, known)),
    )
    rows += [
        Row(f"result {number}", aval.str_short(), {axis for axis, _ in positions}, sizes)
        for number, (aval, positions) in enumerate(zip(closed.out_avals, out_axes, strict=True))
    ]
    every_size = dict([pair for row in rows for pair in row.sizes])
    lines = [["value", "of one example", *[f"{axis} ({size})" for axis, size in every_size.items()]]]
    for row in rows:
        cells = [_place(every.get(axis, Assigned())) if axis in row.axes else "-" for axis in every_size]
        lines.append([row.what, row.type, *cells])
    widths = [max([len(line[column]) for line in lines]) for column in range(len(lines[0]))]
    return "\n".join(
        ["  ".join([cell.ljust(width) for cell, width in zip(line, widths, strict=True)]).rstrip() for line in lines]
    )


def _titled(what: str, eqn: JaxprEqn) -> str:
    return eqn.primitive.name if what == "result" else f"{what} of {eqn.primitive.name}"


def _place(assigned: Assigned) -> str:
    """Where an axis is: along which mesh axes, in which loop, or in whole arrays."""
    parts = [f"mesh {', '.join([str(axis) for axis in assigned.mesh_axes])}"] * bool(assigned.mesh_axes)
    parts += [f"loop of {assigned.loop}"] * (assigned.loop > 1)
    return ", ".join(parts) or "vector"
