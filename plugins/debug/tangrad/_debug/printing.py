"""`debug.print` and `debug.log`: values of programs as text."""

from __future__ import annotations

import logging
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tangrad._debug.functions import debug_call
from tangrad._debug.primitives import debug_print_p
from tangrad.core import api_boundary, current_source
from tangrad.core.tools import SourceInfo

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike

logger = logging.getLogger("tangrad")


class _Checker(string.Formatter):
    """Goes through a format without formatting anything, and finds the arguments that it has no place for."""

    def format_field(self, value: object, format_spec: str) -> str:
        return ""

    def check_unused_args(
        self, used_args: set[int | str], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> None:
        positional = [position for position in range(len(args)) if position not in used_args]
        if positional:
            raise ValueError(
                f"debug.print: the format has no place for the positional arguments {positional}: "
                f"{[args[position] for position in positional]}"
            )
        named = [name for name in kwargs if name not in used_args]
        if named:
            raise ValueError(
                f"debug.print: the format has no place for the keyword arguments {named}. An f-string is filled in "
                'before it gets here: write debug.print("{x}", x=x), not debug.print(f"{x}", x=x)'
            )


_checker = _Checker()


class Line:
    """What prints one format, when the values are there. It takes the options of NumPy's printing along.

    Attributes:
        place: for a message of the log, where it was written; None: the line goes to `sys.stdout`.
    """

    __slots__ = ("_format", "_has_fields", "_options", "place")

    def __init__(self, text: str, place: SourceInfo | None, raw: bool) -> None:
        self._format = text
        # Without a check values need not have a place in the format: then they follow it.
        self._has_fields = not raw or any([field[1] is not None for field in string.Formatter().parse(text)])
        self._options = np.get_printoptions()
        self.place = place

    @property
    def __name__(self) -> str:
        return self._format

    def __call__(self, *args: object, **kwargs: object) -> None:
        with np.printoptions(**self._options):
            if self._has_fields:
                text = self._format.format(*args, **kwargs)
            else:
                text = " ".join([self._format, *map(str, args)])
        if self.place is None:
            sys.stdout.write(text + "\n")
        else:
            file, line, name = self.place.file or "(unknown file)", self.place.line, self.place.function
            logger.handle(logger.makeRecord(logger.name, logging.INFO, file, line, text, (), None, name))


@overload
def debug_print(
    fmt: str,
    *args: ArrayLike,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: object,
) -> None: ...
@overload
def debug_print(
    fmt: None = None, *, ordered: bool = False, partitioned: bool = False, skip_format_check: bool = False
) -> Callable[..., None]: ...
@api_boundary
def debug_print(
    fmt: str | None = None,
    *args: object,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: object,
) -> Callable[..., None] | None:
    """Print values when a program computes them.

    Formatting waits for the values, so the format is no f-string: `debug.print("{x}", x=x)`. Under `vmap` a line is
    printed for each row, under differentiation the primals; see `debug.callback`.

    Args:
        fmt: the format, as for `str.format`. Left out: `debug.print(ordered=True)("{x}", x=x)`, for formats with fields
            of these names.
        args, kwargs: what goes into it: trees of arrays, and any other objects.
        ordered: whether it is printed after the ordered lines before it in the program, and in earlier programs.
        partitioned: whether values on several devices are shown in parts.
        skip_format_check: print values that the format has no place for after it, in place of an error.

    Raises:
        ValueError: for arguments that the format has no place for; IndexError, KeyError: for places without an
            argument.

    >>> import tangrad
    >>> @tangrad.jit
    ... def f(x):
    ...     tangrad.debug.print("x = {x}", x=x)
    ...     return x + 1
    >>> y = f(2)
    x = 2
    """
    return _print("debug.print", fmt, args, kwargs, ordered, partitioned, skip_format_check, False)


@overload
def debug_log(
    fmt: str,
    *args: object,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: object,
) -> None: ...
@overload
def debug_log(
    fmt: None = None, *, ordered: bool = False, partitioned: bool = False, skip_format_check: bool = False
) -> Callable[..., None]: ...
@api_boundary
def debug_log(
    fmt: str | None = None,
    *args: object,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: object,
) -> Callable[..., None] | None:
    """As `debug.print`, as a message of level INFO of the logger `tangrad`, ascribed to the line of this call.

    >>> import tangrad
    >>> tangrad.debug.log("x = {}", 2)
    """
    return _print("debug.log", fmt, args, kwargs, ordered, partitioned, skip_format_check, True)


def _print(
    kind: str,
    fmt: str | None,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    ordered: bool,
    partitioned: bool,
    raw: bool,
    logs: bool,
) -> Any:
    def bind(text: str, /, *args: object, **kwargs: object) -> None:
        if not isinstance(text, str):
            raise TypeError(f"{kind} expects a format, a string, got {text!r} of type {type(text).__name__}")
        if not raw:
            _checker.format(text, *args, **kwargs)
        line = Line(text, current_source() if logs else None, raw)
        call, operands = debug_call(kind, line, args, kwargs)
        debug_print_p.bind(*operands, fmt=text, callback=call, ordered=bool(ordered), partitioned=bool(partitioned))

    if fmt is None:
        if args or kwargs:
            raise TypeError(
                f"{kind}: without a format only options can be given, got arguments {args} and {kwargs}; give them "
                f"with the format: {kind}(ordered=True)('{{x}}', x=x)"
            )
        return bind
    return bind(fmt, *args, **kwargs)
