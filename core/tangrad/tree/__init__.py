"""Pytrees: nested containers of arrays, which the transformations take and return. In pure Python, on purpose.

`flatten` takes a tree apart into its leaves and its structure; `unflatten` makes a tree of a structure and leaves.
Types become nodes by registration (`tangrad.tree_util`).
"""

from tangrad.tree.dataclass_nodes import static
from tangrad.tree.operations import tree_all as all
from tangrad.tree.operations import tree_flatten as flatten
from tangrad.tree.operations import tree_leaves as leaves
from tangrad.tree.operations import tree_map as map
from tangrad.tree.operations import tree_reduce as reduce
from tangrad.tree.operations import tree_reduce_associative as reduce_associative
from tangrad.tree.operations import tree_structure as structure
from tangrad.tree.operations import tree_transpose as transpose
from tangrad.tree.operations import tree_unflatten as unflatten
from tangrad.tree.partials import Partial as _Partial  # registers it
from tangrad.tree.paths import tree_flatten_with_path as flatten_with_path
from tangrad.tree.paths import tree_leaves_with_path as leaves_with_path
from tangrad.tree.paths import tree_map_with_path as map_with_path
from tangrad.tree.prefixes import tree_broadcast as broadcast

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
