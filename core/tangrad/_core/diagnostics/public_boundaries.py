"""Boundaries around public functions and around the methods of public classes.

That of a function is made for its signature, since a call through `*args` costs five times as much.

A public function takes 0.3 to 20 µs, and a frame with the same parameters 0.02. So users get such a frame under the
public name, made when the name is first used, and our own modules go on calling the function itself. In a traceback its
line is that of the function that it stands for.

Classes have no second name for us to go on calling: `class_boundary` puts boundaries in place of what users call. Those
take `*args`: they are quickly made. `method_boundaries` makes the others, for methods that are called often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, TypeVar

from tangrad._core.diagnostics.source_info import copy_identity, is_internal, named_scope
from tangrad._core.diagnostics.tracebacks import api_boundary, filter_traceback, is_boundary, own_boundary
from tangrad._core.settings.config import Setting

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


def with_boundary(value: Any, package: str, name: str) -> Any:
    """What users get for a public name: a function of ours as a boundary, anything else as it is.

    `package`, `name`: where it is found, which pickles and printed functions say. A function has one boundary, however
    many names.
    """
    if not _needs_boundary(value):
        return value
    found = value.__dict__.get("__boundary__")
    if found is None:
        found = value.__dict__["__boundary__"] = _boundary(value)
        found.__module__, found.__qualname__ = package, name
    return found


def without_boundary(value: Any) -> Any:
    """The function of ours that users have by its public name, or any other value as it is.

    For those who compare functions that they are handed with their own.
    """
    inner = getattr(value, "__wrapped__", None)
    return inner if type(inner) is FunctionType and inner.__dict__.get("__boundary__") is value else value


def _needs_boundary(value: Any) -> bool:
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


def _is_called(name: str, value: Any) -> bool:
    return name in _SPECIAL or not (name.startswith("_") or isinstance(value, property))


def method_boundaries(kind: type, names: Iterable[str]) -> None:
    """Put boundaries in place of some methods, or properties, of a class of ours; a call costs 0.03 µs more."""
    _install(kind, names, _boundary)


def _install(kind: type, names: Iterable[str], make: Callable[[Any], Any]) -> None:
    for name in names:
        method = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
        wrap: Callable[[Any], Any]
        if isinstance(method, property):
            function, wrap = method.fget, method.getter
        elif isinstance(method, (staticmethod, classmethod)):
            function, wrap = method.__func__, type(method)
        else:
            function, wrap = method, _as_it_is
        if _needs_boundary(function):
            setattr(kind, name, wrap(make(function)))


def _as_it_is(function: Any) -> Any:
    return function


def boundary_around(function: Any) -> Any:
    """A function, ours or another package's, within a boundary under the same name; itself if it is a boundary."""
    if is_boundary(function):
        return function
    return _boundary(function) if _needs_boundary(function) else api_boundary(function)


def _boundary(function: Any) -> Any:
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
