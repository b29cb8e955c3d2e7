"""`debug.inspect_array_sharding`: how values are sharded, within programs too, where the compiler decides it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad import tree
from tangrad._sharding.primitives import inspect_sharding_p
from tangrad.core import Sharding, api_boundary, as_operand, is_array_value
from tangrad.tree_util import keystr
from tangrad.typing import PyTree


@api_boundary
def inspect_array_sharding(value: PyTree, *, callback: Callable[[Sharding], object]) -> None:
    """Call a Python function with the sharding of each array of a tree, as soon as that is known.

    Outside of programs that is at once. Within a function that is compiled it is when the compiler has decided: once
    for each compilation, and not at later calls. Mapped by `vmap`, an array is shown with the mapped dimension.

    Args:
        value: a tree of arrays.
        callback: a function of one argument, the sharding; what it returns is ignored. It must not call the function
            that is being compiled.

    Raises TypeError for what is no array, and for a `callback` that cannot be called.

    On the NumPy backend compiled programs have their values on one device, and such is shown, but for types with a
    sharding. Within `shard_map` it is the part of one device, which is cut no further.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> seen = []
    >>> def doubled(x):
    ...     y = 2 * x
    ...     tangrad.debug.inspect_array_sharding(y, callback=seen.append)
    ...     return y
    >>> _ = tangrad.jit(doubled)(np.arange(3))
    >>> [sharding.num_devices for sharding in seen]
    [1]
    """
    if not callable(callback):
        raise TypeError(
            f"inspect_array_sharding: callback must be a function of a sharding, such as print, got {callback!r} of "
            f"type {type(callback).__name__}"
        )
    for path, leaf in tree.leaves_with_path(value):
        if not is_array_value(leaf):
            raise TypeError(
                f"inspect_array_sharding: value{keystr(path)} must be an array, got {leaf!r} of type "
                f"{type(leaf).__name__}"
            )
        inspect_sharding_p.bind(as_operand(leaf), callback=_Shown(callback))


class _Shown:
    """The user's function as a parameter: by identity, since it need not be hashable (`list.append` is not)."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], object]) -> None:
        self.function = function

    def __call__(self, sharding: Sharding) -> None:
        self.function(sharding)

    def __repr__(self) -> str:
        return repr(self.function)
