"""`jax._src.state.types`: the type of references; where `tangrad-references` is not installed, one without values."""

from typing import Any

import tangrad
from tangrad.core import AbstractValue
from tangrad.errors import MissingDistributionError

_tangrad: Any = tangrad


class _NoReference(AbstractValue):
    """The type of references that there are none of."""


def __getattr__(name: str) -> Any:
    if name != "AbstractRef":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return _tangrad.ref.AbstractRef
    except MissingDistributionError:
        return _NoReference
