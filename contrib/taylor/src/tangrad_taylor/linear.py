"""What is linear acts on each coefficient by itself; what is linear in each of two operands multiplies series."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import tangrad
from tangrad.autodiff import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p
from tangrad.core import RuleSet
from tangrad.extend import lax
from tangrad.extend.lax import dot_general_p, sort_p, top_k_p
from tangrad_taylor.arithmetic import array, coefficient, is_constant
from tangrad_taylor.trace import is_inexact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tangrad.core import Array, Primitive
    from tangrad.typing import Value
    from tangrad_taylor.arithmetic import Series, Term
    from tangrad_taylor.derived import Rule


def linear(primitive: Primitive) -> Rule:
    """The rule of a primitive that is linear in its operands together; integers among them are parameters."""

    def rule(series: Sequence[Series], **params: object) -> Series | list[Series]:
        def apply(*terms: Term) -> Value | tuple[Value, ...]:
            operands = [array(x, one[0]) if is_inexact(one[0]) else one[0] for x, one in zip(terms, series)]
            found: Value | tuple[Value, ...] = primitive.bind(*operands, **params)
            return found

        return _each(primitive, primitive.bind(*[one[0] for one in series], **params), apply, series)

    return rule


def piecewise_linear(primitive: Primitive) -> Rule:
    """The rule of a primitive that is linear near each point: its linear part there is found once."""

    def rule(series: Sequence[Series], **params: object) -> Series | list[Series]:
        places = [place for place, one in enumerate(series) if not is_constant(one)]

        def function(*values: Value) -> Value | tuple[Value, ...]:
            operands = [one[0] for one in series]
            for place, value in zip(places, values, strict=True):
                operands[place] = value
            found: Value | tuple[Value, ...] = primitive.bind(*operands, **params)
            return found

        active = [series[place] for place in places]
        out, move = tangrad.linearize(function, *[one[0] for one in active])
        return _each(primitive, out, lambda *terms: move(*map(array, terms, [one[0] for one in active])), active)

    return rule


def _each(primitive: Primitive, out: Any, apply: Callable[..., Any], series: Sequence[Series]) -> Series | list[Series]:
    """The series that begins with `out`, of coefficients to which something linear is applied."""
    rest = [None if all([t is None for t in terms]) else apply(*terms) for terms in zip(*[one[1:] for one in series])]
    if not primitive.multiple_results:
        return out, *rest
    return [(first, *[x and x[place] for x in rest]) for place, first in enumerate(out)]


def bilinear(primitive: Primitive[Array]) -> Rule:
    """The rule of a primitive that is linear in each of two operands."""

    def rule(series: Sequence[Series], **params: object) -> Series:
        xs, ys = series
        product = partial(primitive.bind, **params)
        return product(xs[0], ys[0]), *[coefficient(xs, ys, k, product) for k in range(1, len(xs))]

    return rule


def linear_rules(*primitives: Primitive) -> RuleSet[Rule]:
    """A rule set of linear primitives."""
    rules = RuleSet("taylor", api=1)
    rules.table({primitive: linear(primitive) for primitive in primitives})
    return rules


autodiff = linear_rules(add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p)
structure = linear_rules(
    lax.broadcast_in_dim_p, lax.reshape_p, lax.transpose_p, lax.squeeze_p, lax.rev_p, lax.slice_p, lax.split_p,
    lax.concatenate_p, lax.pad_p, lax.copy_p, lax.dynamic_slice_p, lax.dynamic_update_slice_p,
    lax.optimization_barrier_p,
)  # fmt: skip

reductions = linear_rules(lax.reduce_sum_p, lax.cumsum_p)
for primitive in (lax.reduce_max_p, lax.reduce_min_p, lax.cummax_p, lax.cummin_p):
    reductions.add(primitive, piecewise_linear(primitive))

indexing = linear_rules(lax.scatter_add_p, lax.scatter_sub_p)
for primitive in (lax.gather_p, lax.scatter_p, lax.scatter_min_p, lax.scatter_max_p):
    indexing.add(primitive, piecewise_linear(primitive))

sorting = RuleSet("taylor", api=1)
sorting.table({primitive: piecewise_linear(primitive) for primitive in (sort_p, top_k_p)})

contractions = RuleSet("taylor", api=1)
contractions.add(dot_general_p, bilinear(dot_general_p))

windows = linear_rules(lax.reduce_window_sum_p)
windows.add(lax.conv_general_dilated_p, bilinear(lax.conv_general_dilated_p))
for primitive in (
    lax.reduce_window_max_p,
    lax.reduce_window_min_p,
    lax.select_and_gather_add_p,
    lax.select_and_scatter_add_p,
):
    windows.add(primitive, piecewise_linear(primitive))
