"""Tangrad's primitives by the names that they have in jax: `tanh_p` for `tanh`."""

from __future__ import annotations

from functools import cache
from typing import Any

from tangrad._compat.primitives import Primitive
from tangrad.core.tools import families, primitive_set

# Where jax calls one otherwise.
RENAMED = {"add_jaxvals": "add_any", "broadcast": "broadcast_in_dim", "linear_solve": "custom_linear_solve"}
RENAMED |= {"checkpoint": "remat", "pjit": "jit"}
# Those of jax that programs traced here never have: packages ask for them to distinguish them from others.
NEVER = frozenset(
    [
        "after_all",
        "call",
        "closed_call",
        "core_call",
        "create_token",
        "dce_sink",
        "empty2",
        "get",
        "infeed",
        "ormqr",
        "outfeed",
        "ragged_all_to_all",
        "remat_opt",
        "rng_uniform",
        "select_and_scatter",
        "stack",
        "stage",
        "swap",
        "symmetric_product",
        "tile",
        "unstack",
        "xla_pmap",
    ]
)


@cache
def _by_name() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for family in families():
        if not family.startswith("jax_alias"):
            for name, primitive in primitive_set(family).primitives.items():
                found.setdefault(name, primitive)
    return found


def primitive_called(module: str, name: str) -> Primitive:
    """The primitive that `module` calls `name` (`tanh_p`). Raises AttributeError where there is none."""
    bare = name.removesuffix("_p")
    primitive = _by_name().get(RENAMED.get(bare, bare)) if name.endswith("_p") else None
    if primitive is None and name.endswith("_p") and bare in NEVER:
        return _never(bare)
    if primitive is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    return primitive


@cache
def _never(bare: str) -> Primitive:
    return Primitive(bare)
