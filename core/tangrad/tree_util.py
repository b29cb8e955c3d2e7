"""Pytrees under their long names: operations, key paths, registration of node types, structures, prefixes."""

from tangrad._core.tree.builtin_nodes import flatten_call
from tangrad._core.tree.custom_nodes import (
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from tangrad._core.tree.dataclass_nodes import register_dataclass
from tangrad._core.tree.definition import PyTreeDef
from tangrad._core.tree.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    keystr,
)
from tangrad._core.tree.mismatches import equality_errors, prefix_errors
from tangrad._core.tree.operations import (
    all_leaves,
    build_tree,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    tree_all,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_reduce,
    tree_reduce_associative,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from tangrad._core.tree.partials import Partial
from tangrad._core.tree.paths import tree_flatten_with_path, tree_leaves_with_path, tree_map_with_path
from tangrad._core.tree.prefixes import broadcast_prefix, flatten_axes, tree_broadcast
from tangrad._core.tree.registry import PyTreeRegistry, default_registry

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "PyTreeRegistry",
    "SequenceKey",
    "all_leaves",
    "broadcast_prefix",
    "build_tree",
    "default_registry",
    "equality_errors",
    "flatten_axes",
    "flatten_call",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "prefix_errors",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
