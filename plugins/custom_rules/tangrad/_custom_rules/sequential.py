"""`sequential_vmap`: functions that are mapped by a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad import tree
from tangrad._custom_rules.mapped import custom_vmap
from tangrad.core import composition
from tangrad.errors import MissingDistributionError


def sequential_vmap(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, which `vmap` runs on one row after the other, by `lax.map`: in less memory, or where rows must not meet.

    Args:
        f: a function of positional arguments that are trees of arrays.

    Returns:
        a `custom_vmap` of `f`; when it is mapped, so are all of its results. Raises MissingDistributionError at that
        time where `tangrad-lax` is not installed.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> double = tangrad.custom_batching.sequential_vmap(lambda x: 2 * x)
    >>> tangrad.vmap(double)(np.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def rule(axis_size: Any, in_batched: Any, *args: Any) -> Any:
        plugin = composition().find("tangrad.api", "lax.map")
        if plugin is None:
            raise MissingDistributionError("tangrad.lax.map, which sequential_vmap needs", "tangrad-lax")
        leaves, treedef = tree.flatten(args)
        flags = tree.leaves(in_batched)
        if not any(flags):  # only tangents are mapped, as under jacfwd: linear, they are taken at once
            out = f(*args)
            return out, tree.map(lambda _: False, out)

        def row(rows: Any) -> Any:
            given = iter(rows)
            chosen = [next(given) if is_mapped else leaf for leaf, is_mapped in zip(leaves, flags, strict=True)]
            return mapped(*treedef.unflatten(chosen))  # mapped once more, it is a loop in a loop

        out = plugin.load()(row, [leaf for leaf, is_mapped in zip(leaves, flags, strict=True) if is_mapped])
        return out, tree.map(lambda _: True, out)

    return mapped
