"""`jax._src.core`: what `jax.core` has, and whether something is being traced."""

from __future__ import annotations

from typing import Any

from tangrad._compat.names.core import *
from tangrad.core import EVAL_TRACE, current_trace


def trace_state_clean() -> bool:
    """Whether nothing is being traced in this thread."""
    return current_trace() is EVAL_TRACE


def full_lower(value: Any) -> Any:
    """The value itself: traces hand on here what they need not keep."""
    return value


def physical_aval(aval: Any) -> Any:
    """The type of the array that holds values of a type: of keys that of their words."""
    found = getattr(aval.dtype, "physical_aval", None)
    return aval if found is None else found(aval)
