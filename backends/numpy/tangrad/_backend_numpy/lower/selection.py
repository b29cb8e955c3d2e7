"""How equality and selection become NumPy: those elementwise primitives that take extended dtypes (random keys) too.

Elements of extended dtypes are stored with dimensions of their own, which come last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy.array import physical
from tangrad._backend_numpy.bounds import clamp
from tangrad._backend_numpy.kernels import composed
from tangrad.core import RuleSet, decomposition_jaxpr
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)


@composed(lower, p.eq_p, any_sizes=True)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    return _of_elements(ctx, np.logical_and, ctx.equal(x, y))


@composed(lower, p.ne_p, any_sizes=True)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    return _of_elements(ctx, np.logical_or, ctx.not_equal(x, y))


def _of_elements(ctx: Lowering, join: np.ufunc, decided: Value) -> Value:
    """One decision for each element: those of extended dtypes (random keys) are stored with dimensions of their own."""
    inside = tuple(range(ctx.out_aval.ndim, decided.ndim))
    return ctx.reduce(join, decided, inside) if inside else decided


@composed(lower, p.select_n_p, any_sizes=True)
def _(ctx: Lowering, which: Value, *cases: Value) -> Value:
    shape = physical(ctx.out_aval).shape
    if all([case is cases[0] for case in cases]):  # one case, or a guard of derivatives, which changes no value
        return cases[0] if cases[0].shape == shape else ctx.broadcast(cases[0], shape, ())
    if which.ndim and which.ndim < len(shape):
        which = ctx.reshape(which, (*which.shape, *[1] * (len(shape) - which.ndim)))
    if which.dtype == np.bool_:
        return ctx.where(which, cases[1], cases[0])
    return _choose(ctx, which, 0, cases)


def _choose(ctx: Lowering, which: Value, offset: int, cases: tuple[Value, ...]) -> Value:
    """By halves; what is out of range takes the first or the last case."""
    if len(cases) == 1:
        return cases[0]
    middle = len(cases) // 2
    first = _choose(ctx, which, offset, cases[:middle])
    second = _choose(ctx, which, offset + middle, cases[middle:])
    return ctx.where(ctx.less(which, offset + middle), first, second)


@composed(lower, p.clamp_p, any_sizes=True)
def _(ctx: Lowering, low: Value, x: Value, high: Value) -> Value:
    if x.dtype.kind == "c":
        return ctx.inline(decomposition_jaxpr(p.clamp_p, ctx.in_avals, {}), low, x, high)
    return clamp(ctx, low, x, high)
