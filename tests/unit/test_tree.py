"""Pytrees: flatten, unflatten, map, reduce, transpose, on the nodes that need no registration."""

import enum
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

import hypothesis.strategies as st
import pytest
from hypothesis import given

import tangrad.tree
from tangrad import tree_util
from tangrad.tree_util import tree_flatten, tree_leaves, tree_map, tree_structure

Point = namedtuple("Point", "x y")


class SubPoint(Point):
    pass


class SubDict(dict):
    pass


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("tree", "leaves", "text"),
    [
        (1, [1], "*"),
        ("text", ["text"], "*"),
        (None, [], "None"),
        ((), [], "()"),
        ([], [], "[]"),
        ({}, [], "{}"),
        ((1,), [1], "(*,)"),
        ([1, 2], [1, 2], "[*, *]"),
        ({"b": 1, "a": (2, None)}, [2, 1], "{'a': (*, None), 'b': *}"),
        ({1.5: "x", 1: "y"}, ["y", "x"], "{1: *, 1.5: *}"),
        ({(1, "a"): 1, (0, "b"): 2}, [2, 1], "{(0, 'b'): *, (1, 'a'): *}"),
        (Point(1, (2, None)), [1, 2], "CustomNode(namedtuple[Point], [*, (*, None)])"),
        (SubPoint(1, 2), [1, 2], "CustomNode(namedtuple[SubPoint], [*, *])"),
        (OrderedDict(b=1, a=[2]), [1, 2], "CustomNode(OrderedDict[('b', 'a')], [*, [*]])"),
        (defaultdict(list, b=1, a=2), [2, 1], "CustomNode(defaultdict[(<class 'list'>, ('a', 'b'))], [*, *])"),
        (defaultdict(None), [], "CustomNode(defaultdict[(None, ())], [])"),
    ],
)
def test_flatten(tree, leaves, text):
    found, structure = tree_flatten(tree)
    assert found == leaves
    assert repr(structure) == f"PyTreeDef({text})"
    assert (structure.num_leaves, structure) == (len(leaves), tree_structure(tree))
    rebuilt = tangrad.tree.unflatten(structure, found)
    assert (rebuilt, type(rebuilt)) == (tree, type(tree))


@pytest.mark.parametrize("leaf", [deque([1]), Counter("ab"), SubDict(a=1), {1, 2}, range(3), b"12", int])
def test_other_types_are_leaves(leaf):
    assert tree_leaves([leaf]) == [leaf]


def test_dicts_come_back_with_sorted_keys_and_ordered_dicts_in_their_order():
    assert list(tree_map(str, {"b": 1, "a": 2})) == ["a", "b"]
    assert list(tree_map(str, OrderedDict(b=1, a=2))) == ["b", "a"]
    rebuilt = tree_map(str, defaultdict(int, b=1, a=2))
    assert (list(rebuilt), rebuilt.default_factory) == (["a", "b"], int)


@pytest.mark.parametrize("tree", [{1: 2, "a": 3}, defaultdict(None, {1: 2, "a": 3})])
def test_keys_that_cannot_be_sorted(tree):
    with pytest.raises(ValueError, match=r"sorted, so they must be comparable; got \[1, 'a'\]"):
        tree_flatten([tree])
    assert tree_leaves(OrderedDict(tree)) == [2, 3]


def test_equal_keys_of_other_types_are_kept_apart():
    numbers = [{1: "x"}, {True: "x"}, {1.0: "x"}]
    strings = [{"red": 1}, {Colour.RED: 1}, {"a": 1, "red": 2}, {"a": 1, Colour.RED: 2}]
    for tree in numbers + strings:
        for _ in range(2):
            rebuilt = tree_map(lambda leaf: leaf, tree)
            assert [type(key) for key in rebuilt] == [type(key) for key in tree]
    assert tree_structure({1: 0}) != tree_structure({True: 0}) != tree_structure({1.0: 0})
    nested = {"a": {Colour.RED: 1}}, {"a": {"red": 1}}
    for _ in range(100):  # so often that functions are generated for them
        first, second = (tree_map(lambda leaf: leaf, tree) for tree in nested)
        assert (type(*first["a"]), type(*second["a"])) == (Colour, str)


