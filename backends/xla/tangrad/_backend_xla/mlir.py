"""The MLIR bindings of jaxlib, which this module alone imports, and what every lowering shares of an MLIR context.

The generated operation classes (`jaxlib.mlir.dialects`) are not used: building an operation through them takes 2.4 µs
and importing them 9 ms, `Operation.create` takes 0.9 µs and needs no import.

The vocabulary of a context are types, attributes and locations, each made once and kept: making one costs as much as an
operation. A context never frees what it has made unique, constants included; so `vocabulary()` starts a new one every
now and then.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from tangrad._backend_xla import jaxlib_version
from tangrad._backend_xla.jaxlib_api import bytecode, physical_aval
from tangrad.core import Literal, ShapedArray, dtypes, rule_table
from tangrad.core.arguments import is_symbolic
from tangrad.core.backends import AbstractToken

if TYPE_CHECKING:
    from tangrad.typing import DType


R = TypeVar("R")

with jaxlib_version.explained:
    from jaxlib._jax import mlir as _runtime_mlir
    from jaxlib.mlir import ir as _ir
    from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _mlir, _stablehlo

__all__ = [
    "IrAttribute", "IrModule", "IrOperation", "IrType", "IrValue", "bytecode", "copied_to_new_context", "ir",
    "new_context", "stablehlo", "vocabulary", "without_dialect_modules",
]  # fmt: skip

IrValue: TypeAlias = _ir.Value  # for annotations
IrType: TypeAlias = _ir.Type
IrAttribute: TypeAlias = _ir.Attribute
IrOperation: TypeAlias = _ir.Operation
IrModule: TypeAlias = _ir.Module

# Their type stubs lag behind them.
ir: Any = _ir
stablehlo: Any = _stablehlo

_BYTECODE = b"ML\xefR"  # what MLIR's binary form begins with
_registry = ir.DialectRegistry()
_jax_mlir_ext.register_dialects(_registry)
_thread_pool = ir.ThreadPool()


def new_context() -> ir.Context:
    """An MLIR context that knows the dialects of XLA's input.

    It is for Python alone, whose lock keeps threads apart. XLA's compiler runs without that lock and loads dialects of
    its own into a module's context, which crashes if two threads do it at once: it gets `bytecode` instead, which it
    reads into a context of its own (0.1 ms for 300 operations).
    """
    context = ir.Context(thread_pool=_thread_pool)
    context.append_dialect_registry(_registry)
    _stablehlo.register_dialect(context)
    _chlo.register_dialect(context)
    context.load_all_available_dialects()
    return context


def load_sharding_dialect(context: Any) -> None:
    """Have a context know `sdy`, the dialect of shardings."""
    with jaxlib_version.explained:
        from jaxlib.mlir._mlir_libs import _sdy
    _sdy.register_dialect(context)


_search_lock = threading.Lock()


def without_dialect_modules(make: Callable[[], R]) -> R:
    """`make()`, without the import of the module that generates a dialect's operation classes.

    The bindings import it (30 ms for StableHLO) when they hand out a type or an attribute of the dialect, to look for a
    Python class of its own. The list of packages that they search is empty meanwhile.
    """
    settings: Any = _mlir.globals
    with _search_lock:
        searched = settings.dialect_search_modules
        settings.dialect_search_modules = []
        try:
            return make()
        finally:
            settings.dialect_search_modules = searched


def portable_artifact(module: object, shardings: bool = False) -> bytes:
    """A module in StableHLO's format for files: of the version that readers of the last four weeks have.

    `shardings`: whether it names shardings, which stay in their dialect.
    """
    version = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_4)
    return bytes(_runtime_mlir.serialize_portable_artifact(bytecode(module), version, shardings))


def read_portable_artifact(data: bytes, context: object) -> IrModule:
    """The module of a portable artifact. Raises ValueError for bytes that are none."""
    if not data.startswith(_BYTECODE):  # the reader would take text too, whose parser has no bound to its depth
        raise ValueError(f"these {len(data)} bytes are no portable artifact of StableHLO: they begin with {data[:4]!r}")
    try:
        return _runtime_mlir.deserialize_portable_artifact(data, context)
    except Exception as error:
        raise ValueError(f"these {len(data)} bytes are no portable artifact of StableHLO: {error}") from None


def refined(module: object, context: object, shardings: bool = False) -> ir.Module:
    """A module whose entry has static types, with all other sizes filled in; `shardings`: whether it names such.

    Raises ValueError for what it states of its sizes and does not hold, and where sizes are left over.
    """
    try:
        made = _runtime_mlir.refine_polymorphic_shapes(bytecode(module), True, True, shardings)
    except Exception as error:
        text = str(error)
        raise ValueError((text.split("error: ", 1)[1] if "error: " in text else text).splitlines()[0]) from None
    return ir.Module.parse(made, context)


def copied_to_new_context(module: object, shardings: bool = False) -> ir.Module:
    """A copy of a module, which may name shardings, in a context that nothing else uses."""
    context = new_context()
    if shardings:
        load_sharding_dialect(context)
    return ir.Module.parse(bytecode(module), context)


# --- the vocabulary of a context ------------------------------------------------------------------------------------

# A context is replaced after this many modules or bytes of constants.
MODULE_LIMIT = 2000
CONSTANT_LIMIT = 64 << 20
LITERAL_LIMIT = 4096
LOCATION_LIMIT = 1 << 16

# Platform -> primitive -> lowering rule.
lowering_rules = cache(lambda platform: rule_table(f"lower.xla.{platform}"))

UNKNOWN_SIZE = ir.ShapedType.get_dynamic_size()
_MOST_ELEMENTS = (2**63 - 1) // 16  # of the widest dtype

# Names of dtypes -> makers of element types. MLIR's integers have no sign, except that StableHLO marks unsigned ones.
_FLOATS = {
    "float16": "F16Type",
    "bfloat16": "BF16Type",
    "float32": "F32Type",
    "float64": "F64Type",
    "float4_e2m1fn": "Float4E2M1FNType",
    "float6_e2m3fn": "Float6E2M3FNType",
    "float6_e3m2fn": "Float6E3M2FNType",
    "float8_e3m4": "Float8E3M4Type",
    "float8_e4m3": "Float8E4M3Type",
    "float8_e4m3b11fnuz": "Float8E4M3B11FNUZType",
    "float8_e4m3fn": "Float8E4M3FNType",
    "float8_e4m3fnuz": "Float8E4M3FNUZType",
    "float8_e5m2": "Float8E5M2Type",
    "float8_e5m2fnuz": "Float8E5M2FNUZType",
    "float8_e8m0fnu": "Float8E8M0FNUType",
}


class Locations:
    """The locations of equations in one MLIR context: where in the user's program, and the names around it.

    XLA hands them on to its metadata, profiles and messages. Making one costs three times as much as an operation, so
    each is made once for a place, a name stack and a primitive.

    Tables go by the identity of code objects, whose hash is slow; each entry holds its code object, so that the
    identity lasts.
    """

    __slots__ = ("_context", "_lines", "_places", "_unknown")

    def __init__(self, context: Any) -> None:
        self._context = context
        self._unknown = ir.Location.unknown(context)
        self._places: dict[Any, Any] = {}
        self._lines: dict[int, tuple[Any, list[int], list[Any]]] = {}

    def of(self, source: Any, primitive_name: str, prefix: str) -> Any:
        """The location of an equation; `prefix` stands before its names."""
        if source is None:
            return self._unknown
        code, offset, names = source
        key = (id(code), offset, names, primitive_name, prefix)
        found = self._places.get(key)
        if found is None:
            found = self._make(code, offset, names, prefix, primitive_name)
            if len(self._places) >= LOCATION_LIMIT:
                self._places.clear()
            self._places[key] = (found, code)
            return found
        return found[0]

    def _make(self, code: object, offset: int, names: object, prefix: str, primitive_name: str) -> Any:
        place = None if code is None else self._place(code, offset)
        scopes = f"{names}/" if names else ""
        return ir.Location.name(f"{prefix}{scopes}{primitive_name}", place, self._context)

    def _place(self, code: Any, offset: int) -> Any:
        found = self._lines.get(id(code))
        if found is None:
            # All lines of the function at once, since to find one takes as long. Columns would take ten times as long.
            if len(self._lines) >= LOCATION_LIMIT >> 4:
                self._lines.clear()
            ranges = list(code.co_lines())
            found = self._lines[id(code)] = (code, [start for start, _, _ in ranges], [line for _, _, line in ranges])
        _, starts, lines = found
        line = lines[bisect_right(starts, offset) - 1]
        return ir.Location.file(code.co_filename, line or code.co_firstlineno, 0, self._context)


class _Types(dict[Any, IrType]):
    """Aval -> MLIR type."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, aval: ShapedArray | AbstractToken) -> IrType:
        made = self[aval] = self._vocabulary.make_type(aval)
        return made


