"""Names for stretches of a program, as they are shown in traces."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tangrad._profiler.backends import profiler_of_loaded
from tangrad._profiler.traces import own_recording
from tangrad.core import class_boundary, copy_identity

if TYPE_CHECKING:
    from tangrad.typing import Value

F = TypeVar("F", bound=Callable[..., Any])
_STEP = {"_r": 1}  # by which XLA's profiler distinguishes steps from other annotations


@class_boundary
class TraceAnnotation:
    """A context manager whose block is an event in traces. Where nothing is recorded it costs a few microseconds.

    Args:
        name: of the event.
        kwargs: what is shown with it.

    >>> import tangrad
    >>> with tangrad.profiler.TraceAnnotation("load", count=3):
    ...     loaded = list(range(3))
    """

    def __init__(self, name: str, **kwargs: object) -> None:
        self._name, self._details = name, kwargs
        self._foreign: list[Any] = []
        self._started = 0

    def set_metadata(self, **kwargs: object) -> None:
        """Show more with the event; within the block too."""
        self._details = {**self._details, **kwargs}
        for one in self._foreign:
            one.set_metadata(**kwargs)

    @staticmethod
    def is_enabled() -> bool:
        """Whether annotations are being recorded."""
        return own_recording() is not None or any([profiler.is_recording() for profiler in profiler_of_loaded()])

    def __enter__(self) -> TraceAnnotation:
        self._foreign = [profiler.annotation(self._name, self._details) for profiler in profiler_of_loaded()]
        for one in self._foreign:
            one.__enter__()
        self._started = time.perf_counter_ns()
        return self

    def __exit__(self, *error: object) -> None:
        recording = own_recording()
        if recording is not None:
            recording.add(self._name, self._started, time.perf_counter_ns(), self._details)
        while self._foreign:
            self._foreign.pop().__exit__(*error)


@class_boundary
class StepTraceAnnotation(TraceAnnotation):
    """A `TraceAnnotation` of one step of a training loop, which profile viewers sum up.

    Args:
        name: of all the steps.
        kwargs: what is shown with it; `step_num`: the number of the step.

    >>> import tangrad
    >>> for number in range(2):
    ...     with tangrad.profiler.StepTraceAnnotation("train", step_num=number):
    ...         done = number
    """

    def __init__(self, name: str, **kwargs: object) -> None:
        super().__init__(name, **{**_STEP, **kwargs})


def annotate_function(func: F, name: str | None = None, **decorator_kwargs: object) -> F:
    """The function, whose calls are events in traces.

    Args:
        func: any function.
        name: of the events; default: the function's.
        decorator_kwargs: what is shown with each.

    >>> import tangrad
    >>> @tangrad.profiler.annotate_function
    ... def prepare(x):
    ...     return x + 1
    >>> prepare(1)
    2
    """
    if not callable(func):
        raise TypeError(f"annotate_function expects a function, got {func!r} of type {type(func).__name__}")
    label: str = name or getattr(func, "__qualname__", None) or getattr(func, "__name__", None) or repr(func)

    def annotated(*args: Value, **kwargs: object) -> Value:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)

    return cast(F, copy_identity(annotated, func))
