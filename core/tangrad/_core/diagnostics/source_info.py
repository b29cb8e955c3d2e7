"""Where in the user's program an operation is: the line behind an equation, and the named scopes around it.

An equation keeps a code object and an offset into it, which cost half a microsecond to take; file, line, column and
function are worked out when they are needed. No frame is kept: it would keep every value of the user's function alive.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from operator import itemgetter
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from tangrad._core.settings.config import ThreadState, thread

P = ParamSpec("P")
R = TypeVar("R")
Function = TypeVar("Function", bound=Callable[..., Any])


# --- whose frame is it? --------------------------------------------------------------------------------------------

_BETWEEN = [contextlib.__file__, functools.__file__]  # what calls functions of ours, or theirs through ours


class _Internal(dict[str, bool]):
    """For each file name in a code object, whether the file belongs to the framework; answers are kept."""

    def __missing__(self, filename: str) -> bool:
        answer = filename.startswith(("<tangrad", "<frozen")) or any(
            filename == path or filename.startswith(path + os.sep) for path in (*_package_folders(), *_BETWEEN)
        )
        if len(self) >= 4096:  # notebooks and exec'd code make new file names without end
            self.clear()
        self[filename] = answer
        return answer


def _package_folders() -> list[str]:
    """Those of the framework, and of pluggy, by which it calls hooks of plugins."""
    packages = [sys.modules.get(name) for name in ("tangrad", "pluggy")]
    return [path for package in packages if package is not None for path in package.__path__]


_internal = _Internal()


def is_internal(filename: str) -> bool:
    """Whether the frames of a file belong to the framework rather than to the user's program."""
    return _internal[filename]


