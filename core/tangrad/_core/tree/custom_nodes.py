"""Types of nodes that users register, with functions or methods of their own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import methodcaller
from typing import Any, TypeVar

from tangrad._core.tree.definition import NodeKind
from tangrad._core.tree.dispatch import add_kind
from tangrad._core.tree.keys import FlattenedIndexKey

Class = TypeVar("Class", bound=type)
Node = TypeVar("Node")

FlattenFunction = Callable[[Any], tuple[Iterable[Any], Hashable]]
UnflattenFunction = Callable[[Any, Any], Any]
FlattenWithKeysFunction = Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]]


class CustomKind(NodeKind):
    """A registered type."""

    __slots__ = ("flatten", "flatten_with_keys", "unflatten")

    def __init__(
        self,
        node_type: type,
        flatten: FlattenFunction,
        unflatten: UnflattenFunction,
        flatten_with_keys: FlattenWithKeysFunction | None,
    ) -> None:
        super().__init__(node_type)
        self.flatten, self.unflatten, self.flatten_with_keys = flatten, unflatten, flatten_with_keys

    def flatten_node(self, value: Any) -> tuple[Sequence[Any], Any]:
        result = self.flatten(value)
        try:
            children, data = result
            if type(children) is not tuple and type(children) is not list:
                children = tuple(children)
        except (TypeError, ValueError):
            raise self._wrong("flatten function", "(children, data), children being iterable", result) from None
        return children, data

    def unflatten_node(self, data: Any, children: Sequence[Any]) -> Any:
        return self.unflatten(data, tuple(children))

    def entries(self, value: Any) -> tuple[Sequence[Any], Sequence[Any], Any]:
        if self.flatten_with_keys is None:
            children, data = self.flatten_node(value)
            return [FlattenedIndexKey(index) for index in range(len(children))], children, data
        result = self.flatten_with_keys(value)
        try:
            pairs, data = result
            pairs = [(key, child) for key, child in pairs]
        except (TypeError, ValueError):
            raise self._wrong("flatten-with-keys function", "(pairs, data), pairs being (key, child)", result) from None
        return [key for key, _ in pairs], [child for _, child in pairs], data

    def _wrong(self, function: str, expected: str, result: Any) -> ValueError:
        return ValueError(f"the {function} of node {self.type.__name__} should return {expected}, not {result!r}")


def register_pytree_node(
    nodetype: type[Node],
    flatten_func: Callable[[Node], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], Node],
    flatten_with_keys_func: Callable[[Node], tuple[Iterable[tuple[Any, Any]], Hashable]] | None = None,
) -> None:
    """Make a type a node of pytrees. Without it, its values are leaves.

    Args:
        nodetype: the type; subclasses are not included.
        flatten_func: value -> (children, data): children are any iterable, data hashable and comparable.
        unflatten_func: (data, tuple of children) -> value. Children may be anything: tracers, None, placeholders.
        flatten_with_keys_func: value -> (pairs of key entry and child, data), for paths.

    Raises:
        TypeError: `nodetype` is not a type, or a function cannot be called.
        ValueError: the type is registered already.

    >>> import tangrad
    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> tangrad.tree_util.register_pytree_node(
    ...     Point, lambda point: ((point.x, point.y), None), lambda data, children: Point(*children)
    ... )
    >>> tangrad.tree.leaves({"p": Point(1, [2])})
    [1, 2]
    """
    _check_type("register_pytree_node", nodetype)
    functions = {"flatten_func": flatten_func, "unflatten_func": unflatten_func}
    if flatten_with_keys_func is not None:
        functions["flatten_with_keys_func"] = flatten_with_keys_func
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"register_pytree_node: {name} must be callable, got {function!r}")
    add_kind(CustomKind(nodetype, flatten_func, unflatten_func, flatten_with_keys_func))


def register_pytree_with_keys(
    nodetype: type[Node],
    flatten_with_keys: Callable[[Node], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, Any], Node],
    flatten_func: Callable[[Node], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Make a type a node of pytrees whose children have keys.

    Args:
        nodetype: the type; subclasses are not included.
        flatten_with_keys: value -> (pairs of key entry and child, data).
        unflatten_func: (data, tuple of children) -> value.
        flatten_func: value -> (children, data), where that is faster than taking the keys off.

    Raises:
        TypeError, ValueError: as `register_pytree_node`.

    >>> import tangrad
    >>> from tangrad.tree_util import GetAttrKey, keystr
    >>> class Scale:
    ...     def __init__(self, factor):
    ...         self.factor = factor
    >>> tangrad.tree_util.register_pytree_with_keys(
    ...     Scale, lambda s: (((GetAttrKey("factor"), s.factor),), None), lambda _, children: Scale(*children)
    ... )
    >>> [keystr(path) for path, leaf in tangrad.tree.leaves_with_path([Scale(2.0)])]
    ['[0].factor']
    """
    if flatten_func is None:

        def flatten_func(value: Node) -> tuple[Iterable[Any], Hashable]:
            pairs, data = flatten_with_keys(value)
            return [child for _, child in pairs], data

    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: Class) -> Class:
    """Make a class a node of pytrees: a decorator.

    Args:
        cls: has a method `tree_flatten()` -> (children, data), and a class method `tree_unflatten(data, children)`.

    >>> import tangrad
    >>> @tangrad.tree_util.register_pytree_node_class
    ... class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    ...     def tree_flatten(self):
    ...         return (self.low, self.high), None
    ...     @classmethod
    ...     def tree_unflatten(cls, data, children):
    ...         return cls(*children)
    >>> tangrad.tree.map(lambda x: x + 1, Interval(1, 2)).high
    3
    """
    _check_methods("register_pytree_node_class", cls, "tree_flatten", "tree_unflatten")
    register_pytree_node(cls, methodcaller("tree_flatten"), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Make a class a node of pytrees whose children have keys: a decorator.

    Args:
        cls: has a method `tree_flatten_with_keys()` -> (pairs of key entry and child, data), a class method
            `tree_unflatten(data, children)`, and optionally `tree_flatten()`.

    >>> import tangrad
    >>> from tangrad.tree_util import GetAttrKey
    >>> @tangrad.tree_util.register_pytree_with_keys_class
    ... class Box:
    ...     def __init__(self, content):
    ...         self.content = content
    ...     def tree_flatten_with_keys(self):
    ...         return ((GetAttrKey("content"), self.content),), None
    ...     @classmethod
    ...     def tree_unflatten(cls, data, children):
    ...         return cls(*children)
    >>> tangrad.tree.leaves_with_path(Box(5))
    [((GetAttrKey(name='content'),), 5)]
    """
    _check_methods("register_pytree_with_keys_class", cls, "tree_flatten_with_keys", "tree_unflatten")
    flatten = methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    with_keys = methodcaller("tree_flatten_with_keys")
    register_pytree_with_keys(cls, with_keys, cls.tree_unflatten, flatten)  # type: ignore[attr-defined]
    return cls


def register_static(cls: Class) -> Class:
    """Make a class a node without leaves, so that its values belong to the structure: a decorator.

    A function under `jit` that is given such a value is traced again for each different one.

    Args:
        cls: a class with `__hash__` and `__eq__`.

    >>> import tangrad
    >>> @tangrad.tree_util.register_static
    ... class Mode(str):
    ...     pass
    >>> tangrad.tree.leaves([Mode("train"), 1])
    [1]
    """
    register_pytree_node(cls, lambda value: ((), value), lambda data, _: data)
    return cls


def _check_type(function: str, node_type: Any) -> None:
    if not isinstance(node_type, type):
        raise TypeError(f"{function}: expected a type, got {type(node_type).__name__}: {node_type!r}")


def _check_methods(function: str, cls: Any, *methods: str) -> None:
    _check_type(function, cls)
    missing = [name for name in methods if not callable(getattr(cls, name, None))]
    if missing:
        raise TypeError(f"{function}: {cls.__name__} lacks {' and '.join(missing)}")
