"""Sums of cotangents over what differs along the axes of a mesh: where a program is mapped, it is known what differs.

A gradient with `reduce_axes` leaves sums (`psum_to`) that depend on how the program is mapped. Batch rules resolve them
where an axis becomes a dimension. On a mesh every device has a part of its own, and no dimension stands for the axis.
So such a program is mapped along a dimension of size 1, as the inner part of an axis whose outer part is the mesh's
(rules of kind `split_axis`): what the rules map then is what differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._sharding.shard_map.specs import mentioned
from tangrad.batching import SplitAxis, batch_flat
from tangrad.core import ClosedJaxpr, Jaxpr, NamedAxisEffect, as_operand, eval_jaxpr, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.tools import sub_jaxprs
from tangrad.extend.collectives import psum_to_p
from tangrad.extend.lax import reshape_p
from tangrad.sharding import Mesh, NamedSharding

_programs = JaxprCache()
register_cache(_programs.clear)


def with_cotangent_sums(closed: ClosedJaxpr, sizes: dict[Any, int], varying: Sequence[frozenset[Any]]) -> ClosedJaxpr:
    """The program of parts without sums that wait for what differs; itself where it has none.

    Args:
        closed: the program of one device, traced or about to be within the axes.
        sizes: the axes that it is mapped over.
        varying: for each input the axes along which it differs.
    """
    names = tuple([name for name in sizes if NamedAxisEffect(name) in closed.effects])
    if not names or not _waits(closed.jaxpr):
        return closed
    key = tuple(sizes.items()), tuple(varying)
    return _programs.get(closed, key, lambda: _with_sums(closed, names, sizes, varying))


def with_cotangent_sums_for(
    closed: ClosedJaxpr, mesh: Mesh, manual_axes: Sequence[Any], in_shardings: Sequence[NamedSharding]
) -> ClosedJaxpr:
    """The same of a program of parts that are cut as shardings say."""
    sizes = {name: mesh.shape[name] for name in manual_axes}
    return with_cotangent_sums(closed, sizes, [frozenset(mentioned(sharding)) for sharding in in_shardings])


def _waits(jaxpr: Jaxpr | ClosedJaxpr) -> bool:
    """Whether there is such a sum in a program, or in those of its equations."""
    for eqn in jaxpr.eqns:
        if eqn.effects and (eqn.primitive is psum_to_p or any([_waits(sub) for sub in sub_jaxprs(eqn.params)])):
            return True
    return False


def _with_sums(
    closed: ClosedJaxpr, names: Sequence[Any], sizes: dict[Any, int], varying: Sequence[frozenset[Any]]
) -> ClosedJaxpr:
    for name in names:
        closed = _along(closed, SplitAxis(name, 1, name, sizes[name]), [name in axes for axes in varying])
    return closed


def _along(closed: ClosedJaxpr, axis: SplitAxis, differs: Sequence[bool]) -> ClosedJaxpr:
    def run(*inputs: Any) -> list[Any]:
        values = [_wider(value) if wide else value for value, wide in zip(inputs, differs, strict=True)]
        outs, dims = batch_flat(
            lambda *parts: eval_jaxpr(closed.jaxpr, closed.consts, *parts),
            values,
            [0 if wide else None for wide in differs],
            axis,
        )
        return [_narrower(as_operand(out), dim) for out, dim in zip(outs, dims, strict=True)]

    return trace_to_closed_jaxpr(run, closed.in_avals, closed.jaxpr.debug_name)


def _wider(value: Any) -> Any:
    return reshape_p.bind(value, new_sizes=(1, *value.aval.shape), dimensions=None)


def _narrower(value: Any, dim: int | None) -> Any:
    if dim is None:
        return value
    shape = value.aval.shape
    return reshape_p.bind(value, new_sizes=(*shape[:dim], *shape[dim + 1 :]), dimensions=None)
