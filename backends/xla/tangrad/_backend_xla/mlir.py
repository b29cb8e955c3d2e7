"""The MLIR bindings of jaxlib: the one module that imports them.

The generated operation classes (`jaxlib.mlir.dialects`) are not used: building an operation through them takes 2.4 µs
and importing them 9 ms, `Operation.create` takes 0.9 µs and needs no import.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from tangrad._backend_xla import jaxlib_version
from tangrad._backend_xla.jaxlib_api import bytecode

R = TypeVar("R")

with jaxlib_version.explained:
    from jaxlib._jax import mlir as _runtime_mlir
    from jaxlib.mlir import ir as _ir
    from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _mlir, _stablehlo

__all__ = [
    "IrAttribute", "IrModule", "IrOperation", "IrType", "IrValue", "bytecode", "copied_to_new_context", "ir",
    "new_context", "stablehlo", "without_dialect_modules",
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


def read_portable_artifact(data: bytes, context: object) -> Any:
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
