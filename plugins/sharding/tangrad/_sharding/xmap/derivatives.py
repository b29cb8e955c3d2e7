"""How a mapped program is differentiated and transposed: its program is, and the results are mapped programs again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from tangrad._sharding.xmap.axes import Positions
from tangrad._sharding.xmap.levels import total_size
from tangrad._sharding.xmap.primitives import in_scope, with_axes, xmap_p
from tangrad._sharding.xmap.variation import named, varying_results
from tangrad.autodiff import (
    Linear,
    Linearized,
    PartialEval,
    Zero,
    is_linear,
    is_marked_linear,
    jvp_jaxpr,
    linearize_jaxpr,
    partial_eval_jaxpr,
    symbolic_zeros,
    transpose_jaxpr,
)
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    RuleSet,
    ShapedArray,
    Var,
    equation_effects,
    eval_jaxpr,
    literal,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.lax import div_p

if TYPE_CHECKING:
    from tangrad._sharding.xmap.variation import Sizes
    from tangrad.typing import Value, Values


jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)


@jvp.rule(xmap_p)
@symbolic_zeros
def _(
    primals: Values,
    tangents: Sequence[Value | Zero],
    *,
    jaxpr: ClosedJaxpr,
    in_axes: Sequence[Positions],
    out_axes: Sequence[Positions],
    sums: Sequence[tuple[Hashable, ...]],
    name: str,
    **params: Any,
) -> tuple[Values, tuple[Value | Zero, ...]]:
    nonzero = tuple([type(tangent) is not Zero for tangent in tangents])
    with in_scope(params["sizes"]):
        program, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    results = xmap_p.bind(
        *primals,
        *compress(tangents, nonzero),
        jaxpr=program,
        in_axes=(*in_axes, *compress(in_axes, nonzero)),
        out_axes=(*out_axes, *compress(out_axes, nonzero_out)),
        sums=(*sums, *compress(sums, nonzero_out)),
        name=f"jvp_{name}",
        **params,
    )
    count = len(jaxpr.out_avals)
    outs, rest = results[:count], iter(results[count:])
    return outs, tuple([next(rest) if has else Zero.of(out) for out, has in zip(outs, nonzero_out, strict=True)])


def _residual_axes(
    program: ClosedJaxpr,
    in_axes: tuple[Positions, ...],
    sizes: Sizes,
    count: int,
) -> tuple[Positions, ...]:
    """The dimensions of the results after the first `count`, residuals: those that they vary along, in front."""
    found = varying_results(program, named(in_axes), sizes)[count:]
    return tuple(
        [tuple(zip([name for name, _ in sizes if name in axes], range(len(axes)), strict=True)) for axes in found]
    )


@linearize.rule(xmap_p)
def _(
    primals: Values,
    active: Sequence[bool],
    *,
    jaxpr: ClosedJaxpr,
    in_axes: tuple[Positions, ...],
    out_axes: Sequence[Positions],
    sums: Sequence[tuple[Hashable, ...]],
    **params: Any,
) -> Linearized:
    sizes = params["sizes"]
    with in_scope(sizes):
        program = linearize_jaxpr(jaxpr, active)
    own = _residual_axes(program.primal, in_axes, sizes, len(out_axes))
    outs = xmap_p.bind(
        *primals,
        jaxpr=program.primal,
        in_axes=in_axes,
        out_axes=(*out_axes, *own),
        sums=(*sums, *[()] * len(own)),
        **params,
    )
    primals_out, residuals = program.split(primals, outs)
    rest = iter(own)
    axes = [next(rest) if source is None else in_axes[source] for source in program.residual_sources]
    linear = _as_call(
        program.linear,
        in_axes=(*axes, *compress(in_axes, active)),
        out_axes=tuple(compress(out_axes, program.nonzero)),
        sums=tuple(compress(sums, program.nonzero)),
        **params,
    )
    return Linearized(tuple(primals_out), tuple(residuals), linear, program.nonzero)


def _as_call(program: ClosedJaxpr, **params: Any) -> ClosedJaxpr:
    """A program of one equation, which maps `program`."""
    sizes = dict(params["sizes"])
    inputs = _variables(program.in_avals, params["in_axes"], sizes)
    outputs = _variables(program.out_avals, params["out_axes"], sizes)
    params["jaxpr"] = program
    effects = equation_effects(xmap_p, tuple([var.aval for var in inputs]), params)
    return ClosedJaxpr(Jaxpr([], inputs, outputs, [JaxprEqn(xmap_p, inputs, outputs, params, effects)]))


def _variables(avals: Sequence[ShapedArray], axes: Iterable[Positions], sizes: dict[Hashable, int]) -> list[Var]:
    return [
        Var(aval.update(shape=with_axes(aval.shape, positions, sizes)))
        for aval, positions in zip(avals, axes, strict=True)
    ]


@partial_eval.rule(xmap_p)
def _(
    known: Sequence[bool],
    args: Values,
    *,
    jaxpr: ClosedJaxpr,
    in_axes: Sequence[Positions],
    out_axes: Sequence[Positions],
    sums: Sequence[tuple[Hashable, ...]],
    **params: Any,
) -> PartialEval | None:
    if is_marked_linear(jaxpr):
        return None
    sizes = params["sizes"]
    with in_scope(sizes):
        program = partial_eval_jaxpr(jaxpr, known)
    if not any(program.out_known):
        return None
    given, given_axes = list(compress(args, known)), tuple(compress(in_axes, known))
    count = sum(program.out_known)
    own_axes = _residual_axes(program.known, given_axes, sizes, count)
    results = xmap_p.bind(
        *given,
        jaxpr=program.known,
        in_axes=given_axes,
        out_axes=(*compress(out_axes, program.out_known), *own_axes),
        sums=(*compress(sums, program.out_known), *[()] * len(own_axes)),
        **params,
    )
    known_outs, residuals = program.split(given, results)
    rest = iter(own_axes)
    axes = [next(rest) if source is None else given_axes[source] for source in program.residual_sources]
    if all(program.out_known):
        return PartialEval(known_outs, (), None)
    unknown_out = [not is_known for is_known in program.out_known]
    call = _as_call(
        program.unknown,
        in_axes=(*axes, *compress(in_axes, [not is_known for is_known in known])),
        out_axes=tuple(compress(out_axes, unknown_out)),
        sums=tuple(compress(sums, unknown_out)),
        **params,
    )
    return PartialEval(known_outs, residuals, call.eqns[0])


transpose = RuleSet("transpose", api=1)
_programs = JaxprCache()
register_cache(_programs.clear)


@transpose.rule(xmap_p)
@symbolic_zeros
def _(
    cotangents: Sequence[Value | Zero],
    *args: Value | Linear,
    jaxpr: ClosedJaxpr,
    in_axes: Sequence[Positions],
    out_axes: Sequence[Positions],
    sums: Sequence[tuple[Hashable, ...]],
    sizes: Sequence[tuple[Hashable, int]],
    name: str,
    **params: object,
) -> tuple[Value | None, ...]:
    linear = tuple([is_linear(arg) for arg in args])
    given = tuple([type(cotangent) is not Zero for cotangent in cotangents])
    known = dict(sizes)
    shares = []
    for axes, summed, has in zip(out_axes, sums, given, strict=True):
        if has:
            missing = known.keys() - {axis for axis, _ in axes} - {*summed}
            shares.append(total_size(known, missing))
    with in_scope(sizes):
        key = (linear, given, tuple(shares))
        program, nonzero = _programs.get(jaxpr, key, lambda: _transposed(jaxpr, *key))
    known_axes = [axes for axes, is_unknown in zip(in_axes, linear, strict=True) if not is_unknown]
    unknown_axes = [axes for axes, is_unknown in zip(in_axes, linear, strict=True) if is_unknown]
    wanted = tuple([axes for axes, has in zip(unknown_axes, nonzero, strict=True) if has])
    results = xmap_p.bind(
        *[arg for arg in args if not is_linear(arg)],
        *[ct for ct in cotangents if type(ct) is not Zero],
        jaxpr=program,
        in_axes=(*known_axes, *[axes for axes, has in zip(out_axes, given, strict=True) if has]),
        out_axes=wanted,
        sums=tuple([tuple([axis for axis, _ in sizes if axis not in dict(axes)]) for axes in wanted]),
        sizes=sizes,
        name=f"transpose_{name}",
        **params,
    )
    found = iter(results)
    per_unknown = iter([next(found) if has else None for has in nonzero])
    return tuple([next(per_unknown) if is_unknown else None for is_unknown in linear])


def _transposed(
    jaxpr: ClosedJaxpr, linear: tuple[bool, ...], given: tuple[bool, ...], shares: tuple[object, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The transposed program, of shares of the cotangents."""
    program, nonzero = transpose_jaxpr(jaxpr, linear, given)
    if all([share == 1 for share in shares]):
        return program, nonzero
    count = len(program.in_avals) - len(shares)

    def run(*args: Value) -> list[Value]:
        parts = [
            ct if share == 1 else div_p.bind(ct, literal(share, ct.aval.dtype, False))
            for ct, share in zip(args[count:], shares, strict=True)
        ]
        return eval_jaxpr(program.jaxpr, program.consts, *args[:count], *parts)

    return trace_to_closed_jaxpr(run, program.in_avals, program.jaxpr.debug_name), nonzero
