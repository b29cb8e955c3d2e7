"""Arithmetic, comparisons, bits, transcendental functions, rounding, complex parts, selection and conversions."""
