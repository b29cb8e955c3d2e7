"""Pytrees beside JAX's: the same leaves, structures, paths and refusals."""

import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque, namedtuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import tangrad
import tangrad.flatten_util
import tangrad.tree
import tangrad.tree_util as ours
from tangrad.flatten_util import Unravel, ravel_pytree
from tangrad.tree_util import tree_leaves, tree_structure

# --- Pytrees beside JAX's: the same leaves, structures, paths and refusals ------------------------------------------


jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.tree_util")

Point = namedtuple("Point", "x y")
Empty = namedtuple("Empty", "")


class Pair:
    def __init__(self, data, first, second):
        self.data, self.first, self.second = data, first, second

    def __repr__(self):
        return f"Pair({self.data!r}, {self.first!r}, {self.second!r})"

    def flatten(self):
        return (self.first, self.second), self.data

    def flatten_with_keys(self, library):
        return [(library.GetAttrKey("first"), self.first), (library.GetAttrKey("second"), self.second)], self.data


class Plain(Pair):
    pass


@dataclasses.dataclass
class Record:
    weights: object
    name: str = dataclasses.field(metadata={"static": True})
    bias: object = None


for library in (ours, theirs):
    flatten = functools.partial(Pair.flatten_with_keys, library=library)
    library.register_pytree_with_keys(Pair, flatten, lambda data, children: Pair(data, *children))
    library.register_pytree_node(Plain, Plain.flatten, lambda data, children: Plain(data, *children))
    library.register_dataclass(Record)

keys = st.sampled_from("abcd")
leaves = st.integers(0, 9) | st.sampled_from(["text", 1.5])
trees = st.recursive(
    leaves | st.none(),
    lambda children: st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(keys, children, max_size=3),
        st.dictionaries(keys, children, max_size=3).map(OrderedDict),
        st.dictionaries(keys, children, max_size=3).map(lambda items: defaultdict(list, items)),
        st.builds(Point, children, children),
        st.builds(Pair, st.sampled_from(["p", ("q", 1), None]), children, children),
        st.builds(Plain, st.sampled_from([1, 2]), children, children),
        st.builds(Record, children, st.sampled_from(["r", "s"]), children),
    ),
    max_leaves=12,
)


def outcome(function, *arguments, **options):
    """The result as text, or the kind of the error."""
    try:
        return repr(function(*arguments, **options))
    except (TypeError, ValueError) as error:
        return type(error).__name__


def paths(library, tree):
    found = library.tree_leaves_with_path(tree)
    simple = [library.keystr(path, simple=True, separator="/") for path, _ in found]
    return simple, [(library.keystr(path), repr(path), leaf) for path, leaf in found]


@given(trees)
def test_structures_and_paths(tree):
    (left, structure), (right, reference) = ours.tree_flatten(tree), theirs.tree_flatten(tree)
    assert left == right
    assert repr(structure) == repr(reference)
    assert (structure.num_leaves, structure.num_nodes) == (reference.num_leaves, reference.num_nodes)
    assert structure.node_data() == reference.node_data()
    assert repr(structure.children()) == repr(reference.children())
    assert repr(structure.unflatten(left)) == repr(reference.unflatten(right))
    assert ours.treedef_is_leaf(structure) == theirs.treedef_is_leaf(reference)
    inner = ours.tree_structure((0, [0])), theirs.tree_structure((0, [0]))
    assert repr(structure.compose(inner[0])) == repr(reference.compose(inner[1]))
    assert paths(ours, tree) == paths(theirs, tree)
    walks = [known.walk(lambda *node: node, lambda leaf: leaf, left) for known in (structure, reference)]
    assert repr(walks[0]) == repr(walks[1])


@given(trees, trees)
@settings(max_examples=150)
def test_two_trees(tree, other):
    for function in ("tree_map", "tree_map_with_path"):
        results = [
            outcome(getattr(library, function), lambda *arguments: tuple(map(str, arguments)), tree, other)
            for library in (ours, theirs)
        ]
        assert results[0] == results[1]
    equal = [library.tree_structure(tree) == library.tree_structure(other) for library in (ours, theirs)]
    assert equal[0] == equal[1]
    results = [outcome(library.tree_broadcast, tree, other) for library in (ours, theirs)]
    assert results[0] == results[1]
    results = [outcome(library.tree_structure(tree).flatten_up_to, other) for library in (ours, theirs)]
    assert results[0] == results[1]


