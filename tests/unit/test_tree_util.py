"""Registration of node types, key paths, prefixes, `Partial`."""

import copy
import dataclasses
import functools
import pickle
import threading
from collections import OrderedDict, defaultdict, namedtuple
from operator import attrgetter

import pytest

import tangrad.tree
from tangrad import tree_util
from tangrad.tree_util import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    SequenceKey,
    broadcast_prefix,
    equality_errors,
    flatten_axes,
    keystr,
    prefix_errors,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    tree_flatten,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_structure,
)

Point = namedtuple("Point", "x y")


def paths(tree, **options):
    return [keystr(path) for path, _ in tree_leaves_with_path(tree, **options)]


# --- registration -----------------------------------------------------------------------------------------------------


@register_pytree_node_class
class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def tree_flatten(self):
        return iter((self.low, self.high)), "aux"

    @classmethod
    def tree_unflatten(cls, data, children):
        assert data == "aux" and type(children) is tuple
        return cls(*children)


@register_pytree_with_keys_class
class Keyed:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def tree_flatten_with_keys(self):
        return ((GetAttrKey("x"), self.x), (GetAttrKey("y"), self.y)), None

    @classmethod
    def tree_unflatten(cls, data, children):
        return cls(*children)


class Sub(Keyed):
    pass


def test_class_with_methods():
    leaves, structure = tree_flatten([Interval(1, [2])])
    assert leaves == [1, 2] and repr(structure) == "PyTreeDef([CustomNode(Interval[aux], [*, [*]])])"
    for _ in range(40):
        (mapped,) = tree_map(lambda x: -x, [Interval(1, [2])])
        assert (type(mapped), mapped.low, mapped.high) == (Interval, -1, [-2])
    assert paths(Interval(1, [2])) == ["[<flat index 0>]", "[<flat index 1>][0]"]
    assert tree_leaves([Sub(1, 2)])[0].x == 1, "subclasses are leaves"


def test_class_with_keys():
    assert tree_flatten(Keyed(1, [2])) == ([1, 2], tree_structure(Keyed(3, [4])))
    assert paths(Keyed(1, [2])) == [".x", ".y[0]"]
    assert tree_util.flatten_one_level_with_keys(Keyed(1, 2))[0][1] == (GetAttrKey("y"), 2)


def test_methods_are_looked_up_late(monkeypatch):
    monkeypatch.setattr(Interval, "tree_flatten", lambda self: ((self.low,), "aux"))
    assert tree_leaves(Interval(1, 2)) == [1]


def test_register_with_keys_and_flatten():
    class Both:
        pass

    register_pytree_with_keys(Both, lambda b: (((DictKey(0), 1),), None), lambda d, c: Both(), lambda b: ((2,), None))
    assert (tree_leaves(Both()), tree_leaves_with_path(Both())) == ([2], [((DictKey(0),), 1)])


@pytest.mark.parametrize("kind", [tuple, list, dict, type(None), OrderedDict, defaultdict, Interval, Partial])
def test_registered_twice(kind):
    with pytest.raises(ValueError, match="already registered as a pytree node"):
        register_pytree_node(kind, lambda x: ((), None), lambda d, c: None)


def test_threads_that_register_one_type():
    for _ in range(20):
        kind, outcomes, barrier = type("Raced", (), {}), [], threading.Barrier(4)

        def work(kind=kind, outcomes=outcomes, barrier=barrier):
            barrier.wait()
            tree_leaves(kind())
            try:
                register_pytree_node(kind, lambda x: ((), None), lambda d, c: None)
                outcomes.append("registered")
            except ValueError:
                outcomes.append("refused")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["refused"] * 3 + ["registered"] and tree_leaves([kind(), 1]) == [1]


