"""Gradients that are summed over mapped axes: what `reduce_axes` asks for.

A value that is the same along a mapped axis, used by a function whose examples differ along it, is used as often as
there are examples. Its cotangent is by default that of one example; with `reduce_axes` it is the sum over all. What is
the same is known only to who maps the axis. So on the tape each tangent is marked with its value, and where cotangents
come back the marks become sums over the axes along which a cotangent differs and the value does not.

The marks are primitives of the family `collectives`, since batch rules have to see them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tangrad.core import Primitive, find_primitive, holding, thread

_OVERRIDE = "reduced axes"


class _Reduced(threading.local):
    """What a thread is doing.

    Attributes:
        axes: those over which the derivative that it is taking is summed.
    """

    axes: tuple[object, ...] = ()


reduced = _Reduced()


def checked_names(reduce_axes: str | Iterable[Any], name: str) -> tuple[str, ...]:
    """The names that a user gave: one string, or several names.

    Raises TypeError for what is neither, and for integers, tuples, None and what cannot be hashed among the names;
    ValueError for a name given twice.
    """
    if isinstance(reduce_axes, str):
        return (reduce_axes,)
    try:
        axes = tuple(reduce_axes)
    except TypeError:
        raise TypeError(
            f"{name}: reduce_axes must be the name of a mapped axis, or a sequence of names, got {reduce_axes!r} of "
            f"type {type(reduce_axes).__name__}"
        ) from None
    for position, axis in enumerate(axes):
        if axis is None or isinstance(axis, (int, tuple)) or type(axis).__hash__ is None:
            raise TypeError(f"{name}: reduce_axes must hold names of mapped axes, got {axis!r} in {reduce_axes!r}")
        if axis in axes[:position]:
            raise ValueError(f"{name}: reduce_axes names the axis {axis!r} twice: {axes}")
    return axes


def check_in_scope(axes: Sequence[object], name: str) -> None:
    """Raise NameError for an axis that is not mapped, listing those in scope."""
    scope = dict(thread.axis_environment)
    for axis in axes:
        if axis not in scope:
            listed = ", ".join([f"{other!r} (size {size})" for other, size in scope.items()])
            found = f"the named axes in scope are {listed}" if scope else "no named axis is in scope"
            raise NameError(f"{name}: reduce_axes has {axis!r}, and no mapped axis has that name; {found}")


@contextmanager
def summed_over(axes: tuple[object, ...]) -> Iterator[None]:
    """The derivative that is taken meanwhile is summed over these axes, in the programs that it meets as well."""
    before = reduced.axes
    others = tuple([item for item in thread.overrides if item[0] != _OVERRIDE])
    reduced.axes = axes
    try:
        with holding(overrides=(*others, (_OVERRIDE, axes)) if axes else others):  # programs are remembered by it
            yield
    finally:
        reduced.axes = before


def absent_from_types(axes: tuple[object, ...]) -> tuple[object, ...]:
    """The axes that types do not record: over the others cotangents are summed anyway."""
    typed = thread.typed_axes
    return axes if typed is None else tuple([axis for axis in axes if axis not in typed.names])


def marks() -> Primitive:
    """The primitive `(tangent, value) -> tangent` whose transpose sums."""
    return find_primitive("collectives.psum_back")
