"""The nodes that need no registration: tuples, lists, dicts, None, namedtuples, OrderedDict, defaultdict.

Each has the fast way to flatten its values here: first the whole node at once where all children are leaves, in C, then
child by child.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Sequence
from operator import is_, itemgetter
from typing import Any
from weakref import WeakValueDictionary, ref

from tangrad._core.tree.definition import LEAF, NodeKind, PyTreeDef, define, flatten_children
from tangrad._core.tree.keys import DictKey, GetAttrKey, SequenceKey
from tangrad._core.tree.specialised import Writer, only_strings
from tangrad._core.tree.tables import PLAIN, Leaf, PyTree, add_kind, are_leaves, bounded, data_key, derivations

Name = Callable[[object], str]

_LONGEST_KEPT = 4096  # what is kept strongly is bounded in length, and in number
_MOST_KEPT = 512


class NoneKind(NodeKind):
    """None: a node without children."""

    __slots__ = ()

    direct = literal = True

    def flatten_node(self, value: None) -> tuple[Sequence[PyTree], None]:
        return (), None

    def unflatten_node(self, data: None, children: Sequence[PyTree]) -> None:
        return None

    def features(self, data: None, count: int) -> str:
        return " (None is a node without leaves; is_leaf=lambda x: x is None makes it a leaf)"

    def flatten_into(self, value: None, leaves: list[Leaf]) -> PyTreeDef:
        return _NONE_STRUCTURE

    def write_take(self, writer: Writer, data: None, node: str, children: list[str]) -> None:
        writer.require(f"{node} is None")

    def write_build(self, data: None, children: list[str], constant: Name) -> str:
        return "None"


class SequenceKind(NodeKind):
    """Tuples, lists and namedtuples: the children are what iteration gives, and there is no data."""

    __slots__ = ("_of_leaves",)

    direct = literal = True

    def __init__(self, node_type: type) -> None:
        super().__init__(node_type)
        self._of_leaves: dict[int, PyTreeDef] = {}

    def flatten_node(self, value: PyTree) -> tuple[Sequence[PyTree], object]:
        return value, None

    def keys(self, data: None, count: int) -> Sequence[Hashable]:
        return [SequenceKey(index) for index in range(count)]

    def features(self, data: None, count: int) -> str:
        return f" of length {count}"

    def children_like(self, definition: PyTreeDef, value: PyTree) -> Sequence[PyTree]:
        if type(value) is self.type and len(value) == len(definition.subtrees):
            children: Sequence[PyTree] = value
            return children
        return super().children_like(definition, value)

    def check(self, data: Any, count: int) -> None:
        if data is not None:
            raise ValueError(f"a {self.type.__name__} has no metadata, got {data!r}")

    def flatten_into(self, value: PyTree, leaves: list[Leaf]) -> PyTreeDef:
        if are_leaves(map(type, value)):
            leaves.extend(value)
            found = self._of_leaves.get(len(value))
            return self._structure_of_leaves(len(value)) if found is None else found
        reference = self.expected.get(len(value))
        expected = None if reference is None else reference()
        if expected is not None and expected.takes(value, leaves):
            return expected
        subtrees = flatten_children(value, leaves)
        structure = self.interned((None, tuple(map(id, subtrees))), None, subtrees, PLAIN)
        if structure.expectable():
            bounded(self.expected, _MOST_KEPT)
            self.expected[len(value)] = ref(structure)
        return structure

    def _structure_of_leaves(self, length: int) -> PyTreeDef:
        structure = define(self, None, [LEAF] * length)
        if length < _LONGEST_KEPT:
            bounded(self._of_leaves, _MOST_KEPT)
            self._of_leaves[length] = structure
        return structure

    def write_take(self, writer: Writer, data: Any, node: str, children: list[str]) -> None:
        writer.require(f"type({node}) is {writer.constant(self.type)} and len({node}) == {len(children)}")
        if children:
            writer.line(f"{', '.join(children)}, = {node}")


class TupleKind(SequenceKind):
    """Tuples, subclasses excepted."""

    __slots__ = ()

    def unflatten_node(self, data: None, children: Sequence[PyTree]) -> PyTree:
        return tuple(children)

    def write_build(self, data: None, children: list[str], constant: Name) -> str:
        return f"({children[0]},)" if len(children) == 1 else f"({', '.join(children)})"


class ListKind(SequenceKind):
    """Lists, subclasses excepted."""

    __slots__ = ()

    def unflatten_node(self, data: None, children: Sequence[PyTree]) -> PyTree:
        return [*children]

    def write_build(self, data: None, children: list[str], constant: Name) -> str:
        return f"[{', '.join(children)}]"


class NamedTupleKind(SequenceKind):
    """One type of namedtuples: subclasses of tuple with `_fields`."""

    __slots__ = ()

    literal = False

    def unflatten_node(self, data: None, children: Sequence[PyTree]) -> PyTree:
        return self.type(*children)

    def keys(self, data: None, count: int) -> Sequence[Hashable]:
        return [GetAttrKey(name) for name in self.type._fields]

    def metadata(self, data: None) -> object:
        return self.type

    def describe(self, data: None, children: list[str]) -> str:
        return f"CustomNode(namedtuple[{self.type.__name__}], [{', '.join(children)}])"

    def write_build(self, data: None, children: list[str], constant: Name) -> str:
        return f"{constant(self.type)}({', '.join(children)})"


class RedefinedTupleKind(NamedTupleKind):
    """A type of namedtuples whose length or iteration means something else, as that of rotations does."""

    __slots__ = ()

    flatten_into, children_like, write_take = NodeKind.flatten_into, NodeKind.children_like, NodeKind.write_take

    def flatten_node(self, value: PyTree) -> tuple[Sequence[PyTree], object]:
        return tuple.__getitem__(value, slice(None)), None


class _Layout:
    """What is known of all dicts with the same keys in the same order."""

    __slots__ = ("comparison", "expected", "given", "key", "of_leaves", "ordered", "strings", "take_values")

    def __init__(self, kind: DictKind, given: tuple[Hashable, ...], ordered: tuple[Hashable, ...]) -> None:
        self.given, self.ordered = given, ordered
        self.key, self.comparison = data_key(ordered)
        self.of_leaves = define(kind, ordered, [LEAF] * len(ordered))
        self.take_values = _values_getter(ordered)
        self.strings = only_strings(map(type, ordered))
        self.expected: ref[PyTreeDef] | None = None

    def serves(self, keys: tuple[Hashable, ...]) -> bool:
        """Say whether keys that equal those given are the same: 1 equals True, and must not become it."""
        return all(map(is_, self.given, keys)) or (self.strings and only_strings(map(type, keys)))


class DictKind(NodeKind):
    """Dicts, subclasses excepted. Their data is the tuple of their sorted keys."""

    __slots__ = ("_empty", "_layouts")

    literal = True

    def __init__(self, node_type: type) -> None:
        super().__init__(node_type)
        self._layouts: dict[tuple[object, ...], _Layout] = {}
        self._empty = define(self, (), ())

    def order(self, keys: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
        """Return the keys in the order of the children. Raises ValueError where they cannot be compared."""
        return sorted_keys(keys)

    def flatten_node(self, value: PyTree) -> tuple[Sequence[PyTree], object]:
        keys = self.order(tuple(value))
        return [value[key] for key in keys], keys

    def unflatten_node(self, data: tuple[Hashable, ...], children: Sequence[PyTree]) -> PyTree:
        return self.type(zip(data, children))

    def keys(self, data: tuple[Hashable, ...], count: int) -> Sequence[Hashable]:
        return [DictKey(key) for key in data]

    def features(self, data: tuple[Hashable, ...], count: int) -> str:
        return f" with the keys {listed(data)}"

    def node_data(self, data: tuple[Hashable, ...]) -> object:
        return list(data)

    def check(self, data: Any, count: int) -> object:
        return super().check(self.order(tuple(data)), count)

    def children_like(self, definition: PyTreeDef, value: PyTree) -> Sequence[PyTree]:
        if type(value) is self.type and len(value) == len(definition.data):
            try:
                return [value[key] for key in definition.data]
            except KeyError:
                pass
        return super().children_like(definition, value)

    def flatten_into(self, value: PyTree, leaves: list[Leaf]) -> PyTreeDef:
        if not value:
            return self._empty
        keys = tuple(value)
        layout = self._layouts.get(keys)
        if layout is None:
            layout = self._lay_out(keys)
        given = layout.given
        if not (given[0] is keys[0] and given[-1] is keys[-1] and (len(keys) < 3 or layout.serves(keys))):
            if not layout.serves(keys):
                layout = self._lay_out(keys)
        children = layout.take_values(value)
        if are_leaves(map(type, children)):
            leaves.extend(children)
            return layout.of_leaves
        expected = None if layout.expected is None else layout.expected()
        if expected is not None and expected.takes(value, leaves):
            return expected
        subtrees = flatten_children(children, leaves)
        key = layout.key, tuple(map(id, subtrees))
        structure = self.interned(key, layout.ordered, subtrees, layout.comparison)
        if structure.expectable():
            layout.expected = ref(structure)
        return structure

    def _lay_out(self, given: tuple[object, ...]) -> _Layout:
        layout = _Layout(self, given, self.order(given))
        if layout.comparison == PLAIN and len(given) < _LONGEST_KEPT:
            bounded(self._layouts, _MOST_KEPT)
            self._layouts[given] = layout
        return layout

    def write_take(self, writer: Writer, data: tuple[Hashable, ...], node: str, children: list[str]) -> None:
        if not only_strings(map(type, data)):
            super().write_take(writer, data, node, children)
            return
        writer.require(f"type({node}) is dict and len({node}) == {len(data)}")
        for key, child in zip(data, children):
            writer.line(f"{child} = {node}[{writer.constant(key)}]")
        if data:
            writer.string_keyed.append(node)

    def write_build(self, data: tuple[Hashable, ...], children: list[str], constant: Name) -> str:
        items = [f"{constant(key)}: {child}" for key, child in zip(data, children)]
        return f"{{{', '.join(items)}}}"


class OrderedDictKind(DictKind):
    """OrderedDicts, subclasses excepted. Their keys are in the order in which they were put in."""

    __slots__ = ()

    literal = False
    node_data, children_like = NodeKind.node_data, NodeKind.children_like
    write_take, write_build = NodeKind.write_take, NodeKind.write_build

    def order(self, keys: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
        return keys


def listed(keys: tuple[object, ...]) -> str:
    """Return keys as text, the first of them if they are many."""
    shown = [repr(key) for key in keys[:12]]
    return f"[{', '.join(shown)}{', ...' if len(keys) > 12 else ''}]"


def sorted_keys(keys: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the keys of a dict in order. Raises ValueError where they cannot be compared with one another."""
    try:
        return tuple(sorted(keys))
    except TypeError as error:
        raise ValueError(
            f"the keys of a dict that is a pytree are sorted, so they must be comparable; got {list(keys)!r} ({error})"
        ) from error


