"""Programs that must raise: how one is declared, the list of all of them, and what kind of error came.

A failing program is a function of an `api` alone (the module `jax` or `tangrad`). Both must raise an error of one kind;
`words` are parts of Tangrad's message: what was passed, what was expected, and where.

`jax` says what JAX does where that is an accident of its code rather than a judgement of the program: the kind of error
that it runs into (several, where its releases differ), or None where it takes no notice and returns something.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Errors that both packages have under these names.
SHARED = (
    "ConcretizationTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A program that must raise, words of the message, and the kind of error ("same": as JAX)."""

    name: str
    function: Callable[[Any], Any]
    words: tuple[str, ...]
    jax: str | tuple[str, ...] | None


FAILURES: dict[str, Failure] = {}


def failing(*words: str, jax: str | tuple[str, ...] | None = "same") -> Callable[..., Any]:
    """Declare the decorated function a failing program."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        if name in FAILURES:
            raise ValueError(f"two failing programs are named {name!r}")
        FAILURES[name] = Failure(name, function, words, jax)
        return function

    return declare


def all_failures() -> list[Failure]:
    """Every failing program, after importing every module of `failures`."""
    from . import failures

    for module in pkgutil.iter_modules(failures.__path__):
        importlib.import_module(f"{failures.__name__}.{module.name}")
    return list(FAILURES.values())


def kind_of(error: Exception) -> str:
    """The error that both packages have, or the built-in one that it is."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return next((name for name in names if name in SHARED), None) or next(
        kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"
    )


def text_of(error: Exception) -> str:
    """The message with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def error_of(api: Any, failure: Failure) -> Exception | None:
    """What the program raises."""
    try:
        failure.function(api)
    except Exception as error:
        return error
    return None
