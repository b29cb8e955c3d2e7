"""Where each axis of each value lives: axes that meet in a value must not need the same resource; and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._xmap.resources import Assigned
from tangrad._xmap.specs import Positions
from tangrad._xmap.variation import Sizes, named, trace_variation
from tangrad.core.tools import sub_jaxprs

if TYPE_CHECKING:
    from tangrad.core import ClosedJaxpr, JaxprEqn, Var

Resources = Mapping[Any, Assigned]


class ResourceClashError(TypeError):
    """Two axes that one value varies along need the same axis of a mesh, or the same named serial loop."""


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

    def observe(what: str, eqn: JaxprEqn, var: Var, axes: Any, _: Sizes) -> None:
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


def _nested_resources(closed: Any) -> dict[Any, Assigned]:
    found: dict[Any, Assigned] = {}
    for eqn in closed.eqns:
        for sub in sub_jaxprs(eqn.params):
            if eqn.primitive.identity == "xmapping.xmap":
                found.update(dict(eqn.params["resources"]))
            found.update(_nested_resources(sub))
    return found


def _check(axes: Any, resources: Resources, what: Any) -> None:
    taken: dict[Any, Any] = {}
    for axis in sorted(axes, key=str):
        for resource in resources.get(axis, Assigned()).exclusive:
            if resource in taken:
                kind, name = resource
                raise ResourceClashError(
                    f"xmap: axes {taken[resource]!r} and {axis!r} both need the {kind} {name!r}, and meet in one "
                    f"value: {what()}; give one of them another resource, or none"
                )
            taken[resource] = axis


def _described(what: str, eqn: Any, var: Any) -> str:
    place = "" if eqn.source_info is None else f" at {eqn.source_info.summarize()}"
    return f"the {what} {var.aval.str_short()} of {eqn.primitive.name}{place}"


# --- the picture ----------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """One value of a program: what it is, its type for one example, and the axes that it varies along."""

    what: str
    type: str
    axes: Any
    sizes: Sizes


def picture(closed: Any, in_axes: Any, out_axes: Any, sizes: Sizes, resources: Resources) -> str:
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


def _titled(what: str, eqn: Any) -> str:
    return eqn.primitive.name if what == "result" else f"{what} of {eqn.primitive.name}"


def _place(assigned: Assigned) -> str:
    """Where an axis is: along which mesh axes, in which loop, or in whole arrays."""
    parts = [f"mesh {', '.join([str(axis) for axis in assigned.mesh_axes])}"] * bool(assigned.mesh_axes)
    parts += [f"loop of {assigned.loop}"] * (assigned.loop > 1)
    return ", ".join(parts) or "vector"
