"""The structure of a pytree, `PyTreeDef`, and what it knows of a type of nodes, `NodeKind`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias
from weakref import WeakValueDictionary, ref

from tangrad._core.tree import deep, tables
from tangrad._core.tree.keys import FlattenedIndexKey
from tangrad._core.tree.specialised import Writer, compile_build, compile_take
from tangrad._core.tree.tables import Leaf, PyTree, are_leaves, data_key, equal_data, flatteners, intern, same_data

FoldNode: TypeAlias = Callable[[tuple[PyTree, ...], Any], PyTree]

_HOT = 32  # uses after which a structure gets functions of its own
_NEVER = -(1 << 60)  # uses of a structure too deep for that
_LARGEST = 1000  # nodes and leaves above which it does not: compiling takes some 20 µs for each


class PyTreeDef:
    """The structure of a pytree: its nodes, with a hole for each leaf. Immutable and hashable.

    Equal structures are the same object, so comparison and hash are those of identity, and cost nothing. The exception
    is metadata that are themselves compared by value (see `interning`): a subclass, `_ByValue`, compares those.
    Structures come from `flatten` and `structure`; they are not made by calling the class.

    Attributes:
        num_leaves: how many leaves the tree has.
        num_nodes: how many nodes it has, leaves included.
        kind: the `NodeKind` of the root; None for a leaf.
        data: what the root's kind needs beside the children to make the node again.
        subtrees: the structures of the children.

    >>> import tangrad
    >>> tangrad.tree.structure({"b": (1, None), "a": 2})
    PyTreeDef({'a': *, 'b': (*, None)})
    """

    __slots__ = (
        *("__weakref__", "_hash", "_uses", "build", "comparison", "data", "direct", "kind", "num_leaves", "num_nodes"),
        *("shallow", "subtrees", "take"),
    )

    kind: NodeKind | None
    data: Any
    subtrees: tuple[PyTreeDef, ...]
    num_leaves: int
    num_nodes: int
    comparison: int  # how its data compare, see `interning`
    shallow: bool  # all children are leaves
    direct: bool  # so is it here, and its kind is `direct`
    take: Callable[[PyTree], list[Leaf] | None] | None  # generated, see `specialised`
    build: Callable[[Sequence[Leaf]], PyTree] | None
    _hash: int | None
    _uses: int

    def __init__(self) -> None:
        raise TypeError("PyTreeDef is not made by calling it; use tangrad.tree.structure(tree)")

    # --- trees of this structure ---

    def unflatten(self, leaves: Iterable[Leaf]) -> PyTree:
        """Return the tree of this structure with the given leaves.

        Args:
            leaves: as many as `num_leaves`, in the order of `flatten`.

        Raises:
            TypeError: `leaves` is not iterable.
            ValueError: there are too many or too few.

        >>> import tangrad
        >>> tangrad.tree.structure({"b": 0, "a": 0}).unflatten([1, 2])
        {'a': 1, 'b': 2}
        """
        if type(leaves) is not list and type(leaves) is not tuple:
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            relation = "few" if len(leaves) < self.num_leaves else "many"
            raise ValueError(f"too {relation} leaves for {self!r}: expected {self.num_leaves}, got {len(leaves)}")
        if self.kind is None:
            return leaves[0]
        if self.direct:
            return self.kind.unflatten_node(self.data, leaves)
        build = self.build or self.specialised("build")
        if build is not None:
            return build(leaves)
        return deep.fold(self, iter(leaves).__next__, lambda node, done: node.kind.unflatten_node(node.data, done))

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """Return the subtrees of `tree` that stand where this structure has its leaves.

        Args:
            tree: a tree of which this structure is a prefix.

        Raises:
            ValueError: it is not a prefix.

        >>> import tangrad
        >>> tangrad.tree.structure({"a": 0, "b": (0, 0)}).flatten_up_to({"a": [1, 2], "b": (3, {})})
        [[1, 2], 3, {}]
        """
        if not self.shallow:
            take = self.take or self.specialised("take")
            taken = take(tree) if take is not None else None
            if taken is not None:
                return taken
        return deep.collect(self, tree)

    # --- parts, and what is made of them ---

    def children(self) -> list[PyTreeDef]:
        """Return the structures of the root's children."""
        return list(self.subtrees)

    def node_data(self) -> tuple[type, Any] | None:
        """Return the root's type and its metadata: a dict's sorted keys, a registered type's data. None for a leaf."""
        return None if self.kind is None else (self.kind.type, self.kind.node_data(self.data))

    @staticmethod
    def from_node_data_and_children(
        registry: object, node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """Return the structure whose `node_data()` and `children()` are these.

        Args:
            registry: ignored: there is one registry.
            node_data: a type and its metadata; None for a leaf.
            children: the structures of the children.

        Raises:
            ValueError: the type is not that of a node, or the number of children does not fit the metadata.
        """
        return LEAF if node_data is None else restore(node_data[0], node_data[1], tuple(children))

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """Return this structure with `inner` in place of each leaf.

        >>> from tangrad.tree import structure
        >>> structure((0, 0)).compose(structure([0]))
        PyTreeDef(([*], [*]))
        """
        if not isinstance(inner, PyTreeDef):
            raise TypeError(f"compose expects a PyTreeDef, got {type(inner).__name__}")
        if self.kind is None:
            return inner
        return define(self.kind, self.data, [subtree.compose(inner) for subtree in self.subtrees])

    def walk(self, f_node: FoldNode, f_leaf: Callable[[Leaf], PyTree] | None, leaves: Iterable[Leaf]) -> PyTree:
        """Fold the tree from its leaves up: `f_leaf(leaf)` at leaves, `f_node(children's results, metadata)` at nodes.

        Args:
            f_node: called with a tuple and the node's metadata.
            f_leaf: None stands for the leaf itself.
            leaves: as many as `num_leaves`.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"walk got {len(leaves)} leaves for {self!r}, which has {self.num_leaves}")
        source = iter(leaves)
        at_leaf = lambda: next(source) if f_leaf is None else f_leaf(next(source))
        at_node = lambda node, done: f_node(tuple(done), node.kind.metadata(node.kind.node_data(node.data)))
        return deep.fold(self, at_leaf, at_node)

    def from_iterable_tree(self, tree: PyTree) -> PyTree:
        """Return the tree of this structure from nested iterables of the same shape; see `tree_util.build_tree`."""
        if self.kind is None:
            return tree
        children = list(tree)
        if len(children) != len(self.subtrees):
            raise ValueError(f"{self!r} has {len(self.subtrees)} children, the iterable {len(children)}: {tree!r}")
        built = [subtree.from_iterable_tree(child) for subtree, child in zip(self.subtrees, children)]
        return self.kind.unflatten_node(self.data, built)

    # --- as a Python object ---

    def __repr__(self) -> str:
        text = deep.fold(self, lambda: "*", lambda node, done: node.kind.describe(node.data, done))
        return f"PyTreeDef({text})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_leaf, ()) if self.kind is None else (restore, (self.kind.type, self.data, self.subtrees))

    def takes(self, tree: PyTree, leaves: list[Leaf]) -> bool:
        """Append the leaves of `tree` to `leaves` if this is exactly its structure; say so. Needs `take`."""
        taken = self.take(tree) if self.take is not None else None
        if taken is None or not are_leaves(map(type, taken)):
            return False
        leaves.extend(taken)
        return True

    def expectable(self) -> bool:
        """Count a use; say whether `takes` is faster than a walk, and may stand for it.

        It may not where metadata compare by value: a tree would be given those of another.
        """
        return (self.take or self.specialised("take")) is not None and self.comparison != tables.BY_VALUE

    def specialised(self, name: str) -> Callable[..., Any] | None:
        """Count a use; return `take` or `build`, which are generated when a structure has been used often."""
        self._uses += 1  # a plain attribute: if two threads lose a count, or both compile, nothing is lost
        if getattr(self, name) is None and self._uses > _HOT and self.num_nodes <= _LARGEST:
            try:
                setattr(self, name, (compile_take if name == "take" else compile_build)(self))
                _specialised[id(self)] = self
            except RecursionError:
                self._uses = _NEVER
        function: Callable[..., Any] | None = getattr(self, name)
        return function


class _ByValue(PyTreeDef):
    """A structure with metadata that compare by value: equal ones can be different objects."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not _ByValue:
            return False if isinstance(other, PyTreeDef) else NotImplemented
        return (
            self.kind is other.kind
            and hash(self) == hash(other)
            and same_data(self.data, other.data)
            and self.subtrees == other.subtrees
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.kind, data_key(self.data, by_value=True), self.subtrees))
        return self._hash


