"""Traces and tracers: who interprets a primitive, and the values it is applied to meanwhile.

Tracing is stackless. A thread has one current trace; `Primitive.bind` hands itself to it. A transformation installs a
trace that knows its parent, and runs its rules with the parent as the current trace.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

import numpy as np

from tangrad._core.composition.missing_names import explanations
from tangrad._core.diagnostics import errors
from tangrad._core.diagnostics.tracebacks import method_boundaries
from tangrad._core.kernel.array import CONVERSIONS, Array, Literal
from tangrad._core.kernel.backend import Backend, as_array, as_operand, preferred_backend
from tangrad._core.kernel.keys import Params
from tangrad._core.settings.config import thread
from tangrad._core.settings.threads import holding
from tangrad._core.tree.operations import tree_leaves

T = TypeVar("T", bound="Trace")


class Trace:
    """Interprets primitives. A subclass implements `process_primitive` and makes tracers of its own.

    Attributes:
        alive: False once the transformation that made the trace has ended; its tracers must not be used any more.
        stages: whether what it processes ends up in a jaxpr, so that the place in the program will be needed.
        leaks: False where tracers are kept on purpose after the end, on a tape.
        outlasts: whether it never ends: its tracers are in the user's hands, and may be part of what is kept.
        evaluates: whether operations on values that are known are computed when they are called.
    """

    __slots__ = ("__weakref__", "alive", "stages")
    alive: bool
    stages: bool
    leaks: ClassVar[bool] = True
    outlasts: ClassVar[bool] = False
    evaluates: ClassVar[bool] = False

    def __init__(self, parent: Trace | None = None) -> None:
        self.alive = True
        self.stages = parent is not None and parent.stages

    def process_primitive(self, primitive: Any, args: tuple[Any, ...], params: Params) -> Any:
        """Apply `primitive` and return its result, or the tuple of its results."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__


class Tracer(Array, has_memory=False):
    """Stands for an array while a transformation runs a function. A subclass adds what its trace needs to know."""

    __slots__ = ("_trace",)
    _trace: Trace

    def __init_subclass__(cls) -> None:
        super().__init_subclass__(has_memory=False)

    def concrete(self) -> Array | Literal | None:
        """The concrete array behind the tracer, where its trace works on concrete values, else None."""
        return None

    def origin(self) -> str:
        """Where the tracer comes from, for error messages."""
        return f"a value traced by {type(self._trace).__name__}"

    def _concrete_or(self, error: type[Exception], *what: str) -> Array | Literal:
        value = self.concrete()
        if value is None:
            raise error(self, *what)
        return value

    def __bool__(self) -> bool:
        return bool(self._concrete_or(errors.TracerBoolConversionError))

    def __int__(self) -> int:
        return int(self._concrete_or(errors.ConcretizationTypeError))

    def __float__(self) -> float:
        raise self._no_number("float")

    def __complex__(self) -> complex:
        raise self._no_number("complex")

    def _no_number(self, kind: str) -> Exception:
        """Where the value is known it is refused all the same: `math.sin(x)` would go on without the derivative."""
        if self.concrete() is None:
            return errors.ConcretizationTypeError(self)
        return errors.ConcretizationTypeError.of_known_number(self, kind)

    def __index__(self) -> int:
        return int(self._concrete_or(errors.TracerIntegerConversionError).__index__())

    def to_numpy(self) -> np.ndarray:
        raise errors.TracerArrayConversionError(self)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        raise errors.TracerArrayConversionError(self)

    def block_until_ready(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: object) -> Tracer:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        raise errors.ConcretizationTypeError(self, "pickling it")

    def _looked_at(self) -> np.ndarray:
        return self._concrete_or(errors.ConcretizationTypeError)._looked_at()

    def known(self) -> Mapping[str, object]:
        """What is known of the value, by name: what `repr` shows. Values of traces below are shown likewise."""
        value = self.concrete()
        return {} if value is None else {"value": value}

    def __repr__(self) -> str:
        return explanations().tracer(self)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        return format(self._concrete_or(errors.ConcretizationTypeError), spec)


