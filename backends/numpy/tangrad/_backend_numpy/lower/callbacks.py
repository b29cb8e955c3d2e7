"""Callbacks: the generated program calls the user's function where its line stands, so they happen in program order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.array import wrap
from tangrad._backend_numpy.kernels import kernel
from tangrad._backend_numpy.quiet import outside
from tangrad.core import Array, RuleSet, ShapedArray
from tangrad.extend.debug import (
    HostProgram,
    debug_callback_p,
    debug_effects,
    debug_print_p,
    io_callback_p,
    io_effects,
    pure_callback_p,
    wait_for_earlier,
)

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering


lower = RuleSet("lower.numpy", api=1)


def _to_array(contents: np.ndarray, aval: ShapedArray) -> Array:
    return wrap(aval.strip_weak_type(), np.asarray(contents))


def _own(contents: object) -> np.ndarray:
    """The contents of a result in memory of its own: the user may go on writing to the array that was returned."""
    return np.array(contents, order="C")


def _program(ctx: Lowering, callback: Any) -> HostProgram:
    return HostProgram(callback, ctx.in_avals, ctx.out_avals, _to_array)


@kernel(lower, pure_callback_p)
def _(ctx: Lowering, *, callback: object, **_: object) -> Callable[..., Any]:
    program = _program(ctx, callback)
    return lambda *arrays: tuple([_own(result) for result in outside(program, *arrays)])


@kernel(lower, io_callback_p)
def _io(ctx: Lowering, *, callback: object, ordered: bool, **_: object) -> Callable[..., tuple[np.ndarray, ...]]:
    program = _program(ctx, callback)
    earlier = io_effects((), {"ordered": True}) if ordered else None

    def run(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        if earlier is not None:
            wait_for_earlier(earlier)
        return tuple([_own(result) for result in outside(program, *arrays)])

    return run


@kernel(lower, debug_callback_p, debug_print_p)
def _debug(ctx: Lowering, *, callback: object, ordered: bool, **_: object) -> Callable[..., Any]:
    program = _program(ctx, callback)
    if not ordered:
        return lambda *arrays: outside(program, *arrays)
    earlier = debug_effects((), {"ordered": True})

    def run(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        wait_for_earlier(earlier)
        return outside(program, *arrays)

    return run
