"""The structures of XLA's foreign function interface, as ctypes sees them; and handlers written in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any

import numpy as np

from tangrad._ffi.attributes import DATA_TYPES, Dictionary, Elements, Scalar

MAJOR, MINOR = 0, 5
BUFFER = 1  # the only type of operands and results
ARRAY, DICTIONARY, SCALAR, STRING = 1, 2, 3, 4  # the types of attributes
METADATA = 1  # the type of the extension
STAGE_NUMBERS = {"instantiate": 0, "prepare": 1, "initialize": 2, "execute": 3}


class Structure(ctypes.Structure):
    """One whose first field is its size: up to the end of the field that the interface counts last."""

    last: str | None = None

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        field = getattr(type(self), self.last or self._fields_[-1][0])
        self.struct_size = field.offset + field.size


_HEAD = [("struct_size", c_size_t), ("extensions", c_void_p)]


def structure(name: str, *fields: tuple[str, Any]) -> type[Any]:
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
    """XLA_FFI_Metadata: what a handler says of itself."""

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
        self._alive: list[Any] = []  # what the structures point to
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

    def _attribute(self, value: Any) -> tuple[int, Any]:
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

    def __init__(self, arrays: Sequence[np.ndarray], shapes: Any) -> None:
        count = len(arrays)
        types, pointers = (c_int * count)(*[BUFFER] * count), (c_void_p * count)()
        self._alive: list[Any] = [arrays, types, pointers]
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
