"""Structures of pytrees: identity, equality, pickling, parts, and how long they live."""

import copy
import functools
import gc
import math
import pickle
import sys
import threading
import weakref
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

from tangrad._core.tree.tables import data_key
from tangrad.tree import structure
from tangrad.tree_util import (
    PyTreeDef,
    build_tree,
    register_pytree_node,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)

Point = namedtuple("Point", "x y")


class Node:
    def __init__(self, data, *children):
        self.data, self.children = data, children


register_pytree_node(Node, lambda node: (node.children, node.data), lambda data, children: Node(data, *children))


class ByValue:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, ByValue) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


def function():
    """Metadata that compare by identity."""


EXAMPLES = [
    1,
    None,
    (),
    {"b": (1, None), "a": [2]},
    Point(1, (2,)),
    OrderedDict(b=1, a=2),
    defaultdict(list, b=1, a=2),
    Node(("aux", 3), 1, [2]),
    Node(function, 1),
    {2.5: 3, 1: 4},
    Node(ByValue(1), 1, Node([2], 2)),
]


@pytest.mark.parametrize("tree", EXAMPLES)
def test_equal_structures(tree):
    first, second = structure(tree), structure(tree)
    assert first is second
    assert first == second and (first != second) is False and hash(first) == hash(second)
    assert pickle.loads(pickle.dumps(first)) == first
    assert copy.copy(first) is first and copy.deepcopy(first) == first
    assert PyTreeDef.from_node_data_and_children(None, first.node_data(), first.children()) is first
    assert first != structure((tree,)) and first != 3


def test_structures_with_identical_metadata_stay_one_object_through_pickling():
    for tree in EXAMPLES[:-1]:
        assert pickle.loads(pickle.dumps(structure(tree))) is structure(tree)


def test_unequal_structures():
    trees = [1, None, (), [], {}, (1,), [1], {"a": 1}, {"b": 1}, OrderedDict(a=1), defaultdict(int, a=1)]
    trees += [defaultdict(list, a=1), OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), Point(1, 2), (1, 2)]
    trees += [Node(data, 1) for data in (1, 1.0, True, 0.0, -0.0, "1", b"1", (1,), (1.0,), None)]
    trees += [Node(ByValue(1), 1), Node(ByValue(1.5), 1)]
    structures = [structure(tree) for tree in trees]
    assert len(set(structures)) == len(trees)
    assert all((left == right) == (i == j) for i, left in enumerate(structures) for j, right in enumerate(structures))


def test_metadata_that_compare_by_value():
    first, second = ByValue("a"), ByValue("a")
    left, right = structure([Node(first, 1)]), structure([Node(second, 1)])
    assert left is not right and left == right and hash(left) == hash(right)
    assert {left: "found"}[right] == "found"
    assert right.unflatten([2])[0].data is second, "a tree must not be given the metadata of another"
    assert left != structure([Node(ByValue("b"), 1)]) and left != structure([Node("a", 1)])
    for _ in range(40):
        assert left.flatten_up_to([Node(second, 3)]) == [3] and left != structure([Node(ByValue(0), 3)])
        assert structure([Node(second, 1)]).unflatten([0])[0].data is second


def test_metadata_without_hash():
    data = [1, 2]
    left, right = structure(Node(data, 1)), structure(Node([1, 2], 1))
    assert left == right and hash(left) == hash(right) and left != structure(Node([1, 3], 1))
    assert right.unflatten([1]).data is not data
    assert structure(Node(([1],), 1)) == structure(Node(([1],), 1)) != structure(Node(((1,),), 1))


def test_metadata_that_cannot_be_compared():
    left, right = structure(Node(np.ones(3), 1)), structure(Node(np.ones(3), 1))
    assert left == left
    with pytest.raises(ValueError, match="metadata of pytree nodes cannot be compared: `==` of two ndarray"):
        assert left == right
    with pytest.raises(ValueError, match="cannot be compared"):
        left.flatten_up_to(Node(np.ones(3), 1))


