"""How a linear mapped program is transposed: its program is, and the result is mapped over the same axes.

All examples count, each with the cotangent of its own copy of a result. A result that is the same for all stands for
that of one of them: each gets an equal share of its cotangent. A result that is a sum hands its cotangent to each. An
argument that is the same for all gets the sum of what each example has for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._xmap.levels import total_size
from tangrad._xmap.primitives import in_scope, xmap_p
from tangrad.autodiff import Linear, Zero, is_linear, symbolic_zeros, transpose_jaxpr
from tangrad.core import ClosedJaxpr, RuleSet, eval_jaxpr, literal, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.lax import div_p

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

transpose = RuleSet("transpose", api=1)
_programs = JaxprCache()
register_cache(_programs.clear)


@transpose.rule(xmap_p)
@symbolic_zeros
def _(
    cotangents: Values,
    *args: Value | Linear,
    jaxpr: ClosedJaxpr,
    in_axes: Any,
    out_axes: Any,
    sums: Any,
    sizes: Any,
    name: str,
    **params: Any,
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


def _transposed(jaxpr: ClosedJaxpr, linear: tuple[bool, ...], given: tuple[bool, ...], shares: tuple[Any, ...]) -> Any:
    """The transposed program, of shares of the cotangents."""
    program, nonzero = transpose_jaxpr(jaxpr, linear, given)
    if all([share == 1 for share in shares]):
        return program, nonzero
    count = len(program.in_avals) - len(shares)

    def run(*args: Any) -> list[Any]:
        parts = [
            ct if share == 1 else div_p.bind(ct, literal(share, ct.aval.dtype, False))
            for ct, share in zip(args[count:], shares, strict=True)
        ]
        return eval_jaxpr(program.jaxpr, program.consts, *args[:count], *parts)

    return trace_to_closed_jaxpr(run, program.in_avals, program.jaxpr.debug_name), nonzero
