"""Pytrees: nested containers of arrays, which the transformations take and return. In pure Python, on purpose.

`flatten` takes a tree apart into its leaves and its structure; `unflatten` makes a tree of a structure and leaves.
Types become nodes by registration (`tangrad.tree_util`).
"""

from tangrad._core.tree.operations import tree_all as all
from tangrad._core.tree.operations import tree_flatten as flatten
from tangrad._core.tree.operations import tree_flatten_with_path as flatten_with_path
from tangrad._core.tree.operations import tree_leaves as leaves
from tangrad._core.tree.operations import tree_leaves_with_path as leaves_with_path
from tangrad._core.tree.operations import tree_map as map
from tangrad._core.tree.operations import tree_map_with_path as map_with_path
from tangrad._core.tree.operations import tree_reduce as reduce
from tangrad._core.tree.operations import tree_reduce_associative as reduce_associative
from tangrad._core.tree.operations import tree_structure as structure
from tangrad._core.tree.operations import tree_transpose as transpose
from tangrad._core.tree.operations import tree_unflatten as unflatten
from tangrad._core.tree.prefixes import tree_broadcast as broadcast
from tangrad._core.tree.registration import static

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
