"""`jax._src.state.types`: the type of mutable arrays. Nothing has it here: it is there for `isinstance`."""

from tangrad.core import AbstractValue


class AbstractRef(AbstractValue):
    """The type of a mutable array."""
