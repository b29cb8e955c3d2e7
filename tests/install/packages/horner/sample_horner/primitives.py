from tangrad.core import PrimitiveSet, ShapedArray

horner = PrimitiveSet("horner", api=1)


@horner.primitive(name="horner")
def horner_p(coefficients, x):
    """The polynomial with these coefficients, at every element of `x`."""
    if coefficients.ndim != 1 or not coefficients.shape[0]:
        raise ValueError(f"horner takes a vector of coefficients, got shape {coefficients.shape}")
    if coefficients.dtype != x.dtype:
        raise TypeError(f"horner takes arguments of one dtype, got {coefficients.str_short()} and {x.str_short()}")
    return ShapedArray(x.shape, x.dtype)