def callers_of(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that led to it, the newest first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def entries_of(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """The entries of a traceback, the innermost last."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


# --- name stacks ---------------------------------------------------------------------------------------------------


class NameStack(tuple[str, ...]):
    """The named scopes and transformations around an operation, outermost first; immutable.

    A transformation's element ends in '('. Printed, it encloses the scope inside it: `outer/jvp(layer)`.

    >>> from tangrad._core.diagnostics.source_info import NameStack
    >>> str(NameStack().extend("outer").transform("jvp").extend("layer"))
    'outer/jvp(layer)'
    """

    __slots__ = ()

    def extend(self, name: str) -> NameStack:
        """This stack with a scope inside it."""
        return NameStack((*self, name))

    def transform(self, name: str) -> NameStack:
        """This stack with a transformation inside it."""
        return NameStack((*self, name + "("))

    def __add__(self, other: tuple[str, ...]) -> NameStack:  # type: ignore[override]
        return NameStack((*self, *other)) if other else self

    def __str__(self) -> str:
        parts: list[str] = []  # innermost last; a transformation takes the part that was outermost so far
        for name in reversed(self):
            if name.endswith("("):
                inner = parts.pop() if parts else ""
                name = f"{name}{inner})"
            parts.append(name)
        return "/".join(reversed(parts))


NO_NAMES = NameStack()
ThreadState.name_stack = NO_NAMES


class named_scope(contextlib.ContextDecorator):  # noqa: N801 - named as users of the field know it
    """Give a name to the operations inside, for jaxprs, compiled programs and profiles; also a decorator.

    Arguments:
        name: a string, such as the name of a layer.

    Raises TypeError if `name` is not a string.

    >>> from tangrad._core.diagnostics.source_info import current_name_stack, named_scope
    >>> with named_scope("layer_1"):
    ...     str(current_name_stack())
    'layer_1'
    """

    __slots__ = ("_name", "_previous")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope takes a string, got {name!r} of type {type(name).__name__}")
        self._name = name.rstrip("(")  # a scope must not read as a transformation
        self._previous: list[Any] = []  # a list: one object may be entered within itself

    def __enter__(self) -> None:
        previous = thread.name_stack
        thread.name_stack = current_name_stack().extend(self._name)
        self._previous.append(previous)

    def __exit__(self, *_: object) -> None:
        thread.name_stack = self._previous.pop()

    def _recreate_cm(self) -> named_scope:  # each call of a decorated function has its own
        return named_scope(self._name)


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """`fun`, with its operations under a name, as in a `named_scope`.

    Args:
        fun: any function.
        name: the name; None: that of `fun`.

    Raises TypeError if `name` is not a string.

    >>> import tangrad
    >>> double = tangrad.named_call(lambda x: x + x, name="double")
    >>> print(tangrad.make_jaxpr(double)(1.0).eqns[0].source_info.name_stack)
    double
    """
    if not callable(fun):
        raise TypeError(f"named_call expects a function, got {fun!r} of type {type(fun).__name__}")
    return named_scope(getattr(fun, "__name__", type(fun).__name__) if name is None else name)(fun)


def current_name_stack() -> NameStack:
    """The names around the code that runs now, in this thread."""
    return cast(NameStack, thread.name_stack)


# --- places --------------------------------------------------------------------------------------------------------


class SourceInfo(tuple[Any, ...]):
    """A place in the user's program: `(code, offset, name_stack)`; `code` is None where no user's frame was found.

    A tuple, because it is made for every equation and a tuple is the cheapest object to make.
    """

    __slots__ = ()
    code = property(itemgetter(0))
    name_stack = property(itemgetter(2))

    @property
    def file(self) -> str:
        """The path of the file, as Python knows it; '' if unknown."""
        return self.code.co_filename if self.code is not None else ""

    @property
    def function(self) -> str:
        """The name of the function, or '<module>'; '' if unknown."""
        return self.code.co_name if self.code is not None else ""

    @property
    def line(self) -> int:
        """The line, from 1; 0 if unknown."""
        return self._position()[0]

    @property
    def column(self) -> int:
        """The column, from 1; 0 if unknown."""
        return self._position()[1]

    def _position(self) -> tuple[int, int]:
        if self.code is None:
            return 0, 0
        # One entry per two-byte instruction. Columns are absent under `python -X no_debug_ranges`.
        line, _, column, _ = next(islice(self.code.co_positions(), self[1] // 2, None), (None, None, None, None))
        return line or self.code.co_firstlineno, 0 if column is None else column + 1

    def summarize(self) -> str:
        """The place as text: `file.py:12:3 (function)`."""
        if self.code is None:
            return "an unknown place"
        line, column = self._position()
        return f"{self.file}:{line}:{column} ({self.function})" if column else f"{self.file}:{line} ({self.function})"

    def __repr__(self) -> str:
        return f"<SourceInfo {self.summarize()}>"


_getframe = sys._getframe
_new = tuple.__new__


def current_source(skip: int = 1) -> SourceInfo:
    """The place of the innermost frame that is the user's, and the names around it.

    `skip`: how many frames to leave out unseen; 1 is this function's caller.
    """
    source: SourceInfo | None = thread.source
    if source is not None:
        if thread.name_stack != source[2]:
            return _new(SourceInfo, (source[0], source[1], thread.name_stack))
        return source
    frame: Any = _getframe(skip)
    internal = _internal
    while internal[frame.f_code.co_filename]:
        frame = frame.f_back
        if frame is None:
            return _new(SourceInfo, (None, 0, thread.name_stack))
    return _new(SourceInfo, (frame.f_code, frame.f_lasti, thread.name_stack))


# --- functions that stand for others -------------------------------------------------------------------------------


def copy_identity(wrapper: Function, function: Callable[..., Any]) -> Function:
    """Give `wrapper` the name, documentation, annotations, signature and public attributes of `function`; return it.

    What `functools.wraps` does at a fifth of its cost: a transformation wraps a function at every call of `grad(f)`.
    Objects that can be called may have anything under these names, which is then no name.
    """
    name, qualified = getattr(function, "__name__", None), getattr(function, "__qualname__", None)
    if isinstance(name, str):
        wrapper.__name__ = name
        wrapper.__qualname__ = qualified if isinstance(qualified, str) else name
    wrapper.__module__ = getattr(function, "__module__", None) or wrapper.__module__
    wrapper.__doc__ = getattr(function, "__doc__", None)
    annotations = getattr(function, "__annotations__", None)
    if isinstance(annotations, dict):
        wrapper.__annotations__ = annotations
    vars(wrapper)["__wrapped__"] = function  # inspect.signature follows it
    for name, value in getattr(function, "__dict__", {}).items():
        if name[0] != "_" and name not in wrapper.__dict__:
            setattr(wrapper, name, value)
    return wrapper


class WrappedSignature:
    """`__signature__` of a class whose objects stand for functions and are bound as methods: that of the function.

    inspect takes such objects for built-in functions, if it is asked not to follow `__wrapped__`.
    """

    def __get__(self, instance: Any, owner: Any = None) -> inspect.Signature | None:
        return None if instance is None else inspect.signature(instance.__wrapped__)
