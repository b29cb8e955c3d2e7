"""The numbers by which the interface knows the types of elements (`xla/ffi/api/c_api.h`, XLA_FFI_DataType)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tangrad.typing import DType


# --- The numbers by which the interface knows the types of elements (`xla/ffi/api/c_api.h`, XLA_FFI_DataType) ---

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

    dtype: np.dtype
    data: bytes

    @property
    def value(self) -> np.generic:
        """As a NumPy scalar."""
        return np.frombuffer(self.data, self.dtype)[0]

    def __repr__(self) -> str:
        return f"{self.dtype}({self.value})"


@dataclass(frozen=True)
class Elements:
    """An array of numbers; handlers see it flat."""

    dtype: np.dtype
    shape: tuple[int, ...]
    data: bytes

    @property
    def value(self) -> np.ndarray:
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


def normalized(values: Mapping[str, object], path: str = "") -> Dictionary:
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


def _in_64_bits(value: int, path: str) -> int:
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


# --- The structures of XLA's foreign function interface, as ctypes sees them; and handlers written in Python ---

MAJOR, MINOR = 0, 5
BUFFER = 1  # the only type of operands and results
ARRAY, DICTIONARY, SCALAR, STRING = 1, 2, 3, 4  # the types of attributes
METADATA = 1  # the type of the extension
STAGE_NUMBERS = {"instantiate": 0, "prepare": 1, "initialize": 2, "execute": 3}


class Structure(ctypes.Structure):
    """One whose first field is its size: up to the end of the field that the interface counts last."""

    last: str | None = None

    def __init__(self, *args: object, **fields: object) -> None:
        super().__init__(*args, **fields)
        field = getattr(type(self), self.last or self._fields_[-1][0])
        self.struct_size = field.offset + field.size


_HEAD = [("struct_size", c_size_t), ("extensions", c_void_p)]


def structure(name: str, *fields: tuple[str, object]) -> type[Any]:
    """The class of a structure with these fields after its size and extensions."""
    return type(name, (Structure,), {"_fields_": [*_HEAD, *fields], "__doc__": f"XLA_FFI_{name}."})


class ByteSpan(ctypes.Structure):
    """XLA_FFI_ByteSpan: a text."""

    _fields_ = [("ptr", c_char_p), ("len", c_size_t)]


class ScalarAttribute(ctypes.Structure):
    """XLA_FFI_Scalar."""

    _fields_ = [("dtype", c_int), ("value", c_void_p)]


class ArrayAttribute(ctypes.Structure):
    """XLA_FFI_Array."""

    _fields_ = [("dtype", c_int), ("size", c_size_t), ("data", c_void_p)]


Version = structure("Api_Version", ("major", c_int), ("minor", c_int))
Buffer = structure("Buffer", ("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64)))
_LIST = (("size", c_int64), ("types", POINTER(c_int)))
Args = structure("Args", *_LIST, ("args", POINTER(c_void_p)))
Attrs = structure("Attrs", *_LIST, ("names", POINTER(POINTER(ByteSpan))), ("attrs", POINTER(c_void_p)))
CallFrame = structure(
    "CallFrame",
    ("api", c_void_p),
    ("ctx", c_void_p),
    ("stage", c_int),
    ("args", Args),
    ("rets", Args),
    ("attrs", Attrs),
    ("future", c_void_p),
)
CallFrame.last = "attrs"


class Metadata(Structure):
    """XLA_FFI_Metadata: what a handler declares of itself."""

    last = "traits"
    _fields_ = [("struct_size", c_size_t), ("version", Version), ("traits", c_uint32), ("state_type", c_int64)]


class MetadataExtension(Structure):
    """XLA_FFI_Metadata_Extension: the question."""

    _fields_ = [("struct_size", c_size_t), ("type", c_int), ("next", c_void_p), ("metadata", POINTER(Metadata))]


# What handlers hand to the functions of the interface.
ErrorCreate = structure("Error_Create_Args", ("message", c_char_p), ("code", c_int))
ErrorDetails = structure("Error_GetDetails_Args", ("error", c_void_p), ("message", c_char_p), ("code", c_int))
ErrorDestroy = structure("Error_Destroy_Args", ("error", c_void_p))
StateArgs = structure(
    "State_Args", ("ctx", c_void_p), ("stage", c_int), ("type_id", POINTER(c_int64)), ("state", c_void_p)
)
MemoryAllocate = structure(
    "DeviceMemory_Allocate_Args", ("ctx", c_void_p), ("size", c_size_t), ("alignment", c_size_t), ("data", c_void_p)
)
MemoryFree = structure("DeviceMemory_Free_Args", ("ctx", c_void_p), ("size", c_size_t), ("data", c_void_p))
Schedule = structure(
    "ThreadPool_Schedule_Args", ("ctx", c_void_p), ("task", ctypes.CFUNCTYPE(None, c_void_p)), ("data", c_void_p)
)
NumThreads = structure("ThreadPool_NumThreads_Args", ("ctx", c_void_p), ("num_threads", POINTER(c_int64)))
RunId = structure("RunId_Get_Args", ("ctx", c_void_p), ("run_id", c_int64))
DeviceOrdinal = structure("DeviceOrdinal_Get_Args", ("ctx", c_void_p), ("device_ordinal", c_int32))
FutureArgs = structure("Future_Args", ("future", c_void_p), ("error", c_void_p))


class AttributeList:
    """Attributes encoded for handlers, which only read them: made once for all calls of a program."""

    def __init__(self, attributes: Dictionary) -> None:
        self._alive: list[object] = []  # what the structures point to
        self.structure = self._dictionary(attributes)

    def _dictionary(self, attributes: Dictionary) -> Any:
        count = len(attributes.items)
        types, names = (c_int * count)(), (POINTER(ByteSpan) * count)()
        values = (c_void_p * count)()
        for position, (name, value) in enumerate(attributes.items):
            types[position], encoded = self._attribute(value)
            span = self._text(name)
            names[position] = ctypes.pointer(span)
            values[position] = ctypes.addressof(encoded)
            self._alive += [span, encoded]
        self._alive += [types, names, values]
        return Attrs(size=count, types=types, names=names, attrs=values)

    def _attribute(self, value: Scalar | Elements | Dictionary | str) -> tuple[int, Any]:
        if isinstance(value, str):
            return STRING, self._text(value)
        if isinstance(value, Dictionary):
            return DICTIONARY, self._dictionary(value)
        data = ctypes.create_string_buffer(value.data, max(len(value.data), 1))
        self._alive.append(data)
        number, address = DATA_TYPES[value.dtype.name], ctypes.addressof(data)
        if isinstance(value, Scalar):
            return SCALAR, ScalarAttribute(number, address)
        assert isinstance(value, Elements)
        return ARRAY, ArrayAttribute(number, len(value.data) // value.dtype.itemsize, address)

    def _text(self, text: str) -> ByteSpan:
        data = text.encode()
        return ByteSpan(data, len(data))


class BufferList:
    """The operands or results of one call, as arrays of NumPy whose memory handlers read and write."""

    def __init__(self, arrays: Sequence[np.ndarray], shapes: Sequence[Sequence[int]]) -> None:
        count = len(arrays)
        types, pointers = (c_int * count)(*[BUFFER] * count), (c_void_p * count)()
        self._alive: list[object] = [arrays, types, pointers]
        for position, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
            dims = (c_int64 * len(shape))(*shape)
            number = DATA_TYPES[array.dtype.name]
            buffer = Buffer(dtype=number, data=array.ctypes.data, rank=len(shape), dims=dims)
            pointers[position] = ctypes.addressof(buffer)
            self._alive += [dims, buffer]
        self.structure = Args(size=count, types=types, args=pointers)


_HANDLER = ctypes.CFUNCTYPE(c_void_p, c_void_p)


def handler(work: Callable[[Any], None]) -> Callable[..., Any]:
    """`work(frame)` as a function pointer that answers as a compiled handler does: with its version, if asked."""

    @_HANDLER
    def call(address: int) -> None:
        frame = CallFrame.from_address(address)
        if frame.extensions:
            metadata = MetadataExtension.from_address(frame.extensions).metadata.contents
            metadata.version.major, metadata.version.minor = MAJOR, 1
        else:
            work(frame)

    return call


def buffer(values: Any, position: int, element: Any) -> np.ndarray:
    """An operand or result of a frame as a NumPy array of that ctypes type, over the same memory."""
    found = Buffer.from_address(values.args[position])
    shape = tuple(found.dims[: found.rank])
    count = int(np.prod(shape))
    return np.frombuffer((element * count).from_address(found.data or ctypes.addressof(element())), element).reshape(
        shape
    )
