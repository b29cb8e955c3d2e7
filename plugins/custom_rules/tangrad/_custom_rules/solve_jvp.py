"""How solves are differentiated: by the equations that they solve; and how linear ones are transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
from tangrad.core import ClosedJaxpr, RuleSet, ShapedArray
from tangrad.extend.lax import neg_p

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)
transpose = RuleSet("transpose", api=1)


def _all_zero(tangents: Sequence[Any]) -> bool:
    return all([type(tangent) is Zero for tangent in tangents])


def _typed(values: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Value]:
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
    num_consts: Any,
) -> Any:
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
def _linear_solve(primals: Values, tangents: tuple[Value | Zero, ...], *, num_consts: Any, **programs: Any) -> Any:
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
    num_consts: Any,
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
