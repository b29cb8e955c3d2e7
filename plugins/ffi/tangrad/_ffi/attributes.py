"""The numbers by which the interface knows the types of elements (`xla/ffi/api/c_api.h`, XLA_FFI_DataType)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tangrad.typing import DType


# The name of a dtype -> its number.
DATA_TYPES = {
    "bool": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "uint8": 6,
    "uint16": 7,
    "uint32": 8,
    "uint64": 9,
    "float16": 10,
    "float32": 11,
    "float64": 12,
    "complex64": 15,
    "bfloat16": 16,
    "complex128": 18,
    "float8_e5m2": 19,
    "float8_e4m3fn": 20,
    "int4": 21,
    "uint4": 22,
    "float8_e4m3b11fnuz": 23,
    "float8_e5m2fnuz": 24,
    "float8_e4m3fnuz": 25,
    "int2": 26,
    "uint2": 27,
    "float8_e4m3": 28,
    "float8_e3m4": 29,
    "float4_e2m1fn": 32,
    "float8_e8m0fnu": 33,
}


@dataclass(frozen=True)
class Scalar:
    """A number or truth value of one dtype."""

    dtype: np.dtype[Any]
    data: bytes

    @property
    def value(self) -> Any:
        """As a NumPy scalar."""
        return np.frombuffer(self.data, self.dtype)[0]

    def __repr__(self) -> str:
        return f"{self.dtype}({self.value})"


@dataclass(frozen=True)
class Elements:
    """An array of numbers; handlers see it flat."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    data: bytes

    @property
    def value(self) -> Any:
        """As a NumPy array, which cannot be written to."""
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)

    def __repr__(self) -> str:
        return f"{self.dtype}{self.value.tolist()}"


@dataclass(frozen=True)
class Dictionary:
    """Attributes by name, in the order of their names, by which handlers look them up."""

    items: tuple[tuple[str, Attribute], ...] = ()

    def __repr__(self) -> str:
        return "{" + ", ".join([f"{name}={value!r}" for name, value in self.items]) + "}"


Attribute = Scalar | Elements | Dictionary | str


def normalized(values: Mapping[str, Any], path: str = "") -> Dictionary:
    """The normal form of attributes by name.

    Raises:
        TypeError: for a value that handlers cannot be given.
        OverflowError: for an integer that 64 bits do not hold.
    """
    items = []
    for name in sorted(values, key=_as_text):
        items.append((name, _attribute(values[name], f"{path}{name}")))
    return Dictionary(tuple(items))


def _as_text(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"ffi_call: names of attributes are texts, got {name!r} of type {type(name).__name__}")
    return name


def _attribute(value: object, path: str) -> Attribute:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return normalized(value, f"{path}.")
    if isinstance(value, (bool, int, float, np.generic)):
        found = np.asarray(_in_64_bits(value, path) if isinstance(value, int) else value)
        return Scalar(_known(found.dtype, path, value), found.tobytes())
    if isinstance(value, (tuple, list, np.ndarray)):
        found = np.ascontiguousarray(value)
        if found.size == 0 and not isinstance(value, np.ndarray):
            found = found.astype(np.int64)  # of no elements the type is unknown
        return Elements(_known(found.dtype, path, value), found.shape, found.tobytes())
    raise TypeError(_refusal(path, value))


def _in_64_bits(value: Any, path: str) -> Any:
    if not -(2**63) <= value < 2**63:
        raise OverflowError(f"ffi_call: attribute {path} is {value}, which 64 bits do not hold")
    return value


def _known(dtype: DType, path: str, value: object) -> Any:
    if dtype.name not in DATA_TYPES or dtype.kind == "c":
        raise TypeError(_refusal(path, value))
    return dtype


def _refusal(path: str, value: object) -> str:
    return (
        f"ffi_call: attribute {path} must be a number, a truth value, a text, an array of numbers or a dictionary of "
        f"these, got {value!r} of type {type(value).__name__}; pass arrays that are computed as arguments"
    )
