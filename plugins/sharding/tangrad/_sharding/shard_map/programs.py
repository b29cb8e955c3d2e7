"""Programs of parts, rearranged: values of each device put out and taken in as stacks, cotangents shared out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad.core import ClosedJaxpr, as_operand, eval_jaxpr, literal, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.collectives import differing, psum_p
from tangrad.extend.lax import mul_p, reshape_p

if TYPE_CHECKING:
    from tangrad.typing import Value

_made = JaxprCache()
register_cache(_made.clear)


def stacking(closed: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """The program whose outputs from `count` on have one more dimension in front, of size 1."""

    def make() -> ClosedJaxpr:
        def run(*inputs: Any) -> list[Any]:
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *inputs)
            return [*outs[:count], *[_with_shape(out, (1, *as_operand(out).aval.shape)) for out in outs[count:]]]

        return trace_to_closed_jaxpr(run, closed.in_avals, closed.jaxpr.debug_name)

    return _made.get(closed, ("stacking", count), make)


def unstacking(closed: ClosedJaxpr, stacked: Sequence[bool]) -> ClosedJaxpr:
    """The program that takes some inputs with one more dimension in front, of size 1."""

    def make() -> ClosedJaxpr:
        avals = [a.update(shape=(1, *a.shape)) if wide else a for a, wide in zip(closed.in_avals, stacked, strict=True)]

        def run(*inputs: Any) -> list[Any]:
            values = [
                _with_shape(value, aval.shape) if wide else value
                for value, aval, wide in zip(inputs, closed.in_avals, stacked, strict=True)
            ]
            return eval_jaxpr(closed.jaxpr, closed.consts, *values)

        return trace_to_closed_jaxpr(run, avals, closed.jaxpr.debug_name)

    return _made.get(closed, ("unstacking", tuple(stacked)), make)


def with_differing_results(closed: ClosedJaxpr, axes: Sequence[tuple[object, ...]]) -> ClosedJaxpr:
    """The program whose results are of types that say that they differ along axes, those that they are cut along."""
    known = [[name for name, _ in aval.named_shape] for aval in closed.out_avals]
    if all([axis in names for cut, names in zip(axes, known, strict=True) for axis in cut]):
        return closed

    def make() -> ClosedJaxpr:
        def run(*inputs: Any) -> list[Any]:
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *inputs)
            return [differing(out, cut) for out, cut in zip(outs, axes, strict=True)]

        return trace_to_closed_jaxpr(run, closed.in_avals, closed.jaxpr.debug_name)

    return _made.get(closed, ("differing", tuple(axes)), make)


def sharing_cotangents(closed: ClosedJaxpr, shares: Sequence[int], sums: Sequence[tuple[object, ...]]) -> ClosedJaxpr:
    """A transposed program for devices that share cotangents.

    Args:
        closed: `(others, cotangents) -> cotangents`.
        shares: for each of the last inputs, how many devices have the same result: each gets that part of a cotangent.
        sums: for each output, the axes along which the devices have the same argument: its cotangents are summed.
    """

    def make() -> ClosedJaxpr:
        def run(*inputs: Any) -> list[Any]:
            first = len(inputs) - len(shares)
            given = [_part(ct, count) for ct, count in zip(inputs[first:], shares, strict=True)]
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *inputs[:first], *given)
            return [
                psum_p.bind(as_operand(out), axes=axes, axis_index_groups=None) if axes else out
                for out, axes in zip(outs, sums, strict=True)
            ]

        return trace_to_closed_jaxpr(run, closed.in_avals, closed.jaxpr.debug_name)

    return _made.get(closed, ("sharing", tuple(shares), tuple(sums)), make)


def _part(cotangent: Value, count: int) -> Value:
    if count == 1 or (not np.issubdtype(cotangent.aval.dtype, np.inexact) and cotangent.aval.dtype.kind != "V"):
        return cotangent
    return mul_p.bind(cotangent, literal(1 / count, cotangent.aval.dtype))


def _with_shape(value: Value, shape: tuple[int, ...]) -> Value:
    return reshape_p.bind(as_operand(value), new_sizes=shape, dimensions=None)
