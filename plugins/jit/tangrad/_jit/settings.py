"""The settings that `jit` reads."""

from __future__ import annotations

from contextlib import ContextDecorator

from tangrad.core.settings import SETTINGS, define_choice, define_flag

explain_cache_misses = define_flag(
    "explain_cache_misses", "Log why a jitted function is traced or compiled: what was not there already."
)
no_tracing = define_flag("no_tracing", "Raise RuntimeError where a jitted function would be traced.")
DEFAULT_EFFORT = "full"
compile_effort = define_choice(
    "compile_effort",
    DEFAULT_EFFORT,
    (DEFAULT_EFFORT, "fast"),
    "How much effort the compiler spends: 'full', or 'fast', for first tries: compiled sooner, and slower.",
)


def without_jit(disable: bool = True) -> ContextDecorator:
    """A context manager, and a decorator, under which jitted functions run as plain Python with concrete values.

    >>> import tangrad
    >>> with tangrad.disable_jit():
    ...     tangrad.config.disable_jit
    True
    """
    context: ContextDecorator = SETTINGS["disable_jit"](disable)
    return context
