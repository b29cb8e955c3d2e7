"""The primitive of the family: a program of parts of arrays, run on each device of a mesh.

Parameters: `jaxpr`, the program; `mesh`; `in_shardings` and `out_shardings`, how operands and results are cut;
`manual_axes`, the axes of the mesh that the program is mapped over: along the others the compiler partitions it;
`checked`, whether the types in it record along which of them values differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.specs import part_aval, whole_aval
from tangrad._sharding.shard_map.vmaps import as_vmaps
from tangrad.core import Array, ClosedJaxpr, NamedAxisEffect, PrimitiveSet, ShapedArray, thread
from tangrad.core.programs import program_for, to_arrays
from tangrad.core.settings import is_checking_values
from tangrad.core.transformations import one_equation

if TYPE_CHECKING:
    from tangrad.typing import Params

shard_map = PrimitiveSet("shard_map", api=1)


def _effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Any]:
    """Those of the program, less the axes that are mapped here."""
    bound = {NamedAxisEffect(name) for name in params["manual_axes"]}
    return frozenset(params["jaxpr"].effects) - bound


def _run(args: tuple[Array, ...], params: Params) -> Any:
    """Outside of programs: as a compiled program of one equation; where values are checked, operation by operation."""
    if is_checking_values() or thread.disable_jit:
        return tuple(as_vmaps(*args, **params))
    backend = params["mesh"].device_order[0].backend
    arrays = to_arrays(backend, args)
    jaxpr = params["jaxpr"]
    others = tuple([value for name, value in params.items() if name != "jaxpr"])
    avals = tuple([array.aval for array in arrays])

    def alone() -> ClosedJaxpr:
        # A copy of the program: what is remembered with it must not keep it alive.
        return one_equation(shard_map_p, avals, {**params, "jaxpr": ClosedJaxpr(jaxpr.jaxpr, jaxpr.consts)})

    program = program_for(
        jaxpr, backend, "shard_map", key=(avals, others), make=alone, keep_unused=True, places=backend.places(arrays)
    )
    return tuple(program.execute(arrays))


@shard_map.primitive(
    name="shard_map",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    effects=_effects,
    evaluate=_run,
    decompose=as_vmaps,
)
def shard_map_p(
    *avals: Any,
    jaxpr: ClosedJaxpr,
    mesh: Any,
    in_shardings: Any,
    out_shardings: Any,
    manual_axes: tuple[Any, ...],
    checked: bool,
) -> tuple[ShapedArray, ...]:
    """The results of `jaxpr` on each device, put together."""
    for position, (aval, sharding, expected) in enumerate(zip(avals, in_shardings, jaxpr.in_avals, strict=True)):
        given = part_aval(aval, sharding)
        if given.shape != expected.shape or given.dtype != expected.dtype:
            raise TypeError(
                f"shard_map: the program takes parts of type {expected.str_short()} as argument {position}, got "
                f"{given.str_short()}"
            )
    return tuple(
        [whole_aval(aval, sharding, manual_axes) for aval, sharding in zip(jaxpr.out_avals, out_shardings, strict=True)]
    )
