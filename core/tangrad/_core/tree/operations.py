"""What users do with trees: flatten, unflatten, map, reduce, transpose; with the key path of each leaf."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from tangrad._core.tree import deep
from tangrad._core.tree.builtin_nodes import TUPLE
from tangrad._core.tree.definition import LEAF, NodeKind, PyTreeDef, define, kind_of, with_article
from tangrad._core.tree.keys import KeyPath
from tangrad._core.tree.prefixes import IsLeaf, answers_yes, flatten_rest, flatten_until
from tangrad._core.tree.registration import register_dataclass, register_pytree_node
from tangrad._core.tree.tables import Leaf, PyTree, flatteners

PathIsLeaf = Callable[..., bool] | None


class _Unspecified:
    """Stands for an argument that was not given, where None is a value."""

    def __repr__(self) -> str:
        return "<unspecified>"


_UNSPECIFIED: Final = _Unspecified()


def tree_flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Leaf], PyTreeDef]:
    """Return the leaves of a tree, and its structure.

    Args:
        tree: tuples, lists, dicts, None, namedtuples, OrderedDicts, defaultdicts and registered types, nested; anything
            else is a leaf. Dicts are walked in the order of their sorted keys.
        is_leaf: called with each node before it is entered; where it returns True the node is a leaf.

    Raises:
        ValueError: the keys of a dict cannot be sorted; `is_leaf` returned something else than a bool.

    >>> import tangrad
    >>> tangrad.tree.flatten({"b": (1, None), "a": [2]})
    ([2, 1], PyTreeDef({'a': [*], 'b': (*, None)}))
    """
    leaves: list[Leaf] = []
    if is_leaf is not None:
        return leaves, flatten_until(tree, is_leaf, leaves)
    flattener = flatteners[type(tree)]
    if flattener is None:
        return [tree], LEAF
    try:
        return leaves, flattener(tree, leaves)
    except RecursionError:
        leaves.clear()
        return leaves, deep.flatten(tree, leaves, LEAF, define)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Leaf]) -> PyTree:
    """Return the tree of a structure with the given leaves: the inverse of `flatten`.

    Args:
        treedef: the structure.
        leaves: as many as the structure has.

    Raises:
        TypeError: `treedef` is not a PyTreeDef.
        ValueError: there are too many leaves, or too few.

    >>> import tangrad
    >>> leaves, treedef = tangrad.tree.flatten({"b": 1, "a": (2, 3)})
    >>> tangrad.tree.unflatten(treedef, [leaf * 10 for leaf in leaves])
    {'a': (20, 30), 'b': 10}
    """
    _check_structure("tree_unflatten", "treedef", treedef)
    return treedef.unflatten(leaves)


def tree_leaves(tree: object, is_leaf: IsLeaf | None = None) -> list[Leaf]:
    """Return the leaves of a tree.

    Args:
        tree, is_leaf: as in `flatten`.

    >>> import tangrad
    >>> tangrad.tree.leaves({"b": (1, None), "a": [2]})
    [2, 1]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: object, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Return the structure of a tree.

    Args:
        tree, is_leaf: as in `flatten`.

    >>> import tangrad
    >>> tangrad.tree.structure([1, 2]) == tangrad.tree.structure([3, 4])
    True
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., object], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Apply a function to each leaf; return the tree of the results.

    Args:
        f: called with a leaf of `tree`, and what stands in its place in each tree of `rest`.
        tree: as in `flatten`.
        *rest: trees that have `tree` as a prefix.
        is_leaf: as in `flatten`, for `tree`.

    Raises:
        ValueError: a tree of `rest` differs from `tree`; the message has the key path.

    >>> import tangrad
    >>> tangrad.tree.map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    leaves, structure = tree_flatten(tree, is_leaf)
    if not rest:
        return structure.unflatten([f(leaf) for leaf in leaves])
    columns = [flatten_rest("tree_map", structure, tree, other, is_leaf) for other in rest]
    return structure.unflatten(list(map(f, leaves, *columns)))


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: object, initializer: object = _UNSPECIFIED, is_leaf: IsLeaf | None = None
) -> Any:
    """Combine the leaves of a tree from the first to the last.

    Args:
        function: (so far, leaf) -> so far.
        tree: as in `flatten`.
        initializer: the value before the first leaf; by default the first leaf itself.
        is_leaf: as in `flatten`.

    Raises:
        TypeError: there is neither a leaf nor an initializer.

    >>> import tangrad
    >>> tangrad.tree.reduce(lambda total, x: total + x, [1, (2, 3)])
    6
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is not _UNSPECIFIED:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("tree_reduce: a tree without leaves needs an initializer")
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: object,
    *,
    identity: object = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves of a tree by an associative operation, as a balanced tree of pairs.

    Args:
        operation: (left, right) -> combined.
        tree: as in `flatten`.
        identity: the result for a tree without leaves.
        is_leaf: as in `flatten`.

    Raises:
        TypeError: there is neither a leaf nor an identity.

    >>> import tangrad
    >>> tangrad.tree.reduce_associative(lambda x, y: f"({x}{y})", list("abcd"))
    '((ab)(cd))'
    """
    leaves = tree_leaves(tree, is_leaf)
    if leaves:
        return _reduce_halves(operation, leaves)
    if identity is _UNSPECIFIED:
        raise TypeError("tree_reduce_associative: a tree without leaves needs an identity")
    return identity


