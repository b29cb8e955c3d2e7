"""`jax._src.api_util`: what `jax.api_util` has, and which arguments positions and names mean."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from tangrad._compat.names.api_util import *
from tangrad.extend.jit import infer_other


def infer_argnums_and_argnames(
    sig: inspect.Signature, argnums: int | Iterable[int] | None, argnames: str | Iterable[str] | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of arguments; where only one of the two is given, the other is inferred from it."""
    return infer_other(sig, argnums, argnames, "static")
