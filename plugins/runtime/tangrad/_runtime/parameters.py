"""Parameters of primitives as JSON, and back.

    JSON                         value
    null, true, 3, "same"        itself
    [a, b]                       the tuple (a, b)
    {"float": "0x1.8p+0"}        a float, exactly; also "nan", "inf", "-inf"
    {"complex": [re, im]}        a complex number, of two such floats
    {"set": [a, b]}              a frozenset
    {"dtype": "float32"}         a dtype, or the value of a saved type that is one
    {"scalar": [dtype, hex]}     a NumPy scalar: its bytes, little-endian
    {"array": number}            an array without dimensions or with: the constant of that number
    {"aval": number}             a type: the entry of that number in the table of types
    {"primitive": number}        a primitive, likewise
    {"program": number}          a closed jaxpr, likewise: of those before the one that has the parameter
    {"size": "2*n + 1"}          a size that is found at the call
    {"saved": [name, parts]}     a value of a registered class: see `saved_types`

What is none of these (a function, a callback) cannot be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tangrad._runtime.errors import ArtifactError, of_type
from tangrad._runtime.saved_types import name_of, parts_of, restored
from tangrad.core import ClosedJaxpr, Primitive, ShapedArray, dtypes
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from tangrad.typing import DType

PLAIN = (type(None), bool, int, str)


class Tables(Protocol):
    """What parameters refer to, of who writes: each method gives the number, or the text, of what it is handed."""

    def aval(self, value: Any) -> int: ...
    def array(self, value: Any) -> int: ...
    def primitive(self, value: Any) -> int: ...
    def program(self, value: Any) -> int: ...
    def size(self, value: Any) -> str: ...


class Found(Protocol):
    """The same, of who reads: each method gives what has a number or text. Raises ArtifactError where nothing has."""

    def aval(self, number: Any) -> Any: ...
    def array(self, number: Any) -> Any: ...
    def primitive(self, number: Any) -> Any: ...
    def program(self, number: Any) -> Any: ...
    def size(self, text: Any) -> Any: ...


class NotSavedError(TypeError):
    """A value is of no kind that can be written."""


# --- writing --------------------------------------------------------------------------------------------------------


def written(value: Any, tables: Tables) -> Any:
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


def bytes_of(value: Any) -> bytes:
    """The contents of a NumPy array or scalar, little-endian, in the order of C."""
    array = np.asarray(value)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


_WRITERS: dict[type, Callable[[Any, Tables], Any]] = {
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


def read(value: Any, found: Found) -> Any:
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


def exact_float(text: Any) -> float:
    """The float that `float.hex` wrote."""
    try:
        return float.fromhex(text)
    except (TypeError, ValueError, OverflowError):
        raise ArtifactError(f"expected a float in hexadecimal, got {of_type(text)}") from None


def dtype_named(name: Any) -> DType:
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


def scalar_of(dtype: DType, text: Any) -> np.ndarray | np.generic:
    """The NumPy scalar of the bytes that `bytes_of` wrote, in hexadecimal."""
    try:
        contents = bytes.fromhex(text)
    except (TypeError, ValueError):
        raise ArtifactError(f"expected bytes in hexadecimal, got {of_type(text)}") from None
    if not isinstance(dtype, np.dtype) or len(contents) != dtype.itemsize or dtype == dtypes.float0:
        raise ArtifactError(f"{len(contents)} bytes are no scalar of dtype {dtype}")
    return array_of(contents, dtype, ())[()]


def array_of(contents: Any, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """An array over bytes that were written little-endian; they are copied where this machine is another."""
    array = np.frombuffer(contents, dtype.newbyteorder("<")).reshape(shape)
    return array if array.dtype.isnative else array.astype(dtype)


def _pair(value: Any, what: str) -> Any:
    if type(value) is not list or len(value) != 2:
        raise ArtifactError(f"expected {what}, got {of_type(value)}")
    return value


def _read_complex(value: Any, _: Found) -> complex:
    real, imaginary = _pair(value, "two floats")
    return complex(exact_float(real), exact_float(imaginary))


def _read_scalar(value: Any, _: Found) -> Any:
    name, text = _pair(value, "a dtype and bytes")
    return scalar_of(dtype_named(name), text)


def _read_set(value: Any, found: Found) -> Any:
    if type(value) is not list:
        raise ArtifactError(f"expected the items of a set, got {of_type(value)}")
    return frozenset([read(item, found) for item in value])


def _read_saved(value: Any, found: Found) -> Any:
    name, parts = _pair(value, "a type and its parts")
    if not isinstance(name, str):
        raise ArtifactError(f"expected the name of a type, got {of_type(name)}")
    return restored(name, read(parts, found))


_READERS: dict[str, Callable[[Any, Found], Any]] = {
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
