"""Types of nodes that users register, with functions or methods of their own; dataclasses; `Partial`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from keyword import iskeyword
from operator import attrgetter, methodcaller
from typing import Any, TypeVar

from tangrad._core.tree.definition import NodeKind
from tangrad._core.tree.keys import GetAttrKey
from tangrad._core.tree.specialised import Writer
from tangrad._core.tree.tables import PyTree, add_kind

Class = TypeVar("Class", bound=type)
Node = TypeVar("Node")

FlattenFunction = Callable[[PyTree], tuple[Iterable[PyTree], Hashable]]
UnflattenFunction = Callable[[Any, Any], PyTree]
FlattenWithKeysFunction = Callable[[PyTree], tuple[Iterable[tuple[Hashable, PyTree]], Hashable]]


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

    def flatten_node(self, value: PyTree) -> tuple[Sequence[PyTree], object]:
        result = self.flatten(value)
        try:
            children, data = result
            if type(children) is not tuple and type(children) is not list:
                children = tuple(children)
        except (TypeError, ValueError):
            raise self._wrong("flatten function", "(children, data), children being iterable", result) from None
        return children, data

    def unflatten_node(self, data: Any, children: Sequence[PyTree]) -> PyTree:
        return self.unflatten(data, tuple(children))

    def entries(self, value: PyTree) -> tuple[Sequence[Hashable], Sequence[PyTree], object]:
        if self.flatten_with_keys is None:
            return super().entries(value)
        result = self.flatten_with_keys(value)
        try:
            pairs, data = result
            pairs = [(key, child) for key, child in pairs]
        except (TypeError, ValueError):
            raise self._wrong("flatten-with-keys function", "(pairs, data), pairs being (key, child)", result) from None
        return [key for key, _ in pairs], [child for _, child in pairs], data

    def _wrong(self, function: str, expected: str, result: object) -> ValueError:
        return ValueError(f"the {function} of node {self.type.__name__} should return {expected}, not {result!r}")


def register_pytree_node(
    nodetype: type[Node],
    flatten_func: Callable[[Node], tuple[Iterable[PyTree], Hashable]],
    unflatten_func: Callable[[Any, Any], Node],
    flatten_with_keys_func: Callable[[Node], tuple[Iterable[tuple[Hashable, PyTree]], Hashable]] | None = None,
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
    flatten_with_keys: Callable[[Node], tuple[Iterable[tuple[Hashable, PyTree]], Hashable]],
    unflatten_func: Callable[[Any, Any], Node],
    flatten_func: Callable[[Node], tuple[Iterable[PyTree], Hashable]] | None = None,
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

        def flatten_func(value: Node) -> tuple[Iterable[PyTree], Hashable]:
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


def _check_type(function: str, node_type: object) -> None:
    if not isinstance(node_type, type):
        raise TypeError(f"{function}: expected a type, got {type(node_type).__name__}: {node_type!r}")


def _check_methods(function: str, cls: type, *methods: str) -> None:
    _check_type(function, cls)
    missing = [name for name in methods if not callable(getattr(cls, name, None))]
    if missing:
        raise TypeError(f"{function}: {cls.__name__} lacks {' and '.join(missing)}")


class DataclassKind(NodeKind):
    """A class whose nodes are made by keyword arguments: some fields are children, others are metadata."""

    __slots__ = ("_fields", "_keys", "_names", "_plain_names", "_take_children", "_take_data")

    def __init__(self, node_type: type, data_fields: tuple[str, ...], meta_fields: tuple[str, ...]) -> None:
        super().__init__(node_type)
        self._fields = data_fields, meta_fields
        self._keys = [GetAttrKey(name) for name in data_fields]
        self._names = data_fields + meta_fields
        self._plain_names = all(name.isidentifier() and not iskeyword(name) for name in self._names)
        self._take_children, self._take_data = _attributes_getter(data_fields), _attributes_getter(meta_fields)

    def flatten_node(self, value: PyTree) -> tuple[Sequence[PyTree], object]:
        return self._take_children(value), self._take_data(value)

    def unflatten_node(self, data: tuple[Hashable, ...], children: Sequence[PyTree]) -> PyTree:
        return self.type(**dict(zip(self._names, (*children, *data))))

    def keys(self, data: tuple[Hashable, ...], count: int) -> Sequence[Hashable]:
        return self._keys

    def write_take(self, writer: Writer, data: tuple[Hashable, ...], node: str, children: list[str]) -> None:
        if not self._plain_names:
            super().write_take(writer, data, node, children)
            return
        writer.require(f"type({node}) is {writer.constant(self.type)}")
        for name, value in zip(self._fields[1], data):
            found = writer.variable("data")
            writer.line(f"{found} = {node}.{name}")
            writer.require(self.write_same(writer, found, value))
        for name, child in zip(self._fields[0], children):
            writer.line(f"{child} = {node}.{name}")

    def write_build(self, data: tuple[Hashable, ...], children: list[str], constant: Callable[[object], str]) -> str:
        if not self._plain_names:
            return super().write_build(data, children, constant)
        values = [*children, *[constant(value) for value in data]]
        arguments = ", ".join([f"{name}={value}" for name, value in zip(self._names, values)])
        return f"{constant(self.type)}({arguments})"

    def check(self, data: Any, count: int) -> object:
        if len(data) != len(self._fields[1]):
            raise ValueError(f"{self.type.__name__} has {len(self._fields[1])} metadata fields, got {len(data)}")
        return super().check(tuple(data), count)


def _attributes_getter(names: tuple[str, ...]) -> Callable[[object], tuple[PyTree, ...]]:
    if not names:
        return lambda value: ()
    if len(names) == 1:
        getter = attrgetter(names[0])
        return lambda value: (getter(value),)
    return attrgetter(*names)


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Make a dataclass a node of pytrees. Works as a decorator, above `dataclasses.dataclass`.

    Args:
        nodetype: a dataclass, or a class whose `__init__` takes all fields by keyword (then both lists are required).
        data_fields: names of the fields that are children. By default all those with `init=True` that are not metadata.
        meta_fields: names of the fields that belong to the structure: hashable and comparable. By default those made
            with `tangrad.tree.static()`, or with `static=True` in their metadata.
        drop_fields: names of fields that are left out, and get their defaults when a node is made again.

    Returns:
        `nodetype`.

    Raises:
        TypeError: `nodetype` is not a class; only one list is given; a list is needed and missing.
        ValueError: the lists overlap, or are not the dataclass's fields; the class is registered already.

    >>> import dataclasses, tangrad
    >>> @tangrad.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weights: float
    ...     activation: str = tangrad.tree.static(default="relu")
    >>> tangrad.tree.flatten(Layer(0.5))
    ([0.5], PyTreeDef(CustomNode(Layer[('relu',)], [*])))
    """
    if not isinstance(nodetype, type):
        raise TypeError(f"register_dataclass: expected a class, got {type(nodetype).__name__}: {nodetype!r}")
    if (data_fields is None) != (meta_fields is None):
        missing = "data_fields" if data_fields is None else "meta_fields"
        raise TypeError(f"register_dataclass: data_fields and meta_fields go together; {missing} is missing")
    dropped = _names("drop_fields", drop_fields)
    if data_fields is None or meta_fields is None:
        data, meta = _inferred_fields(nodetype, dropped)
    else:
        data, meta = _names("data_fields", data_fields), _names("meta_fields", meta_fields)
    _check_fields(nodetype, data, meta, dropped)
    add_kind(DataclassKind(nodetype, data, meta))
    return nodetype


