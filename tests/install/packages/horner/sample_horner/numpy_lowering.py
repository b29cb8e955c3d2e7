import numpy

from sample_horner.primitives import horner_p
from tangrad.core import RuleSet

lower = RuleSet("lower.numpy", api=1)


@lower.rule(horner_p)
def _(ctx, coefficients, x):
    out = numpy.full(x.shape, coefficients[-1], x.dtype)
    for coefficient in coefficients[-2::-1]:
        out = out * x + coefficient
    return numpy.asarray(out, x.dtype)
