"""`jax.extend.linear_util`: functions as jax's transformations take them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from typing import Any, NamedTuple


class DebugInfo(NamedTuple):
    """What errors say of a function that is traced."""

    traced_for: str = "unknown"
    func_src_info: str = "unknown"


class WrappedFun:
    """A function, and what was wrapped around it.

    Attributes:
        f: the function of the user.
        debug_info: what errors say of it.
    """

    def __init__(self, call: Callable[..., Any], debug_info: DebugInfo, f: Callable[..., Any]) -> None:
        self.call_wrapped = call
        self.debug_info = debug_info
        self.f = f

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", repr(self.f))


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: DebugInfo | None = None
) -> WrappedFun:
    """A function to wrap, with keyword arguments `params` given."""
    fixed = dict(params or {})
    call = (lambda *args, **kwargs: f(*args, **fixed, **kwargs)) if fixed else f
    return WrappedFun(call, debug_info or DebugInfo(), f)


def transformation(generator: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., WrappedFun]:
    """What wraps functions as a generator function says, which yields arguments, is sent the result, yields another."""

    @wraps(generator)
    def wrap(function: WrappedFun, *fixed: Any) -> WrappedFun:
        def call(*args: Any, **kwargs: Any) -> Any:
            steps = generator(*fixed, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            return steps.send(function.call_wrapped(*inner_args, **inner_kwargs))

        return WrappedFun(call, function.debug_info, function.f)

    return wrap
