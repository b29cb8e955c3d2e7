"""How solves are differentiated, by the equations that they solve, transposed, mapped and thinned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tangrad._custom_rules.solves import call, custom_linear_solve_p, custom_root_p, split
from tangrad.autodiff import (
    Linear,
    Zero,
    add_tangents,
    instantiate,
    is_linear,
    jvp_flat,
    symbolic_zeros,
    with_weak_type_of,
)
from tangrad.batching import batch_jaxpr, place_axis, to_front
from tangrad.core import Array, ClosedJaxpr, JaxprEqn, Primitive, RuleSet, ShapedArray, dce_jaxpr, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.lax import neg_p

if TYPE_CHECKING:
    from tangrad.batching import AxisInfo
    from tangrad.core.protocols import DceRule
    from tangrad.typing import Dims, Params, Value, Values


dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)


def _thin(program: ClosedJaxpr, used_outputs: tuple[bool, ...], num_consts: int) -> tuple[ClosedJaxpr, list[bool]]:
    """The program without some outputs and without the constants that it then does not read; and which it reads."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        keep = [position >= num_consts for position in range(len(program.in_avals))]
        jaxpr, used = dce_jaxpr(program.jaxpr, used_outputs, keep)
        return ClosedJaxpr(jaxpr, program.consts), used[:num_consts]

    return _thinned.get(program, (used_outputs, num_consts), make)


