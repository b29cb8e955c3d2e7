"""`jax.extend.core`, `jax.core`: primitives and jaxprs, types of values, tracers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tangrad import ensure_compile_time_eval as ensure_compile_time_eval
from tangrad import typeof as get_aval
from tangrad._compat.primitives import Primitive as Primitive
from tangrad._compat.types import aval_rules as pytype_aval_mappings
from tangrad.batching import BatchTrace
from tangrad.core import EVAL_TRACE, current_trace, dtypes, holding, is_array_value, thread
from tangrad.core import NO_EFFECTS as no_effects  # noqa: N811
from tangrad.core import AbstractValue as AbstractValue
from tangrad.core import Array as Array
from tangrad.core import ClosedJaxpr as ClosedJaxpr
from tangrad.core import DropVar as DropVar
from tangrad.core import Effect as Effect
from tangrad.core import Jaxpr as Jaxpr
from tangrad.core import JaxprEqn as JaxprEqn
from tangrad.core import Literal as Literal
from tangrad.core import ShapedArray as ShapedArray
from tangrad.core import Trace as Trace
from tangrad.core import Tracer as Tracer
from tangrad.core import Var as Var
from tangrad.core import concrete_or_error as _concrete_or_error
from tangrad.core import eval_jaxpr as eval_jaxpr
from tangrad.core import is_concrete as is_concrete
from tangrad.core import jaxpr_as_function as jaxpr_as_fun
from tangrad.core.arguments import max_size as max_dim
from tangrad.core.arguments import min_size as min_dim
from tangrad.core.backends import AbstractToken as AbstractToken
from tangrad.core.tools import SourceInfo, sub_jaxprs
from tangrad.core.tools import check_jaxpr as check_jaxpr
from tangrad.core.transformations import StagingTrace
from tangrad.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from tangrad.errors import JaxprTypeError as JaxprTypeError
from tangrad.typing import DType

Atom = Var | Literal
Effects = frozenset
Token = AbstractToken
array_types = frozenset([np.ndarray, np.generic, Array])


def concrete_or_error(force: Callable[..., object] | None, value: object, context: str = "") -> Any:
    """`force` of a concrete value, or the error that states what for a tracer was looked at."""
    found = _concrete_or_error(value, context)
    return found if force is None else force(found)


def gensym(suffix: str = "") -> type[Var]:
    """A function that makes new variables of a type."""
    return Var


def new_jaxpr_eqn(
    invars: Sequence[Var | Literal],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: dict[str, object],
    effects: frozenset[Effect],
    source_info: SourceInfo | None = None,
    ctx: object = None,
) -> JaxprEqn:
    """An equation; the arguments stand in another order there."""
    return JaxprEqn(primitive, invars, outvars, params, frozenset(effects), source_info)


def jaxprs_in_params(params: dict[str, object]) -> Iterator[Jaxpr]:
    """The programs among the parameters of an equation, without their constants."""
    for jaxpr in sub_jaxprs(params):
        yield jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The programs that the equations of a program carry."""
    for equation in jaxpr.eqns:
        yield from jaxprs_in_params(equation.params)


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of one example of what is mapped along `axis`."""
    if axis is None:
        return aval
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :])


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: object = None) -> ShapedArray:
    """The type of all examples, along `axis`, of one of type `aval`."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def primal_dtype_to_tangent_dtype(dtype: object) -> DType:
    """The dtype of tangents: float0 where there is no derivative."""
    from_dtype = dtypes.as_dtype(dtype)
    return from_dtype if getattr(from_dtype, "kind", "V") in "fcV" and from_dtype != dtypes.float0 else dtypes.float0


def valid_jaxtype(value: object) -> bool:
    """Whether a value can be an argument of traced functions."""
    return is_array_value(value)


def find_top_trace(arrays: Sequence[object]) -> Trace:
    """The trace that interprets primitives now."""
    return current_trace()


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether a mapped axis with a name is in scope."""
    return bool(thread.axis_environment)


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a program is being traced."""
    return any([isinstance(trace, StagingTrace) for trace in _traces()])


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether a function is being mapped."""
    return any([isinstance(trace, BatchTrace) for trace in _traces()])


def _traces() -> Iterator[Trace]:
    """The current trace, and those around it."""
    trace: Any = current_trace()
    while trace is not None:
        yield trace
        trace = getattr(trace, "parent", None)


class TraceTag:
    """What distinguishes one trace of a package's own from another."""


class OpaqueTraceState:
    """Which trace was the current one; equal as long as that is the same."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace) -> None:
        self._trace = weakref.ref(trace)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace() is other._trace()

    def __hash__(self) -> int:
        return hash(self._trace)

    def is_alive(self) -> bool:
        """Whether the trace has not ended."""
        trace = self._trace()
        return trace is not None and trace.alive


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """Something to find out with, later, whether the current trace is still the same."""
    trace: Any = current_trace()
    while getattr(trace, "is_interposed", False):  # as that of references, which the first one puts on top
        trace = trace.parent
    return OpaqueTraceState(trace)


@contextmanager
def set_current_trace(trace: Trace) -> Iterator[None]:
    """Within the block `trace` interprets primitives."""
    with holding(trace=trace):
        yield


@contextmanager
def take_current_trace() -> Iterator[Trace]:
    """The trace that interprets primitives now; within the block it does not."""
    trace = current_trace()
    with holding(trace=EVAL_TRACE):
        yield trace


def unsafe_get_axis_names_DO_NOT_USE() -> list[str]:
    """The names of the mapped axes in scope."""
    return [name for name, _ in thread.axis_environment]


class DebugInfo(NamedTuple):
    """What messages say of a traced function. Programs traced here have none; packages that change jaxprs make some."""

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None
    result_paths: tuple[str, ...] | None
