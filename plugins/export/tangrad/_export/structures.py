"""The structures of arguments and results in files, as JSON."""

from __future__ import annotations

import importlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tangrad import tree
from tangrad.core.caches import free_after_fork
from tangrad.errors import ArgumentError
from tangrad.tree_util import PyTreeDef

# --- The named tuples that Tangrad's own functions return, by the names that files give them --------------------------


# Name -> where its distribution offers it. A file names none but these, so reading one imports nothing else.
RESULTS = {
    "tangrad.EigResult": "tangrad.extend.numpy",
    "tangrad.EighResult": "tangrad.extend.numpy",
    "tangrad.QRResult": "tangrad.extend.numpy",
    "tangrad.SVDResult": "tangrad.extend.numpy",
    "tangrad.SlogdetResult": "tangrad.extend.numpy",
    "tangrad.UniqueAll": "tangrad.extend.numpy",
    "tangrad.UniqueCounts": "tangrad.extend.numpy",
    "tangrad.UniqueInverse": "tangrad.extend.numpy",
    "tangrad.ModeResult": "tangrad.extend.scipy",
    "tangrad.OptimizeResults": "tangrad.extend.scipy",
    "tangrad.Rotation": "tangrad.extend.scipy",
}


def result_type(name: str) -> type | None:
    """Return the type of that name. Returns None for other names, and where its distribution is not installed."""
    module = RESULTS.get(name)
    if module is None:
        return None
    try:
        found: type = getattr(importlib.import_module(module), name.rpartition(".")[2])
    except ModuleNotFoundError:
        return None
    return found


# ----------------------------------------------------------------------------------------------------------------------
# The structures of arguments and results in files, as JSON: tuples, lists, dictionaries, None, leaves, and node types
# that their authors registered under a name.
# What a file has of a registered node is its name and the bytes that its author wrote of it; the author's own function
# reads them, and no other code runs.


DEPTH = 100
LEAF = 0
MOST_BYTES = 1 << 20  # of what an author writes of a node
_DICTS = {dict: "dict", OrderedDict: "ordered_dict"}
_NONE, _LEAF = tree.structure(None), tree.structure(0)


class NodeForm(NamedTuple):
    """How nodes of a type are written and read."""

    kind: type
    name: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    make: Callable[..., object] | None


