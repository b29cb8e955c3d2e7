"""The primitive of the family, which runs a program of parts on each device of a mesh, and programs, rearranged."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tangrad._sharding.primitives import is_of_parts, sharding_constraint_p
from tangrad._sharding.shard_map.scope import axes_in_scope, part_aval, whole_aval
from tangrad.batching import AxisInfo, batch_jaxpr
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    Literal,
    NamedAxisEffect,
    PrimitiveSet,
    ShapedArray,
    Sharding,
    Var,
    as_operand,
    eval_jaxpr,
    literal,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.programs import program_for, to_arrays
from tangrad.core.settings import is_checking_values
from tangrad.core.tools import sub_jaxprs, with_sub_jaxprs
from tangrad.core.transformations import one_equation
from tangrad.extend.collectives import differing, psum_p
from tangrad.extend.lax import index_in_dim, mul_p, pad_p, reduce_sum_p, reshape_p, transpose_p

if TYPE_CHECKING:
    from tangrad._sharding.mesh import Mesh
    from tangrad._sharding.named import NamedSharding
    from tangrad.core import Effect
    from tangrad.typing import Params, Value, Values


def as_vmaps(
    *args: Value,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: tuple[Sharding, ...],
    out_shardings: tuple[Sharding, ...],
    manual_axes: tuple[object, ...],
    checked: bool,
) -> list[Value]:
    """The results of a sharded map of whole arrays."""
    sizes = mesh.shape
    inputs = [_axes_of(sharding, len(aval.shape)) for sharding, aval in zip(in_shardings, jaxpr.in_avals, strict=True)]
    outputs = [_axes_of(sharding, len(a.shape)) for sharding, a in zip(out_shardings, jaxpr.out_avals, strict=True)]
    shares_in, shares_out = [[_shares_of(sharding) for sharding in each] for each in (in_shardings, out_shardings)]
    program = jaxpr = without_combining(jaxpr)
    if any([aval.infer_types is not None for aval in jaxpr.in_avals]):
        plain = [aval.plain for aval in jaxpr.in_avals]
        run = lambda *parts: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *parts)
        with axes_in_scope(mesh, manual_axes, checked):
            program = trace_to_closed_jaxpr(run, plain, jaxpr.jaxpr.debug_name)
    differs: list[list[Hashable]] = [[] for _ in outputs]
    with axes_in_scope(mesh, manual_axes):  # a collective over several axes is taken apart, with all of them at hand
        for axis in reversed(manual_axes):
            mapped = [_mentions(cut, axis) or axis in own for cut, own in zip(inputs, shares_in, strict=True)]
            wanted = [_mentions(cut, axis) or axis in own for cut, own in zip(outputs, shares_out, strict=True)]
            program, out_mapped = batch_jaxpr(program, mapped, AxisInfo(axis, sizes[axis]), wanted)
            for found, is_mapped in zip(differs, out_mapped, strict=True):
                if is_mapped:
                    found.insert(0, axis)
    values = []
    for x, cut, own in zip(args, inputs, shares_in, strict=True):
        whole = _axes_to_front(_plain(as_operand(x)), cut, sizes, manual_axes)
        mentioned = [axis for axis in manual_axes if _mentions(cut, axis) or axis in own]
        values.append(_shared(whole, [sizes[axis] if axis in own else None for axis in mentioned]))
    results = []
    outs = eval_jaxpr(program.jaxpr, program.consts, *values)
    for out, cut, leading, own in zip(outs, outputs, differs, shares_out, strict=True):
        added = [number for number, axis in enumerate(leading) if axis in own]
        rest = [axis for axis in leading if axis not in own]
        results.append(_axes_into_dimensions(_sum(_plain(as_operand(out)), tuple(added)), cut, rest))
    return results


def _shared(x: Value, shares: Sequence[int | None]) -> Value:
    """A value with a dimension at each of these places that has a size: the first share is all of it, others are 0."""
    for position, size in enumerate(shares):
        if size is not None:
            shape = x.aval.shape
            first = _reshaped(x, (*shape[:position], 1, *shape[position:]))
            edges = tuple([(0, size - 1 if axis == position else 0, 0) for axis in range(len(shape) + 1)])
            x = pad_p.bind(first, literal(0, x.aval.dtype), padding_config=edges)
    return x


def _sum(x: Value, axes: tuple[int, ...]) -> Value:
    return reduce_sum_p.bind(x, axes=axes) if axes else x


def _plain(x: Any) -> Value:
    return x if x.aval.infer_types is None else x.aval.as_plain(x)


def _axes_of(sharding: Sharding, ndim: int) -> tuple[tuple[Hashable, ...], ...]:
    return sharding.dimension_axes(ndim)


def _shares_of(sharding: Any) -> frozenset[Hashable]:
    found: frozenset[Hashable] = sharding.combining.unreduced
    return found


def _mentions(per_dimension: tuple[tuple[Hashable, ...], ...], axis: object) -> bool:
    return any([axis in axes for axes in per_dimension])


def _axes_to_front(
    x: Value, cut: tuple[tuple[Hashable, ...], ...], sizes: Mapping[Hashable, int], order: tuple[Hashable, ...]
) -> Value:
    """A whole array with a dimension for each axis that cuts it, in the order of the axes, and then those of a part."""
    split: list[int] = []
    names: list[Hashable] = []
    for size, axes in zip(x.aval.shape, cut, strict=True):
        for axis in axes:
            split.append(sizes[axis])
            names.append(axis)
            size //= sizes[axis]
        split.append(size)
        names.append(None)
    leading = [names.index(axis) for axis in order if axis in names]
    rest = [position for position, name in enumerate(names) if name is None]
    return _transposed(_reshaped(x, tuple(split)), (*leading, *rest))


def _axes_into_dimensions(x: Value, cut: tuple[tuple[Hashable, ...], ...], leading: list[Hashable]) -> Value:
    """The opposite, of a result whose first dimensions are axes. Of one that is the same along an axis the first."""
    for axis in list(leading):
        if not _mentions(cut, axis):
            x = as_operand(index_in_dim(x, 0, leading.index(axis), keepdims=False))
            leading = [other for other in leading if other != axis]
    permutation, shape = [], []
    for number, axes in enumerate(cut):
        dimension = len(leading) + number
        size = x.aval.shape[dimension]
        for axis in axes:
            position = leading.index(axis)
            permutation.append(position)
            size *= x.aval.shape[position]
        permutation.append(dimension)
        shape.append(size)
    return _reshaped(_transposed(x, tuple(permutation)), tuple(shape))


def _reshaped(x: Value, shape: tuple[int, ...]) -> Value:
    return x if x.aval.shape == shape else reshape_p.bind(x, new_sizes=shape, dimensions=None)


def _transposed(x: Value, permutation: tuple[int, ...]) -> Value:
    return x if permutation == tuple(range(len(permutation))) else transpose_p.bind(x, permutation=permutation)


shard_map = PrimitiveSet("shard_map", api=1)


def _effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Effect]:
    """Those of the program, less the axes that are mapped here."""
    bound = {NamedAxisEffect(name) for name in params["manual_axes"]}
    return frozenset(params["jaxpr"].effects) - bound


def _run(args: Values, params: Params) -> Values:
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
    *avals: ShapedArray,
    jaxpr: ClosedJaxpr,
    mesh: object,
    in_shardings: tuple[NamedSharding, ...],
    out_shardings: tuple[NamedSharding, ...],
    manual_axes: tuple[Hashable, ...],
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


# --- Programs of parts, rearranged: values of each device put out and taken in as stacks, cotangents shared out ---

_made = JaxprCache()
register_cache(_made.clear)


_Program = TypeVar("_Program", Jaxpr, ClosedJaxpr)


def without_combining(program: _Program) -> _Program:
    """A program of parts whose types do not record which are to be combined: they differ, and nothing else.

    The types are for what a user writes. Derivatives and mapping of programs do not need them: shares are values that
    differ, and so is what is reduced to derivatives, since each device has its share of the cotangent.
    """
    if not _records_combining(program):
        return program
    if isinstance(program, ClosedJaxpr):
        closed = program
        return _made.get(closed, ("without combining",), lambda: ClosedJaxpr(_plainly(closed.jaxpr), closed.consts))
    return _plainly(program)


def _plainly(jaxpr: Jaxpr) -> Jaxpr:
    known: dict[Var, Any] = {}

    def of(var: Var) -> Any:
        if var not in known:
            known[var] = Var(var.aval.plain) if _is_combined(var.aval) else var
        return known[var]

    def read(atom: Any) -> Any:
        return atom if type(atom) is Literal else of(atom)

    equations = []
    for eqn in jaxpr.eqns:
        if eqn.primitive is sharding_constraint_p and is_of_parts(eqn.params["sharding"]):
            known[eqn.outvars[0]] = read(eqn.invars[0])
            continue
        params = with_sub_jaxprs(eqn.params, without_combining)
        inputs, outputs = [read(atom) for atom in eqn.invars], [of(var) for var in eqn.outvars]
        equations.append(eqn.replace(invars=inputs, outvars=outputs, params=params))
    return jaxpr.replace(
        constvars=[of(var) for var in jaxpr.constvars],
        invars=[of(var) for var in jaxpr.invars],
        outvars=[read(atom) for atom in jaxpr.outvars],
        eqns=equations,
    )


def _records_combining(jaxpr: Jaxpr | ClosedJaxpr) -> bool:
    """Whether types in a program, or in those of its equations, record which parts are to be combined, or were."""
    jaxpr = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    variables = [*jaxpr.constvars, *jaxpr.invars, *[var for eqn in jaxpr.eqns for var in eqn.outvars]]
    return any([_is_combined(var.aval) for var in variables]) or any(
        [_records_combining(sub) for eqn in jaxpr.eqns for sub in sub_jaxprs(eqn.params)]
    )


def _is_combined(aval: Any) -> bool:
    return getattr(aval, "infer_types", None) is not None and is_of_parts(aval.placed)


def stacking(closed: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """The program whose outputs from `count` on have one more dimension in front, of size 1."""

    def make() -> ClosedJaxpr:
        def run(*inputs: Value) -> list[Value]:
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *inputs)
            return [*outs[:count], *[_with_shape(out, (1, *as_operand(out).aval.shape)) for out in outs[count:]]]

        return trace_to_closed_jaxpr(run, closed.in_avals, closed.jaxpr.debug_name)

    return _made.get(closed, ("stacking", count), make)


def unstacking(closed: ClosedJaxpr, stacked: Sequence[bool]) -> ClosedJaxpr:
    """The program that takes some inputs with one more dimension in front, of size 1."""

    def make() -> ClosedJaxpr:
        avals = [a.update(shape=(1, *a.shape)) if wide else a for a, wide in zip(closed.in_avals, stacked, strict=True)]

        def run(*inputs: Value) -> list[Value]:
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
        def run(*inputs: Value) -> list[Value]:
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
        def run(*inputs: Value) -> list[Value]:
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