def test_wrong_arguments_to_register():
    with pytest.raises(TypeError, match="expected a type, got int: 3"):
        register_pytree_node(3, lambda x: ((), None), lambda d, c: None)
    with pytest.raises(TypeError, match="unflatten_func must be callable, got None"):
        register_pytree_node(int, lambda x: ((), None), None)
    with pytest.raises(TypeError, match="flatten_with_keys_func must be callable"):
        register_pytree_node(int, lambda x: ((), None), lambda d, c: None, 3)
    with pytest.raises(TypeError, match="int lacks tree_flatten and tree_unflatten"):
        register_pytree_node_class(int)
    with pytest.raises(TypeError, match="int lacks tree_flatten_with_keys and tree_unflatten"):
        register_pytree_with_keys_class(int)


@pytest.mark.parametrize("result", [3, (1, 2, 3), (3, None), None])
def test_flatten_functions_that_return_something_else(result):
    class Wrong:
        pass

    register_pytree_node(Wrong, lambda w: result, lambda d, c: Wrong(), lambda w: result)
    with pytest.raises(ValueError, match=r"the flatten function of node Wrong should return \(children, data\)"):
        tree_flatten(Wrong())
    with pytest.raises(ValueError, match=r"the flatten-with-keys function of node Wrong should return \(pairs, data\)"):
        tree_leaves_with_path(Wrong())


def test_errors_in_functions_of_users_pass_through():
    class Failing:
        pass

    def fail(*args):
        raise KeyError("mine")

    register_pytree_node(Failing, lambda f: ((1,), None), fail)
    leaves, structure = tree_flatten([Failing(), [2]])
    for _ in range(40):
        with pytest.raises(KeyError, match="mine"):
            structure.unflatten(leaves)


def test_static():
    @register_static
    @dataclasses.dataclass(frozen=True)
    class Mode:
        name: str

    assert tree_leaves([Mode("a"), 1]) == [1]
    assert tree_structure(Mode("a")) == tree_structure(Mode("a")) != tree_structure(Mode("b"))
    assert tree_map(str, [Mode("a"), 1]) == [Mode("a"), "1"]


# --- dataclasses ------------------------------------------------------------------------------------------------------


@register_dataclass
@dataclasses.dataclass
class Layer:
    weights: object
    bias: object = None
    activation: str = tangrad.tree.static(default="relu")
    index: int = dataclasses.field(default=0, metadata={"static": True, "other": 1})
    cached: int = dataclasses.field(default=7, init=False)


def test_dataclass():
    layer = Layer(1, [2], index=3)
    leaves, structure = tree_flatten(layer)
    assert leaves == [1, 2] and repr(structure) == "PyTreeDef(CustomNode(Layer[('relu', 3)], [*, [*]]))"
    assert paths(layer) == [".weights", ".bias[0]"]
    for _ in range(40):
        assert tree_map(lambda x: x * 2, (layer, [layer])) == (Layer(2, [4], index=3), [Layer(2, [4], index=3)])
    assert tree_flatten(Layer(5, [6], index=3)) == ([5, 6], structure) != tree_flatten(Layer(5, [6], index=3.0))
    assert tree_flatten([Layer(5, [6], index=True)])[1] != tree_flatten([Layer(5, [6], index=1)])[1]


def test_static_fields_keep_the_arguments_of_field():
    field = tangrad.tree.static(default_factory=list, metadata={"doc": "text"}, repr=False)
    assert dict(field.metadata) == {"doc": "text", "static": True} and not field.repr and field.default_factory is list


def test_class_that_is_no_dataclass():
    class Plain:
        def __init__(self, *, a, b, c):
            self.a, self.b, self.c = a, b, c

    with pytest.raises(TypeError, match="is no dataclass: data_fields and meta_fields are required"):
        register_dataclass(Plain)
    assert register_dataclass(Plain, ["b", "a"], ["c"]) is Plain
    mapped = tree_map(lambda x: x + 1, Plain(a=1, b=2, c=3))
    assert (mapped.a, mapped.b, mapped.c) == (2, 3, 3)
    assert paths(Plain(a=1, b=2, c=3)) == [".b", ".a"]


