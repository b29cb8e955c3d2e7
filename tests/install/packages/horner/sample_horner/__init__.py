"""Polynomials by Horner's scheme, as a primitive."""

from sample_horner.primitives import horner_p


def horner(coefficients, x):
    """The polynomial with coefficients (n,), the constant one first, at every element of `x`."""
    return horner_p(coefficients, x)
