"""`map`: a function of the slices of arrays, one after the other or in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tangrad import tree
from tangrad._lax.control_flow.scans import run_scan
from tangrad._lax.structure.functions import concatenate, reshape, slice_in_dim
from tangrad.core import api_boundary, as_operand, composition
from tangrad.errors import MissingDistributionError
from tangrad.typing import Value

X = TypeVar("X")
Y = TypeVar("Y")


@api_boundary
def map(f: Callable[[X], Y], xs: X, *, batch_size: int | None = None) -> Y:
    """Run `f` on each slice of `xs` along its first axis, one after the other, and stack the results.

    Unlike `vmap` it needs memory for one run of `f` only.

    Args:
        f: a function of a slice.
        xs: arrays with a common first axis, and trees of them.
        batch_size: how many slices to take at once, by `vmap`; 0 for all of them.

    Returns:
        The results, stacked along a new first axis.

    Raises:
        TypeError: for an `f` that is no function; ValueError: for `xs` without first axis or with different ones, or a
            `batch_size` that is negative.

    >>> import tangrad
    >>> tangrad.lax.map(lambda x: x * x, tangrad.numpy.arange(4))
    Array([0, 1, 4, 9], dtype=int32)
    """
    if not callable(f):
        raise TypeError(f"map: f must be a function, got {f!r} of type {type(f).__name__}")
    if batch_size is None:
        return _scan(f, f, xs, "map")
    if batch_size < 0:
        raise ValueError(f"map: batch_size must not be negative, got {batch_size!r}")
    return _in_batches(f, xs, batch_size)


def _scan(f: Callable[[Any], Any], original: Any, xs: Any, tag: Any) -> Any:
    def step(_: tuple[()], x: Any) -> Any:
        return (), f(x)

    return run_scan(step, (), xs, None, False, 1, "map", original, tag)[1]


def _in_batches(f: Callable[[Any], Any], xs: Any, batch_size: int) -> Any:
    plugin = composition().find("tangrad.api", "vmap")
    if plugin is None:
        raise MissingDistributionError("tangrad.vmap, which map needs for batches", "tangrad-batching")
    mapped = plugin.load()(f)
    operands = tree.map(as_operand, xs)
    leaves = tree.leaves(operands)
    size = leaves[0].aval.shape[0] if leaves and leaves[0].aval.shape else 0
    whole = size // batch_size * batch_size if batch_size else 0
    if not whole:
        return mapped(operands)

    def batches(x: Value) -> Any:
        shape = x.aval.shape
        return reshape(slice_in_dim(x, 0, whole), (whole // batch_size, batch_size, *shape[1:]))

    ys = _scan(mapped, f, tree.map(batches, operands), ("map", batch_size))
    ys = tree.map(lambda y: reshape(y, (whole, *y.shape[2:])), ys)
    if whole == size:
        return ys
    rest = mapped(tree.map(lambda x: slice_in_dim(x, whole, size), operands))
    return tree.map(lambda y, other: concatenate([y, other], 0), ys, rest)