def test_odd_field_names():
    class Odd:
        def __init__(self, **fields):
            self.__dict__.update(fields)

    register_dataclass(Odd, ["class", "1"], ["not a name"])
    for _ in range(40):
        (mapped,) = tree_map(lambda x: x + 1, [Odd(**{"class": 1, "1": 2, "not a name": 3})])
    assert mapped.__dict__ == {"class": 2, "1": 3, "not a name": 3}


@dataclasses.dataclass
class Pair:
    x: int
    y: int = 3


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["x"], []), ValueError, "y of Pair is neither in data_fields nor in meta_fields; .* drop_fields"),
        ((["x", "y"], ["z"]), ValueError, "z: not among the fields of Pair"),
        ((["x", "y"],), TypeError, "go together; meta_fields is missing"),
        ((None, ["x"]), TypeError, "go together; data_fields is missing"),
        ((["x", "y"], ["y"]), ValueError, "both name y"),
        ((["x", "x"], ["y"]), ValueError, "names a field twice"),
        (("xy", []), TypeError, "must be a sequence of field names, got 'xy'"),
        (([1], ["y"]), TypeError, "must be a sequence of field names"),
    ],
)
def test_wrong_fields(arguments, error, message):
    with pytest.raises(error, match=message):
        register_dataclass(Pair, *arguments)
    assert tree_leaves(Pair(1)) == [Pair(1)]


def test_wrong_classes():
    with pytest.raises(TypeError, match="expected a class, got Pair"):
        register_dataclass(Pair(1))
    with pytest.raises(ValueError, match="already registered"):
        register_dataclass(Layer)


def test_dropped_fields():
    @dataclasses.dataclass
    class Cached:
        x: int
        cache: int = 0

    register_dataclass(Cached, ["x"], [], drop_fields=["cache"])
    assert tree_map(lambda x: x, Cached(1, cache=5)) == Cached(1, cache=0)


# --- Partial ----------------------------------------------------------------------------------------------------------


def test_partial():
    partial = Partial(max, 1, [2], key=abs)
    leaves, structure = tree_flatten(partial)
    assert leaves == [1, 2, abs] and structure == tree_structure(Partial(max, 3, [4], key=abs))
    assert structure != tree_structure(Partial(min, 1, [2], key=abs))
    assert paths(partial) == ["[<flat index 0>][0]", "[<flat index 0>][1][0]", "[<flat index 1>]['key']"]
    mapped = tree_map(lambda leaf: leaf, partial)
    assert (type(mapped), mapped.func, mapped.args, mapped.keywords) == (Partial, max, (1, [2]), {"key": abs})
    assert Partial(divmod, 7)(2) == (3, 1)
    assert isinstance(partial, functools.partial) and "max" in repr(partial)
    with pytest.raises(TypeError, match="callable"):
        Partial(3)


@pytest.mark.parametrize("inner", [functools.partial(divmod, 7), Partial(divmod, 7)])
def test_partial_of_a_partial_keeps_its_arguments_hidden(inner):
    outer = Partial(inner, 2)
    assert tree_leaves(outer) == [2] and outer() == (3, 1)
    assert tree_structure(outer) == tree_structure(Partial(inner, 5)) != tree_structure(Partial(copy.copy(inner), 2))
    assert repr(outer).endswith("Partial(" + repr(inner) + ", 2)")


def test_partial_pickles():
    partial = pickle.loads(pickle.dumps(Partial(divmod, 7)))
    assert type(partial) is Partial and partial(2) == (3, 1)


# --- key paths --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "shown", "text", "simple"),
    [
        (DictKey("a"), "DictKey(key='a')", "['a']", "a"),
        (DictKey((1, 2)), "DictKey(key=(1, 2))", "[(1, 2)]", "(1, 2)"),
        (SequenceKey(3), "SequenceKey(idx=3)", "[3]", "3"),
        (GetAttrKey("x"), "GetAttrKey(name='x')", ".x", "x"),
        (FlattenedIndexKey(2), "FlattenedIndexKey(key=2)", "[<flat index 2>]", "2"),
    ],
)
def test_key_entries(key, shown, text, simple):
    assert (repr(key), str(key), keystr((key,), simple=True)) == (shown, text, simple)
    (attribute,) = type(key).__match_args__
    assert type(key)(**{attribute: attrgetter(attribute)(key)}) == key
    assert pickle.loads(pickle.dumps(key)) == copy.deepcopy(key) == key and len({key, copy.copy(key)}) == 1
    with pytest.raises(AttributeError, match="immutable"):
        setattr(key, attribute, 1)
    with pytest.raises(AttributeError):
        delattr(key, attribute)


