"""The rules of sharding constraints: tangents and cotangents are sharded as the values are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._sharding.manual_types import Unclear
from tangrad._sharding.primitives import auto_axes_p, inspect_sharding_p, is_of_parts, sharding_constraint_p
from tangrad.core import RuleSet, ShapedArray, Sharding

if TYPE_CHECKING:
    from tangrad._sharding.named import NamedSharding
    from tangrad._sharding.propagation import Operand
    from tangrad.core import Array
    from tangrad.core.protocols import AxisInfo
    from tangrad.typing import Dims, Params, Value, Values

jvp = RuleSet("jvp", api=1)
jvp.form("linear", sharding_constraint_p, auto_axes_p)
jvp.form("primals", inspect_sharding_p)

transpose = RuleSet("transpose", api=1)


def _constrain(ct: Value, aval: ShapedArray, *, sharding: Sharding) -> Value:
    # That of a part is as it is: who holds it to the operand's type has the dual of what it records.
    return ct if is_of_parts(sharding) else sharding_constraint_p.bind(ct, sharding=sharding)


transpose.form("linear", sharding_constraint_p, using=[_constrain])
transpose.form("linear", auto_axes_p, using=[lambda ct, aval, *, axes: ct])


@transpose.rule(inspect_sharding_p)
def _(cotangents: object, x: object, *, callback: object) -> tuple[None]:
    return (None,)


# A padded array is sharded as a whole.
mask = RuleSet("mask", api=1)
mask.form("whole", sharding_constraint_p, auto_axes_p)
mask.not_applicable("what is shown is sharded with its padding", inspect_sharding_p)

# --- mapped axes ---

batch = RuleSet("batch", api=1)


@batch.rule(sharding_constraint_p)
def _(args: Any, dims: Any, *, axis_info: AxisInfo, sharding: NamedSharding) -> tuple[Array, int | None]:
    """The mapped dimension is sharded along `spmd_axis_name`, else as types have it, else unconstrained."""
    (x,), (dim,) = args, dims
    if is_of_parts(sharding):
        return sharding_constraint_p.bind(x, sharding=sharding), dim
    axes = axis_info.spmd_name
    if axes is None and x.aval.infer_types is not None and x.aval.axes[dim]:
        axes = x.aval.axes[dim]
    mapped: Any = getattr(axis_info, "cut", None)
    if axes is None and mapped is not None:  # `x` went through what does without types
        taken = {axis for cut in sharding.dimension_axes(x.aval.ndim - 1) for axis in cut}
        axes = tuple([axis for axis in mapped.axes[0] if axis not in taken]) or None
    cuts = sharding.dimension_axes(x.aval.ndim - 1)
    twice = {*(axes if isinstance(axes, tuple) else (axes,))} & {axis for cut in cuts for axis in cut}
    if axis_info.spmd_name is not None and twice:
        raise ValueError(
            f"vmap: a value that is to be sharded by {sharding} has rows along spmd_axis_name={axes!r}, and would be "
            f"cut along {' and '.join(map(repr, twice))} twice"
        )
    wider = sharding.with_dimension(dim, len(x.aval.shape) - 1, axes)
    return sharding_constraint_p.bind(x, sharding=wider), dim


@batch.rule(auto_axes_p)
def _(args: Values, dims: Dims, *, axis_info: AxisInfo, axes: object) -> tuple[Array, int | None]:
    return auto_axes_p.bind(args[0], axes=axes), dims[0]


@batch.rule(inspect_sharding_p)
def _(args: Values, dims: Dims, *, axis_info: AxisInfo, callback: object) -> tuple[tuple[Array, ...], tuple[()]]:
    """What is shown is the whole batch: its rows are nowhere by themselves."""
    return inspect_sharding_p.bind(args[0], callback=callback), ()


# --- types: as the parameters say ---

sharding = RuleSet("sharding", api=1)


@sharding.rule(sharding_constraint_p)
def _(operands: object, results: tuple[Any, ...], params: Params) -> tuple[Any, ...]:
    return results


@sharding.rule(auto_axes_p)
def _(operands: tuple[Operand, ...], results: tuple[Any, ...], params: Params) -> tuple[Any, ...]:
    operand: Any = operands[0].aval
    if operand.infer_types is None:
        return results
    forgotten, how = params["axes"], operand.placed.combining
    kept = frozenset() if forgotten is None else frozenset(operand.placed.mesh.axis_names).difference(forgotten)
    if how.unreduced - kept:
        raise Unclear(f"parts of the operand are still to be combined along {sorted(how.unreduced, key=str)}")
    axes = [tuple([axis for axis in cut if axis in kept]) for cut in operands[0].axes]
    return (operand.cut_by(axes, results[0], how._replace(reduced=how.reduced & kept)),)


@sharding.rule(inspect_sharding_p)
def _(operands: object, results: object, params: Params) -> tuple[()]:
    return ()
