"""Objects of the user's types that represent arrays: the methods that convert them."""

from __future__ import annotations

from typing import Any

import numpy as np

# Methods that return the array that an object represents.
CONVERSIONS = ("__tangrad_array__", "__jax_array__")
_NUMBERS = (np.ndarray, np.generic, bool, int, float, complex)


def can_represent_array(value: Any) -> bool:
    """Whether the type of `value` says how to make an array of it: a method `__tangrad_array__` or `__jax_array__`."""
    kind = type(value)
    return hasattr(kind, "__tangrad_array__") or hasattr(kind, "__jax_array__")


def represented_array(value: Any) -> Any:
    """The array that an object represents by a method of its type; the object itself where there is no such method.

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
