"""What packages of the field take from `jax._src`, jax's private modules, where Tangrad has it in another form.

Which names are of which module: `HELD` in `module_names`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import tangrad
from tangrad import dtypes
from tangrad._core.tree.definition import kind_of
from tangrad.core import EVAL_TRACE, AbstractValue, current_trace
from tangrad.core import dtypes as core_dtypes
from tangrad.core.backends import loaded_backends
from tangrad.dtypes import as_dtype
from tangrad.errors import MissingDistributionError
from tangrad.extend.jit import infer_other

if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")
    from types import ModuleType

    from tangrad.core import ShapedArray

_tangrad: ModuleType = tangrad


class _NoReference(AbstractValue):
    """The type of references that there are none of."""


def _reference_type() -> object:
    """The type of references; where `tangrad-references` is not installed, one without values."""
    try:
        return _tangrad.ref.AbstractRef
    except MissingDistributionError:
        return _NoReference


_FOUND_LATE: dict[str, Callable[[], object]] = {
    "AbstractRef": _reference_type,
    # The base of the classes that sets of errors, such as `user_checks`, are made of.
    "JaxException": lambda: _tangrad.experimental.checkify.ErrorCategory,
    # Looked at to find out whether it is too late to ask for more devices.
    "_backends": lambda: {backend.platform: backend for backend in loaded_backends()},
}


def __getattr__(name: str) -> object:
    if name not in _FOUND_LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return _FOUND_LATE[name]()


# --- arguments and traces ---------------------------------------------------------------------------------------------


def infer_argnums_and_argnames(
    sig: inspect.Signature, argnums: int | Iterable[int] | None, argnames: str | Iterable[str] | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of arguments; where only one of the two is given, the other is inferred from it."""
    return infer_other(sig, argnums, argnames, "static")


def trace_state_clean() -> bool:
    """Whether nothing is being traced in this thread."""
    return current_trace() is EVAL_TRACE


def full_lower(value: object) -> object:
    """The value itself: traces hand on here what they need not keep."""
    return value


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """The type of the array that holds values of a type: of keys that of their words."""
    found = getattr(aval.dtype, "physical_aval", None)
    return aval if found is None else found(aval)


Out = TypeVar("Out")  # what functions that are checked return

# How results become values of types of a package's own. Nothing reads it: there are no such types here.
global_result_handlers: dict[object, object] = {}

# `jax.extend.ifrt_programs`: programs of a runtime that Tangrad does not use; the namespace is there, and empty.
ifrt_programs = SimpleNamespace()


# --- dtypes and numbers -----------------------------------------------------------------------------------------------


DType = np.dtype


def dtype(x: object) -> DType:
    """The dtype of an array, a number or a dtype."""
    return as_dtype(getattr(x, "dtype", x) if not isinstance(x, type) else x)


def to_complex_dtype(dtype: object) -> DType:
    """The complex dtype of the precision of a dtype."""
    return core_dtypes.to_complex_dtype(dtype)


def to_inexact_dtype(dtype: object) -> DType:
    """The dtype itself where it is inexact, else the floating one that stands for it."""
    return core_dtypes.to_inexact_dtype(dtype)


def canonicalize_dtype(dtype: object, allow_extended_dtype: bool = False) -> np.dtype:
    """The dtype that stands for another; those of keys are extended, and are known as the others are."""
    return dtypes.canonicalize_dtype(dtype)


def supports_inf(dtype: object) -> bool:
    """Whether numbers of a dtype can be infinite."""
    return bool(np.isinf(np.asarray(np.inf).astype(dtypes.as_dtype(dtype)).astype(float)))


class TypedInt(int):
    """An integer that knows its dtype."""


class TypedFloat(float):
    """A float that knows its dtype."""


class TypedComplex(complex):
    """A complex number that knows its dtype."""


class TypedNdArray(np.ndarray):
    """An array of NumPy that knows whether its type is weak."""


class EArray:
    """An array of an extended type."""

    def __new__(cls, *args: object, **options: object) -> EArray:
        raise NotImplementedError(
            "Tangrad, of which 'jax' is an alias here (tangrad.compat.jax), has no arrays of extended types"
        )


# --- pytrees and processes --------------------------------------------------------------------------------------------


class _NodeTypes:
    """Which types are nodes of pytrees."""

    def __contains__(self, node_type: object) -> bool:
        return isinstance(node_type, type) and kind_of(node_type) is not None


_registry = _NodeTypes()


class _State:
    """As JAX's state of the same name, read only; `client` is what talks to the others, None where there are none."""

    @property
    def process_id(self) -> int:
        return tangrad.process_index()

    @property
    def num_processes(self) -> int:
        return tangrad.process_count()

    @property
    def client(self) -> Any:
        return None


global_state = _State()


# --- places in programs: which frames errors show. Here they hide Tangrad's own, whatever else is set -----------------


_exclude_paths: list[str] = []


def register_exclusion(path: str) -> None:
    """Note that the frames of a file are of no interest to users."""
    _exclude_paths.append(path)


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is of interest: it is not of a file that was noted."""
    return not frame.f_code.co_filename.startswith(tuple(_exclude_paths))


def api_boundary(function: Callable[P, R], **options: object) -> Callable[P, R]:
    """The function itself: Tangrad's own functions see to the frames of errors."""
    return function


def summarize(source_info: object, num_frames: int = 1) -> str:
    """The line of the user's program that an equation is of, as text."""
    return str(source_info)


@contextmanager
def user_context(traceback: object, *, name_stack: object = None) -> Iterator[None]:
    """Within the block errors are of the line that they are of: Tangrad's say that of the equation already."""
    yield
