"""`jax._src.tree_util`: what `jax.tree_util` has, and which types are nodes."""

from __future__ import annotations

from typing import Any

from tangrad import tree_util
from tangrad._core.tree.definition import kind_of


def __getattr__(name: str) -> Any:
    return getattr(tree_util, name)


class _NodeTypes:
    """Which types are nodes of pytrees."""

    def __contains__(self, node_type: object) -> bool:
        return isinstance(node_type, type) and kind_of(node_type) is not None


_registry = _NodeTypes()