def test_key_entries_of_different_kinds_differ():
    assert len({DictKey(1), SequenceKey(1), FlattenedIndexKey(1)}) == 3
    assert DictKey("a") != "a"
    for kind, value in ((GetAttrKey, 3), (SequenceKey, "a"), (FlattenedIndexKey, None)):
        with pytest.raises(TypeError, match=kind.__name__):
            kind(value)


def test_keystr():
    path = DictKey("a"), SequenceKey(1), GetAttrKey("b")
    assert (keystr(()), keystr(path), keystr(path, separator="|")) == ("", "['a'][1].b", "['a']|[1]|.b")
    assert keystr(path, simple=True, separator="/") == "a/1/b"
    assert keystr(("own", 3)) == "own3"


def test_leaves_with_path():
    tree = {"k": [1, Point(2, 3)], "o": OrderedDict(z=4), "d": defaultdict(int, {(1, 2): 5}), "n": None}
    assert paths(tree) == ["['d'][(1, 2)]", "['k'][0]", "['k'][1].x", "['k'][1].y", "['o']['z']"]
    pairs, structure = tree_util.tree_flatten_with_path(tree)
    assert structure is tree_structure(tree) and [leaf for _, leaf in pairs] == tree_leaves(tree)
    assert tree_leaves_with_path(5) == [((), 5)]


def test_is_leaf_with_paths():
    tree = {"a": [1, 2], "b": {"c": [3]}}
    assert paths(tree, is_leaf=lambda path, node: len(path) == 1, is_leaf_takes_path=True) == ["['a']", "['b']"]
    assert paths(tree, is_leaf=lambda node: isinstance(node, list)) == ["['a']", "['b']['c']"]
    with pytest.raises(ValueError, match="is_leaf must return True or False"):
        paths(tree, is_leaf=lambda node: 1)


def test_map_with_path():
    result = tree_util.tree_map_with_path(lambda path, x, y: (keystr(path), x, y), {"a": [1, 2]}, {"a": [3, [4]]})
    assert result == {"a": [("['a'][0]", 1, 3), ("['a'][1]", 2, [4])]}
    with pytest.raises(ValueError, match=r"at tree_map_with_path tree\['a'\]: the prefix has a list of length 2"):
        tree_util.tree_map_with_path(max, {"a": [1, 2]}, {"a": [1, 2, 3]})


# --- prefixes ---------------------------------------------------------------------------------------------------------


def test_broadcast():
    full = {"a": (1, 2), "b": [(1,), {"z": None}]}
    assert tangrad.tree.broadcast({"a": 1, "b": [2, 3]}, full) == {"a": (1, 1), "b": [(2,), {"z": None}]}
    assert tangrad.tree.broadcast(1, full) == {"a": (1, 1), "b": [(1,), {"z": None}]}
    assert broadcast_prefix((1, None), ((1, 2), (3, 4)), is_leaf=lambda x: x is None) == [1, 1, None, None]
    assert broadcast_prefix(1, (1, None), is_leaf=lambda x: x is None) == [1], "in the full tree None is a node"


