"""How solves are mapped: all their programs are, and agree about which parts of the unknown are mapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.solves import custom_linear_solve_p, custom_root_p, split
from tangrad.batching import batch_jaxpr, place_axis, to_front
from tangrad.core import ClosedJaxpr, Primitive, RuleSet

if TYPE_CHECKING:
    from tangrad.core.protocols import AxisInfo
    from tangrad.typing import Dims, Params, Values

batch = RuleSet("batch", api=1)

Flags = tuple[bool, ...]


def _mapped(dims: Sequence[Any]) -> Flags:
    return tuple([dim is not None for dim in dims])


def _agreed(
    programs: Sequence[ClosedJaxpr], of_consts: Sequence[Flags], repeats: Sequence[int], start: Flags, axis: Any
) -> Flags:
    """Which parts of the unknown are mapped: the least that every program gives back as it takes it.

    `repeats`: how many unknowns each program takes.
    """
    flags = start
    while True:
        found = flags
        for program, consts, repeat in zip(programs, of_consts, repeats, strict=True):
            if program is not None:
                out_mapped = batch_jaxpr(program, (*consts, *flags * repeat), axis)[1][: len(flags)]
                found = tuple([one or other for one, other in zip(found, out_mapped, strict=True)])
        if found == flags:
            return flags
        flags = found


def _programs(
    programs: Sequence[ClosedJaxpr], of_consts: Sequence[Flags], repeats: Sequence[int], flags: Flags, axis: Any
) -> list[tuple[Any, Flags]]:
    """The mapped programs, and which of their results are mapped."""
    found: list[tuple[Any, Flags]] = []
    for program, consts, repeat in zip(programs, of_consts, repeats, strict=True):
        if program is None:
            found.append((None, ()))
        else:
            wanted = (*flags, *[False] * (len(program.out_avals) - len(flags)))
            found.append(batch_jaxpr(program, (*consts, *flags * repeat), axis, wanted))
    return found


def _bind(primitive: Primitive, repeats: dict[str, int], args: Any, dims: Dims, axis: Any, params: Params) -> Any:
    """Bind the mapped solve. `repeats`: its programs, in the order of their constants: how many unknowns each takes."""
    num_consts, each = params["num_consts"], tuple(repeats.values())
    count = sum(num_consts)
    programs = [params[name] for name in repeats]
    *of_consts, start = [tuple(part) for part in split(_mapped(dims), num_consts)]
    flags = _agreed(programs, of_consts, each, start, axis)
    made = dict(zip(repeats, _programs(programs, of_consts, each, flags, axis), strict=True))
    pairs = list(zip(args, dims, strict=True))
    outs = primitive.bind(
        *[to_front(value, dim) for value, dim in pairs[:count]],
        *[
            place_axis(value, dim, 0, axis.size) if is_mapped else value
            for (value, dim), is_mapped in zip(pairs[count:], flags, strict=True)
        ],
        num_consts=num_consts,
        **{name: program for name, (program, _) in made.items()},
    )
    return outs, tuple([0 if is_mapped else None for is_mapped in made["solve"][1]])


@batch.rule(custom_root_p)
def _(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: Any) -> Any:
    return _bind(custom_root_p, {"f": 1, "solve": 1, "tangent_solve": 2}, args, dims, axis_info, params)


@batch.rule(custom_linear_solve_p)
def _linear_solve(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: Any) -> Any:
    repeats = {"matvec": 1, "vecmat": 1, "solve": 1, "transpose_solve": 1}
    return _bind(custom_linear_solve_p, repeats, args, dims, axis_info, params)