def test_keys_made_anew_each_time():
    trees = [{f"layer{i}{j}": {"w": i} for j in range(3)} for i in (1, 1, 2)]
    assert tree_structure(trees[0]) is tree_structure(trees[1])
    assert tree_structure({0.1 + 0.2: 1}) is tree_structure({0.3 + 0.0 + 4e-17: 1})


def test_is_leaf():
    tree = [(1, 2), 3, None]
    assert tree_flatten(tree, is_leaf=lambda x: x is None or type(x) is tuple)[0] == [(1, 2), 3, None]
    assert tree_leaves(tree, is_leaf=lambda x: True) == [tree]
    assert tree_leaves(tree, is_leaf=lambda x: None) == [1, 2, 3]
    seen = []
    tree_leaves([1, (2,)], is_leaf=seen.append)
    assert seen == [[1, (2,)], 1, (2,), 2]


@pytest.mark.parametrize("answer", [0, 1, "yes", []])
def test_is_leaf_must_answer_with_a_bool(answer):
    with pytest.raises(ValueError, match="is_leaf must return True or False"):
        tree_leaves([1], is_leaf=lambda x: answer)


def test_map():
    assert tree_map(lambda x, y: (x, y), {"a": 1}, {"a": [1, 2]}) == {"a": (1, [1, 2])}
    assert tree_map(lambda x, y: (x, y), [None, 1], [None, 2]) == [None, (1, 2)]
    assert tree_map(lambda x, y: (x, y), {"a": None}, {"a": 3}, is_leaf=lambda x: x is None) == {"a": (None, 3)}
    assert tree_map(max, (1, [5]), (2, [3]), (0, [9])) == (2, [9])


@pytest.mark.parametrize(
    ("tree", "other", "message"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, "at tree_map tree: the prefix has a dict with the keys ['a'], the full tree has"),
        ({"a": 1}, {"a": 1, "b": 2}, "has a dict with the keys ['a', 'b']: the keys differ, ['b'] only in the second"),
        ({"a": (1, 2)}, {"a": [1, 2]}, "at tree_map tree['a']: the prefix has a tuple, the full tree has a list"),
        ([{"a": (1, 2)}], [{"a": (1, 2, 3)}], "at tree_map tree[0]['a']: the prefix has a tuple of length 2, the full"),
        ([{"a": (1, 2)}], [{"a": (1, 2, 3)}], "the full tree has a tuple of length 3: the lengths differ"),
        ({"a": (1, 2)}, {"a": 3}, "at tree_map tree['a']: the prefix has a tuple, the full tree has an int"),
        (Point(None, 1), Point(3, 1), "at tree_map tree.x: the prefix has None, the full tree has an int"),
        (OrderedDict(a=1, b=2), OrderedDict(b=1, a=2), "the keys are in another order"),
        (defaultdict(list, a=1), defaultdict(int, a=1), "the prefix has a defaultdict with metadata"),
        (Point(1, 2), (1, 2), "the prefix has a Point, the full tree has a tuple"),
    ],
)
def test_map_over_trees_that_differ(tree, other, message):
    for _ in range(40):  # the generated functions refuse as the walks do
        with pytest.raises(ValueError) as error:
            tree_map(lambda x, y: x, tree, other)
        assert message in str(error.value)


def test_errors_of_the_function_pass_through():
    with pytest.raises(ValueError, match="mine"):
        tree_map(lambda x, y: (_ for _ in ()).throw(ValueError("mine")), [1], [2])


