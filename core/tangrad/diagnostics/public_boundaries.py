"""The boundary around a public function: made for its signature, since a call through `*args` costs five times as much.

A public function takes 0.3 to 20 µs, and a frame with the same parameters 0.02. So users get such a frame under the
public name, made when the name is first used, and our own modules go on calling the function itself. In a traceback its
line is that of the function that it stands for.
"""

from __future__ import annotations

from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from tangrad.diagnostics.source_info import copy_identity, is_internal
from tangrad.diagnostics.tracebacks import api_boundary, filter_traceback, is_boundary, own_boundary

_CALLED, _FILTER = "_tangrad_function", "_tangrad_filter"
# Flags of code objects, as the module `inspect` has them, which takes long to import.
_REST, _OTHERS = 0x4, 0x8  # *args, **kwargs
_NOT_CALLS = 0x20 | 0x80 | 0x200  # generators and coroutines: what they raise comes later


def with_boundary(value: Any, package: str, name: str) -> Any:
    """What users get for a public name: a function of ours as a boundary, anything else as it is.

    `package`, `name`: where it is found, which pickles and printed functions say. A function has one boundary, however
    many names.
    """
    if type(value) is not FunctionType:
        return value
    if is_boundary(value) or not _is_ours(value.__code__):
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


def boundary_around(function: Any) -> Any:
    """A function, ours or somebody else's, within a boundary under the same name; itself if it is a boundary."""
    if is_boundary(function):
        return function
    return _boundary(function) if _is_ours(function.__code__) else api_boundary(function)


def _is_ours(code: CodeType) -> bool:
    return not code.co_flags & _NOT_CALLS and is_internal(code.co_filename)


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