def _values_getter(keys: tuple[object, ...]) -> Callable[[PyTree], Sequence[PyTree]]:
    if len(keys) == 1:
        (key,) = keys
        return lambda value: (value[key],)
    return itemgetter(*keys)


class DefaultDictKind(NodeKind):
    """defaultdicts. Their data is the default factory and the tuple of sorted keys."""

    __slots__ = ()

    def flatten_node(self, value: PyTree) -> tuple[Sequence[PyTree], object]:
        keys = sorted_keys(tuple(value))
        return [value[key] for key in keys], (value.default_factory, keys)

    def unflatten_node(self, data: tuple[Any, tuple[Hashable, ...]], children: Sequence[PyTree]) -> PyTree:
        return defaultdict(data[0], zip(data[1], children))

    def keys(self, data: tuple[object, tuple[Hashable, ...]], count: int) -> Sequence[Hashable]:
        return [DictKey(key) for key in data[1]]


# A kind is unique to its type, or equal structures could be two objects; a type that is gone takes its kind with it.
_named_tuples: WeakValueDictionary[int, NamedTupleKind] = WeakValueDictionary()


def _named_tuple_kind(node_type: type) -> NodeKind | None:
    if not issubclass(node_type, tuple) or not hasattr(node_type, "_fields"):
        return None
    kind = _named_tuples.get(id(node_type))  # the kind holds the type, so the number means this one
    if kind is None:
        usual = node_type.__len__ is tuple.__len__ and node_type.__iter__ is tuple.__iter__
        kind = _named_tuples[id(node_type)] = (NamedTupleKind if usual else RedefinedTupleKind)(node_type)
    return kind


derivations.append(_named_tuple_kind)
NONE, TUPLE, LIST, DICT = NoneKind(type(None)), TupleKind(tuple), ListKind(list), DictKind(dict)
for _kind in (NONE, TUPLE, LIST, DICT, OrderedDictKind(OrderedDict), DefaultDictKind(defaultdict)):
    add_kind(_kind)

_NONE_STRUCTURE = define(NONE, None, ())