def test_sameness_of_data():
    same = [((0.0, (1, math.nan)), (0.0, (1, math.nan))), (1j, 1j)]
    pairs = [(0.0, -0.0), (1, True), ((1,), (1.0,)), ((1,), (1, 2)), (0j, -0j), ("a", b"a")]
    for by_value in (False, True):
        assert all(data_key(left, by_value) == data_key(right, by_value) for left, right in same)
        assert all(data_key(left, by_value) != data_key(right, by_value) for left, right in pairs)
    assert data_key([1]) != data_key([1]) and data_key([1], by_value=True) == data_key([1], by_value=True)


def test_structures_without_references_are_forgotten():
    class Big:
        pass

    held = [Big()]
    alive = weakref.ref(held[0])
    closure = functools.partial(lambda big: big, held[0])
    kept = structure([Node(closure, 1), 2])
    for _ in range(50):
        assert structure([Node(closure, 1), 2]) is kept
    assert kept.take is not None
    del held, closure, kept
    gc.collect()
    assert alive() is None


def test_recent_structures_are_bounded():
    references = [weakref.ref(structure([Node(("recent", i), 1)])) for i in range(1200)]
    assert sum(reference() is not None for reference in references) <= 1024
    assert len(structure(Node(0, 1)).kind.table) < 1300


def test_namedtuple_types_made_without_end():
    structures = {}
    for i in range(5000):
        made = namedtuple("Made", "x")
        if i % 1000 == 0:
            structures[structure([made(1)])] = made
        else:
            structure([made(1)])
    for known, made in structures.items():
        assert structure([made(2)]) is known


def test_registration_after_use():
    later = namedtuple("later", "x y")
    tree = {"a": [later(1, 2)], "b": 3}
    for _ in range(40):
        before = structure(tree)
        assert before.flatten_up_to(tree) == [1, 2, 3]
    register_pytree_node(later, lambda value: ((value.y,), value.x), lambda data, children: later(data, *children))
    assert repr(structure(tree)) == "PyTreeDef({'a': [CustomNode(later[1], [*])], 'b': *})"
    assert structure(tree).unflatten([4, 5]) == {"a": [later(1, 4)], "b": 5}


def test_a_leaf_type_that_is_registered_later():
    class Later:
        pass

    leaf = Later()
    for _ in range(40):
        assert structure([(leaf,), 1]).num_leaves == 2
    register_pytree_node(Later, lambda value: ((), None), lambda data, children: Later())
    assert structure([(leaf,), 1]).num_leaves == 1


def test_threads_get_one_object():
    results = [[] for _ in range(8)]
    trees = [{f"key{i}": (j, [{}, Point(j, ())])} for i in range(40) for j in range(3)]
    barrier = threading.Barrier(8)

    def work(found):
        barrier.wait()
        found.extend([structure(tree) for tree in trees])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(found,)) for found in results]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert all(len({id(found[i]) for found in results}) == 1 for i in range(len(trees)))


def test_a_finaliser_that_makes_structures():
    class Noisy:
        def __del__(self):
            structure({"made": ({}, "while others die")})

    for i in range(50):
        structure(Node(Noisy(), [i]))
        gc.collect(0)
    assert structure({"made": ({}, 0)}) is structure({"made": ({}, 1)})


def test_parts():
    whole = structure({"b": (1, None, [2]), "a": 3})
    assert (whole.num_leaves, whole.num_nodes) == (3, 7)
    assert whole.children() == treedef_children(whole) == [structure(0), structure((0, None, [0]))]
    assert whole.node_data() == (dict, ["a", "b"]) and structure(1).node_data() is None
    assert structure(OrderedDict(b=1, a=1)).node_data() == (OrderedDict, ("b", "a"))
    assert structure(Node("aux", 1)).node_data() == (Node, "aux")
    assert [treedef_is_leaf(structure(tree)) for tree in (1, None, (), [1])] == [True, True, True, False]
    assert treedef_tuple([structure(1), structure([1])]) is structure((1, [1]))
    with pytest.raises(TypeError, match="each item of treedefs must be a PyTreeDef, got int"):
        treedef_tuple([1])
    with pytest.raises(TypeError, match="not made by calling it"):
        PyTreeDef()


