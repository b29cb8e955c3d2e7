"""How a sharded map is differentiated: its program is, and the results are sharded maps again.

Values that the second, linear half needs of the first are put out as stacks, one of each device that has its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.primitives import (
    shard_map_p,
    sharing_cotangents,
    stacking,
    unstacking,
    with_differing_results,
)
from tangrad._sharding.shard_map.replication import types_suffice, varying_of_program
from tangrad._sharding.shard_map.scope import (
    axes_in_scope,
    axes_of_outer_maps,
    dual,
    mentioned,
    over_all,
    size_along,
    whole_aval,
)
from tangrad.autodiff import (
    Linear,
    Linearized,
    PartialEval,
    Zero,
    is_linear,
    is_marked_linear,
    jvp_jaxpr,
    linearize_jaxpr,
    mark_linear,
    partial_eval_jaxpr,
    symbolic_zeros,
    transpose_jaxpr,
)
from tangrad.core import Array, ClosedJaxpr, Jaxpr, JaxprEqn, RuleSet, ShapedArray, Sharding, Var, equation_effects
from tangrad.sharding import NamedSharding

if TYPE_CHECKING:
    from tangrad._sharding.mesh import Mesh
    from tangrad.typing import Params, Value, Values


jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)


@jvp.rule(shard_map_p)
@symbolic_zeros
def _(
    primals: Values,
    tangents: Sequence[Value | Zero],
    *,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: Sequence[NamedSharding],
    out_shardings: Sequence[NamedSharding],
    manual_axes: Sequence[Hashable],
    checked: bool,
) -> tuple[Values, tuple[Value | Zero, ...]]:
    nonzero = tuple([type(tangent) is not Zero for tangent in tangents])
    with axes_in_scope(mesh, manual_axes, checked):
        program, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    results = shard_map_p.bind(
        *primals,
        *compress(tangents, nonzero),
        jaxpr=program,
        mesh=mesh,
        in_shardings=(*in_shardings, *compress(in_shardings, nonzero)),
        out_shardings=(*out_shardings, *compress(out_shardings, nonzero_out)),
        manual_axes=manual_axes,
        checked=checked,
    )
    count = len(jaxpr.out_avals)
    outs, rest = results[:count], iter(results[count:])
    return outs, tuple([next(rest) if has else Zero.of(out) for out, has in zip(outs, nonzero_out, strict=True)])


@linearize.rule(shard_map_p)
def _(
    primals: Values,
    active: Sequence[bool],
    *,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: Sequence[NamedSharding],
    out_shardings: Sequence[NamedSharding],
    manual_axes: tuple[Hashable, ...],
    checked: bool,
) -> Linearized:
    with axes_in_scope(mesh, manual_axes, checked):
        program = linearize_jaxpr(jaxpr, active)
        count = len(jaxpr.out_avals)
        first = stacking(program.primal, count)
        second = mark_linear(_of_residuals(program.linear, program.residual_sources))
        mapped = axes_of_outer_maps(jaxpr, (*in_shardings, *out_shardings))
        stacks = _stacks(first, count, mesh, in_shardings, manual_axes, checked, mapped)
    outs = shard_map_p.bind(
        *primals,
        jaxpr=first,
        mesh=mesh,
        in_shardings=in_shardings,
        out_shardings=(*out_shardings, *stacks),
        manual_axes=manual_axes,
        checked=checked,
    )
    primals_out, residuals = program.split(primals, outs)
    params = {
        "jaxpr": second,
        "mesh": mesh,
        "in_shardings": (
            *_cuts_of_residuals(stacks, in_shardings, program.residual_sources),
            *compress(in_shardings, active),
        ),
        "out_shardings": tuple(compress(out_shardings, program.nonzero)),
        "manual_axes": manual_axes,
        "checked": checked,
    }
    return Linearized(tuple(primals_out), tuple(residuals), _as_call(params), program.nonzero)


@partial_eval.rule(shard_map_p)
def _(
    known: Sequence[bool],
    args: Values,
    *,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: Sequence[NamedSharding],
    out_shardings: Sequence[NamedSharding],
    manual_axes: tuple[Hashable, ...],
    checked: bool,
) -> PartialEval | None:
    if is_marked_linear(jaxpr):
        return None
    with axes_in_scope(mesh, manual_axes, checked):
        program = partial_eval_jaxpr(jaxpr, known)
        if not any(program.out_known):
            return None
        count = sum(program.out_known)
        first = stacking(program.known, count)
        second = _of_residuals(program.unknown, program.residual_sources)
        given, given_shardings = tuple(compress(args, known)), tuple(compress(in_shardings, known))
        mapped = axes_of_outer_maps(jaxpr, (*in_shardings, *out_shardings))
        stacks = _stacks(first, count, mesh, given_shardings, manual_axes, checked, mapped)
    results = shard_map_p.bind(
        *given,
        jaxpr=first,
        mesh=mesh,
        in_shardings=given_shardings,
        out_shardings=(*compress(out_shardings, program.out_known), *stacks),
        manual_axes=manual_axes,
        checked=checked,
    )
    known_outs, residuals = program.split(given, results)
    if all(program.out_known):
        return PartialEval(known_outs, (), None)
    params = {
        "jaxpr": second,
        "mesh": mesh,
        "in_shardings": (
            *_cuts_of_residuals(stacks, given_shardings, program.residual_sources),
            *compress(in_shardings, [not is_known for is_known in known]),
        ),
        "out_shardings": tuple(compress(out_shardings, [not is_known for is_known in program.out_known])),
        "manual_axes": manual_axes,
        "checked": checked,
    }
    (call,) = _as_call(params).eqns
    return PartialEval(known_outs, residuals, call)


def _stacks(
    first: ClosedJaxpr,
    count: int,
    mesh: Mesh,
    in_shardings: Sequence[NamedSharding],
    manual_axes: Sequence[Hashable],
    checked: bool,
    mapped: set[Hashable],
) -> tuple[NamedSharding, ...]:
    """How the stacks that a first half puts out after its `count` results are cut.

    Not along `mapped`, the axes of `vmap`s around: these cut the examples, and are not to be had twice.
    What types say is the same along an axis is one value, as it is in the program: as a stack of one value of each
    device it would be used as many times by derivatives of derivatives. It is kept once, too.
    """
    avals = first.out_avals[count:]
    if not checked:
        return (over_all(mesh, [axis for axis in manual_axes if axis not in mapped]),) * len(avals)
    differing = [frozenset([name for name, _ in aval.named_shape]) for aval in avals]
    if not types_suffice(first.jaxpr):
        found = varying_of_program(first, [frozenset(mentioned(sharding)) for sharding in in_shardings])
        differing = [stated | more for stated, more in zip(differing, found[count:], strict=True)]
    return tuple([over_all(mesh, [axis for axis in manual_axes if axis in axes]) for axes in differing])


def _cuts_of_residuals(
    stacks: Sequence[NamedSharding], in_shardings: Sequence[NamedSharding], sources: tuple[int | None, ...]
) -> list[Sharding]:
    own = iter(stacks)
    return [next(own) if source is None else in_shardings[source] for source in sources]


def _of_residuals(closed: ClosedJaxpr, sources: Sequence[object]) -> ClosedJaxpr:
    """A second half that takes the residuals that are no inputs of the first as stacks of one."""
    stacked = [source is None for source in sources]
    return unstacking(closed, [*stacked, *[False] * (len(closed.in_avals) - len(stacked))])


def _as_call(params: Params) -> ClosedJaxpr:
    """A program of one equation: the tape then holds one for the whole map."""
    program, manual = params["jaxpr"], params["manual_axes"]
    inputs = [
        Var(whole_aval(aval, s, manual)) for aval, s in zip(program.in_avals, params["in_shardings"], strict=True)
    ]
    outputs = [
        Var(whole_aval(aval, s, manual)) for aval, s in zip(program.out_avals, params["out_shardings"], strict=True)
    ]
    effects = equation_effects(shard_map_p, tuple([var.aval for var in inputs]), params)
    return ClosedJaxpr(Jaxpr([], inputs, outputs, [JaxprEqn(shard_map_p, inputs, outputs, params, effects)]))


transpose = RuleSet("transpose", api=1)


@transpose.rule(shard_map_p)
@symbolic_zeros
def _(
    cotangents: Values,
    *args: Value | Linear,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: tuple[NamedSharding, ...],
    out_shardings: Any,
    manual_axes: Sequence[Hashable],
    checked: bool,
) -> tuple[Array | None, ...]:
    linear = tuple([is_linear(arg) for arg in args])
    given = tuple([type(cotangent) is not Zero for cotangent in cotangents])

    mapped = axes_of_outer_maps(jaxpr, (*in_shardings, *out_shardings))

    def not_in(sharding: NamedSharding) -> tuple[Hashable, ...]:
        """The axes along which parts of one example are the same."""
        return tuple([axis for axis in manual_axes if axis not in mentioned(sharding) and axis not in mapped])

    known = [(arg, sharding) for arg, sharding, unknown in zip(args, in_shardings, linear, strict=True) if not unknown]
    cuts = [sharding for sharding, unknown in zip(in_shardings, linear, strict=True) if unknown]
    present = [(ct, sharding) for ct, sharding, has in zip(cotangents, out_shardings, given, strict=True) if has]

    def alike(sharding: NamedSharding, aval: ShapedArray) -> tuple[Hashable, ...]:
        """The axes along which parts are the same, though for all that is known of the program they might differ."""
        typed = [name for name, _ in aval.named_shape]
        return tuple([axis for axis in not_in(sharding) if not checked or axis in typed])

    with axes_in_scope(mesh, manual_axes, checked):
        if checked:
            jaxpr = with_differing_results(jaxpr, [mentioned(sharding) for sharding in out_shardings])
        program, nonzero = transpose_jaxpr(jaxpr, linear, given)
        unknown_avals = [aval for aval, unknown in zip(jaxpr.in_avals, linear, strict=True) if unknown]
        wanted = [pair for pair, has in zip(zip(cuts, unknown_avals, strict=True), nonzero, strict=True) if has]
        results_cuts = tuple([dual(sharding) for sharding, _ in wanted])
        of_results = [aval for aval, has in zip(jaxpr.out_avals, given, strict=True) if has]
        shares = [
            size_along(mesh, alike(sharding, aval)) for (_, sharding), aval in zip(present, of_results, strict=True)
        ]
        program = sharing_cotangents(program, shares, [alike(sharding, aval) for sharding, aval in wanted])
    results = shard_map_p.bind(
        *[arg for arg, _ in known],
        *[ct for ct, _ in present],
        jaxpr=program,
        mesh=mesh,
        in_shardings=(*[sharding for _, sharding in known], *[dual(sharding) for _, sharding in present]),
        out_shardings=results_cuts,
        manual_axes=manual_axes,
        checked=checked,
    )
    found = iter(results)
    per_unknown = iter([next(found) if has else None for has in nonzero])
    return tuple([next(per_unknown) if is_unknown else None for is_unknown in linear])
