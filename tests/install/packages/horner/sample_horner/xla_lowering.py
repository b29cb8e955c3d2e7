from sample_horner.primitives import horner_p
from tangrad import lax
from tangrad.core import RuleSet, trace_to_closed_jaxpr

lower = RuleSet("lower.xla", api=1)


def scheme(coefficients, x):
    count = coefficients.shape[0]
    parts = [lax.reshape(lax.slice(coefficients, (i,), (i + 1,)), ()) for i in range(count)]
    out = lax.full_like(x, 0) + parts[-1]
    for part in parts[-2::-1]:
        out = out * x + part
    return (out,)


@lower.rule(horner_p)
def _(ctx, coefficients, x):
    (out,) = ctx.inline(trace_to_closed_jaxpr(scheme, ctx.in_avals, "horner"), (coefficients, x))
    return out
