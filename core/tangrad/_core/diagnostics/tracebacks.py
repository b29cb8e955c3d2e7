"""Tracebacks of the user's program: at the boundary of the public API the framework's own frames are left out.

The setting `traceback_filtering` (environment: TANGRAD_TRACEBACK_FILTERING) turns this off. The whole traceback stays
reachable: it is the attribute `unfiltered_traceback` of the exception, for `traceback.print_tb` and `pdb.post_mortem`.

No traceback can be pickled, and an exception is pickled with its attributes: pools of processes send home what a worker
raised. So the attribute is a view of the traceback that is pickled as None; tracebacks as such stay as Python has them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType, FunctionType, TracebackType
from typing import Any, TypeVar, cast

from tangrad._core.diagnostics.source_info import (
    Function,
    P,
    R,
    callers_of,
    copy_identity,
    entries_of,
    is_internal,
    named_scope,
)
from tangrad._core.settings.config import Setting, thread

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

    def __getattr__(self, name: str) -> object:
        return getattr(self.traceback, name)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


def api_boundary(function: Callable[P, R], *, identity: Callable[..., object] | None = None) -> Callable[P, R]:
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


def is_boundary(function: Callable[..., object]) -> bool:
    """Whether a function is a boundary already."""
    return function.__code__ in _boundaries


_explaining: list[Callable[[BaseException, TracebackType], None]] = []


def explain_by(function: Callable[[BaseException, TracebackType], None]) -> None:
    """Have a function add to errors, before they leave the framework, what it finds in their whole traceback."""
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


# --- which functions call rules ---

# Code -> the rule kind, and the local variable with the primitive: a traceback then shows whose rule an error
# comes from. Bounded by the functions that are marked.
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


# --- boundaries around public functions and around the methods of public classes ---
# That of a function is made for its signature, since a call through `*args` costs five times as much.
# A public function takes 0.3 to 20 µs, and a frame with the same parameters 0.02. So users get such a frame under the
# public name, made when the name is first used, and our own modules go on calling the function itself. In a traceback
# its line is that of the function that it stands for.
# Classes have no second name for us to go on calling: `class_boundary` puts boundaries in place of what users call.
# Those take `*args`: they are quickly made. `method_boundaries` makes the others, for methods that are called often.

C = TypeVar("C", bound=type)

_CALLED, _FILTER = "_tangrad_function", "_tangrad_filter"
# Flags of code objects, as the module `inspect` has them, which takes long to import.
_REST, _OTHERS = 0x4, 0x8  # *args, **kwargs
_NOT_CALLS = 0x20 | 0x80 | 0x200  # generators and coroutines: what they raise comes later


# What users call without writing its name. Comparing, hashing, printing and copying raise nothing that users cause.
_MADE_AND_USED = ("init", "new", "call", "get", "enter", "exit", "add", "radd", "matmul")
_HELD = ("iter", "len", "contains", "getitem", "setitem", "delitem", "getattr", "setattr")
_CONVERTED = ("bool", "int", "float", "complex", "index", "format", "array", "dlpack")
_SPECIAL = frozenset([f"__{name}__" for name in (*_MADE_AND_USED, *_HELD, *_CONVERTED)])


def with_boundary(value: Any, package: str, name: str) -> object:
    """What users get for a public name: a function of ours as a boundary, anything else as it is.

    `package`, `name`: where it is found, which pickles and printed functions say. A function has one boundary, however
    many names.
    """
    if not _needs_boundary(value):
        return value
    found = value.__dict__.get("__boundary__")
    if found is None:
        made = _boundary(value)
        made.__module__, made.__qualname__ = package, name
        found = value.__dict__.setdefault("__boundary__", made)  # the first of several threads decides
    return found


def without_boundary(value: object) -> object:
    """The function of ours that users have by its public name, or any other value as it is.

    For those who compare functions that they are handed with their own.
    """
    inner = getattr(value, "__wrapped__", None)
    return inner if type(inner) is FunctionType and inner.__dict__.get("__boundary__") is value else value


def _needs_boundary(value: object) -> bool:
    """Whether it is a function of ours that is no boundary already."""
    if type(value) is not FunctionType or is_boundary(value):
        return False
    code = value.__code__
    return not code.co_flags & _NOT_CALLS and is_internal(code.co_filename)


def class_boundary(kind: C) -> C:
    """Decorator of a class whose objects users have: errors of its methods show the user's frames alone.

    It puts boundaries in place of the constructor, the public methods and those special ones that users cause to be
    called. What the class has of bases of ours without boundaries gets one in this class. Properties are left alone.

    >>> from tangrad.core import class_boundary
    >>> @class_boundary
    ... class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    """
    found = [name for base in kind.__mro__ for name, value in vars(base).items() if _is_called(name, value)]
    _install(kind, dict.fromkeys(found), api_boundary)
    return kind


def _is_called(name: str, value: object) -> bool:
    return name in _SPECIAL or not (name.startswith("_") or isinstance(value, property))


def method_boundaries(kind: type, names: Iterable[str]) -> None:
    """Put boundaries in place of some methods, or properties, of a class of ours; a call costs 0.03 µs more."""
    _install(kind, names, _boundary)


def _install(kind: type, names: Iterable[str], make: Callable[[Any], object]) -> None:
    for name in names:
        method = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
        is_property = isinstance(method, property)
        function = method.fget if is_property else getattr(method, "__func__", method)
        if _needs_boundary(function):
            wrap = method.getter if is_property else type(method)  # of a plain function below: that itself
            setattr(kind, name, make(function) if function is method else wrap(make(function)))


def boundary_around(function: FunctionType) -> Any:
    """A function, ours or another package's, within a boundary under the same name; itself if it is a boundary."""
    if is_boundary(function):
        return function
    return _boundary(function) if _needs_boundary(function) else api_boundary(function)


