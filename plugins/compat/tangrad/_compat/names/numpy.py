"""`jax.numpy`: the functions that take arguments there which Tangrad's do not."""

from __future__ import annotations

from typing import Any

from tangrad import lax
from tangrad import numpy as jnp

__all__ = ["einsum", "expand_dims", "shape"]


def einsum(*operands: Any, _dot_general: Any = None, **options: Any) -> Any:
    """As `tangrad.numpy.einsum`. `_dot_general`: what computes products, of which there is `lax.dot_general` alone.

    Raises NotImplementedError for another.
    """
    if _dot_general not in (None, lax.dot_general):
        raise NotImplementedError(f"einsum computes products by lax.dot_general, not by {_dot_general!r}")
    return jnp.einsum(*operands, **options)


def expand_dims(a: Any, axis: Any) -> Any:
    """As `tangrad.numpy.expand_dims`. `axis`: an integer, or a sequence of them of any kind, such as a range."""
    return jnp.expand_dims(a, axis if hasattr(axis, "__index__") else tuple(axis))


def shape(a: Any) -> tuple[int, ...]:
    """As `tangrad.numpy.shape`; of None, which stands for an argument that was left out, that of a number, ()."""
    return () if a is None else jnp.shape(a)
