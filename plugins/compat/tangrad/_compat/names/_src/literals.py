"""`jax._src.literals`: numbers and arrays with a weak type. Nothing is one here: they are there for `isinstance`."""

import numpy as np


class TypedInt(int):
    """An integer that knows its dtype."""


class TypedFloat(float):
    """A float that knows its dtype."""


class TypedComplex(complex):
    """A complex number that knows its dtype."""


class TypedNdArray(np.ndarray):  # type: ignore[type-arg]
    """An array of NumPy that knows whether its type is weak."""