def _boundary(function: Callable[..., object]) -> Any:
    code = function.__code__
    made = _template(_signature(code)).replace(
        co_filename=code.co_filename,
        co_firstlineno=max(code.co_firstlineno - 1, 1),  # the call, on the template's second line, is on the first
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )
    names = {"__name__": function.__module__, _CALLED: function, _FILTER: filter_traceback}
    boundary: Any = FunctionType(made, names, function.__name__, function.__defaults__)
    boundary.__kwdefaults__ = function.__kwdefaults__
    copy_identity(boundary, function)
    return own_boundary(boundary)


def _signature(code: CodeType) -> tuple[str, str]:
    """The parameters of a function, and the arguments that hand them on, as text."""
    names = list(code.co_varnames)
    positional = [names.pop(0) for _ in range(code.co_argcount)]
    keyword = [names.pop(0) for _ in range(code.co_kwonlyargcount)]
    rest = ["*" + names.pop(0)] if code.co_flags & _REST else []
    others = ["**" + names.pop(0)] if code.co_flags & _OTHERS else []
    arguments = [*positional, *rest, *[f"{one}={one}" for one in keyword], *others]
    parameters = list(positional)
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, "/")
    parameters += rest or (["*"] if keyword else [])
    return ", ".join([*parameters, *keyword, *others]), ", ".join(arguments)


@lru_cache(1024)
def _template(signature: tuple[str, str]) -> CodeType:
    parameters, arguments = signature
    text = (
        f"def boundary({parameters}):\n try: return {_CALLED}({arguments})\n"
        f" except Exception as error_: {_FILTER}(error_); raise\n"
    )
    names: dict[str, Any] = {}
    exec(compile(text, "<tangrad boundary>", "exec"), names)
    code: CodeType = names["boundary"].__code__
    return code


for _kind in (Setting, named_scope):  # this module needs theirs, so they cannot ask for it
    class_boundary(_kind)
