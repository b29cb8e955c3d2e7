# The types of `tree.py`: `map` keeps the type of a tree where it maps arrays to arrays, which `tree` does not know.

from collections.abc import Callable
from typing import Any, TypeVar, overload

from tangrad._core.kernel.array import Array
from tangrad._core.tree.registration import static as static
from tangrad._core.tree.operations import tree_all as all
from tangrad._core.tree.operations import tree_flatten as flatten
from tangrad._core.tree.operations import tree_leaves as leaves
from tangrad._core.tree.operations import tree_reduce as reduce
from tangrad._core.tree.operations import tree_reduce_associative as reduce_associative
from tangrad._core.tree.operations import tree_structure as structure
from tangrad._core.tree.operations import tree_transpose as transpose
from tangrad._core.tree.operations import tree_unflatten as unflatten
from tangrad._core.tree.operations import tree_flatten_with_path as flatten_with_path
from tangrad._core.tree.operations import tree_leaves_with_path as leaves_with_path
from tangrad._core.tree.operations import tree_map_with_path as map_with_path
from tangrad._core.tree.prefixes import tree_broadcast as broadcast
from tangrad._core.tree.tables import PyTree

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

T = TypeVar("T")

@overload
def map(f: Callable[[Array], Array], tree: T, *, is_leaf: Callable[[Any], bool] | None = None) -> T: ...
@overload
def map(
    f: Callable[[Array, Array], Array], tree: T, second: PyTree, /, *, is_leaf: Callable[[Any], bool] | None = None
) -> T: ...
@overload
def map(
    f: Callable[[Array, Array, Array], Array],
    tree: T,
    second: PyTree,
    third: PyTree,
    /,
    *,
    is_leaf: Callable[[Any], bool] | None = None,
) -> T: ...
@overload
def map(f: Callable[[Array], object], tree: PyTree, *, is_leaf: Callable[[Any], bool] | None = None) -> PyTree: ...
@overload
def map(
    f: Callable[..., object], tree: PyTree, *rest: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree: ...
