"""The primitive that maps a program over named axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tangrad._sharding.xmap.placement import evaluate_mapped
from tangrad._sharding.xmap.specs import Positions
from tangrad.core import ClosedJaxpr, NamedAxisEffect, PrimitiveSet, ShapedArray, Sharding, holding, thread
from tangrad.core.caches import weak_key
from tangrad.core.programs import backend_of, program_for, to_arrays
from tangrad.core.settings import is_checking_values
from tangrad.core.transformations import one_equation

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values

xmapping = PrimitiveSet("xmapping", api=1)


def without_axes(shape: Sequence[object], positions: Positions) -> tuple[Any, ...]:
    """The shape of one example."""
    named = {position for _, position in positions}
    return tuple([size for position, size in enumerate(shape) if position not in named])


def with_axes(shape: Sequence[object], positions: Positions, sizes: dict[Any, object]) -> tuple[Any, ...]:
    """The shape of all examples."""
    full = list(shape)
    for name, position in positions:  # by position, the first one first: so each is where it is to be
        full.insert(position, sizes[name])
    return tuple(full)


@contextmanager
def in_scope(sizes: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """What is traced meanwhile is within these axes."""
    with holding(axis_environment=(*thread.axis_environment, *sizes)):
        yield


def _effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Any]:
    bound = {NamedAxisEffect(name) for name, _ in params["sizes"]}
    return frozenset(params["jaxpr"].effects - bound)


def _decompose(*args: Value, **params: Any) -> Values:
    return tuple(evaluate_mapped(args, **params))


def _run(args: Values, params: Params) -> Values:
    """Outside of programs: as one compiled program, which is kept as long as the program that is mapped."""
    sharding = params["sharding"]
    backend = backend_of(args) if sharding is None else sharding.device_order[0].backend
    arrays = to_arrays(backend, args)
    if is_checking_values():  # one by one, so that the error names the operation
        return _decompose(*arrays, **params)
    closed = params["jaxpr"]
    avals = tuple([array.aval for array in arrays])
    others = {name: value for name, value in params.items() if name != "jaxpr"}

    def alone() -> ClosedJaxpr:  # of a copy, or what is kept would keep the program alive
        return one_equation(xmap_p, avals, {**others, "jaxpr": ClosedJaxpr(closed.jaxpr, closed.consts)})

    place = backend.placement(arrays) if backend.has_placements and sharding is None else None
    key = ("xmap", avals, weak_key(others))
    program = program_for(
        closed, backend, params["name"], place, key, alone, keep_unused=True, places=backend.places(arrays)
    )
    return tuple(program.execute(arrays))


@xmapping.primitive(
    name="xmap", multiple_results=True, weak_type="own", effects=_effects, decompose=_decompose, evaluate=_run
)
def xmap_p(
    *avals: ShapedArray,
    jaxpr: ClosedJaxpr,
    name: str,
    in_axes: tuple[Positions, ...],
    out_axes: tuple[Positions, ...],
    sums: tuple[tuple[object, ...], ...],
    sizes: tuple[tuple[object, object], ...],
    resources: tuple[tuple[object, object], ...],
    sharding: Sharding | None,
    lowering: str,
) -> tuple[ShapedArray, ...]:
    """The program `jaxpr`, of one example, for all examples along named axes.

    `in_axes` and `out_axes` say which dimensions of operands and results are which axis, `sums` over which axes a
    result is summed; `sizes` are all axes, `resources` what some are sharded over; `sharding` has the mesh that these
    mean, None where they mean none. Results depend neither on these nor on `lowering`.
    """
    if len(avals) != len(jaxpr.in_avals):
        raise TypeError(f"xmap: program {name!r} takes {len(jaxpr.in_avals)} arguments, got {len(avals)}")
    known = dict(sizes)
    for number, (given, positions, inner) in enumerate(zip(avals, in_axes, jaxpr.in_avals, strict=True)):
        expected = with_axes(inner.shape, positions, known)
        if given.shape != expected or given.dtype != inner.dtype:
            raise TypeError(
                f"xmap: argument {number} of program {name!r} is {inner.str_short()} of each example, and so of shape "
                f"{expected}, got {given.str_short()}"
            )
    return tuple(
        [
            ShapedArray(with_axes(aval.shape, positions, known), aval.dtype, aval.weak_type)
            for aval, positions in zip(jaxpr.out_avals, out_axes, strict=True)
        ]
    )
