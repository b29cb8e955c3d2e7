"""Dataclasses, and other classes with named fields, as nodes of pytrees."""

from __future__ import annotations

from collections.abc import Sequence
from keyword import iskeyword
from operator import attrgetter
from typing import Any, TypeVar

from tangrad._core.tree.definition import NodeKind
from tangrad._core.tree.dispatch import add_kind
from tangrad._core.tree.interning import same_data
from tangrad._core.tree.keys import GetAttrKey
from tangrad._core.tree.specialised import Writer

Class = TypeVar("Class", bound=type)


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

    def flatten_node(self, value: Any) -> tuple[Sequence[Any], Any]:
        return self._take_children(value), self._take_data(value)

    def unflatten_node(self, data: tuple[Any, ...], children: Sequence[Any]) -> Any:
        return self.type(**dict(zip(self._names, (*children, *data))))

    def entries(self, value: Any) -> tuple[Sequence[Any], Sequence[Any], Any]:
        return self._keys, self._take_children(value), self._take_data(value)

    def write_take(self, writer: Writer, data: tuple[Any, ...], node: str, children: list[str]) -> None:
        if not self._plain_names:
            super().write_take(writer, data, node, children)
            return
        writer.require(f"type({node}) is {writer.constant(self.type)}")
        for name, value in zip(self._fields[1], data):
            known, found = writer.constant(value), writer.variable("data")
            writer.line(f"{found} = {node}.{name}")
            writer.require(f"{found} is {known} or {writer.constant(same_data)}({found}, {known})")
        for name, child in zip(self._fields[0], children):
            writer.line(f"{child} = {node}.{name}")

    def write_build(self, writer: Writer, data: tuple[Any, ...], children: list[str]) -> str:
        if not self._plain_names:
            return super().write_build(writer, data, children)
        values = [*children, *[writer.constant(value) for value in data]]
        arguments = ", ".join([f"{name}={value}" for name, value in zip(self._names, values)])
        return f"{writer.constant(self.type)}({arguments})"

    def check(self, data: Any, count: int) -> Any:
        expected = len(self._fields[0]), len(self._fields[1])
        if (count, len(data)) != expected:
            raise ValueError(
                f"{self.type.__name__} has {expected[0]} data fields and {expected[1]} metadata fields, "
                f"got {count} children and {len(data)} metadata"
            )
        return tuple(data)


def _attributes_getter(names: tuple[str, ...]) -> Any:
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


def _names(argument: str, names: Any) -> tuple[str, ...]:
    """Return a list of field names as a tuple; one string is taken for a mistake, not for its letters."""
    result = () if isinstance(names, str) else tuple(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in result):
        raise TypeError(f"register_dataclass: {argument} must be a sequence of field names, got {names!r}")
    if len(set(result)) != len(result):
        raise ValueError(f"register_dataclass: {argument} names a field twice: {names!r}")
    return result


def _fields(nodetype: type) -> list[Any]:
    """Return the fields that `__init__` takes; none for a class that is no dataclass."""
    if not hasattr(nodetype, "__dataclass_fields__"):
        return []
    import dataclasses  # loaded by the module of the dataclass; importing it for all costs 0.7 ms

    return [field for field in dataclasses.fields(nodetype) if field.init]


def _inferred_fields(nodetype: type, dropped: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not hasattr(nodetype, "__dataclass_fields__"):
        raise TypeError(f"register_dataclass: {nodetype!r} is no dataclass: data_fields and meta_fields are required")
    fields = [field for field in _fields(nodetype) if field.name not in dropped]
    static = tuple([field.name for field in fields if field.metadata.get("static", False)])
    return tuple([field.name for field in fields if field.name not in static]), static


def _check_fields(nodetype: type, data: tuple[str, ...], meta: tuple[str, ...], dropped: tuple[str, ...]) -> None:
    both = sorted({*data} & {*meta})
    if both:
        raise ValueError(f"register_dataclass: data_fields and meta_fields both name {', '.join(both)}")
    if not hasattr(nodetype, "__dataclass_fields__"):
        return
    known = {field.name for field in _fields(nodetype)}
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
