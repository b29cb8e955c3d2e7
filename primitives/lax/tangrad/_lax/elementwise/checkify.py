"""Checks of the elementwise primitives: divisions by 0; those that hand NaN on, but make none."""

from __future__ import annotations

from tangrad._lax.elementwise.primitives import (
    abs_p,
    bitcast_convert_type_p,
    ceil_p,
    clamp_p,
    complex_p,
    conj_p,
    convert_element_type_p,
    div_p,
    eq_p,
    floor_p,
    imag_p,
    max_p,
    min_p,
    neg_p,
    nextafter_p,
    real_p,
    reduce_precision_p,
    round_p,
    select_n_p,
    sign_p,
)
from tangrad._lax.structure.primitives import broadcast_in_dim_p
from tangrad.core import RuleSet, current_source, literal
from tangrad.extend.checkify import Checks, DivisionByZeroError, any_true, handed_on
from tangrad.typing import Value, Values

checkify = RuleSet("checkify", api=1)
handed_on(
    checkify,
    *(neg_p, sign_p, abs_p, floor_p, ceil_p, round_p, max_p, min_p, clamp_p, select_n_p, nextafter_p),
    *(real_p, imag_p, conj_p, complex_p, convert_element_type_p, bitcast_convert_type_p, reduce_precision_p),
)


@checkify.rule(div_p)
def _(args: Values, *, checks: Checks) -> Value:
    out = div_p.bind(*args)
    if DivisionByZeroError in checks.enabled:
        divisor = args[1]
        zero, shape = literal(0, divisor.aval.dtype), divisor.aval.shape
        zeros = broadcast_in_dim_p.bind(zero, shape=shape, broadcast_dimensions=()) if shape else zero
        checks.check(any_true(eq_p.bind(divisor, zeros)), DivisionByZeroError(current_source()))
    checks.check_nan(div_p, (out,))
    return out