class NodeKind:
    """How values of one Python type are taken apart and put together. One instance per type.

    Attributes:
        type: the Python type; values of subclasses are not of this kind.
        table: the live structures whose root is of this kind, held weakly.
        direct: generated code would not put a node together faster than `unflatten_node` does.
        literal: nodes print as Python's source has them.
        expected: weak references to the structures to expect, by what is cheap to know of a value. They were met often,
            and last.
    """

    __slots__ = ("__weakref__", "_forget", "expected", "table", "type")

    direct = literal = False

    def __init__(self, node_type: type) -> None:
        self.type: type[Any] = node_type
        self.table: tables.Table = {}
        self._forget = tables.forgetter(self.table)
        self.expected: dict[Hashable, ref[PyTreeDef]] = {}

    def flatten_node(self, value: PyTree) -> tuple[Sequence[PyTree], object]:
        """Return the children of a node, and the data to make it again from them."""
        raise NotImplementedError

    def unflatten_node(self, data: Any, children: Sequence[PyTree]) -> PyTree:
        """Return the node made of `data` and `children` (a list or tuple that is not to be kept or changed)."""
        raise NotImplementedError

    def keys(self, data: Any, count: int) -> Sequence[Hashable]:
        """Return the key entry of each child (`DictKey`, ...) of a node with this data, as many as it has children."""
        return [FlattenedIndexKey(index) for index in range(count)]

    def entries(self, value: object) -> tuple[Sequence[Hashable], Sequence[PyTree], object]:
        """Return the key entry of each child of a node, the children, and the data."""
        children, data = self.flatten_node(value)
        return self.keys(data, len(children)), children, data

    def features(self, data: Any, count: int) -> str:
        """Return what an error message has of a node of this kind behind its name."""
        return f" with metadata {data!r} and {count} children"

    def describe(self, data: Any, children: list[str]) -> str:
        """Return how structures with this root print, given how their children do."""
        if self.literal:
            return self.write_build(data, children, repr)
        name = self.type.__name__
        return f"CustomNode({name}[{data}], [{', '.join(children)}])"

    def node_data(self, data: Any) -> object:
        """Return the metadata that users see in `PyTreeDef.node_data`."""
        return data

    def metadata(self, data: Any) -> object:
        """Return the metadata that users see in `flatten_one_level` and `PyTreeDef.walk`."""
        return data

    def write_take(self, writer: Writer, data: Any, node: str, children: list[str]) -> None:
        """Write the lines that check the value named `node` and bind the names in `children` to its children.

        What is checked is equality of structures (see `same_data`): a tree may be given the structure of another.
        """
        writer.require(f"type({node}) is {writer.constant(self.type)}")
        parts, found = writer.variable("parts"), writer.variable("data")
        same = self.write_same(writer, found, data)
        writer.line(f"{parts}, {found} = {writer.constant(self.flatten_node)}({node})")
        writer.require(f"len({parts}) == {len(children)} and {same}")
        if children:
            writer.line(f"{', '.join(children)}, = {parts}")

    def write_same(self, writer: Writer, found: str, data: object) -> str:
        """Return the condition that the data named `found` and `data` are interchangeable, as source."""
        known = writer.constant(data)
        return f"({found} is {known} or {writer.constant(same_data)}({found}, {known}))"

    def write_build(self, data: Any, children: list[str], constant: Callable[[object], str]) -> str:
        """Return the expression of the node with the given children, as source, where `constant` names objects."""
        return f"{constant(self.unflatten_node)}({constant(data)}, [{', '.join(children)}])"

    def check(self, data: Any, count: int) -> object:
        """Return `data` as this kind keeps it. Raises ValueError where it does not go with `count` children."""
        if len(self.keys(data, count)) != count:
            raise ValueError(f"a {self.type.__name__} with metadata {data!r} cannot have {count} children")
        return data

    def children_like(self, definition: PyTreeDef, value: PyTree) -> Sequence[PyTree]:
        """Return the children of `value`, which must be a node like the root of `definition`. Raises ValueError."""
        but = ""
        if type(value) is self.type:
            children, data = self.flatten_node(value)
            if len(children) == len(definition.subtrees) and equal_data(data, definition.data):
                return children
            but = self.features(data, len(children))
        expected = with_article(self.type.__name__) + self.features(definition.data, len(definition.subtrees))
        text = repr(value)
        raise ValueError(
            f"expected {expected}, got {type(value).__name__}{but}: {text if len(text) < 200 else text[:200] + '...'}"
        )

    def flatten_into(self, value: PyTree, leaves: list[Leaf]) -> PyTreeDef:
        """Append the leaves of a node to `leaves`; return its structure."""
        reference = self.expected.get(None)
        expected = None if reference is None else reference()
        if expected is not None and expected.takes(value, leaves):
            return expected
        children, data = self.flatten_node(value)
        found = define(self, data, flatten_children(children, leaves))
        if found.expectable():
            self.expected[None] = ref(found)
        return found

    def interned(self, key: Hashable, data: object, subtrees: Sequence[PyTreeDef], comparison: int) -> PyTreeDef:
        """Return the structure with this root, data and subtrees, which has the key `key` in `table`."""
        reference = self.table.get(key)
        if reference is not None:
            found: PyTreeDef | None = reference()
            if found is not None:
                return found
        made = _make(self, data, tuple(subtrees), comparison)
        return intern(self.table, key, made, self._forget, made.comparison)