def _names(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return a list of field names as a tuple; one string is taken for a mistake, not for its letters."""
    result = () if isinstance(names, str) else tuple(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in result):
        raise TypeError(f"register_dataclass: {argument} must be a sequence of field names, got {names!r}")
    if len(set(result)) != len(result):
        raise ValueError(f"register_dataclass: {argument} names a field twice: {names!r}")
    return result


def _fields(nodetype: type) -> list[Any] | None:
    """Return the fields that `__init__` takes; None for a class that is no dataclass."""
    if not hasattr(nodetype, "__dataclass_fields__"):
        return None
    import dataclasses  # loaded by the module of the dataclass; importing it for all costs 0.7 ms

    return [field for field in dataclasses.fields(nodetype) if field.init]


def _inferred_fields(nodetype: type, dropped: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    fields = _fields(nodetype)
    if fields is None:
        raise TypeError(f"register_dataclass: {nodetype!r} is no dataclass: data_fields and meta_fields are required")
    fields = [field for field in fields if field.name not in dropped]
    static = tuple([field.name for field in fields if field.metadata.get("static", False)])
    return tuple([field.name for field in fields if field.name not in static]), static


def _check_fields(nodetype: type, data: tuple[str, ...], meta: tuple[str, ...], dropped: tuple[str, ...]) -> None:
    both = sorted({*data} & {*meta})
    if both:
        raise ValueError(f"register_dataclass: data_fields and meta_fields both name {', '.join(both)}")
    fields = _fields(nodetype)
    if fields is None:
        return
    known = {field.name for field in fields}
    foreign, missing = sorted({*data, *meta} - known), sorted(known - {*data, *meta, *dropped})
    if foreign:
        raise ValueError(
            f"register_dataclass: {', '.join(foreign)}: not among the fields of {nodetype.__name__} with init=True "
            f"({', '.join(sorted(known))})"
        )
    if missing:
        raise ValueError(
            f"register_dataclass: {', '.join(missing)} of {nodetype.__name__} is neither in data_fields nor in "
            "meta_fields; to leave a field out, name it in drop_fields"
        )


def static(**kwargs: Any) -> Any:
    """Declare a field of a dataclass as metadata: `dataclasses.field(...)`, marked for `register_dataclass`.

    Args:
        **kwargs: those of `dataclasses.field`.

    >>> import dataclasses, tangrad
    >>> @tangrad.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Power:
    ...     base: float
    ...     exponent: int = tangrad.tree.static(default=2)
    >>> tangrad.tree.leaves(Power(3.0))
    [3.0]
    """
    import dataclasses  # as in `_fields`

    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


class Partial(functools.partial[Any]):
    """A `functools.partial` that is a node of pytrees: its arguments are children, its function is metadata.

    Two of them have the same structure only if their functions are equal; give the function a name outside a loop,
    or each new `lambda` has its jitted users traced again.

    >>> import tangrad
    >>> from tangrad.tree_util import Partial
    >>> add_two = Partial(lambda x, y: x + y, 2)
    >>> add_two(3)
    5
    >>> tangrad.tree.leaves(add_two)
    [2]
    """

    __slots__ = ()

    def __new__(cls, func: Callable[..., object], /, *args: object, **keywords: object) -> Partial:
        # functools.partial would join a partial that it is given with the new one, and make its arguments children.
        return super().__new__(cls, _Opaque(func) if isinstance(func, functools.partial) else func, *args, **keywords)


class _Opaque:
    """A function whose own arguments are hidden. Equal to what it calls, and compares by its identity."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function

    def __call__(self, *args: object, **keywords: object) -> Any:
        return self.function(*args, **keywords)

    def __eq__(self, other: object) -> bool:
        return self.function is (other.function if isinstance(other, _Opaque) else other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda function, children: Partial(function, *children[0], **children[1]),
)