@given(trees, trees)
def test_structures_that_are_used_often(tree, other):
    structure, reference = ours.tree_structure(tree), theirs.tree_structure(tree)
    for _ in range(36):  # functions are generated for it
        ours.tree_map(str, tree)
        structure.flatten_up_to(tree)
    assert repr(ours.tree_map(str, tree)) == repr(theirs.tree_map(str, tree))
    assert ours.tree_flatten(other)[0] == theirs.tree_flatten(other)[0]
    assert (structure == ours.tree_structure(other)) == (reference == theirs.tree_structure(other))
    assert outcome(structure.flatten_up_to, other) == outcome(reference.flatten_up_to, other)


def chosen(node):
    return isinstance(node, tuple) or node is None


@given(trees)
def test_is_leaf(tree):
    (left, structure), (right, reference) = (library.tree_flatten(tree, is_leaf=chosen) for library in (ours, theirs))
    assert (repr(left), repr(structure)) == (repr(right), repr(reference))
    for function in ("tree_leaves_with_path", "tree_leaves"):
        results = [outcome(getattr(library, function), tree, is_leaf=chosen) for library in (ours, theirs)]
        assert results[0] == results[1]
    visited = [], []
    for library, nodes in zip((ours, theirs), visited):
        library.tree_leaves(tree, is_leaf=lambda node, nodes=nodes: nodes.append(repr(node)))
    assert visited[0] == visited[1]


@given(trees)
def test_folds(tree):
    for call in (
        lambda library: library.tree_reduce(lambda x, y: (x, y), tree),
        lambda library: library.tree_reduce(lambda x, y: (x, y), tree, None),
        lambda library: library.tree_reduce_associative(lambda x, y: (x, y), tree),
        lambda library: library.tree_reduce_associative(lambda x, y: (x, y), tree, identity=0),
        lambda library: library.tree_all(tree),
        lambda library: library.all_leaves([tree, tree]),
        lambda library: library.is_tree_node(type(tree)),
        lambda library: library.flatten_one_level(tree)[1],
        lambda library: library.default_registry.flatten_one_level(tree) is None,
    ):
        assert outcome(call, ours) == outcome(call, theirs)


@given(trees, trees)
def test_transpose(outer, inner):
    nested = [library.tree_map(lambda leaf: inner, outer) for library in (ours, theirs)]
    structures = [(library.tree_structure(outer), library.tree_structure(inner)) for library in (ours, theirs)]
    if structures[0][0].num_leaves == 0 or structures[0][1].num_leaves == 0:
        return  # there JAX fails, or answers with the inner tree alone
    results = [library.tree_transpose(*two, tree) for library, two, tree in zip((ours, theirs), structures, nested)]
    assert repr(results[0]) == repr(results[1])


@pytest.mark.parametrize(
    "tree",
    [{1: 2, "a": 3}, {1.5: 2, 1: 3}, {(1, "a"): 1, (0, "b"): 2}, {True: 1, 2: 3}, defaultdict(int, {1: 2, 0: 3})]
    + [OrderedDict([(1, 2), ("a", 3)]), deque([1]), {1}, Empty()],
    ids=repr,
)
def test_odd_trees(tree):
    assert outcome(ours.tree_flatten, tree) == outcome(theirs.tree_flatten, tree)


@pytest.mark.parametrize(
    "call",
    [
        lambda library: library.tree_leaves([1], is_leaf=lambda x: 0),
        lambda library: library.tree_structure([1]).unflatten([]),
        lambda library: library.tree_structure([1]).unflatten(3),
        lambda library: library.register_pytree_node(tuple, None, None),
        lambda library: library.register_pytree_node(3, None, None),
        lambda library: library.register_dataclass(Pair),
        lambda library: library.register_dataclass(Record, ["weights"], ["name"]),
        lambda library: library.register_dataclass(Record, ["weights"]),
        lambda library: library.flatten_one_level(3),
        lambda library: library.Partial(3),
        lambda library: library.tree_transpose(library.tree_structure([0]), library.tree_structure((0,)), [1, 2]),
        lambda library: library.SequenceKey("a"),
        lambda library: library.PyTreeDef(),
    ],
)
def test_refusals(call):
    first, second = outcome(call, ours), outcome(call, theirs)
    assert first == second and first.endswith("Error")


