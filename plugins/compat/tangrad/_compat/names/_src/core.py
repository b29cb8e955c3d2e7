"""`jax._src.core`: what `jax.core` has, and whether something is being traced."""

from tangrad._compat.names.core import *
from tangrad.core import EVAL_TRACE, current_trace


def trace_state_clean() -> bool:
    """Whether nothing is being traced in this thread."""
    return current_trace() is EVAL_TRACE
