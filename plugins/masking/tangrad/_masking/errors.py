"""The error of shapes that are not what is written of them."""

from __future__ import annotations


class ShapeError(ValueError):
    """A function's result has another shape than its spec says.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.shapecheck(["(m, n)", "n"], "n")(lambda A, b: np.dot(A, b))
    Traceback (most recent call last):
        ...
    tangrad._masking.errors.ShapeError: the result is of shape (m,), but its spec 'n' says (n,)
    """