def test_axes_and_prefixes():
    structure = ((1, 2), {"a": 3, "n": None})
    from jax._src.api_util import flatten_axes  # what jax.vmap uses; it has no public name
    from jax._src.tree_util import broadcast_prefix

    fitting = 0, None, (0, None), ((0, None), 1), ((0, 1), {"a": 2, "n": 5})
    others = ((0, 1, 2), 0), [0, 1], ((0, 1), {"b": 0})
    for axes in fitting + others:
        left = outcome(ours.flatten_axes, "in_axes", ours.tree_structure(structure), axes)
        assert left == outcome(flatten_axes, "in_axes", theirs.tree_structure(structure), axes)
        for is_leaf in (None, lambda x: x is None):
            left = outcome(ours.broadcast_prefix, axes, structure, is_leaf)
            assert left == outcome(broadcast_prefix, axes, structure, is_leaf)


def test_every_name_is_there():
    references = jax.tree, theirs, pytest.importorskip("jax.flatten_util")
    for reference, module in zip(references, (tangrad.tree, ours, tangrad.flatten_util)):
        names = {name for name in dir(reference) if not name.startswith("_")}
        assert names <= set(dir(module))
        assert names <= set(getattr(module, "__all__", names))
    methods = {name for name in dir(theirs.PyTreeDef) if not name.startswith("_")}
    # JAX's serialisation of treedefs belongs to its exported programs.
    assert methods - {"serialize_using_proto", "deserialize_using_proto"} <= set(dir(ours.PyTreeDef))


# --- `ravel_pytree` beside JAX's, on each backend -------------------------------------------------------------------


TREES = {
    "one dtype": {"a": np.ones((2, 2), np.float32), "b": np.arange(3, dtype=np.float32)},
    "integers and floats": {"a": np.ones((2, 2), np.float32), "b": (np.arange(3, dtype=np.int32), None)},
    "half and integers": [np.ones(2, np.float16), np.ones(1, np.int32)],
    "numbers": [1, 2.0, True],
    "weak": [1.0, 2.0],
    "one number": 1.5,
    "booleans": [True, np.array([2], np.int8)],
    "complex": [1j, 2.5],
    "no elements": [np.ones((0, 2), np.float32), np.ones(2, np.float32)],
    "no leaves": {"a": None},
}


def described(tree):
    arrays = tree_leaves(tree)
    return [(np.asarray(array).tolist(), str(array.dtype), array.shape, bool(array.weak_type)) for array in arrays]


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_values(tree):
    theirs = pytest.importorskip("jax.flatten_util")
    (vector, unravel), (reference, reference_unravel) = ravel_pytree(tree), theirs.ravel_pytree(tree)
    assert described(vector) == described(reference)
    rebuilt, expected = unravel(vector), reference_unravel(reference)
    assert tree_structure(rebuilt) == tree_structure(tree) and described(rebuilt) == described(expected)


def test_unravel_compares_by_what_it_does():
    first, second = (ravel_pytree({"a": np.ones((2, 2)), "b": value})[1] for value in (1.0, 2.0))
    assert first == second and hash(first) == hash(second)
    others = [{"a": np.ones(4), "b": 1.0}, {"a": np.ones((2, 2)), "b": 1}]
    assert all(first != ravel_pytree(other)[1] for other in others)
    assert isinstance(first, Unravel) and "shapes=((2, 2), ())" in repr(first)


def test_wrong_vectors():
    same, mixed = (ravel_pytree(TREES[name])[1] for name in ("one dtype", "half and integers"))
    for vector in (np.ones(6, np.float32), np.ones(8, np.float32), np.float32(1), np.ones((7, 2), np.float32)):
        with pytest.raises(ValueError, match="unravel expects a vector of 7 elements, got an array of shape"):
            same(vector)
    with pytest.raises(TypeError, match="unravel expects a vector of dtype float16, got float32"):
        mixed(np.ones(3, np.float32))
    assert same(np.ones(7, np.float16))["a"].dtype == np.float16
    assert same(np.ones((7, 1), np.float32))["a"].shape == (2, 2)
    with pytest.raises(TypeError):
        ravel_pytree(["text"])


def test_transformed():
    vector, unravel = ravel_pytree({"a": np.ones((2, 2), np.float32), "b": np.zeros(3, np.float32)})
    _, pull_back = tangrad.vjp(lambda v: tangrad.lax.square(unravel(v)["a"]), vector)
    (cotangent,) = pull_back(np.ones((2, 2), np.float32))
    assert np.asarray(cotangent).tolist() == [2, 2, 2, 2, 0, 0, 0]
    assert np.asarray(tangrad.jit(unravel)(vector)["b"]).tolist() == [0, 0, 0]
    assert np.asarray(tangrad.jit(lambda tree: ravel_pytree(tree)[0])({"a": 1.0, "b": vector})).shape == (8,)
    assert tangrad.vmap(unravel)(np.ones((2, 7), np.float32))["a"].shape == (2, 2, 2)