_by_type: dict[type, NodeForm] = {}
_by_name: dict[str, NodeForm] = {}
_lock = free_after_fork(threading.Lock())


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Let files of exported programs hold a type of named tuples among arguments and results.

    Args:
        nodetype: what `collections.namedtuple` or `typing.NamedTuple` made.
        serialized_name: what files call it: the reader registers a type under the same name.

    Returns:
        `nodetype`, so that this serves as a decorator with `functools.partial`.

    Raises:
        ValueError: for what is no type of named tuples; for a type or a name that is registered already.

    >>> from collections import namedtuple
    >>> from tangrad.export import register_namedtuple_serialization
    >>> Point = namedtuple("Point", ["x", "y"])
    >>> register_namedtuple_serialization(Point, serialized_name="geometry.Point") is Point
    True
    """
    if not (isinstance(nodetype, type) and issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(f"register_namedtuple_serialization takes a type of named tuples, got {nodetype!r}")
    _register(_form_of_named_tuple(nodetype, serialized_name))
    return nodetype


def _form_of_named_tuple(kind: Any, name: str) -> NodeForm:
    fields = ",".join(kind._fields)

    def read(written: bytes) -> None:
        if written.decode() != fields:
            raise ValueError(f"{name} has the fields {fields}, in the file {written.decode()}")

    return NodeForm(kind, name, lambda _: fields.encode(), read, lambda _, items: kind(*items))


def _form(kind: type) -> NodeForm | None:
    """How a type is written: as it was registered, or as a result of a function of ours."""
    name = f"tangrad.{kind.__name__}"
    own = None if kind in _by_type or not kind.__module__.startswith("tangrad.") else result_type(name)
    return _form_of_named_tuple(kind, name) if own is kind else _by_type.get(kind)


def _form_named(name: str) -> NodeForm | None:
    own = None if name in _by_name else result_type(name)
    return _by_name.get(name) if own is None else _form_of_named_tuple(own, name)


def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type:
    """Let files of exported programs hold a registered type of nodes among arguments and results.

    Args:
        nodetype: a type that was registered with `register_pytree_node` or one of its kin.
        serialized_name: what files call it.
        serialize_auxdata: from the metadata of a node to bytes.
        deserialize_auxdata: from these to the metadata. It gets what the file has, and should raise ValueError for
            what makes no sense.
        from_children: from metadata and children to a node; None: as the type was registered with.

    Returns:
        `nodetype`.

    Raises:
        ValueError: for a type or a name that is registered already.
        TypeError: for what is no type, and functions that are none.

    >>> from tangrad.export import register_pytree_node_serialization
    >>> from tangrad.tree_util import register_pytree_node
    >>> class Scaled:
    ...     def __init__(self, values, factor):
    ...         self.values, self.factor = values, factor
    >>> register_pytree_node(
    ...     Scaled, lambda node: ((node.values,), node.factor), lambda factor, children: Scaled(*children, factor)
    ... )
    >>> written = register_pytree_node_serialization(
    ...     Scaled,
    ...     serialized_name="geometry.Scaled",
    ...     serialize_auxdata=lambda factor: str(factor).encode(),
    ...     deserialize_auxdata=lambda written: int(written),
    ... )
    """
    for function in (serialize_auxdata, deserialize_auxdata):
        if not callable(function):
            raise TypeError(f"register_pytree_node_serialization takes functions, got {function!r}")
    if not isinstance(nodetype, type):
        raise TypeError(f"register_pytree_node_serialization takes a type of nodes, got {nodetype!r}")
    _register(NodeForm(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children))
    return nodetype


def _register(form: NodeForm) -> None:
    if not isinstance(form.name, str) or not form.name:
        raise ValueError(f"serialized_name must be a text, got {form.name!r}")
    with _lock:
        known = _by_type.get(form.kind)
        if known is not None:
            raise ValueError(f"{form.kind.__name__} is registered already, under the name {known.name!r}")
        namesake = _by_name.get(form.name)
        if namesake is not None and not _is_defined_again(namesake.kind, form.kind):
            raise ValueError(f"the name {form.name!r} is that of {namesake.kind.__name__} already")
        _by_type[form.kind] = _by_name[form.name] = form


def _is_defined_again(known: type, found: type) -> bool:
    """Whether two classes are one, whose module runs again: its first import was interrupted."""
    return (known.__module__, known.__qualname__) == (found.__module__, found.__qualname__)


# --- writing --------------------------------------------------------------------------------------------------------


def described_tree(structure: PyTreeDef, depth: int = 0) -> int | str | list[object] | None:
    """A structure as JSON: 0 for a leaf, None, `["tuple", ...]`, `["list", ...]`, `["dict", [key, ...], ...]`, the same
    of an "ordered_dict", `["node", name, what its author wrote in hexadecimal, ...]`.

    Raises ArgumentError for nodes of other types and keys that are no strings, ValueError for what is nested too deep.
    """
    if depth > DEPTH:
        raise ValueError(f"serialize: arguments or results are nested deeper than the {DEPTH} levels that files have")
    data = structure.node_data()
    if data is None:
        return LEAF
    kind, metadata = data
    parts = [described_tree(child, depth + 1) for child in structure.children()]
    if structure == _NONE:
        return None
    if kind in (tuple, list):
        return [kind.__name__, *parts]
    if kind in _DICTS and all([isinstance(key, str) for key in metadata]):
        return [_DICTS[kind], list(metadata), *parts]
    form = _form(kind)
    if form is None:
        raise ArgumentError(
            "serialize: arguments and results are written in tuples, lists, None, dictionaries with strings as keys, "
            f"and types that register_namedtuple_serialization or register_pytree_node_serialization know; got a "
            f"{kind.__name__}"
        )
    written = form.write(metadata)
    if not isinstance(written, bytes) or len(written) > MOST_BYTES:
        raise ValueError(f"serialize: of a {kind.__name__} at most {MOST_BYTES} bytes are written, got {written!r:.80}")
    return ["node", form.name, written.hex(), *parts]


# --- reading --------------------------------------------------------------------------------------------------------


def tree_from(description: object) -> PyTreeDef:
    """The structure of a description. Raises ValueError for what is none, and for nodes that are not registered."""
    return _built(description, 0)


def _built(description: object, depth: int) -> PyTreeDef:
    if depth > DEPTH:
        raise ValueError("a structure that is nested too deeply")
    if description is None or (type(description) is int and description == LEAF):
        return _NONE if description is None else _LEAF
    if not isinstance(description, list) or not description:
        raise ValueError(f"{description!r:.80} is no structure")
    kind, *items = description
    if kind in ("tuple", "list"):
        return _node({"tuple": tuple, "list": list}[kind], None, [_built(item, depth + 1) for item in items])
    if (
        kind in ("dict", "ordered_dict")
        and items
        and isinstance(items[0], list)
        and all([isinstance(key, str) for key in items[0]])
    ):
        keys, *values = items
        if len(keys) != len(values) or sorted(keys) != sorted(set(keys)) or (kind == "dict" and keys != sorted(keys)):
            raise ValueError("a dictionary whose keys and values do not fit")
        children = [_built(value, depth + 1) for value in values]
        return _node(dict, keys, children) if kind == "dict" else _node(OrderedDict, tuple(keys), children)
    if kind == "node" and len(items) > 1 and all([isinstance(item, str) for item in items[:2]]):
        name, written = items[:2]
        return _registered(name, written, [_built(item, depth + 1) for item in items[2:]])
    raise ValueError(f"{kind!r:.80} is no kind of structure")


def _node(kind: type, metadata: object, children: list[PyTreeDef]) -> PyTreeDef:
    return PyTreeDef.from_node_data_and_children(None, (kind, metadata), children)


def _registered(name: str, written: str, children: list[PyTreeDef]) -> PyTreeDef:
    form = _form_named(name)
    if form is None:
        raise ValueError(
            f"a node {name!r:.80}, which is not registered: register_namedtuple_serialization or "
            f"register_pytree_node_serialization with that name comes before deserialize"
        )
    metadata = form.read(bytes.fromhex(written))
    if form.make is None:
        return _node(form.kind, metadata, children)
    return tree.structure(form.make(metadata, [child.unflatten([0] * child.num_leaves) for child in children]))