def _reduce_halves(operation: Callable[[Any, Any], object], leaves: list[Leaf]) -> Any:
    if len(leaves) == 1:
        return leaves[0]
    middle = len(leaves) // 2
    return operation(_reduce_halves(operation, leaves[:middle]), _reduce_halves(operation, leaves[middle:]))


def tree_all(tree: object, *, is_leaf: IsLeaf | None = None) -> bool:
    """Say whether all leaves are true.

    Args:
        tree, is_leaf: as in `flatten`.

    >>> import tangrad
    >>> tangrad.tree.all({"a": True, "b": [True, False]})
    False
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: PyTree) -> PyTree:
    """Return a tree of trees turned inside out.

    Args:
        outer_treedef: the outer structure of the given tree.
        inner_treedef: the inner one; by default that of the first part.
        pytree_to_transpose: a tree with the structure `outer_treedef.compose(inner_treedef)`.

    Returns:
        A tree with the structure `inner_treedef.compose(outer_treedef)`.

    Raises:
        TypeError: a structure is not a PyTreeDef; the tree has not as many leaves as the structures say.

    >>> import tangrad
    >>> structure = tangrad.tree.structure
    >>> tangrad.tree.transpose(structure([0, 0]), structure({"a": 0}), [{"a": 1}, {"a": 2}])
    {'a': [1, 2]}
    """
    _check_structure("tree_transpose", "outer_treedef", outer_treedef)
    leaves, structure = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        parts = outer_treedef.flatten_up_to(pytree_to_transpose)
        inner_treedef = tree_structure(parts[0]) if parts else LEAF
    _check_structure("tree_transpose", "inner_treedef", inner_treedef)
    inner, outer = inner_treedef.num_leaves, outer_treedef.num_leaves
    if structure.num_leaves != inner * outer:
        expected = outer_treedef.compose(inner_treedef)
        raise TypeError(f"tree_transpose: expected the structure\n  {expected!r}\ngot\n  {structure!r}")
    return inner_treedef.unflatten([outer_treedef.unflatten(leaves[first::inner]) for first in range(inner)])


def all_leaves(iterable: Iterable[object], is_leaf: IsLeaf | None = None) -> bool:
    """Say whether all of some values are leaves. None is a node, so it is not.

    Args:
        iterable: the values.
        is_leaf: as in `flatten`.

    >>> from tangrad.tree_util import all_leaves
    >>> all_leaves([1, "two"]), all_leaves([1, (2,)])
    (True, False)
    """
    if is_leaf is None:
        return all(flatteners[type(value)] is None for value in iterable)
    return all(answers_yes(is_leaf(value)) or flatteners[type(value)] is None for value in iterable)


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Say whether a structure is a single node: a leaf, None, or an empty container.

    >>> import tangrad
    >>> tangrad.tree_util.treedef_is_leaf(tangrad.tree.structure(1))
    True
    """
    return treedef.num_nodes == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the root's children.

    >>> import tangrad
    >>> tangrad.tree_util.treedef_children(tangrad.tree.structure((1, [2])))
    [PyTreeDef(*), PyTreeDef([*])]
    """
    return treedef.children()


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple of trees, given theirs.

    >>> import tangrad
    >>> structure = tangrad.tree.structure
    >>> tangrad.tree_util.treedef_tuple([structure(1), structure([2])])
    PyTreeDef((*, [*]))
    """
    subtrees = list(treedefs)
    for subtree in subtrees:
        _check_structure("treedef_tuple", "each item of treedefs", subtree)
    return define(TUPLE, None, subtrees)


def build_tree(treedef: PyTreeDef, xs: object) -> PyTree:
    """Return the tree of a structure from nested iterables of the same shape.

    Args:
        treedef: the structure.
        xs: where the structure has a node, an iterable of its children.

    Raises:
        ValueError: an iterable has not as many items as the node has children.

    >>> import tangrad
    >>> tangrad.tree_util.build_tree(tangrad.tree.structure({"a": 0, "b": (0, 0)}), [1, [2, 3]])
    {'a': 1, 'b': (2, 3)}
    """
    _check_structure("build_tree", "treedef", treedef)
    return treedef.from_iterable_tree(xs)


def is_tree_node(typ: type) -> bool:
    """Say whether the values of a type are nodes of pytrees.

    >>> from tangrad.tree_util import is_tree_node
    >>> is_tree_node(dict), is_tree_node(int)
    (True, False)
    """
    return flatteners[typ] is not None


def flatten_one_level(tree: object) -> tuple[Iterable[PyTree], object]:
    """Return the children of a node, and its metadata.

    Raises:
        ValueError: `tree` is a leaf.

    >>> from tangrad.tree_util import flatten_one_level
    >>> flatten_one_level({"b": [1], "a": 2})
    ([2, [1]], ('a', 'b'))
    """
    kind = _kind_of_node(tree)
    children, data = kind.flatten_node(tree)
    return children, kind.metadata(data)