def _make(kind: NodeKind | None, data: object, subtrees: tuple[PyTreeDef, ...], comparison: int) -> PyTreeDef:
    comparison = max([comparison, *[subtree.comparison for subtree in subtrees]])
    made: PyTreeDef = object.__new__(_ByValue if comparison == tables.BY_VALUE else PyTreeDef)
    made.kind, made.data, made.subtrees, made.comparison = kind, data, subtrees, comparison
    made.num_leaves = sum([subtree.num_leaves for subtree in subtrees]) if kind is not None else 1
    made.num_nodes = sum([subtree.num_nodes for subtree in subtrees]) + 1
    made.shallow = kind is None or all(subtree.kind is None for subtree in subtrees)
    made.direct = made.shallow and kind is not None and kind.direct
    made.take, made.build, made._hash, made._uses = None, None, None, 0
    return made


_specialised: WeakValueDictionary[int, PyTreeDef] = WeakValueDictionary()


def _forget_takes() -> None:
    """Forget the generated functions that take trees apart: in some, a type is now taken apart in another way."""
    for structure in list(_specialised.values()):
        structure.take = None


tables.when_replaced.append(_forget_takes)

LEAF: PyTreeDef = _make(None, None, (), tables.PLAIN)


def _leaf() -> PyTreeDef:
    return LEAF


