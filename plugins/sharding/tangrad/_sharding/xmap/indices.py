"""Programs over looped axes: each iteration has one chunk only, so where an example is must be handed to the program.

Collectives along a looped axis are refused: they would need the chunks of all iterations at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad.core import (
    Array,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    ShapedArray,
    axes_of_effects,
    literal,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.tools import sub_jaxprs
from tangrad.extend.lax import add_p, iota, mul_p

if TYPE_CHECKING:
    from tangrad.typing import Value

_INT32 = np.dtype(np.int32)
_programs = JaxprCache()
register_cache(_programs.clear)


def _is_index(eqn: JaxprEqn) -> bool:
    return eqn.primitive.identity == "collectives.axis_index"


def _is_call(eqn: JaxprEqn) -> bool:
    """Whether an equation runs its program once, on its operands, so that it can be put in its place."""
    return eqn.primitive.identity == "jit.jit"


def check_looped(jaxpr: Jaxpr, looped: Sequence[object]) -> None:
    """Raise NotImplementedError for a collective along a looped axis.

    The index along one is known, but not inside of loops and branches of the program.
    """
    for eqn in jaxpr.eqns:
        used = axes_of_effects(eqn.effects).intersection(looped)
        if not used or _is_index(eqn):
            continue
        if _is_call(eqn):
            check_looped(eqn.params["jaxpr"].jaxpr, looped)
            continue
        name = sorted(used, key=str)[0]
        inside = next(iter(sub_jaxprs(eqn.params)), None) is not None
        place = "" if eqn.source_info is None else f" at {eqn.source_info.summarize()}"
        raise NotImplementedError(
            f"xmap: axis {name!r} runs in a serial loop, each iteration has one chunk, and {eqn.primitive.name} "
            f"{'has a program that uses' if inside else 'uses'} the whole axis{place}; shard the axis over mesh axes "
            f"only, or leave it without resources"
        )


def with_given_indices(
    closed: ClosedJaxpr, looped: tuple[object, ...], sizes: dict[Any, Any]
) -> tuple[ClosedJaxpr, Any]:
    """The program with the indices along looped axes as further arguments, as far as it reads them.

    Returns the program, and pairs of an axis and its indices.
    """
    used = tuple([name for name in looped if name in axes_of_effects(closed.effects)])
    if not used:
        return closed, ()
    program = _programs.get(closed, (used, tuple(sizes.items())), lambda: _without_indices(closed, used, sizes))
    return program, tuple([(name, iota(_INT32, sizes[name])) for name in used])


def _without_indices(closed: ClosedJaxpr, used: tuple[object, ...], sizes: dict[Any, object]) -> ClosedJaxpr:
    count = len(closed.in_avals)
    index = ShapedArray((), _INT32)

    def run(*args: Any) -> list[Any]:
        return _evaluated(closed, args[:count], dict(zip(used, args[count:], strict=True)), sizes)

    return trace_to_closed_jaxpr(run, [*closed.in_avals, *[index] * len(used)], closed.jaxpr.debug_name)


def _evaluated(
    closed: ClosedJaxpr, args: Sequence[Value], indices: dict[Any, Any], sizes: dict[Any, Any]
) -> list[Array]:
    """The results of a program with the indices given, calls in it included."""
    jaxpr = closed.jaxpr
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *args), strict=True))

    def read(atom: Any) -> Any:
        return atom if type(atom) is Literal else values[atom]

    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        if not axes_of_effects(eqn.effects) & indices.keys():
            outs = eqn.primitive.bind(*operands, **eqn.params)
        elif _is_index(eqn):
            outs = _index(eqn, indices, sizes)
        else:
            outs = _evaluated(eqn.params["jaxpr"], operands, indices, sizes)
        for var, out in zip(eqn.outvars, outs if eqn.primitive.multiple_results else (outs,), strict=True):
            values[var] = out
    return [read(atom) for atom in jaxpr.outvars]


def _index(eqn: JaxprEqn, indices: dict[Any, object], sizes: dict[Any, object]) -> Array:
    """The index along the axes of an equation, the first one varying slowest."""
    given = eqn.params["axis_name"]
    names = given if isinstance(given, tuple) else (given,)
    known = {**dict(thread.axis_environment), **sizes}
    total: Any = None
    for name in names:
        index = indices[name] if name in indices else eqn.primitive.bind(axis_name=(name,))
        if total is None:
            total = index
        else:
            total = add_p.bind(mul_p.bind(total, literal(known[name], _INT32, False)), index)
    return total
