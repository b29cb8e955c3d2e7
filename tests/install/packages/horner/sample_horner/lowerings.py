"""Where it runs: a loop over the coefficients for NumPy, the same as operations for XLA."""

import numpy

from sample_horner.primitives import horner_p
from tangrad import lax
from tangrad.core import RuleSet, trace_to_closed_jaxpr

on_numpy = RuleSet("lower.numpy", api=1)


@on_numpy.rule(horner_p)
def _(ctx, coefficients, x):
    out = numpy.full(x.shape, coefficients[-1], x.dtype)
    for coefficient in coefficients[-2::-1]:
        out = out * x + coefficient
    return numpy.asarray(out, x.dtype)


on_xla = RuleSet("lower.xla", api=1)


def scheme(coefficients, x):
    count = coefficients.shape[0]
    parts = [lax.reshape(lax.slice(coefficients, (i,), (i + 1,)), ()) for i in range(count)]
    out = lax.full_like(x, 0) + parts[-1]
    for part in parts[-2::-1]:
        out = out * x + part
    return (out,)


@on_xla.rule(horner_p)
def _(ctx, coefficients, x):
    (out,) = ctx.inline(trace_to_closed_jaxpr(scheme, ctx.in_avals, "horner"), (coefficients, x))
    return out