def test_reduce():
    tree = [1, (2, {"a": 3})]
    assert tangrad.tree.reduce(lambda total, x: total + x, tree) == 6
    assert tangrad.tree.reduce(lambda total, x: (total, x), [1], None) == (None, 1)
    with pytest.raises(TypeError, match="without leaves"):
        tangrad.tree.reduce(max, [None, ()])
    pairs = tangrad.tree.reduce_associative(lambda x, y: f"({x}{y})", list("abcdefg"))
    assert pairs == "((a(bc))((de)(fg)))"
    assert tangrad.tree.reduce_associative(max, {}, identity=0) == 0
    with pytest.raises(TypeError, match="identity"):
        tangrad.tree.reduce_associative(max, {})
    assert tangrad.tree.all([1, [True]]) and tangrad.tree.all(()) and not tangrad.tree.all([1, [0]])


def test_transpose():
    structure = tree_structure
    assert tangrad.tree.transpose(structure([0, 0]), None, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    assert tangrad.tree.transpose(structure([]), structure({"a": 0}), []) == {"a": []}
    assert tangrad.tree.transpose(structure([0, 0]), structure({}), [{}, {}]) == {}
    with pytest.raises(TypeError, match="expected the structure"):
        tangrad.tree.transpose(structure([0, 0]), structure({"a": 0}), [{"a": (1, 3)}, {"a": 2}])
    with pytest.raises(TypeError, match="outer_treedef must be a PyTreeDef, got int"):
        tangrad.tree.transpose(3, structure(0), [1])


def test_unflatten_counts_leaves():
    structure = tree_structure({"a": 1, "b": (2, None, [3])})
    assert structure.unflatten(iter([1, 2, 3])) == {"a": 1, "b": (2, None, [3])}
    for leaves in ([1], [1, 2, 3, 4], ()):
        with pytest.raises(ValueError, match=f"expected 3, got {len(leaves)}"):
            structure.unflatten(leaves)
    with pytest.raises(TypeError, match="not iterable"):
        structure.unflatten(3)
    with pytest.raises(TypeError, match="treedef must be a PyTreeDef, got int"):
        tangrad.tree.unflatten(3, [1])


def test_unflatten_makes_new_containers():
    leaves, structure = tree_flatten([1, 2])
    rebuilt = structure.unflatten(leaves)
    rebuilt.append(3)
    assert leaves == [1, 2]


def test_one_level():
    assert tree_util.flatten_one_level({"b": [1], "a": 2}) == ([2, [1]], ("a", "b"))
    assert tree_util.flatten_one_level(None) == ((), None)
    assert tree_util.flatten_one_level_with_keys(Point(1, 2))[0] == [
        (tree_util.GetAttrKey("x"), 1),
        (tree_util.GetAttrKey("y"), 2),
    ]
    for function in (tree_util.flatten_one_level, tree_util.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="an int is a leaf"):
            function(3)
    registry = tree_util.default_registry
    assert registry.flatten_one_level(3) is None and registry.flatten_one_level_with_keys(3) is None
    assert registry.is_node(dict) and not registry.is_node(int)
    assert registry.flatten((1, [2])) == tree_flatten((1, [2]))
    stopped = registry.flatten_with_path({"a": [1]}, lambda path, node: len(path) == 1)
    assert stopped[0] == [((tree_util.DictKey("a"),), [1])]


def test_all_leaves_and_nodes():
    assert tree_util.all_leaves([1, "a"]) and tree_util.all_leaves([])
    assert not tree_util.all_leaves([1, None]) and not tree_util.all_leaves([(1,)])
    assert tree_util.all_leaves([(1,)], is_leaf=lambda x: True)
    nodes = [int, tuple, list, dict, type(None), Point, OrderedDict, defaultdict, deque]
    assert [tree_util.is_tree_node(kind) for kind in nodes] == [False, *[True] * 7, False]


def test_a_tree_that_contains_itself():
    tree = []
    tree.append(tree)
    with pytest.raises(RecursionError):
        tree_flatten(tree)
    assert tree_leaves([[1]]) == [1]


keys = st.text(max_size=2)
trees = st.recursive(
    st.integers() | st.none() | st.floats() | st.text(max_size=2),
    lambda children: st.one_of(
        st.lists(children, max_size=4),
        st.lists(children, max_size=4).map(tuple),
        st.dictionaries(keys, children, max_size=4),
        st.dictionaries(keys, children, max_size=3).map(OrderedDict),
        st.dictionaries(keys, children, max_size=3).map(lambda items: defaultdict(list, items)),
        st.builds(Point, children, children),
    ),
    max_leaves=20,
)


def _same(left, right) -> bool:
    """Equality that takes the same object for equal (NaN)."""
    return repr(left) == repr(right)


def _with_sorted_keys(tree):
    if type(tree) in (dict, defaultdict):
        pairs = [(key, _with_sorted_keys(tree[key])) for key in sorted(tree)]
        return dict(pairs) if type(tree) is dict else defaultdict(list, pairs)
    if isinstance(tree, OrderedDict):
        return OrderedDict([(key, _with_sorted_keys(child)) for key, child in tree.items()])
    if isinstance(tree, Point):
        return Point(*map(_with_sorted_keys, tree))
    return type(tree)(map(_with_sorted_keys, tree)) if type(tree) in (list, tuple) else tree


@given(trees)
def test_round_trip(tree):
    leaves, structure = tree_flatten(tree)
    assert _same(structure.unflatten(leaves), _with_sorted_keys(tree))
    assert structure.num_leaves == len(leaves)
    assert _same(structure.flatten_up_to(tree), leaves)
    assert tree_structure(tree, is_leaf=lambda node: False) is structure
    pairs, with_path = tree_util.tree_flatten_with_path(tree)
    assert with_path is structure and _same([leaf for _, leaf in pairs], leaves)


@given(trees)
def test_generated_functions_do_what_walks_do(tree):
    leaves, structure = tree_flatten(tree)
    walked = structure.unflatten(leaves)
    for _ in range(40):
        structure.unflatten(leaves)
        structure.flatten_up_to(tree)
    assert structure.kind is None or structure.shallow or structure.take is not None
    assert _same(structure.unflatten(leaves), walked)
    assert _same(structure.flatten_up_to(tree), leaves)
    again, found = tree_flatten(tree)
    assert found is structure and _same(again, leaves)


@given(trees, trees)
def test_a_structure_that_is_expected_is_taken_for_no_other(tree, other):
    for _ in range(36):
        structure = tree_structure(tree)
    leaves, found = tree_flatten(other)
    again, walked = tree_flatten(other, is_leaf=lambda node: False)
    assert found == walked and _same(leaves, again)
    assert (structure == found) == (repr(structure) == repr(found))


class Turned(NamedTuple):
    """Named tuples whose length and iteration mean something else, as those of rotations and batches do."""

    angles: Any
    offset: Any

    def __len__(self) -> int:
        raise TypeError("a single one has no length")

    def __iter__(self) -> Any:
        raise TypeError("a single one is not iterated over")


def test_namedtuples_that_redefine_length_and_iteration() -> None:
    one, other = Turned(1, (2, None)), Turned(10, (20, None))
    leaves, structure = tangrad.tree.flatten(one)
    assert leaves == [1, 2] and str(structure) == "PyTreeDef(CustomNode(namedtuple[Turned], [*, (*, None)]))"
    again = tangrad.tree.unflatten(structure, [3, 4])
    assert type(again) is Turned and (again.angles, again.offset) == (3, (4, None))
    assert tangrad.tree.map(lambda a, b: a + b, one, other).offset == (22, None)
    assert [tree_util.keystr(path) for path, _ in tangrad.tree.leaves_with_path(one)] == [".angles", ".offset[0]"]
    assert tangrad.tree.structure(other) is structure
    assert tangrad.tree.leaves([one, {"a": other}]) == [1, 2, 10, 20]  # generated code
    assert tangrad.tree.structure([one, {"a": other}]).unflatten([5, 6, 7, 8])[1]["a"].angles == 7
    with pytest.raises(ValueError, match="the types differ"):
        tangrad.tree.map(lambda a, b: a, one, Turned(1, 2))
