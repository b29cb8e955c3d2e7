"""Linear in the coefficients; the derivative by x is a polynomial again."""

from sample_horner.primitives import horner_p
from tangrad import lax
from tangrad.autodiff import is_linear
from tangrad.core import RuleSet

jvp = RuleSet("jvp", api=1)
transpose = RuleSet("transpose", api=1)


def derivative(coefficients):
    count = coefficients.shape[0]
    if count == 1:
        return lax.full_like(coefficients, 0)
    powers = lax.convert_element_type(lax.iota("int32", count - 1) + 1, coefficients.dtype)
    return lax.slice(coefficients, (1,), (count,)) * powers


@jvp.rule(horner_p)
def _(primals, tangents):
    (coefficients, x), (tangent_coefficients, tangent_x) = primals, tangents
    out = horner_p.bind(coefficients, x)
    slope = horner_p.bind(derivative(coefficients), x)
    return out, horner_p.bind(tangent_coefficients, x) + slope * tangent_x


@transpose.rule(horner_p)
def _(cotangent, coefficients, x):
    assert is_linear(coefficients) and not is_linear(x)
    parts, power = [], cotangent
    axes = tuple(range(x.ndim))
    for _ in range(coefficients.shape[0]):
        parts.append(lax.reshape(lax.reduce_sum(power, axes), (1,)))
        power = power * x
    return lax.concatenate(parts, 0), None
