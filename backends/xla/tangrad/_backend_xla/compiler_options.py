"""Options that users hand to XLA's compiler: merged, and, where XLA refuses them, explained."""

from __future__ import annotations

from typing import Any

from tangrad.core.backends import CompileOptions

# What XLA says of a name that it does not have, and of a value of another kind.
_REFUSALS = ("No such compile option", "INVALID_ARGUMENT")


def with_extra(options: CompileOptions, extra: dict[str, Any]) -> CompileOptions:
    """The options with more compiler options; where both name one, that of `extra` holds."""
    named = {**options.extra.get("compiler_options", {}), **extra.get("compiler_options", {})}
    return options.changed(extra={**options.extra, **extra, "compiler_options": named})


def explain(error: Exception, options: CompileOptions) -> None:
    """Raise ValueError, naming the options, where XLA's error says that it refuses one of them."""
    given = options.extra.get("compiler_options")
    if given and any([words in str(error) for words in _REFUSALS]):
        raise ValueError(f"{options.name}: XLA refuses one of the compiler_options {given}: {error}") from error
