"""What is linear acts on each coefficient by itself; what is linear in each of two operands multiplies series."""

from __future__ import annotations

from functools import partial
from typing import Any

import tangrad
from tangrad._autodiff.primitives import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p
from tangrad._lax.contractions.primitives import dot_general_p
from tangrad._lax.indexing import primitives as i
from tangrad._lax.reductions import primitives as r
from tangrad._lax.sorting.primitives import sort_p, top_k_p
from tangrad._lax.structure import primitives as s
from tangrad._lax.windows import primitives as w
from tangrad.core import RuleSet
from tangrad_taylor.arithmetic import array, coefficient, is_constant
from tangrad_taylor.trace import is_inexact


def linear(primitive: Any) -> Any:
    """The rule of a primitive that is linear in its operands together; integers among them are parameters."""

    def rule(series: Any, **params: Any) -> Any:
        def apply(*terms: Any) -> Any:
            operands = [array(x, one[0]) if is_inexact(one[0]) else one[0] for x, one in zip(terms, series)]
            return primitive.bind(*operands, **params)

        return _each(primitive, primitive.bind(*[one[0] for one in series], **params), apply, series)

    return rule


def piecewise_linear(primitive: Any) -> Any:
    """The rule of a primitive that is linear near each point: its linear part there is found once."""

    def rule(series: Any, **params: Any) -> Any:
        places = [place for place, one in enumerate(series) if not is_constant(one)]

        def function(*values: Any) -> Any:
            operands = [one[0] for one in series]
            for place, value in zip(places, values, strict=True):
                operands[place] = value
            return primitive.bind(*operands, **params)

        active = [series[place] for place in places]
        out, move = tangrad.linearize(function, *[one[0] for one in active])
        return _each(primitive, out, lambda *terms: move(*map(array, terms, [one[0] for one in active])), active)

    return rule


def _each(primitive: Any, out: Any, apply: Any, series: Any) -> Any:
    """The series that begins with `out`, of coefficients to which something linear is applied."""
    rest = [None if all([t is None for t in terms]) else apply(*terms) for terms in zip(*[one[1:] for one in series])]
    if not primitive.multiple_results:
        return out, *rest
    return [(first, *[x and x[place] for x in rest]) for place, first in enumerate(out)]


def bilinear(primitive: Any) -> Any:
    """The rule of a primitive that is linear in each of two operands."""

    def rule(series: Any, **params: Any) -> Any:
        xs, ys = series
        return tuple([coefficient(xs, ys, k, partial(primitive.bind, **params)) for k in range(len(xs))])

    return rule


def linear_rules(*primitives: Any) -> Any:
    """A rule set of linear primitives."""
    rules = RuleSet("taylor", api=1)
    rules.table({primitive: linear(primitive) for primitive in primitives})
    return rules


autodiff = linear_rules(add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p)
structure = linear_rules(
    s.broadcast_in_dim_p, s.reshape_p, s.transpose_p, s.squeeze_p, s.rev_p, s.slice_p, s.split_p, s.concatenate_p,
    s.pad_p, s.copy_p, s.dynamic_slice_p, s.dynamic_update_slice_p, s.optimization_barrier_p,
)  # fmt: skip

reductions = linear_rules(r.reduce_sum_p, r.cumsum_p)
for primitive in (r.reduce_max_p, r.reduce_min_p, r.cummax_p, r.cummin_p):
    reductions.add(primitive, piecewise_linear(primitive))

indexing = linear_rules(i.scatter_add_p, i.scatter_sub_p)
for primitive in (i.gather_p, i.scatter_p, i.scatter_min_p, i.scatter_max_p):
    indexing.add(primitive, piecewise_linear(primitive))

sorting = RuleSet("taylor", api=1)
sorting.table({primitive: piecewise_linear(primitive) for primitive in (sort_p, top_k_p)})

contractions = RuleSet("taylor", api=1)
contractions.add(dot_general_p, bilinear(dot_general_p))

windows = linear_rules(w.reduce_window_sum_p)
windows.add(w.conv_general_dilated_p, bilinear(w.conv_general_dilated_p))
for primitive in (w.reduce_window_max_p, w.reduce_window_min_p, w.select_and_gather_add_p, w.select_and_scatter_add_p):
    windows.add(primitive, piecewise_linear(primitive))