def flatten_one_level_with_keys(tree: object) -> tuple[Iterable[tuple[Hashable, PyTree]], object]:
    """Return the children of a node as pairs of key entry and child, and its metadata.

    Raises:
        ValueError: `tree` is a leaf.

    >>> from tangrad.tree_util import flatten_one_level_with_keys
    >>> flatten_one_level_with_keys(["a"])
    ([(SequenceKey(idx=0), 'a')], None)
    """
    kind = _kind_of_node(tree)
    keys, children, data = kind.entries(tree)
    return list(zip(keys, children)), kind.metadata(data)


def _kind_of_node(tree: object) -> NodeKind:
    kind = kind_of(type(tree))
    if kind is None:
        raise ValueError(f"{with_article(type(tree).__name__)} is a leaf, it has no children: {tree!r}")
    return kind


def _check_structure(function: str, argument: str, value: PyTreeDef) -> None:
    if not isinstance(value, PyTreeDef):
        raise TypeError(f"{function}: {argument} must be a PyTreeDef, got {type(value).__name__}: {value!r}")


def tree_flatten_with_path(
    tree: PyTree, is_leaf: PathIsLeaf = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Leaf]], PyTreeDef]:
    """Return pairs of key path and leaf, and the structure of a tree.

    Args:
        tree: as in `flatten`.
        is_leaf: as in `flatten`.
        is_leaf_takes_path: call `is_leaf(path, node)` instead of `is_leaf(node)`.

    >>> import tangrad
    >>> tangrad.tree.flatten_with_path({"a": [1]})
    ([((DictKey(key='a'), SequenceKey(idx=0)), 1)], PyTreeDef({'a': [*]}))
    """
    found: list[tuple[KeyPath, Leaf]] = []
    stops = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        without_path = is_leaf

        def stops(path: KeyPath, node: str) -> bool:
            return without_path(node)

    def apart(value: tuple[KeyPath, PyTree]) -> deep.Apart | None:
        path, node = value
        kind = None if stops is not None and answers_yes(stops(path, node)) else kind_of(type(node))
        if kind is None:
            return None
        keys, children, data = kind.entries(node)
        return kind, [((*path, key), child) for key, child in zip(keys, children)], data, id(node)

    return found, deep.flatten(((), tree), found, LEAF, define, apart)


def tree_leaves_with_path(
    tree: object, is_leaf: PathIsLeaf = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Leaf]]:
    """Return pairs of key path and leaf.

    Args:
        tree, is_leaf, is_leaf_takes_path: as in `flatten_with_path`.

    >>> import tangrad
    >>> tangrad.tree.leaves_with_path({"a": [1]})
    [((DictKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., object], tree: object, *rest: object, is_leaf: PathIsLeaf = None, is_leaf_takes_path: bool = False
) -> PyTree:
    """Apply a function to each leaf and its key path; return the tree of the results.

    Args:
        f: called with the path, the leaf of `tree`, and what stands in its place in each tree of `rest`.
        tree: as in `flatten`.
        *rest: trees that have `tree` as a prefix.
        is_leaf, is_leaf_takes_path: as in `flatten_with_path`.

    Raises:
        ValueError: a tree of `rest` differs from `tree`; the message has the key path.

    >>> import tangrad
    >>> from tangrad.tree_util import keystr
    >>> tangrad.tree.map_with_path(lambda path, x: keystr(path) + str(x), {"a": [1]})
    {'a': ["['a'][0]1"]}
    """
    pairs, structure = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    # An error is explained without `is_leaf` where that wants paths: it may then say less, never something wrong.
    plain = None if is_leaf_takes_path else is_leaf
    columns = [flatten_rest("tree_map_with_path", structure, tree, other, plain) for other in rest]
    return structure.unflatten([f(path, leaf, *others) for (path, leaf), *others in zip(pairs, *columns)])


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
    flatten = staticmethod(tree_flatten)

    @staticmethod
    def flatten_with_path(
        tree: PyTree, leaf_predicate: PathIsLeaf = None
    ) -> tuple[list[tuple[KeyPath, Leaf]], PyTreeDef]:
        """Return pairs of path and leaf, and the structure. `leaf_predicate` is called with path and node."""
        return tree_flatten_with_path(tree, leaf_predicate, is_leaf_takes_path=True)

    @staticmethod
    def flatten_one_level(tree: object) -> tuple[object, object] | None:
        """Return the children and metadata of a node, None for a leaf."""
        return None if kind_of(type(tree)) is None else flatten_one_level(tree)

    @staticmethod
    def flatten_one_level_with_keys(tree: object) -> tuple[object, object] | None:
        """Return pairs of key entry and child, and the metadata, of a node; None for a leaf."""
        return None if kind_of(type(tree)) is None else flatten_one_level_with_keys(tree)


default_registry = PyTreeRegistry()