def define(kind: NodeKind, data: object, subtrees: Sequence[PyTreeDef]) -> PyTreeDef:
    """Return the structure with a root of the given kind and data, and these subtrees."""
    key, comparison = data_key(data)
    return kind.interned((key, tuple(map(id, subtrees))), data, subtrees, comparison)


def restore(node_type: type, data: Sequence[str] | None, subtrees: tuple[PyTreeDef, ...]) -> PyTreeDef:
    """Return the structure with a root of the given type: how structures are unpickled. Raises ValueError."""
    kind = kind_of(node_type)
    if kind is None:
        raise ValueError(f"{node_type!r} is not a pytree node: its registration has not run in this process")
    return define(kind, kind.check(data, len(subtrees)), subtrees)


def with_article(name: str) -> str:
    """Return the name of a type as a sentence has it: `a list`, `an int`, `None`."""
    if name == "NoneType":
        return "None"
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def kind_of(node_type: type) -> NodeKind | None:
    """Return the kind of the nodes of a type, or None if its values are leaves."""
    return getattr(flatteners[node_type], "__self__", None)


# --- walking ---


def flatten_into(tree: PyTree, leaves: list[Leaf]) -> PyTreeDef:
    """Append the leaves of `tree` to `leaves`; return its structure."""
    flattener = flatteners[type(tree)]
    if flattener is None:
        leaves.append(tree)
        return LEAF
    count = len(leaves)
    try:
        structure: PyTreeDef = flattener(tree, leaves)
    except RecursionError:
        del leaves[count:]
        structure = deep.flatten(tree, leaves, LEAF, define)
    return structure


def flatten_children(children: Iterable[object], leaves: list[Leaf]) -> list[PyTreeDef]:
    """Append the leaves of some trees to `leaves`; return their structures."""
    subtrees = []
    for child in children:
        flattener = flatteners[type(child)]
        if flattener is None:
            leaves.append(child)
            subtrees.append(LEAF)
        else:
            subtrees.append(flattener(child, leaves))
    return subtrees
