"""The registry of node types as an object, for code that wants it passed around."""

from __future__ import annotations

from typing import Any

from tangrad._core.tree.custom_nodes import register_pytree_node
from tangrad._core.tree.dataclass_nodes import register_dataclass
from tangrad._core.tree.definition import Leaf, PyTreeDef, kind_of
from tangrad._core.tree.keys import KeyPath
from tangrad._core.tree.operations import flatten_one_level, flatten_one_level_with_keys, is_tree_node, tree_flatten
from tangrad._core.tree.paths import tree_flatten_with_path


class PyTreeRegistry:
    """The registered types of nodes. There is one, `default_registry`: all trees of a process are walked alike.

    >>> from tangrad.tree_util import default_registry
    >>> default_registry.flatten_one_level((1, [2]))
    ((1, [2]), None)
    """

    __slots__ = ()

    register_node = staticmethod(register_pytree_node)
    register_dataclass_node = staticmethod(register_dataclass)
    is_node = staticmethod(is_tree_node)

    @staticmethod
    def flatten(tree: Any, leaf_predicate: Any = None) -> tuple[list[Leaf], PyTreeDef]:
        """Return the leaves and the structure of a tree; see `tangrad.tree.flatten`."""
        return tree_flatten(tree, leaf_predicate)

    @staticmethod
    def flatten_with_path(tree: Any, leaf_predicate: Any = None) -> tuple[list[tuple[KeyPath, Leaf]], PyTreeDef]:
        """Return pairs of path and leaf, and the structure. `leaf_predicate` is called with path and node."""
        return tree_flatten_with_path(tree, leaf_predicate, is_leaf_takes_path=True)

    @staticmethod
    def flatten_one_level(tree: Any) -> tuple[Any, Any] | None:
        """Return the children and metadata of a node, None for a leaf."""
        return None if kind_of(type(tree)) is None else flatten_one_level(tree)

    @staticmethod
    def flatten_one_level_with_keys(tree: Any) -> tuple[Any, Any] | None:
        """Return pairs of key entry and child, and the metadata, of a node; None for a leaf."""
        return None if kind_of(type(tree)) is None else flatten_one_level_with_keys(tree)


default_registry = PyTreeRegistry()
