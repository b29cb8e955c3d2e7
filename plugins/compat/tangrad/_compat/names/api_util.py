"""`jax.api_util`: functions of trees as functions of leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad import tree, typeof
from tangrad._compat.names.extend.linear_util import DebugInfo, WrappedFun
from tangrad.tree_util import flatten_axes as flatten_axes

shaped_abstractify = typeof


def debug_info(
    traced_for: str, function: Callable[..., Any], args: Any = (), kwargs: Any = None, **options: Any
) -> DebugInfo:
    """What errors say of a function that is traced."""
    return DebugInfo(traced_for, getattr(function, "__name__", repr(function)))


def flatten_fun(function: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """The function of leaves, of positional and keyword arguments, and one that returns the structure of its result."""
    return _flattened(function, lambda leaves: in_tree.unflatten(leaves))


def flatten_fun_nokwargs(function: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """As `flatten_fun`, of positional arguments alone."""
    return _flattened(function, lambda leaves: (in_tree.unflatten(leaves), {}))


def _flattened(function: WrappedFun, arguments: Callable[[Any], Any]) -> tuple[WrappedFun, Callable[[], Any]]:
    structures: list[Any] = []

    def flat(*leaves: Any) -> Any:
        args, kwargs = arguments(leaves)
        out, structure = tree.flatten(function.call_wrapped(*args, **kwargs))
        structures[:] = [structure]
        return out

    return WrappedFun(flat, function.debug_info, function.f), lambda: structures[0]
