"""The primitives of the family: sharding constraints, values whose types forget them, and what shows how a value is
sharded; and a constrained value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._sharding.hlo import part_numbers
from tangrad._sharding.mesh import AxisType
from tangrad.core import (
    EVAL_TRACE,
    Array,
    PrimitiveSet,
    ShapedArray,
    Sharding,
    Tracer,
    as_array,
    as_operand,
    get_aval,
    thread,
)
from tangrad.core.programs import compile_program
from tangrad.core.transformations import one_equation
from tangrad.errors import UnexpectedTracerError
from tangrad.extend.collectives import differing
from tangrad.extend.debug import debug_effects

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Params, Value, Values


sharding = PrimitiveSet("sharding", api=1)


def fully_constrained(target: Sharding, ndim: int) -> Sharding:
    """The sharding of an array of `ndim` dimensions, of which nothing is left to a compiler."""
    if target.unconstrained_dimensions():
        return target.resharded(target.tiles(ndim), part_numbers(target, ndim))
    return target


def _move(args: Values, params: Params) -> Value:
    """Outside of programs the array is moved."""
    array = as_array(args[0])
    target = fully_constrained(params["sharding"], len(array.aval.shape))
    backend = target.device_order[0].backend
    placed = getattr(array, "user_sharding", None)
    shares = [sharding for sharding in (target, placed) if getattr(sharding, "combine", bool)()]
    if shares and placed != target:
        return (
            _combined_anew(array, target)
            if type(array).backend is backend
            else backend.put(array.to_numpy(), array.aval.plain, target)
        )
    if isinstance(array, Array) and type(array).backend is backend:
        return backend.move(array, target)
    return backend.put(array.to_numpy(), array.aval, target)


def _combined_anew(array: Any, target: Any) -> Value:
    """An array whose parts are, or will be, still to be combined: by a program, as they are combined in others."""
    if target.num_devices == 1 or array.devices() != target.device_set:
        whole = target.update(spec=target.spec.update(unreduced=frozenset(), reduced=frozenset()))
        array = type(array).backend.put(array.to_numpy(), array.aval.plain, whole)
        if target.num_devices == 1:
            return type(array).backend.move(array, target)
    params = {"sharding": target}
    program = one_equation(sharding_constraint_p, (array.aval,), params)
    return compile_program(
        program, type(array).backend, "reshard", places=type(array).backend.places([array])
    ).executable.execute([array])[0]


@sharding.primitive(name="sharding_constraint", evaluate=_move)
def sharding_constraint_p(x: Any, *, sharding: Sharding) -> ShapedArray:
    """The same value, sharded as given; along explicit axes of its mesh the sharding is part of its type."""
    sharding.check_shape(x.shape)
    how: Any = getattr(sharding, "combining", None)
    if how is not None and how.unreduced and how.kind.name != "sum":
        known = None if x.infer_types is None else x.placed.combining
        if known is None or known.kind is not how.kind or not how.unreduced <= known.unreduced:
            raise ValueError(f"shares are made of sums only, and {sharding} is of shares by their {how.kind.name}")
    return sharding.type_of(x)


def _forget(args: Values, params: Params) -> Value:
    """Outside of programs the array stays where it is, on a mesh with other types of axes."""
    array: Any = as_array(args[0])
    if array.aval.infer_types is None:
        return array
    placed, axes = array.sharding, params["axes"]
    names = [axis for axis in placed.mesh.explicit_axes if axes is None or axis in axes]
    mesh = placed.mesh.update_axis_types(dict.fromkeys(names, AxisType.Auto))
    spec = placed.spec.update(reduced=placed.spec.reduced.difference(names))
    return _move((array,), {"sharding": placed.update(mesh=mesh, spec=spec)})


@sharding.primitive(name="auto_axes", evaluate=_forget)
def auto_axes_p(x: ShapedArray, *, axes: tuple[object, ...] | None) -> ShapedArray:
    """The same value, whose type has no sharding along some axes of the mesh, or along any (None)."""
    return x


def _show(args: Values, params: Params) -> tuple[()]:
    """Outside of programs the array is there, and has its sharding."""
    params["callback"](as_array(args[0]).sharding)
    return ()


@sharding.primitive(
    name="inspect_sharding",
    multiple_results=True,
    effects=lambda avals, params: debug_effects(avals, {"ordered": False}),
    evaluate=_show,
)
def inspect_sharding_p(x: ShapedArray, *, callback: Callable[[Sharding], object]) -> tuple[ShapedArray, ...]:
    """Nothing; a Python function is given the sharding of the value, as soon as that is known."""
    return ()


NUMBERS = "biufc"  # NumPy's kinds of dtypes whose contents are those of an array's buffer


def is_of_parts(sharding: Any) -> bool:
    """Whether a sharding records, within a map over all axes, how parts are combined."""
    mesh: Any = getattr(sharding, "mesh", None)
    return mesh is not None and mesh.are_all_axes_manual


def combined_axes(sharding: Any) -> frozenset[Any]:
    """The axes along which what devices have are, or were, to be combined."""
    unreduced, reduced, _ = sharding.combining
    return unreduced | reduced


def constrained(value: ArrayLike, sharding: Sharding) -> Array:
    """`value`, constrained to a sharding. Raises ValueError for a shape that it cannot cut."""
    if isinstance(value, Tracer) and not value._trace.alive:
        raise UnexpectedTracerError(value)
    if type(value) is np.ndarray and value.dtype.kind in NUMBERS and thread.trace is EVAL_TRACE:
        sharding.check_shape(value.shape)  # part by part from the host, not as a whole by way of the first device
        return sharding.device_order[0].backend.put(value, get_aval(value), fully_constrained(sharding, value.ndim))
    operand = value if isinstance(value, Array) else as_operand(value)
    if is_of_parts(sharding):
        operand = differing(operand, tuple(combined_axes(sharding)))
    return as_array(sharding_constraint_p.bind(operand, sharding=sharding))
