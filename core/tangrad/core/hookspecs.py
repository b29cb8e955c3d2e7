"""The compile-time hooks that a plugin of group `tangrad.hooks` may implement: specifications only, no logic.

A hook object is any object (an instance, or a module) with functions of these names, marked with `hookimpl`:

    from tangrad.core import hookimpl

    @hookimpl
    def tangrad_compiled(context, seconds):
        print(f"{context.function_name}: {seconds:.3f} s")

An implementation takes the arguments it wants, by name. Hooks are called where a program is traced, lowered or
compiled, never while a compiled program is called, with one exception: `tangrad_cache_hit`, which costs nothing unless
a plugin implements it. The order is that of the plugins' names, `hookimpl(tryfirst=True)` and `hookimpl(trylast=True)`
come first and last; wrappers are refused. What a hook does inside (trace, compile, call) calls no hooks again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from tangrad.core.hooks import HookContext
    from tangrad.core.jaxpr import ClosedJaxpr

hookspec = HookspecMarker("tangrad")


@hookspec
def tangrad_jaxpr_pass(closed_jaxpr: ClosedJaxpr, context: HookContext) -> ClosedJaxpr | None:
    """Rewrite a program after tracing, before it is lowered.

    Each pass gets what the one before it made; None means unchanged. Inputs and outputs must keep their types: the
    result is checked as the IR checker does. A pass that raises, or returns something else, stops the compilation with
    an error that names its plugin: a pass left out could mean another result, so it is never skipped in silence.
    """


@hookspec
def tangrad_traced(context: HookContext, closed_jaxpr: ClosedJaxpr, seconds: float) -> None:
    """Observe that a Python function was traced to `closed_jaxpr`, which took `seconds`.

    An observer that raises is set aside with one warning; the program goes on. That holds for all the observers below.
    """


@hookspec
def tangrad_lowered(context: HookContext, lowered: Any, seconds: float) -> None:
    """Observe that a program was lowered to the backend's form (StableHLO, generated Python source) `lowered`."""


@hookspec
def tangrad_compiled(context: HookContext, executable: Any, seconds: float) -> None:
    """Observe that a program was compiled to `executable`, the backend's own object."""


@hookspec
def tangrad_cache_hit(context: HookContext, cache: str) -> None:
    """Observe that a compiled program was found: `cache` is 'memory' or 'disk'."""


@hookspec
def tangrad_cache_miss(context: HookContext, cache: str, reason: str) -> None:
    """Observe that no compiled program was found, and why one is made now (new function, new argument types, ...)."""
