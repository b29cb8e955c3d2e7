"""Pytrees under their long names: operations, key paths, registration of node types, structures, prefixes."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.tree.definition": "PyTreeDef",
        "tangrad._core.tree.keys": "DictKey FlattenedIndexKey GetAttrKey KeyEntry KeyPath SequenceKey keystr",
        "tangrad._core.tree.operations": (
            "all_leaves build_tree default_registry flatten_one_level flatten_one_level_with_keys is_tree_node "
            "PyTreeRegistry tree_all tree_flatten tree_flatten_with_path tree_leaves tree_leaves_with_path tree_map "
            "tree_map_with_path tree_reduce tree_reduce_associative tree_structure tree_transpose tree_unflatten "
            "treedef_children treedef_is_leaf treedef_tuple"
        ),
        "tangrad._core.tree.prefixes": "broadcast_prefix equality_errors flatten_axes prefix_errors tree_broadcast",
        "tangrad._core.tree.registration": (
            "Partial register_dataclass register_pytree_node register_pytree_node_class register_pytree_with_keys "
            "register_pytree_with_keys_class register_static"
        ),
    },
)
