"""`lax.xeinsum`: sums of products over dimensions with letters and mapped axes with names."""

from __future__ import annotations

from tangrad._numpy.einsums import einsum
from tangrad.core import Array
from tangrad.typing import ArrayLike


def xeinsum(spec: str, *operands: ArrayLike) -> Array:
    """Sum products over dimensions, which have letters, and over mapped axes, which have their names in braces.

    Args:
        spec: such as "ij{batch},jk->ik": a term for each operand, a letter for each of its dimensions, and in braces
            the names of mapped axes; then "->" and the term of the result. Letters and names that the result lacks
            are summed over.
        operands: arrays, as many as there are terms.

    Returns:
        An array, the same for all examples along the axes that are summed over.

    Raises:
        TypeError: for what is no text or no array. NameError: for names that no mapped axis in scope has.
        ValueError: without "->", for a result with names or letters that no operand has, and for terms that do not fit.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> x, w = np.ones((3, 2)), np.arange(12.0).reshape(3, 4)
    >>> product = lambda a, b: lax.xeinsum("a{i},b{i}->ab", a, b)
    >>> tangrad.vmap(product, axis_name="i", out_axes=None)(x, w)
    Array([[12., 15., 18., 21.],
           [12., 15., 18., 21.]], dtype=float32)
    """
    if not isinstance(spec, str):
        raise TypeError(f"xeinsum: spec must be a text such as 'a{{i}},b{{i}}->ab', got {spec!r}")
    if "->" not in spec:
        raise ValueError(f"xeinsum: spec must say what the result is, as 'a{{i}},b{{i}}->ab' does, got {spec!r}")
    return einsum(spec, *operands)