method_boundaries(Tracer, CONVERSIONS)


def find_backend(args: tuple[object, ...]) -> tuple[Backend, tuple[Array | Literal, ...]]:
    """The backend that must compute with `args`, and the args as operands. Raises for a leaked tracer."""
    backend = None
    for arg in args:
        if isinstance(arg, Tracer):
            raise getattr(arg, "leak_error", errors.UnexpectedTracerError)(arg)
        if backend is None and isinstance(arg, Array):
            backend = type(arg).backend
    if backend is None:
        backend = preferred_backend()
        if thread.default_device is not None:  # a literal is nowhere: the array determines where the result is to be
            return backend, tuple([as_array(arg) for arg in args])
    return backend, tuple([as_operand(arg) for arg in args])


def device_beside(x: Any) -> Any:
    """The device of an array on another backend than the one in use, which constants beside it must be put on.

    Of a tracer: that of the array that is mapped or differentiated, where one is known. None for all others.
    """
    backend, used = getattr(type(x), "backend", None), preferred_backend()
    while backend is None and isinstance(x, Tracer):
        x = next(iter(x.known().values()), None)
        backend = getattr(type(x), "backend", None)
    if backend is None or backend is used:
        return None
    places = list(x.devices())
    return places[0] if len(places) == 1 else backend.devices()[0]


def checked_operands(backend: Backend, args: tuple[object, ...]) -> tuple[Any, ...]:
    """For a backend's slow path: its own arrays and literals, or an error that states what is wrong with one."""
    operands = []
    for arg in args:
        if isinstance(arg, Tracer):
            raise getattr(arg, "leak_error", errors.UnexpectedTracerError)(arg)
        operand = as_operand(arg)
        if isinstance(operand, Array) and not isinstance(operand, backend.array_type):
            raise errors.mixed_backends(backend, operand)
        operands.append(operand)
    return tuple(operands)


def current_trace() -> Trace:
    """The trace that interprets primitives in this thread now."""
    trace: Trace = thread.trace
    return trace


def install_trace(trace: T) -> T:
    """Put `trace` on top of the current one, for the rest of the function that is traced: who began that ends it."""
    thread.trace = trace
    return trace


@contextmanager
def set_current_trace(trace: Trace) -> Iterator[Trace]:
    """The former name of `holding(trace=trace)`."""
    with holding(trace=trace):
        yield trace


def is_concrete(value: object) -> bool:
    """Whether the contents of `value` can be looked at now.

    >>> import tangrad
    >>> from tangrad.core import is_concrete
    >>> is_concrete(1.0)
    True
    >>> seen = []
    >>> jaxpr = tangrad.make_jaxpr(lambda x: seen.append(is_concrete(x)) or x)(1.0)
    >>> seen
    [False]
    """
    return not isinstance(value, Tracer) or value.concrete() is not None


def computes_at_once(args: object) -> bool:
    """Whether operations on a tree of values are computed when they are called: its values may decide an `if`."""
    return thread.trace.evaluates and not any([isinstance(leaf, Tracer) for leaf in tree_leaves(args)])


def concrete_or_error(value: object, what: str = "") -> Any:
    """The concrete contents of `value`. Raises ConcretizationTypeError, which names what needed them, for a tracer."""
    return value._concrete_or(errors.ConcretizationTypeError, what) if isinstance(value, Tracer) else value


def close_trace(trace: Trace) -> weakref.ref[object]:
    """Former: `run_traced` ends what it begins."""
    trace.alive = False
    return weakref.ref(trace)


def check_no_leak(reference: weakref.ref[T]) -> None:
    """With `check_tracer_leaks`: raise errors.LeakedTracerError if something still holds tracers of the ended trace."""
    if reference() is None:
        return
    gc.collect()
    trace = reference()
    if trace is None:
        return
    leaked = [obj for obj in gc.get_referrers(trace) if getattr(obj, "_trace", None) is trace]
    raise errors.LeakedTracerError(explanations().leak(trace, leaked))
