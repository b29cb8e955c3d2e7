"""What a saved program has as JSON: parameters, values of registered types, structures of arguments and results."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tangrad import tree
from tangrad._runtime.container import ArtifactError, of_type
from tangrad.core import ClosedJaxpr, Primitive, ShapedArray, composition, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.core.caches import register_cache

if TYPE_CHECKING:
    from tangrad.core import AbstractValue
    from tangrad.typing import DType, PyTree


# --- Types of parameters that plugins define: how their values are written, and found again by a name -----------------
# An entry point of group `tangrad.saved_types` names a class; its name is what files call it, its value the class. What
# is written of a value follows from the class, and no code of a file's is ever run:
#
# - an `enum.Enum`: the name of the member;
# - a `NamedTuple` or a dataclass: the fields, in their order;
# - another subclass of `tuple`: its items, of which the class makes one;
# - any other class: what its method `to_saved()` returns, from which its class method `from_saved(value)` makes it.
#
# Fields, and what `to_saved` returns, are parameters in turn. `from_saved` gets what a file has: it must raise for
# what makes no sense.


GROUP = "tangrad.saved_types"

_by_class: dict[type, str] = {}


def name_of(kind: type) -> str | None:
    """The name under which values of a class are written, or None where it is not registered."""
    if not _by_class:
        for plugin in composition().entries(GROUP):
            _by_class[plugin.load()] = plugin.name
    return _by_class.get(kind)


register_cache(_by_class.clear)


def parts_of(value: Any) -> object:
    """What is written of a value of a registered class."""
    if isinstance(value, enum.Enum):
        return value.name
    if hasattr(value, "to_saved"):
        return value.to_saved()
    if isinstance(value, tuple):
        return tuple(value)
    return tuple([getattr(value, field.name) for field in dataclasses.fields(value)])


def restored(name: str, parts: object) -> object:
    """The value of the registered class `name` of which `parts` were written. Raises ArtifactError."""
    # Without the check an empty name, or one with line breaks, would be looked for in the text of the index.
    plugin = composition().find(GROUP, name) if name.isprintable() and name.strip() else None
    if plugin is None:
        raise ArtifactError(f"the program has a parameter of type {name!r}, which no installed distribution provides")
    kind = plugin.load()
    try:
        if issubclass(kind, enum.Enum):
            return kind[parts]
        if hasattr(kind, "from_saved"):
            return kind.from_saved(parts)
        if not isinstance(parts, tuple):
            raise TypeError(f"expected its fields, got {parts!r}")
        return kind(*parts) if hasattr(kind, "_fields") or dataclasses.is_dataclass(kind) else kind(parts)
    except Exception as error:
        raise ArtifactError(f"{parts!r} is no {name}: {error}") from error


# --- Structures of arguments and results as JSON, and back ------------------------------------------------------------
# A leaf is `"*"`, None is null; `["tuple", a, b]`, `["list", a, b]`, and `["dict", key, a, key, b]` with keys that are
# strings or integers. Other nodes belong to Python code, which a file does not have: hand in dictionaries or tuples.


LEAF = "*"
DEEPEST = 100  # nodes within nodes


def written_structure(value: Any, what: str, depth: int = 0) -> str | list[object] | None:
    """The structure of a tree, whatever its leaves are. Raises ArtifactError for a node that cannot be written."""
    if depth > DEEPEST and type(value) in (tuple, list, dict):
        raise ArtifactError(f"{what} is nested deeper than the {DEEPEST} nodes within nodes that files have")
    if value is None:
        return None
    if type(value) in (tuple, list):
        return [type(value).__name__, *[written_structure(item, what, depth + 1) for item in value]]
    if type(value) is dict:
        if not all([type(key) in (str, int) for key in value]):
            raise ArtifactError(f"{what} has a dict with keys {list(value)!r}; those of files are strings or integers")
        keys, _ = tree.flatten({key: key for key in value})  # in the order of the leaves
        return ["dict", *[part for key in keys for part in (key, written_structure(value[key], what, depth + 1))]]
    if tree.structure(value).node_data() is None:
        return LEAF
    raise ArtifactError(f"{what} has a node of type {type(value).__name__}; files have tuples, lists, dicts and None")


def read_structure(value: object, depth: int = 0) -> PyTree:
    """A tree of the structure that was written, with `LEAF` for leaves. Raises ArtifactError."""
    if value is None or value == LEAF:
        return value
    if type(value) is not list or not value or depth > DEEPEST:
        raise ArtifactError(f"no structure of arguments or results is written as {of_type(value)}")
    kind, *items = value
    if kind == "dict" and not len(items) % 2 and all([type(key) in (str, int) for key in items[::2]]):
        found = {key: read_structure(item, depth + 1) for key, item in zip(items[::2], items[1::2])}
        if len(found) * 2 == len(items):
            return found
    if kind == "tuple":
        return tuple([read_structure(item, depth + 1) for item in items])
    if kind == "list":
        return [read_structure(item, depth + 1) for item in items]
    raise ArtifactError(f"no structure of arguments or results is written as {of_type(value)}")


# --- Parameters of primitives as JSON, and back -----------------------------------------------------------------------
#     JSON                         value
#     null, true, 3, "same"        itself
#     [a, b]                       the tuple (a, b)
#     {"float": "0x1.8p+0"}        a float, exactly; also "nan", "inf", "-inf"
#     {"complex": [re, im]}        a complex number, of two such floats
#     {"set": [a, b]}              a frozenset
#     {"dtype": "float32"}         a dtype, or the value of a saved type that is one
#     {"scalar": [dtype, hex]}     a NumPy scalar: its bytes, little-endian
#     {"array": number}            an array without dimensions or with: the constant of that number
#     {"aval": number}             a type: the entry of that number in the table of types
#     {"primitive": number}        a primitive, likewise
#     {"program": number}          a closed jaxpr, likewise: of those before the one that has the parameter
#     {"size": "2*n + 1"}          a size that is found at the call
#     {"saved": [name, parts]}     a value of a registered class: see above
#
# What is none of these (a function, a callback) cannot be saved.


PLAIN = (type(None), bool, int, str)


class Tables(Protocol):
    """What parameters refer to, of who writes: each method gives the number, or the text, of what it is handed."""

    def aval(self, value: AbstractValue) -> int: ...
    def array(self, value: np.ndarray) -> int: ...
    def primitive(self, value: Primitive) -> int: ...
    def program(self, value: ClosedJaxpr) -> int: ...
    def size(self, value: Any) -> str: ...


class Found(Protocol):
    """The same, of who reads: each method gives what has a number or text. Raises ArtifactError where nothing has."""

    def aval(self, number: object) -> ShapedArray: ...
    def array(self, number: object) -> np.ndarray: ...
    def primitive(self, number: object) -> Any: ...
    def program(self, number: object) -> ClosedJaxpr: ...
    def size(self, text: str) -> object: ...


class NotSavedError(TypeError):
    """A value is of no kind that can be written."""


# --- writing --------------------------------------------------------------------------------------------------------


def written(value: object, tables: Tables) -> object:
    """A parameter as JSON. Raises NotSavedError for what is of no kind that can be."""
    kind = type(value)
    if kind in PLAIN:
        return value
    write = _WRITERS.get(kind)
    if write is not None:
        return write(value, tables)
    name = name_of(kind)
    if name is not None:
        return {"saved": [name, written(parts_of(value), tables)]}
    if is_symbolic(value):
        return {"size": tables.size(value)}
    if isinstance(value, np.dtype):
        return {"dtype": dtypes.dtype_name(value)}
    if isinstance(value, np.generic):
        return {"scalar": [dtypes.dtype_name(value.dtype), bytes_of(value).hex()]}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"dtype": dtypes.dtype_name(dtypes.as_dtype(value))}
    raise NotSavedError(of_type(value))


def bytes_of(value: object) -> bytes:
    """The contents of a NumPy array or scalar, little-endian, in the order of C."""
    array = np.asarray(value)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


_WRITERS: dict[type, Callable[..., object]] = {
    tuple: lambda value, tables: [written(item, tables) for item in value],
    float: lambda value, _: {"float": value.hex()},
    complex: lambda value, tables: {"complex": [value.real.hex(), value.imag.hex()]},
    frozenset: lambda value, tables: {"set": sorted([written(item, tables) for item in value], key=repr)},
    np.ndarray: lambda value, tables: {"array": tables.array(value)},
    ShapedArray: lambda value, tables: {"aval": tables.aval(value)},
    Primitive: lambda value, tables: {"primitive": tables.primitive(value)},
    ClosedJaxpr: lambda value, tables: {"program": tables.program(value)},
}


# --- reading --------------------------------------------------------------------------------------------------------


def read(value: object, found: Found) -> Any:
    """The parameter that was written as `value`. Raises ArtifactError for what makes none."""
    if type(value) in PLAIN:
        return value
    if type(value) is list:
        return tuple([read(item, found) for item in value])
    if type(value) is dict and len(value) == 1:
        ((name, contents),) = value.items()
        reader = _READERS.get(name)
        if reader is not None:
            return reader(contents, found)
    raise ArtifactError(f"no parameter of a primitive is written as {of_type(value)}")


def exact_float(text: str) -> float:
    """The float that `float.hex` wrote."""
    try:
        return float.fromhex(text)
    except (TypeError, ValueError, OverflowError):
        raise ArtifactError(f"expected a float in hexadecimal, got {of_type(text)}") from None


def dtype_named(name: object) -> DType:
    """The dtype of a name, `float0` among them. Raises ArtifactError for one that is not known here."""
    if name == dtypes.dtype_name(dtypes.float0):
        return dtypes.float0
    try:
        dtype = dtypes.as_dtype(name if isinstance(name, str) else None)
        known = dtypes.dtype_name(dtype) == name
    except (TypeError, ValueError, SyntaxError) as error:  # SyntaxError: NumPy reads records in strings
        raise ArtifactError(f"unknown dtype {name!r}: {error}") from error
    if not known:
        raise ArtifactError(f"unknown dtype {name!r}")
    return dtype


def scalar_of(dtype: DType, text: str) -> np.ndarray | np.generic:
    """The NumPy scalar of the bytes that `bytes_of` wrote, in hexadecimal."""
    try:
        contents = bytes.fromhex(text)
    except (TypeError, ValueError):
        raise ArtifactError(f"expected bytes in hexadecimal, got {of_type(text)}") from None
    if not isinstance(dtype, np.dtype) or len(contents) != dtype.itemsize or dtype == dtypes.float0:
        raise ArtifactError(f"{len(contents)} bytes are no scalar of dtype {dtype}")
    return array_of(contents, dtype, ())[()]


def array_of(contents: bytes, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """An array over bytes that were written little-endian; they are copied where this machine is another."""
    array = np.frombuffer(contents, dtype.newbyteorder("<")).reshape(shape)
    return array if array.dtype.isnative else array.astype(dtype)


def _pair(value: object, what: str) -> list[Any]:
    if type(value) is not list or len(value) != 2:
        raise ArtifactError(f"expected {what}, got {of_type(value)}")
    return value


def _read_complex(value: object, _: Found) -> complex:
    real, imaginary = _pair(value, "two floats")
    return complex(exact_float(real), exact_float(imaginary))


def _read_scalar(value: object, _: Found) -> object:
    name, text = _pair(value, "a dtype and bytes")
    return scalar_of(dtype_named(name), text)


def _read_set(value: object, found: Found) -> object:
    if type(value) is not list:
        raise ArtifactError(f"expected the items of a set, got {of_type(value)}")
    return frozenset([read(item, found) for item in value])


def _read_saved(value: object, found: Found) -> object:
    name, parts = _pair(value, "a type and its parts")
    if not isinstance(name, str):
        raise ArtifactError(f"expected the name of a type, got {of_type(name)}")
    return restored(name, read(parts, found))


_READERS: dict[str, Callable[..., object]] = {
    "float": lambda value, _: exact_float(value),
    "complex": _read_complex,
    "set": _read_set,
    "dtype": lambda value, _: dtype_named(value),
    "scalar": _read_scalar,
    "array": lambda value, found: found.array(value),
    "aval": lambda value, found: found.aval(value),
    "primitive": lambda value, found: found.primitive(value),
    "program": lambda value, found: found.program(value),
    "size": lambda value, found: found.size(value),
    "saved": _read_saved,
}
