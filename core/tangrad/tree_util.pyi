# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._core.tree.builtin_nodes import flatten_call as flatten_call
from tangrad._core.tree.custom_nodes import (
    register_pytree_node as register_pytree_node,
    register_pytree_node_class as register_pytree_node_class,
    register_pytree_with_keys as register_pytree_with_keys,
    register_pytree_with_keys_class as register_pytree_with_keys_class,
    register_static as register_static,
)
from tangrad._core.tree.dataclass_nodes import register_dataclass as register_dataclass
from tangrad._core.tree.definition import PyTreeDef as PyTreeDef
from tangrad._core.tree.keys import (
    DictKey as DictKey,
    FlattenedIndexKey as FlattenedIndexKey,
    GetAttrKey as GetAttrKey,
    KeyEntry as KeyEntry,
    KeyPath as KeyPath,
    SequenceKey as SequenceKey,
    keystr as keystr,
)
from tangrad._core.tree.mismatches import (
    equality_errors as equality_errors,
    prefix_errors as prefix_errors,
)
from tangrad._core.tree.operations import (
    all_leaves as all_leaves,
    build_tree as build_tree,
    flatten_one_level as flatten_one_level,
    flatten_one_level_with_keys as flatten_one_level_with_keys,
    is_tree_node as is_tree_node,
    tree_all as tree_all,
    tree_flatten as tree_flatten,
    tree_leaves as tree_leaves,
    tree_map as tree_map,
    tree_reduce as tree_reduce,
    tree_reduce_associative as tree_reduce_associative,
    tree_structure as tree_structure,
    tree_transpose as tree_transpose,
    tree_unflatten as tree_unflatten,
    treedef_children as treedef_children,
    treedef_is_leaf as treedef_is_leaf,
    treedef_tuple as treedef_tuple,
)
from tangrad._core.tree.partials import Partial as Partial
from tangrad._core.tree.paths import (
    tree_flatten_with_path as tree_flatten_with_path,
    tree_leaves_with_path as tree_leaves_with_path,
    tree_map_with_path as tree_map_with_path,
)
from tangrad._core.tree.prefixes import (
    broadcast_prefix as broadcast_prefix,
    flatten_axes as flatten_axes,
    tree_broadcast as tree_broadcast,
)
from tangrad._core.tree.registry import (
    PyTreeRegistry as PyTreeRegistry,
    default_registry as default_registry,
)

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
