"""The transposes: what gather reads, a scatter adds back; what a scatter adds, a gather reads."""

from __future__ import annotations

from tangrad._lax.elementwise.primitives import mul_p, neg_p
from tangrad._lax.indexing import primitives as p
from tangrad._lax.indexing.dimension_numbers import GatherDimensionNumbers, scatter_of
from tangrad._lax.indexing.inverse import gathered, zeros
from tangrad.autodiff import Linear, is_linear
from tangrad.core import Primitive, RuleSet
from tangrad.typing import Value

transpose = RuleSet("transpose", api=1)


@transpose.rule(p.gather_p)
def _(
    cotangent: Value,
    operand: Value | Linear,
    indices: Value | Linear,
    *,
    dimension_numbers: GatherDimensionNumbers,
    **params: object,
) -> tuple[Value | None, ...]:
    options = {name: params[name] for name in ("indices_are_sorted", "unique_indices", "mode")}
    numbers = scatter_of(dimension_numbers)
    return p.scatter_add_p.bind(zeros(operand.aval), indices, cotangent, dimension_numbers=numbers, **options), None


def _additive(primitive: Primitive, negative: bool) -> None:
    @transpose.rule(primitive)
    def _(
        cotangent: Value, operand: Value | Linear, indices: Value, updates: Value | Linear, **params: object
    ) -> tuple[Value | None, ...]:
        from_updates = None
        if is_linear(updates):
            from_updates = gathered(cotangent, indices, updates, params)
            from_updates = neg_p.bind(from_updates) if negative else from_updates
        return cotangent if is_linear(operand) else None, None, from_updates


_additive(p.scatter_add_p, False)
_additive(p.scatter_sub_p, True)


@transpose.rule(p.scatter_p)
def _(
    cotangent: Value, operand: Value | Linear, indices: Value, updates: Value | Linear, **params: object
) -> tuple[Value | None, ...]:
    # Linear where each index occurs once; the jvp rule makes no other.
    from_operand = p.scatter_p.bind(cotangent, indices, zeros(updates.aval), **params) if is_linear(operand) else None
    return from_operand, None, gathered(cotangent, indices, updates, params) if is_linear(updates) else None


@transpose.rule(p.scatter_mul_p)
def _(
    cotangent: Value, operand: Value | Linear, indices: Value, updates: Value | Linear, **params: object
) -> tuple[Value | None, ...]:
    if is_linear(operand):
        return p.scatter_mul_p.bind(cotangent, indices, updates, **params), None, None
    return None, None, gathered(mul_p.bind(cotangent, operand), indices, updates, params)


transpose.not_applicable("extrema are not linear", p.scatter_min_p, p.scatter_max_p)