class Vocabulary:
    """An MLIR context with the types and attributes that have been made in it.

    Attributes:
        context: the MLIR context.
        ir: the bindings, for what is not made here.
        unknown: the location of what has none.
        types: aval -> type, a dictionary that fills itself.
        i64, i32, i1: integer types.
        locations: the locations of equations.
    """

    ir = ir

    def __init__(self) -> None:
        self.context = context = new_context()
        self.unknown = ir.Location.unknown(context)
        self.types = _Types(self)
        self.token = without_dialect_modules(lambda: ir.Type.parse("!stablehlo.token", context))
        self.i1 = ir.IntegerType.get_signless(1, context)
        self.i32 = ir.IntegerType.get_signless(32, context)
        self.i64 = ir.IntegerType.get_signless(64, context)
        self.unit = ir.UnitAttr.get(context)
        self.true = ir.BoolAttr.get(True, context)
        self.false = ir.BoolAttr.get(False, context)
        self._literals: dict[int, tuple[IrAttribute, Literal]] = {}
        self._elements: dict[object, IrType] = {}
        self._integers: dict[tuple[object, ...], IrAttribute] = {}
        self._strings: dict[str, IrAttribute] = {}
        self._named: dict[object, IrAttribute] = {}
        self.locations = Locations(context)
        self._knows_shardings = False
        self.modules = 0
        self.constant_bytes = 0

    def load_sharding_dialect(self) -> None:
        """Have the context know the dialect of shardings, which few programs need."""
        if not self._knows_shardings:
            load_sharding_dialect(self.context)
            self._knows_shardings = True

    # --- types ------------------------------------------------------------------------------------------------------

    def element_type(self, dtype: DType) -> IrType:
        """The MLIR type of one element."""
        found = self._elements.get(dtype)
        if found is None:
            found = self._elements[dtype] = self._make_element_type(dtypes.dtype_name(dtype))
        return found

    def _make_element_type(self, name: str) -> IrType:
        context = self.context
        if name in _FLOATS:
            return getattr(ir, _FLOATS[name]).get(context)
        if name in ("bool", "float0"):
            return self.i1
        if name.startswith("uint"):
            return ir.IntegerType.get_unsigned(int(name[4:]), context)
        if name.startswith("int"):
            return ir.IntegerType.get_signless(int(name[3:]), context)
        if name.startswith("complex"):
            return ir.ComplexType.get(self._make_element_type("float32" if name == "complex64" else "float64"))
        raise TypeError(f"the XLA backend has no element type for dtype {name}")

    def make_type(self, aval: ShapedArray | AbstractToken) -> IrType:
        """The MLIR type of an aval; `types[aval]` remembers it."""
        if isinstance(aval, AbstractToken):
            return self.token
        inner = physical_aval(aval)
        return self.tensor(inner.shape, self.element_type(inner.dtype))

    def tensor(self, shape: Sequence[int], element_type: IrType) -> IrType:
        """A tensor type; symbolic sizes are unknown ones to MLIR."""
        if any([type(size) is not int and is_symbolic(size) for size in shape]):
            shape = [UNKNOWN_SIZE if is_symbolic(size) else size for size in shape]
        elif math.prod(shape) > _MOST_ELEMENTS:  # XLA would end the process
            raise ValueError(f"an array of shape {tuple(shape)} has more bytes than there can be, 2 ** 63 - 1")
        return ir.RankedTensorType.get(shape, element_type, loc=self.unknown)

    # --- attributes -------------------------------------------------------------------------------------------------

    def integers(self, values: tuple[int, ...]) -> IrAttribute:
        """A `DenseI64ArrayAttr`, the attribute of dimension lists."""
        found = self._integers.get(values)
        if found is None:
            found = self._integers[values] = ir.DenseI64ArrayAttr.get(values, self.context)
        return found

    def booleans(self, values: tuple[bool, ...]) -> IrAttribute:
        """A `DenseBoolArrayAttr`."""
        key = ("b", values)
        found = self._integers.get(key)
        if found is None:
            found = self._integers[key] = ir.DenseBoolArrayAttr.get(list(values), self.context)
        return found

    def integer(self, value: int) -> IrAttribute:
        """A 64-bit integer attribute."""
        key = ("i64", value)
        found = self._named.get(key)
        if found is None:
            found = self._named[key] = ir.IntegerAttr.get(self.i64, value)
        return found

    def integer32(self, value: int) -> IrAttribute:
        """A 32-bit integer attribute."""
        key = ("i32", value)
        found = self._named.get(key)
        if found is None:
            found = self._named[key] = ir.IntegerAttr.get(self.i32, value)
        return found

    def string(self, text: str) -> IrAttribute:
        """A string attribute."""
        found = self._strings.get(text)
        if found is None:
            found = self._strings[text] = ir.StringAttr.get(text, self.context)
        return found

    def parsed(self, text: str) -> IrAttribute:
        """An attribute given in MLIR's syntax, such as `#stablehlo<comparison_direction LT>`; parsed once."""
        found = self._named.get(text)
        if found is None:
            parse = ir.Attribute.parse
            found = self._named[text] = without_dialect_modules(lambda: parse(text, self.context))
        return found

    def made(self, key: object, make: Callable[[object], IrAttribute]) -> IrAttribute:
        """The attribute remembered under `key`, a hashable; made by `make(context)` the first time."""
        found = self._named.get(key)
        if found is None:
            found = self._named[key] = without_dialect_modules(lambda: make(self.context))
        return found

    def elements(self, contents: np.ndarray) -> IrAttribute:
        """A dense attribute with the contents of a NumPy array of any dtype that has an element type."""
        element_type = self.element_type(contents.dtype)
        shape = contents.shape
        if contents.dtype.type.__module__ == "ml_dtypes":
            # Buffers of these types are foreign to MLIR; it takes their bits. Types below 8 bits fill a byte for each
            # element.
            contents = np.ascontiguousarray(contents).view(f"u{contents.dtype.itemsize}")
        self.constant_bytes += contents.nbytes
        return ir.DenseElementsAttr.get(
            np.ascontiguousarray(contents), type=element_type, shape=shape, signless=False, context=self.context
        )

    def literal(self, literal: Literal) -> IrAttribute:
        """The dense attribute of a literal of a jaxpr."""
        found = self._literals.get(id(literal))
        if found is None:
            # Literals are made anew now and then; holding on to this one keeps its identity from coming to mean
            # another.
            if len(self._literals) >= LITERAL_LIMIT:
                self._literals.clear()
            found = self._literals[id(literal)] = (self.elements(literal.ndarray), literal)
        return found[0]

    def type_of_array(self, contents: np.ndarray) -> IrType:
        """The type of a constant with these contents."""
        return self.tensor(contents.shape, self.element_type(contents.dtype))

    # --- attributes of custom calls ---------------------------------------------------------------------------------

    def attribute(self, value: Any) -> IrAttribute:
        """An attribute for a Python value: truth values, 64-bit integers, doubles, strings, or an attribute as it is.

        NumPy scalars keep their width.
        """
        if isinstance(value, ir.Attribute):
            return value
        if isinstance(value, (bool, np.bool_)):
            return self.true if value else self.false
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, int):
            return self.integer(value)
        if isinstance(value, float):
            return ir.FloatAttr.get(self.element_type(np.dtype(np.float64)), value, loc=self.unknown)
        if isinstance(value, np.integer):
            return ir.IntegerAttr.get(self.element_type(value.dtype), int(value))
        if isinstance(value, np.floating):
            return ir.FloatAttr.get(self.element_type(value.dtype), float(value), loc=self.unknown)
        raise TypeError(f"no MLIR attribute is defined for {value!r} of type {type(value).__name__}")

    def layouts(self, orders: Sequence[Sequence[int]]) -> IrAttribute:
        """Layouts as an array of index vectors, the fastest varying dimension first."""
        index = ir.IndexType.get(self.context)
        made = [
            ir.DenseElementsAttr.get(np.asarray(order, np.int64), type=index, context=self.context) for order in orders
        ]
        return ir.ArrayAttr.get(made, self.context)

    def output_alias(self, result: int, operand: int, results: int) -> IrAttribute:
        """That a result takes over the memory of an operand."""
        path = [result] if results > 1 else []
        return without_dialect_modules(lambda: stablehlo.OutputOperandAlias.get(path, operand, [], self.context))

    def integer_matrix(self, rows: Sequence[Sequence[int]] | np.ndarray) -> IrAttribute:
        """A dense attribute of 64-bit integers, such as replica groups and padding pairs."""
        return self.elements(np.asarray(rows, np.int64))


_lock = threading.Lock()
_current: Vocabulary | None = None


def vocabulary() -> Vocabulary:
    """The vocabulary for one more module."""
    global _current
    with _lock:
        if _current is None or _current.modules >= MODULE_LIMIT or _current.constant_bytes >= CONSTANT_LIMIT:
            _current = Vocabulary()
        _current.modules += 1
        return _current
