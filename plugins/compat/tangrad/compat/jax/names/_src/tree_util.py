"""`jax._src.tree_util`: what `jax.tree_util` has."""

from tangrad.tree.definition import kind_of
from tangrad.tree_util import *


class _NodeTypes:
    """Which types are nodes of pytrees."""

    def __contains__(self, node_type: object) -> bool:
        return isinstance(node_type, type) and kind_of(node_type) is not None


_registry = _NodeTypes()
