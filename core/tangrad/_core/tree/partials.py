"""`Partial`: a partial application that is a pytree, so that it can be passed to and returned from transformations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tangrad._core.tree.custom_nodes import register_pytree_node


class Partial(functools.partial[Any]):
    """A `functools.partial` that is a node of pytrees: its arguments are children, its function is metadata.

    Two of them have the same structure only if their functions are equal; give the function a name outside a loop,
    or each new `lambda` has its jitted users traced again.

    >>> import tangrad
    >>> from tangrad.tree_util import Partial
    >>> add_two = Partial(lambda x, y: x + y, 2)
    >>> add_two(3)
    5
    >>> tangrad.tree.leaves(add_two)
    [2]
    """

    __slots__ = ()

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Partial:
        # functools.partial would join a partial that it is given with the new one, and make its arguments children.
        return super().__new__(cls, _Opaque(func) if isinstance(func, functools.partial) else func, *args, **keywords)


class _Opaque:
    """A function whose own arguments are hidden. Equal to what it calls, and compares by its identity."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(*args, **keywords)

    def __eq__(self, other: object) -> bool:
        return self.function is (other.function if isinstance(other, _Opaque) else other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda function, children: Partial(function, *children[0], **children[1]),
)