@pytest.mark.parametrize(
    ("node_data", "count"),
    [((dict, ["a"]), 2), ((tuple, "x"), 1), ((int, None), 0), ((defaultdict, (int, ())), 1)],
)
def test_impossible_parts(node_data, count):
    with pytest.raises(ValueError):
        PyTreeDef.from_node_data_and_children(None, node_data, [structure(0)] * count)


def test_compose():
    assert structure((1, None)).compose(structure([1, {"a": 1}])) is structure(([1, {"a": 1}], None))
    assert structure(1).compose(structure([1])) is structure([1])
    with pytest.raises(TypeError, match="expects a PyTreeDef, got int"):
        structure((1,)).compose(3)


def test_walk_and_build():
    visited = []

    def fold(children, data):
        visited.append((children, data))
        return sum(children)

    assert structure((1, [2, None], Node("aux", 3))).walk(fold, lambda leaf: leaf + 1, [10, 20, 30]) == 63
    assert visited == [((), None), ((21, 0), None), ((31,), "aux"), ((11, 21, 31), None)]
    with pytest.raises(ValueError, match="walk got 1 leaves"):
        structure((1, 2)).walk(fold, None, [1])
    assert build_tree(structure({"a": 0, "b": (0, None)}), [1, iter([[2, 3], ()])]) == {"a": 1, "b": ([2, 3], None)}
    with pytest.raises(ValueError, match="has 2 children, the iterable 1"):
        build_tree(structure((0, 0)), [1])


@pytest.mark.parametrize(
    ("tree", "full", "message"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, r"expected a dict with the keys \['a', 'b'\], got dict with the keys \['a'\]"),
        ({"a": 1}, OrderedDict(a=1), r"expected a dict with the keys \['a'\], got OrderedDict: "),
        ((1, 2), (1, 2, 3), "expected a tuple of length 2, got tuple of length 3"),
        ((1, 2), Point(1, 2), "expected a tuple of length 2, got Point"),
        (Point(1, 2), (1, 2), "expected a Point of length 2, got tuple"),
        (None, 1, "expected None .*is_leaf.*, got int: 1"),
        (Node("a", 1), Node("b", 1), "expected a Node with metadata 'a' .*, got Node with metadata 'b'"),
        (Node("a", 1), Node("a", 1, 2), "expected a Node .* and 1 children, got Node .* and 2"),
        (Node("a", 1), (1,), "expected a Node .*, got tuple"),
        ((1,), "x" * 1000, "expected a tuple of length 1, got str: 'x{199}...$"),
    ],
)
def test_flatten_up_to_another_tree(tree, full, message):
    for _ in range(40):
        with pytest.raises(ValueError, match=message):
            structure([tree]).flatten_up_to([full])


def test_flatten_up_to():
    known = structure({"a": 1, "b": (2, None, [3])})
    full = {"b": ((2,), None, ["x"]), "a": [9]}
    for _ in range(40):
        assert known.flatten_up_to(full) == [[9], (2,), "x"]
        assert known != structure(full)
    assert structure(1).flatten_up_to(None) == [None]
    assert structure({1: 0}).flatten_up_to({True: 5}) == [5]
    assert structure(Node(1, 0)).flatten_up_to(Node(1.0, [5])) == [[5]]


def test_large_structures():
    tree = {f"layer{i}": [i, (i, None)] for i in range(600)}
    leaves = list(range(1200))
    for _ in range(40):
        rebuilt = structure(tree).unflatten(leaves)
    assert structure(tree).build is None and structure(rebuilt) is structure(tree)
    deep = 0
    for _ in range(150):
        deep = [deep, {}]
    for _ in range(80):
        assert structure(deep).unflatten([0]) == deep
        assert structure(deep).flatten_up_to(deep) == [0]
    assert structure(deep).build is not None and structure(deep).take is not None