def _thinner(names: Sequence[str]) -> DceRule:
    """The rule for a primitive whose programs have these names; the one named `solve` gives the results."""

    def rule(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        if not any(used_outputs) and not keeps_alive(equation.effects):
            return [False] * len(equation.invars), None
        params, num_consts = equation.params, equation.params["num_consts"]
        count = len(equation.invars) - sum(num_consts)
        wanted = (*[True] * count, *used_outputs[count:])
        new, used_inputs, counts = dict(params), [], []
        for name, number in zip(names, num_consts, strict=True):
            program = params[name]
            used: list[bool] = []
            if program is not None:
                outputs = wanted if name == "solve" else (True,) * len(program.out_avals)
                new[name], used = _thin(program, outputs, number)
            used_inputs.extend(used)
            counts.append(sum(used))
        used_inputs.extend([True] * count)
        return used_inputs, equation.replace(
            invars=[atom for atom, is_used in zip(equation.invars, used_inputs, strict=True) if is_used],
            outvars=[var for var, is_wanted in zip(equation.outvars, wanted, strict=True) if is_wanted],
            params={**new, "num_consts": tuple(counts)},
        )

    return rule


dce.rule(custom_root_p)(_thinner(("f", "solve", "tangent_solve")))
dce.rule(custom_linear_solve_p)(_thinner(("matvec", "vecmat", "solve", "transpose_solve")))


jvp = RuleSet("jvp", api=1)
transpose = RuleSet("transpose", api=1)


def _all_zero(tangents: Sequence[object]) -> bool:
    return all([type(tangent) is Zero for tangent in tangents])


def _typed(values: Sequence[Value | Zero], avals: Sequence[ShapedArray]) -> list[Value]:
    """Values with the weak-type flags of `avals`."""
    return [with_weak_type_of(instantiate(value), aval) for value, aval in zip(values, avals, strict=True)]


@jvp.rule(custom_root_p)
@symbolic_zeros
def _(
    primals: Values,
    tangents: tuple[Value | Zero, ...],
    *,
    f: ClosedJaxpr,
    solve: ClosedJaxpr,
    tangent_solve: ClosedJaxpr,
    num_consts: Sequence[int],
) -> tuple[Values, tuple[Value | Zero, ...]]:
    # f(m, x(m)) = 0 near m, hence  d_x f · dx = -d_m f · dm.  What only the search for x depends on has no part in it.
    outs = custom_root_p.bind(*primals, f=f, solve=solve, tangent_solve=tangent_solve, num_consts=num_consts)
    of_f, _, of_tangent_solve, _ = split(primals, num_consts)
    directions = tangents[: len(of_f)]
    nothing = tuple([Zero.of(out) for out in outs])
    if _all_zero(directions):
        return outs, nothing
    count = len(f.out_avals)
    x = _typed(outs[:count], tangent_solve.in_avals[len(of_tangent_solve) :][:count])
    _, change = jvp_flat(lambda *consts: call(f, consts, x), of_f, directions)
    if _all_zero(change):
        return outs, nothing
    b = _typed(change, tangent_solve.in_avals[len(of_tangent_solve) + count :])
    found = [neg_p.bind(value) for value in call(tangent_solve, of_tangent_solve, x, b)]
    return outs, (*_typed(found, [out.aval for out in outs[:count]]), *nothing[count:])


@jvp.rule(custom_linear_solve_p)
@symbolic_zeros
def _linear_solve(
    primals: Values, tangents: tuple[Value | Zero, ...], *, num_consts: tuple[int, ...], **programs: ClosedJaxpr
) -> tuple[tuple[Array, ...], tuple[object, ...]]:
    # A x = b,  hence  A dx = db - dA x: one more solution with the same A.
    outs = custom_linear_solve_p.bind(*primals, num_consts=num_consts, **programs)
    of_matvec, *others, b = split(primals, num_consts)
    count = len(b)
    change = list(tangents[len(tangents) - count :])
    directions = tangents[: len(of_matvec)]
    if not _all_zero(directions):
        x = outs[:count]
        _, of_matrix = jvp_flat(lambda *consts: call(programs["matvec"], consts, x), of_matvec, directions)
        negative = [value if type(value) is Zero else neg_p.bind(value) for value in of_matrix]
        change = [add_tangents(one, other) for one, other in zip(change, negative, strict=True)]
    nothing = tuple([Zero.of(out) for out in outs])
    if _all_zero(change):
        return outs, nothing
    consts = [const for part in (of_matvec, *others) for const in part]
    avals = programs["solve"].in_avals[-count:]
    found = custom_linear_solve_p.bind(*consts, *_typed(change, avals), num_consts=num_consts, **programs)
    return outs, (*found[:count], *nothing[count:])


@transpose.rule(custom_linear_solve_p)
@symbolic_zeros
def _transpose(
    cotangents: Values,
    *args: Value | Linear,
    matvec: ClosedJaxpr,
    vecmat: ClosedJaxpr,
    solve: ClosedJaxpr,
    transpose_solve: ClosedJaxpr,
    num_consts: tuple[int, ...],
) -> tuple[Value | None, ...]:
    if transpose_solve is None:
        raise TypeError(
            "custom_linear_solve: a reverse-mode derivative solves the transposed equation, so it needs "
            "transpose_solve, or symmetric=True where matvec is its own transpose"
        )
    *consts, b = split(args, num_consts)
    if any([is_linear(const) for part in consts for const in part]):
        raise TypeError("custom_linear_solve is linear in b alone, and not in what matvec and solve close over")
    count = len(b)
    if not _all_zero(cotangents[count:]):
        raise TypeError("custom_linear_solve: auxiliary values are not linear in b, so they take no cotangents")
    of_matvec, of_vecmat, of_solve, of_transpose_solve = consts
    parts = (of_vecmat, of_matvec, of_transpose_solve, of_solve)
    found = custom_linear_solve_p.bind(
        *[const for part in parts for const in part],
        *_typed(cotangents[:count], transpose_solve.in_avals[-count:]),
        matvec=vecmat,
        vecmat=matvec,
        solve=transpose_solve,
        transpose_solve=solve,
        num_consts=tuple([len(part) for part in parts]),
    )
    return (*[None] * (len(args) - count), *found[:count])


transpose.not_applicable("a root is not linear in what its function depends on", custom_root_p)


batch = RuleSet("batch", api=1)

Flags = tuple[bool, ...]


def _mapped(dims: Sequence[object]) -> Flags:
    return tuple([dim is not None for dim in dims])


def _agreed(
    programs: Sequence[ClosedJaxpr], of_consts: Sequence[Flags], repeats: Sequence[int], start: Flags, axis: AxisInfo
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
    programs: Sequence[ClosedJaxpr], of_consts: Sequence[Flags], repeats: Sequence[int], flags: Flags, axis: AxisInfo
) -> list[tuple[ClosedJaxpr | None, Flags]]:
    """The mapped programs, and which of their results are mapped."""
    found: list[tuple[ClosedJaxpr | None, Flags]] = []
    for program, consts, repeat in zip(programs, of_consts, repeats, strict=True):
        if program is None:
            found.append((None, ()))
        else:
            wanted = (*flags, *[False] * (len(program.out_avals) - len(flags)))
            found.append(batch_jaxpr(program, (*consts, *flags * repeat), axis, wanted))
    return found


def _bind(
    primitive: Primitive, repeats: dict[str, int], args: tuple[Value, ...], dims: Dims, axis: AxisInfo, params: Params
) -> tuple[Values, Dims]:
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
def _(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: object) -> tuple[Values, Dims]:
    return _bind(custom_root_p, {"f": 1, "solve": 1, "tangent_solve": 2}, args, dims, axis_info, params)


@batch.rule(custom_linear_solve_p)
def _linear_solve_mapped(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: object) -> tuple[Values, Dims]:
    repeats = {"matvec": 1, "vecmat": 1, "solve": 1, "transpose_solve": 1}
    return _bind(custom_linear_solve_p, repeats, args, dims, axis_info, params)
