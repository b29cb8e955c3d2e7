"""How a sharded map of a linear program is transposed.

A result that is the same on several devices is taken from each in equal shares, so each gets a share of its cotangent;
an argument that is the same on several devices has the sum of their cotangents. Where types record what is the same,
such a value is one: its cotangent is whole, and what uses it on each device is summed there
(`tangrad._autodiff.varying`). That comes to the same, but for users' rules that are not linear in cotangents, such as
one that clips them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad._sharding.shard_map.programs import sharing_cotangents, with_differing_results
from tangrad._sharding.shard_map.scope import axes_in_scope
from tangrad._sharding.shard_map.specs import mentioned, size_along
from tangrad.autodiff import Linear, Zero, is_linear, symbolic_zeros, transpose_jaxpr
from tangrad.core import Array, ClosedJaxpr, RuleSet, ShapedArray, Sharding

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

transpose = RuleSet("transpose", api=1)


@transpose.rule(shard_map_p)
@symbolic_zeros
def _(
    cotangents: Values,
    *args: Value | Linear,
    jaxpr: ClosedJaxpr,
    mesh: Any,
    in_shardings: tuple[Sharding, ...],
    out_shardings: Any,
    manual_axes: Any,
    checked: bool,
) -> tuple[Array | None, ...]:
    linear = tuple([is_linear(arg) for arg in args])
    given = tuple([type(cotangent) is not Zero for cotangent in cotangents])

    def not_in(sharding: Any) -> tuple[Any, ...]:
        return tuple([axis for axis in manual_axes if axis not in mentioned(sharding)])

    known = [(arg, sharding) for arg, sharding, unknown in zip(args, in_shardings, linear, strict=True) if not unknown]
    cuts = [sharding for sharding, unknown in zip(in_shardings, linear, strict=True) if unknown]
    present = [(ct, sharding) for ct, sharding, has in zip(cotangents, out_shardings, given, strict=True) if has]

    def alike(sharding: Sharding, aval: ShapedArray) -> tuple[Any, ...]:
        """The axes along which parts are the same, though for all that is known of the program they might differ."""
        typed = [name for name, _ in aval.named_shape]
        return tuple([axis for axis in not_in(sharding) if not checked or axis in typed])

    with axes_in_scope(mesh, manual_axes, checked):
        if checked:
            jaxpr = with_differing_results(jaxpr, [mentioned(sharding) for sharding in out_shardings])
        program, nonzero = transpose_jaxpr(jaxpr, linear, given)
        unknown_avals = [aval for aval, unknown in zip(jaxpr.in_avals, linear, strict=True) if unknown]
        wanted = [pair for pair, has in zip(zip(cuts, unknown_avals, strict=True), nonzero, strict=True) if has]
        results_cuts = tuple([sharding for sharding, _ in wanted])
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
        in_shardings=(*[sharding for _, sharding in known], *[sharding for _, sharding in present]),
        out_shardings=results_cuts,
        manual_axes=manual_axes,
        checked=checked,
    )
    found = iter(results)
    per_unknown = iter([next(found) if has else None for has in nonzero])
    return tuple([next(per_unknown) if is_unknown else None for is_unknown in linear])
