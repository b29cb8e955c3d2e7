"""Computing at once within a function that is being traced: `ensure_compile_time_eval`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from tangrad.core import EVAL_TRACE, RuleTrace, Tracer, holding, thread
from tangrad.core.transformations import call_under


class CompileTimeTrace(RuleTrace):
    """Evaluates operations on concrete arrays; those on tracers go to the trace below."""

    __slots__ = ()
    evaluates: ClassVar[bool] = True

    def process_primitive(self, primitive: object, args: tuple[object, ...], params: dict[str, object]) -> Any:
        trace = self.parent if any([isinstance(arg, Tracer) for arg in args]) else EVAL_TRACE
        return call_under(trace, trace.process_primitive, primitive, args, params)


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Within the block, operations on values that are known are computed at once, even where a function is traced.

    Their results can then decide the shape or the structure of the program. Also a decorator.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> @tangrad.jit
    ... def f(x):
    ...     with tangrad.ensure_compile_time_eval():
    ...         count = np.sum(np.array([1, 2]))
    ...     return np.ones(int(count)) * x
    >>> f(2.0)
    Array([2., 2., 2.], dtype=float32)
    """
    previous = thread.trace
    if previous is EVAL_TRACE:
        yield
        return
    with holding(trace=CompileTimeTrace(previous)):
        yield
