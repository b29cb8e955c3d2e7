"""The trace of functions of sparse arrays: it keeps sparse what operations leave sparse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import tangrad.numpy as tnp
from tangrad._sparse.base import JAXSparse
from tangrad.core import (
    Array,
    DerivedRule,
    Primitive,
    RuleTrace,
    RuleTracer,
    ShapedArray,
    Tracer,
    as_operand,
    decomposed,
    dtypes,
    rule_table,
    run_traced,
)
from tangrad.core.transformations import is_operand
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad.typing import Params

SPARSE = rule_table("sparse")


class SparseTracer(RuleTracer):
    """A sparse array of the parent trace, as the function sees it: an array of its shape."""

    __slots__ = ()

    def __init__(self, trace: SparseTrace, value: Any) -> None:
        self._trace = trace
        self.value, self.extra = value, None
        self.aval = ShapedArray(value.shape, value.dtype)

    def known(self) -> dict[str, Any]:
        return {"value": self.value}

    def origin(self) -> str:
        return f"the sparse array {self.value!r}, of sparsify"


class SparseTrace(RuleTrace, kind="sparse", own=SparseTracer):
    """Applies rules of the kind `sparse` where an operand is sparse."""

    __slots__ = ()

    def tracer(self, value: Any, extra: Any = None) -> Any:
        """A value of the parent as the function sees it."""
        return SparseTracer(self, value) if isinstance(value, JAXSparse) else value

    def leave(self, value: Any) -> Any:
        """The sparse array that the function sees as this value, or the value itself."""
        if type(value) is SparseTracer and value._trace is self:
            return value.value
        if isinstance(value, Tracer) and not value._trace.alive:
            raise UnexpectedTracerError(value)
        return value

    def apply(self, primitive: Primitive, values: list[Any], extras: list[Any], params: Params) -> Any:
        operands = [one if isinstance(one, JAXSparse) else as_operand(self.leave(one)) for one in values]
        found = SPARSE[primitive](*operands, **params)
        for one in found if primitive.multiple_results else (found,):
            if not isinstance(one, JAXSparse) and not is_operand(one):
                what = f"{one!r} of type {type(one).__name__}; expected an array, dense or sparse"
                raise TypeError(f"the sparse rule of {primitive.identity!r} returned {what}")
        if primitive.multiple_results:
            return tuple([self.tracer(one) for one in found])
        return self.tracer(found)


def sparsified_flat(function: Callable[..., Sequence[Any]], values: Sequence[Any]) -> list[Any]:
    """Run a function of flat values, some of which are sparse arrays. Its results are likewise."""

    def run(trace: SparseTrace) -> list[Any]:
        return [trace.leave(out) for out in function(*[trace.tracer(value) for value in values])]

    return run_traced(run, SparseTrace)


def by_decomposition(primitive: Primitive) -> Callable[..., Any]:
    """A rule made of a primitive's decomposition."""

    def rule(*operands: Any, **params: Any) -> Any:
        def run(*values: Any) -> Any:
            out = decomposed(primitive, values, params)
            return tuple(out) if primitive.multiple_results else (out,)

        with DerivedRule(primitive, "sparse"):
            outs = sparsified_flat(run, operands)
        return tuple(outs) if primitive.multiple_results else outs[0]

    return rule


def dense_within(value: Any) -> Array:
    """The value of a tracer with its zeros, where it may stand for a sparse array: a sum with a dense one is dense."""
    trace = getattr(value, "_trace", None)
    while trace is not None and type(trace) is not SparseTrace:
        trace = getattr(trace, "parent", None)
    if trace is None:
        return value
    if dtypes.issubdtype(value.dtype, bool):
        return dense_within(value.astype("int8")).astype(bool)
    return value + tnp.zeros(value.shape, value.dtype)