@pytest.mark.parametrize(
    ("prefix", "full", "message"),
    [
        ({"b": [2, 3]}, {"b": [1, 2, 3]}, "prefix_tree['b']: the prefix has a list of length 2, the full tree has"),
        ({"b": [2, 3]}, {"b": [1, 2, 3]}, "the full tree has a list of length 3: the lengths differ"),
        ({"a": 1, "b": [2]}, {"a": 1, "b": (2,)}, "prefix_tree['b']: the prefix has a list, the full tree has a tuple"),
        ({"a": 1, "b": 1}, {"a": 1, "c": 1}, "['b'] only in the first and ['c'] only in the second"),
        ({"a": None}, {"a": 3}, "prefix_tree['a']: the prefix has None, the full tree has an int: the types differ"),
        ((1,), 5, "at prefix_tree: the prefix has a tuple, the full tree has an int"),
        (Layer(1, index=1), Layer(1, index=2), "the prefix has a Layer with metadata ('relu', 1)"),
        (dict.fromkeys(range(99), 0), {}, "a dict with the keys [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...], the full"),
    ],
)
def test_trees_that_are_no_prefix(prefix, full, message):
    with pytest.raises(ValueError, match="pytree structure error") as error:
        broadcast_prefix(prefix, full)
    assert message in str(error.value)


def test_all_prefix_errors():
    errors = prefix_errors(([1], {"a": (1,)}, 3), ([1, 2], {"a": [1]}, [4]))
    assert [str(error("in_axes")).partition(":")[0] for error in errors] == [
        "pytree structure error at in_axes[0]",
        "pytree structure error at in_axes[1]['a']",
    ]
    assert prefix_errors((1, [2]), ({"a": 1}, [(3, 4)])) == []
    assert prefix_errors((1, [2]), (1, 2), is_leaf=lambda x: isinstance(x, list)) == []


def test_equality_errors():
    differences = equality_errors({"x": [1, (2, 3)], "y": 1}, {"x": [1, (2,)], "y": []})
    found = [(keystr(path), *rest) for path, *rest in differences]
    assert found == [
        ("['x'][1]", "a tuple of length 2", "a tuple of length 1", "the lengths differ"),
        ("['y']", "an int", "a list", "the types differ"),
    ]
    assert list(equality_errors((1, None), (2.0, None))) == []
    same_name = namedtuple("Point", "x y")
    ((_, first, second, _),) = equality_errors(Point(1, 2), same_name(1, 2))
    assert first == second == f"a {__name__}.Point"


def test_flatten_axes():
    structure = tree_structure(((1, 2), {"a": 3, "n": None}))
    assert flatten_axes("in_axes", structure, 0) == [0, 0, 0]
    assert flatten_axes("in_axes", structure, None) == [None] * 3
    assert flatten_axes("in_axes", structure, ((0, None), 1)) == [0, None, 1]
    assert flatten_axes("in_axes", structure, ((0, 1), {"a": 2, "n": 5})) == [0, 1, 2]
    assert flatten_axes("in_axes", structure, ((0, 1), {"a": 2, "n": None})) == [0, 1, 2]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (((0, 1, 2), 0), r"At vmap in_axes\[0\] it has a tuple of length 3, where the value has a tuple of length 2"),
        (([0, 1], 0), r"At vmap in_axes\[0\] it has a list, where the value has a tuple"),
        (((0, 1), {"b": 0}), r"At vmap in_axes\[1\] it has a dict with the keys \['b'\], .*\['b'\] only in the first"),
        ((((0,), 1), 0), r"At vmap in_axes\[0\]\[0\] it has a tuple, where the value has a leaf"),
        ({"a": 1}, r"At vmap in_axes it has a dict, where the value has a tuple"),
    ],
)
def test_axes_that_do_not_fit(axes, message):
    with pytest.raises(ValueError, match="^vmap in_axes must be a tree prefix .*" + message + ".*Use a tuple"):
        flatten_axes("vmap in_axes", tree_structure(((1, 2), {"a": 3})), axes, "Use a tuple")


def test_a_partial_of_a_partial_equals_it_as_a_function():
    inner = functools.partial(max, 1)
    first, second = Partial(inner, 2), Partial(inner, 3)
    assert first.args == (2,) and first.func == inner == second.func == first.func
    assert hash(first.func) == hash(second.func) == hash(inner)
    assert first.func != functools.partial(max, 1)
