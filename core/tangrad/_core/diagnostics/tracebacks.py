"""Tracebacks of the user's program: at the boundary of the public API the framework's own frames are left out.

The setting `traceback_filtering` (environment: TANGRAD_TRACEBACK_FILTERING) turns this off. The whole traceback stays
reachable: it is the attribute `unfiltered_traceback` of the exception, for `traceback.print_tb` and `pdb.post_mortem`.

No traceback can be pickled, and an exception is pickled with its attributes: pools of processes send home what a worker
raised. So the attribute is a view of the traceback that is pickled as None; tracebacks as such stay as Python has them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, cast

from tangrad._core.diagnostics.source_info import Function, P, R, callers_of, copy_identity, entries_of, is_internal
from tangrad._core.settings.config import thread

NOTE = "(The frames of tangrad are left out; TANGRAD_TRACEBACK_FILTERING=off shows them.)"


class WholeTraceback:
    """The traceback of an exception with all its frames, as an attribute of that exception.

    It reads like a traceback, so `traceback.print_tb` and `pdb.post_mortem` take it, and is pickled as None.

    Attributes:
        traceback: the traceback itself.
    """

    __slots__ = ("traceback",)

    def __init__(self, traceback: TracebackType) -> None:
        self.traceback = traceback

    def __getattr__(self, name: str) -> Any:
        return getattr(self.traceback, name)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


def api_boundary(function: Callable[P, R], *, identity: Callable[..., Any] | None = None) -> Callable[P, R]:
    """Wrap a function that users call, so that what it raises shows their frames and not ours.

    `identity`: the function whose name, documentation and signature the result gets; by default `function`. A call that
    does not raise pays for one more Python frame. Nested boundaries leave the filtering to the outermost.
    """

    def boundary(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise  # bare: Python then takes the traceback that the exception has now, and does not add this frame

    return copy_identity(boundary, function if identity is None else identity)


# Frames of these mean that an outer boundary will see the exception, too.
_boundaries = {api_boundary(lambda: None).__code__}


def own_boundary(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as a boundary that calls `filter_traceback` itself, where one more frame would cost too much.

    >>> from tangrad.core import filter_traceback, own_boundary
    >>> @own_boundary
    ... def reciprocal(x):
    ...     try:
    ...         return 1 / x
    ...     except Exception as error:
    ...         filter_traceback(error)
    ...         raise
    """
    _boundaries.add(cast(Any, function).__code__)
    return function


def is_boundary(function: Any) -> bool:
    """Whether a function is a boundary already."""
    return function.__code__ in _boundaries


_explaining: list[Callable[[BaseException, TracebackType], None]] = []


def explain_by(function: Callable[[BaseException, TracebackType], None]) -> None:
    """Have a function add to errors, before they leave the framework, what their whole traceback says."""
    _explaining.append(function)


def filter_traceback(error: BaseException) -> None:
    """Leave the framework's frames out of the traceback of `error`, unless that is off or an outer boundary will."""
    whole = error.__traceback__
    if whole is None or _within_boundary():
        return
    for explain in _explaining:
        explain(error, whole)
    if thread.traceback_filtering == "off":
        return
    filtered = without_internal_frames(whole)
    if filtered is whole:
        return
    error.__traceback__ = filtered
    try:
        if not hasattr(error, "unfiltered_traceback"):
            error.add_note(NOTE)
        error.unfiltered_traceback = WholeTraceback(whole)  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        pass  # an exception class that takes no attributes


def _within_boundary() -> bool:
    boundary = sys._getframe(2)  # the one that asks, which is not its own outer one
    outer = boundary.f_back if boundary.f_code in _boundaries else boundary
    return any(frame.f_code in _boundaries for frame in callers_of(outer))


def without_internal_frames(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback of the user's frames alone: `traceback` itself if it has no others, None if it has no such frame."""
    entries = list(entries_of(traceback))
    kept = [entry for entry in entries if not is_internal(entry.tb_frame.f_code.co_filename)]
    if len(kept) == len(entries):
        return traceback
    filtered: TracebackType | None = None
    for entry in reversed(kept):
        filtered = TracebackType(filtered, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return filtered


# --- which functions call rules -------------------------------------------------------------------------------------

# Code -> the rule kind, and the local variable with the primitive: a traceback then says whose rule an error comes
# from. Bounded by the functions that are marked.
SITES: dict[CodeType, tuple[str, str]] = {}


def calls_rules(kind: str, variable: str = "primitive", inner: str | None = None) -> Callable[[Function], Function]:
    """Mark a function that calls rules of a kind, so that errors of the call say which rule it was.

    Args:
        kind: the rule kind; "abstract_eval", "decompose", "evaluate" or "effects" for what a primitive has itself.
        variable: the function's local variable that holds the primitive, or an equation or context with it.
        inner: the name of a function that this one makes, which calls the rules; None: it does so itself.

    Returns:
        a decorator, which returns the function as it is: a call costs nothing more.

    >>> from tangrad.core import calls_rules, rule_table
    >>> @calls_rules("bounds")
    ... def bounds_of(primitive, args):
    ...     return rule_table("bounds")[primitive](*args)
    """

    def mark(function: Function) -> Function:
        code = cast(Any, function).__code__
        if inner is not None:
            code = next(const for const in code.co_consts if isinstance(const, CodeType) and const.co_name == inner)
        SITES[code] = (kind, variable)
        return function

    return mark
