"""Objects of somebody's own type that stand for arrays: how they say so, and the array that they become."""

from __future__ import annotations

from typing import Any

import numpy as np

# Methods that return the array that an object stands for.
CONVERSIONS = ("__tangrad_array__", "__jax_array__")
_NUMBERS = (np.ndarray, np.generic, bool, int, float, complex)


def can_stand_for_array(value: Any) -> bool:
    """Whether the type of `value` says how to make an array of it: a method `__tangrad_array__` or `__jax_array__`."""
    kind = type(value)
    return hasattr(kind, "__tangrad_array__") or hasattr(kind, "__jax_array__")


def stands_for(value: Any) -> Any:
    """The array that an object of somebody's own type stands for; the object itself where its type says none.

    Raises TypeError for a method that returns no array.

    >>> import tangrad
    >>> class Celsius:
    ...     def __tangrad_array__(self):
    ...         return tangrad.numpy.array([20.0, 21.5])
    >>> tangrad.numpy.max(Celsius())
    Array(21.5, dtype=float32)
    """
    kind = type(value)
    for name in CONVERSIONS:
        method = getattr(kind, name, None)
        if method is not None:
            found = method(value)
            if not hasattr(type(found), "aval") and not isinstance(found, _NUMBERS):
                raise TypeError(f"{kind.__name__}.{name} must return an array or a number, got {found!r}")
            return found
    return value
