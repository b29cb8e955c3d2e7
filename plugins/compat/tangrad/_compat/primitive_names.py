"""Tangrad's primitives by the names that they have in jax: `tanh_p` for `tanh`."""

from __future__ import annotations

from functools import cache
from typing import Any

from tangrad.core.tools import families, primitive_set

# Where jax calls one otherwise.
RENAMED = {"cond": "cond", "remat": "checkpoint", "broadcast_in_dim": "broadcast_in_dim", "while": "while"}


@cache
def _by_name() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for family in families():
        if not family.startswith("jax_alias"):
            for name, primitive in primitive_set(family).primitives.items():
                found.setdefault(name, primitive)
    return found


def primitive_called(module: str, name: str) -> Any:
    """The primitive that `module` calls `name` (`tanh_p`). Raises AttributeError where there is none."""
    bare = name.removesuffix("_p")
    primitive = _by_name().get(RENAMED.get(bare, bare)) if name.endswith("_p") else None
    if primitive is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    return primitive
