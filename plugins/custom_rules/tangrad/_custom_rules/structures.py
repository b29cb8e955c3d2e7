"""What users' functions return, held against what was expected: both are shown, and what differs by its path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tangrad import tree
from tangrad.tree_util import PyTreeDef, equality_errors, keystr

if TYPE_CHECKING:
    from tangrad.core import ShapedArray
    from tangrad.typing import Value


class _Value:
    """Stands for an array where only the structure of a tree counts."""


def leaves_or_none(treedef: PyTreeDef, value: Any, prefix: bool = False) -> list[Value | None]:
    """The leaves of a tree of that structure, in which None may stand for a whole part: None for each leaf of it.

    With `prefix` any leaf may stand for a part so. Raises TypeError or ValueError for another structure.
    """
    leaves: list[Any] = []

    def add(found: Value | None, part: Any) -> bool:  # users' nodes are made of the results: not all of them take None
        if found is not None and not prefix and type(part) is not _Value:
            raise ValueError("an array stands in place of a tree")
        leaves.extend([found] * tree.structure(part).num_leaves)
        return True

    stand_ins = treedef.unflatten([_Value() for _ in range(treedef.num_leaves)])
    tree.map(add, value, stand_ins, is_leaf=lambda found: found is None)
    return leaves


def paths_of(treedef: PyTreeDef) -> list[str]:
    """The path of each leaf, as it is written after the name of a variable."""
    return [keystr(path) for path, _ in tree.leaves_with_path(treedef.unflatten(range(treedef.num_leaves)))]


def differences(expected: PyTreeDef, found: PyTreeDef) -> Iterator[str]:
    """Where two structures differ: for each place its path, and what is there in both."""
    one, other = [treedef.unflatten([_Value()] * treedef.num_leaves) for treedef in (expected, found)]
    for path, first, second, why in equality_errors(one, other):
        shown = [kind.replace("a _Value", "an array") for kind in (first, second)]
        yield f"at result{keystr(path)}: expected {shown[0]}, got {shown[1]}; {why}"


def place(treedef: Any, position: int) -> str:
    """Where a leaf is, to be put after its number: nothing where it is the only one."""
    path = paths_of(treedef)[position]
    return f" (result{path})" if path else ""


def lines_of(expected: PyTreeDef, found: PyTreeDef) -> str:
    """Where two structures differ, a line for each place."""
    return "".join([f"\n  {line}" for line in differences(expected, found)])


def check_structure(what: str, expected_name: str, expected: PyTreeDef, found: PyTreeDef) -> None:
    """Raise TypeError unless a result has the structure that was expected; `expected_name` says whose that is."""
    if expected != found:
        raise TypeError(
            f"{what} must return a result of the structure {expected_name}, {expected}, got {found}"
            + lines_of(expected, found)
        )


def type_differences(treedef: PyTreeDef, expected: Sequence[ShapedArray], found: Sequence[ShapedArray]) -> list[str]:
    """Where shapes or dtypes of two lists of avals differ: for each place its path, and both types."""
    pairs = list(zip(expected, found, strict=True))
    if all([one is other or (one.shape == other.shape and one.dtype == other.dtype) for one, other in pairs]):
        return []
    return [
        f"at result{path}: expected {one.str_short()}, got {other.str_short()}"
        for path, (one, other) in zip(paths_of(treedef), pairs, strict=True)
        if one.shape != other.shape or one.dtype != other.dtype
    ]
