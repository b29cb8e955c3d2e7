"""JAX compiled without optimisations, where it is the reference: a program runs once, on a few numbers."""

from collections.abc import Callable
from typing import Any

# Making machine code good takes half of the time of making it, and changes no more than the last bit of a result.
UNOPTIMIZED = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def jit_unoptimized(jax: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit(function)` without most optimisations. Not for results that must be the same bit for bit."""
    return jax.jit(function, compiler_options=UNOPTIMIZED)
