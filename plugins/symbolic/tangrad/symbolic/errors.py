"""The errors about dimensions that are no numbers yet."""

from __future__ import annotations


class InconclusiveDimensionOperation(ValueError):
    """A question about symbolic dimensions has one answer for some sizes and another for others.

    The message names the constraint that would decide it.

    >>> from tangrad.symbolic.shapes import symbolic_shape
    >>> a, b = symbolic_shape("a, b")
    >>> a >= b
    Traceback (most recent call last):
        ...
    tangrad.symbolic.errors.InconclusiveDimensionOperation: whether a >= b depends on the sizes. \
If it always holds, say so: symbolic_shape(..., constraints=("a >= b",)); if it never does: ("b >= a + 1",)
    """


class UnsolvableDimensionsError(ValueError):
    """The sizes of the arguments do not determine the dimension variables, or contradict what is said of them."""
