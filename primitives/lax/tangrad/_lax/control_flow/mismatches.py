"""What control flow says when the structures or types of carries and branches differ: both, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad import tree
from tangrad.tree_util import PyTreeDef, equality_errors, keystr

if TYPE_CHECKING:
    from tangrad.core import ShapedArray


def check_trees(what: str, first_name: str, first: PyTreeDef, second_name: str, second: PyTreeDef) -> None:
    """Raise TypeError unless two structures are equal, naming where they differ."""
    if first == second:
        return
    one = first.unflatten([_Value()] * first.num_leaves)
    other = second.unflatten([_Value()] * second.num_leaves)
    differences = [
        f"  at {second_name}{keystr(path)}: {first_name} has {_shown(a)}, {second_name} has {_shown(b)}; {why}"
        for path, a, b, why in equality_errors(one, other)
    ]
    raise TypeError(
        f"{what}: {first_name} and {second_name} must have the same tree structure.\n"
        f"  {first_name}: {first}\n  {second_name}: {second}\n" + "\n".join(differences)
    )


class _Value:
    """Stands for an array where only the structure of a tree counts."""


def _shown(kind: str) -> str:
    return kind.replace("a _Value", "an array")


def check_types(
    what: str,
    treedef: PyTreeDef,
    first_name: str,
    first: Sequence[ShapedArray],
    second_name: str,
    second: Sequence[ShapedArray],
    hint: str,
) -> None:
    """Raise TypeError unless the types of two trees of one structure agree, naming the leaves that differ."""
    paths = None
    differences = []
    for position, (one, other) in enumerate(zip(first, second)):
        if one.shape == other.shape and one.dtype == other.dtype:
            continue
        if paths is None:
            paths = [keystr(path) for path, _ in tree.leaves_with_path(treedef.unflatten(range(treedef.num_leaves)))]
        differences.append(
            f"  at {second_name}{paths[position]}: {first_name} has {one.str_short()}, {second_name} has "
            f"{other.str_short()}; {_why(one, other)}"
        )
    if differences:
        raise TypeError(
            f"{what}: {first_name} and {second_name} must have equal types.\n"
            f"  {first_name}: {_types(treedef, first)}\n  {second_name}: {_types(treedef, second)}\n"
            + "\n".join(differences)
            + f"\n{hint}"
        )


def _why(one: ShapedArray, other: ShapedArray) -> str:
    reasons = []
    if one.shape != other.shape:
        reasons.append("the shapes differ")
    if one.dtype != other.dtype:
        reasons.append("the dtypes differ")
    return " and ".join(reasons)


class _Type:
    """The type of an array, printed as such."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return str(self.aval.str_short())


def _types(treedef: Any, avals: Sequence[ShapedArray]) -> Any:
    return treedef.unflatten([_Type(aval) for aval in avals])
