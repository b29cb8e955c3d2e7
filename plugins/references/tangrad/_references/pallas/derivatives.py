"""Kernels under differentiation: forward, a kernel of values and tangents on the same grid.

In reverse it would have to keep what each run overwrites; the author of a kernel knows a better way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from tangrad._references.pallas.interpretation import pallas_call_p, written_places
from tangrad.autodiff import Zero, instantiate, jvp_jaxpr, symbolic_zeros
from tangrad.core import ClosedJaxpr, RuleSet, dtypes
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.lax import split_list

if TYPE_CHECKING:
    from tangrad._references.pallas.grids import Block
    from tangrad._references.pallas.interpretation import Layout
    from tangrad.core import Array, ShapedArray

jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)
_kernels, _index_maps = JaxprCache(), JaxprCache()
register_cache(_kernels.clear)
register_cache(_index_maps.clear)


T = TypeVar("T")
Flags = tuple[bool, ...]


class _Tangents(NamedTuple):
    """Which of each sort of values have tangents."""

    captured: Flags
    inputs: Flags
    results: Flags
    scratch: Flags


@jvp.rule(pallas_call_p)
@symbolic_zeros
def _jvp(
    primals: tuple[Array, ...],
    tangents: tuple[Array, ...],
    *,
    grid: tuple[int | None, ...],
    layout: Layout,
    name: str,
    **params: Any,
) -> object:
    jaxpr, out_types, blocks = params["jaxpr"], params["out_types"], params["blocks"]
    sizes, captured, scalars, inputs = split_list(primals, grid.count(None), layout.captured, layout.prefetched)
    _, of_captured, of_scalars, of_inputs = split_list(tangents, len(sizes), layout.captured, layout.prefetched)
    if any([_is_active(tangent) for tangent in of_scalars]):
        raise NotImplementedError(
            f"pallas_call: kernel {name} is differentiated by a prefetched scalar, which the index maps get, too: pass "
            "it once more, as an operand, and differentiate by that"
        )
    has = _Tangents(
        tuple([_is_active(tangent) for tangent in of_captured]),
        _with_tangents(of_inputs, jaxpr, layout, params["aliases"]),
        tuple([_is_inexact(aval) for aval in out_types]),
        tuple([_is_inexact(aval) for aval in jaxpr.in_avals[len(jaxpr.in_avals) - layout.scratch :]]),
    )
    outs = pallas_call_p.bind(
        *sizes,
        *[*captured, *_chosen(of_captured, has.captured)],
        *scalars,
        *[*inputs, *[instantiate(tangent) for tangent in _chosen(of_inputs, has.inputs)]],
        jaxpr=_kernel(jaxpr, len(grid) + len(sizes), layout.prefetched, has),
        index_map=_index_map(params["index_map"], blocks, has),
        grid=grid,
        blocks=_doubled(blocks, has),
        layout=layout._replace(
            captured=len(captured) + sum(has.captured),
            inputs=len(inputs) + sum(has.inputs),
            scratch=layout.scratch + sum(has.scratch),
        ),
        out_types=(*out_types, *[aval.to_tangent_aval() for aval in _chosen(out_types, has.results)]),
        aliases=_aliases(params["aliases"], layout.prefetched, has),
        name=f"jvp_{name}",
    )
    primals_out, found = tuple(outs[: len(out_types)]), iter(outs[len(out_types) :])
    return primals_out, tuple([next(found) if f else Zero.of(p) for f, p in zip(has.results, primals_out, strict=True)])


def _is_inexact(aval: ShapedArray) -> bool:
    return bool(dtypes.issubdtype(aval.dtype, np.inexact))


def _is_active(tangent: Array) -> bool:
    return type(tangent) is not Zero and _is_inexact(tangent.aval)


def _with_tangents(
    tangents: Sequence[Any], jaxpr: ClosedJaxpr, layout: Layout, aliases: Sequence[tuple[int, int]]
) -> Flags:
    """Which inputs have tangents; those that the kernel writes, and those that a result starts as, have one anyway."""
    places = {operand for operand, _ in aliases} | set(written_places(jaxpr))
    flags = []
    for place, tangent in enumerate(tangents, layout.prefetched):
        aval = jaxpr.jaxpr.outvars[place].aval
        flags.append(_is_active(tangent) or (place in places and _is_inexact(aval)))
    return tuple(flags)


def _chosen(values: Sequence[T], flags: Sequence[bool]) -> list[T]:
    return [value for value, flag in zip(values, flags, strict=True) if flag]


def _kernel(closed: ClosedJaxpr, numbers: int, prefetched: int, has: _Tangents) -> ClosedJaxpr:
    """The program of values and tangents, each sort of values with its tangents behind it."""

    def make() -> ClosedJaxpr:
        counts = (len(has.inputs), len(has.results), len(has.scratch))
        sums = (sum(has.inputs), sum(has.results), sum(has.scratch))
        before = (*has.captured, *[False] * (numbers + prefetched))
        behind = (*has.inputs, *has.results, *has.scratch)
        both, _ = jvp_jaxpr(closed, (*before, *behind), (*[False] * prefetched, *behind))
        primals, tangents = _split(both.jaxpr.invars, len(closed.in_avals))
        own, fixed, *values = split_list(primals, len(has.captured), numbers + prefetched, *counts[:2])
        of_own, *of_values = split_list(tangents, sum(has.captured), *sums[:2])
        invars = [*own, *of_own, *fixed, *_interleaved(values, of_values)]
        primals, tangents = _split(both.jaxpr.outvars, len(closed.out_avals))
        scalars, *values = split_list(primals, prefetched, *counts[:2])
        outvars = [*scalars, *_interleaved(values, split_list(tangents, *sums[:2]))]
        return ClosedJaxpr(both.jaxpr.replace(invars=invars, outvars=outvars), both.consts)

    return _kernels.get(closed, (numbers, prefetched, has), make)


def _split(values: Sequence[Any], count: int) -> tuple[Sequence[Any], Sequence[Any]]:
    return values[:count], values[count:]


def _interleaved(values: Sequence[Sequence[T]], tangents: Sequence[Sequence[T]]) -> list[T]:
    return [item for pair in zip(values, tangents, strict=True) for part in pair for item in part]


def _doubled(values: Sequence[T], has: _Tangents) -> tuple[T, ...]:
    """What there is for each input and result, with that of those with tangents behind each sort."""
    inputs, results = _split(values, len(has.inputs))
    return (*inputs, *_chosen(inputs, has.inputs), *results, *_chosen(results, has.results))


def _index_map(closed: ClosedJaxpr, blocks: Sequence[Block], has: _Tangents) -> ClosedJaxpr:
    def make() -> ClosedJaxpr:
        starts = split_list(closed.jaxpr.outvars, *[len(block.sizes) for block in blocks])[:-1]
        outvars = [start for part in _doubled(starts, has) for start in part]
        return ClosedJaxpr(closed.jaxpr.replace(outvars=outvars), closed.consts)

    return _index_maps.get(closed, has, make)


def _aliases(pairs: Sequence[tuple[int, int]], prefetched: int, has: _Tangents) -> tuple[tuple[int, int], ...]:
    """Pairs of operands and results, and of their tangents."""
    of_inputs = prefetched + len(has.inputs)
    more = [
        (of_inputs + sum(has.inputs[: operand - prefetched]), len(has.results) + sum(has.results[:result]))
        for operand, result in pairs
        if has.results[result]
    ]
    return (*pairs, *more)


@linearize.rule(pallas_call_p)
def _linearize(primals: object, active: object, *, name: str, **params: object) -> NoReturn:
    raise NotImplementedError(
        f"pallas_call: kernel {name} has no derivative in reverse mode (grad, vjp, linearize): give the function that "
        "calls it one by tangrad.custom_vjp, with a kernel of its own for the gradient; jvp and jacfwd need none"
    )
