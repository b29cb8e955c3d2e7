"""How `horner` is mapped: the elements of x are independent; mapped coefficients take a polynomial for each."""

from sample_horner.primitives import horner_p

from tangrad import lax
from tangrad.batching import place_axis
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)


@batch.rule(horner_p)
def _(args, dims, *, axis_info):
    coefficients, x = args
    if dims[0] is None:
        return horner_p.bind(coefficients, x), dims[1]
    coefficients = place_axis(coefficients, dims[0], 0, axis_info.size)
    x = place_axis(x, dims[1], 0, axis_info.size)
    rows = []
    for i in range(axis_info.size):
        row = horner_p.bind(lax.index_in_dim(coefficients, i, 0, False), lax.index_in_dim(x, i, 0, False))
        rows.append(lax.expand_dims(row, (0,)))
    return lax.concatenate(rows, 0), 0
