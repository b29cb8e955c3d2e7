"""Jitted methods of instances."""

from __future__ import annotations

from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class BoundMethod(Generic[P, R]):
    """A jitted method of one instance. The instance is an argument like any other: a pytree, or static."""

    __slots__ = ("_instance", "_jitted")

    def __init__(self, jitted: Any, instance: Any) -> None:
        self._jitted = jitted
        self._instance = instance

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._jitted(self._instance, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._jitted, name)
        if name in ("lower", "trace", "eval_shape"):
            return lambda *args, **kwargs: attribute(self._instance, *args, **kwargs)
        return attribute
