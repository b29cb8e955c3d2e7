"""What a call of an already compiled function costs: one array, a dict of 20, a nested tree of 200 leaves."""

from typing import Any

from ..measure import Case
from ..sides import Side


def one_array(array: Any) -> Any:
    """A single array, shape (3,)."""
    return array


def dict_of_20(array: Any) -> Any:
    """A dict of 20 arrays."""
    return {f"parameter{number}": array for number in range(20)}


def leaves_200(array: Any) -> Any:
    """50 layers of dicts that hold two arrays and a pair: a model's parameters."""
    layer = {"weights": array, "biases": array, "norm": (array, array)}
    return [{"layer": dict(layer)} for _ in range(50)]


TREES = {"one array": one_array, "dict of 20": dict_of_20, "200 leaves": leaves_200}


def dispatch_case(make_tree: Any, side: Side) -> Case:
    """Call `jit(tree -> tree + 1)` on a tree of small arrays."""
    api = side.api()
    tree = make_tree(api.numpy.ones(3, "float32"))
    function = api.jit(lambda arguments: api.tree.map(lambda leaf: leaf + 1, arguments))
    wait_for_one(function(tree))
    return Case(lambda: function(tree), finish=wait_for_one)


def wait_for_one(tree: Any) -> None:
    """Wait for the first array of a result, without walking all of it: that is not dispatch."""
    while isinstance(tree, (dict, list, tuple)):
        tree = next(iter(tree.values())) if isinstance(tree, dict) else tree[0]
    tree.block_until_ready()


PROGRAMS = {
    f"jit dispatch: {name}": lambda side, make_tree=make_tree: dispatch_case(make_tree, side)
    for name, make_tree in TREES.items()
}
