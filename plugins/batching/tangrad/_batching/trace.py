"""Batching: a trace whose values may carry a mapped axis, and the arithmetic on such axes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad.core import (
    ClosedJaxpr,
    DerivedRule,
    NamedAxisEffect,
    Primitive,
    PrimitiveSet,
    RuleTrace,
    RuleTracer,
    ShapedArray,
    Trace,
    Tracer,
    as_operand,
    calls_rules,
    decomposed,
    equation_effects,
    eval_jaxpr,
    holding,
    rule_table,
    run_traced,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.tools import sub_jaxprs
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.core.protocols import BatchRule
    from tangrad.typing import Dimensions, Dims, Params, PyTree, Value, Values


# --- mapped axes: the arithmetic on them, what is known of one, how values get one where a rule wants it ---

batching = PrimitiveSet("batching", api=1)


@batching.primitive(name="move_axis")
def move_axis_p(x: ShapedArray, *, source: int, destination: int) -> ShapedArray:
    """`x` with one axis moved to another position."""
    if not (0 <= source < x.ndim and 0 <= destination < x.ndim):
        raise ValueError(f"move_axis: no axes {source} and {destination} in {x.str_short()}")
    shape = list(x.shape)
    shape.insert(destination, shape.pop(source))
    if not isinstance(x, ShapedArray):  # the type of a reference: the result is one to the same array
        return x.update(shape=tuple(shape))
    return ShapedArray(tuple(shape), x.dtype)


@batching.primitive(name="broadcast_axis")
def broadcast_axis_p(x: ShapedArray, *, shape: Dimensions, positions: tuple[int, ...]) -> ShapedArray:
    """`x` repeated along new axes: its own axes stand at `positions` of the new shape."""
    if len(positions) != x.ndim or tuple([shape[position] for position in positions]) != x.shape:
        raise ValueError(f"broadcast_axis: {x.str_short()} does not have the sizes of {shape} at positions {positions}")
    return ShapedArray(shape, x.dtype)


@batching.primitive(name="sum_axes")
def sum_axes_p(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
    """The sum over some axes."""
    if any(not 0 <= axis < x.ndim for axis in axes):
        raise ValueError(f"sum_axes: no axes {axes} in {x.str_short()}")
    return ShapedArray(tuple([size for axis, size in enumerate(x.shape) if axis not in axes]), x.dtype)


BATCH = rule_table("batch")


class AxisInfo:
    """The axis that a `vmap` maps over.

    Attributes:
        name: its name for collectives, or None.
        size: its size.
        spmd_name: the mesh axis (or axes) that it is sharded over, or None.
        cut: the type of masks along it, where types say how these are cut, or None.
        rules: primitive -> who maps it along the axis.
    """

    __slots__ = ("cut", "name", "size", "spmd_name")
    rules: Any = BATCH

    def __init__(self, name: Hashable, size: int, spmd_name: object = None, cut: Any = None) -> None:
        self.name = name
        self.size = size
        self.spmd_name = spmd_name
        self.cut = cut

    @property
    def in_scope(self) -> tuple[Hashable, int]:
        """The name, and the size that a function of one example sees."""
        return self.name, self.size

    def place(self, value: Value, dim: int | None, destination: int) -> Value:
        """`value` with its mapped axis at `destination`; repeated along one there if it has none."""
        return place_axis(value, dim, destination, self.size)

    def cut_along(self, value: Any, dim: int | None) -> Value:
        """`value` with its mapped axis, if it has one, cut as types say that the axis is."""
        return value if dim is None or self.cut is None else self.cut.cut_as(0, value, dim)

    def with_axis(self, aval: Any) -> ShapedArray:
        """The aval of all examples, the axis in front."""
        if self.cut is not None:
            return self.cut.of_rows(aval)
        whole = (self.size, *aval.shape)
        return aval.update(shape=whole) if aval.infer_types is None else aval.with_dimension(0, self.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AxisInfo) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.name, self.size, self.spmd_name, self.cut

    def __repr__(self) -> str:
        return f"vmap over an axis of size {self.size}" + (f" named {self.name!r}" if self.name is not None else "")


def move_axis(value: Value, source: int, destination: int) -> Value:
    """`value` with one axis moved."""
    return value if source == destination else move_axis_p.bind(value, source=source, destination=destination)


def broadcast_axis(value: object, size: object, position: int) -> Value:
    """`value` repeated along a new axis at `position`."""
    operand = as_operand(value)
    shape = operand.aval.shape
    positions = tuple([axis if axis < position else axis + 1 for axis in range(len(shape))])
    return broadcast_axis_p.bind(operand, shape=(*shape[:position], size, *shape[position:]), positions=positions)


def place_axis(value: Value, dim: int | None, destination: int, size: object) -> Value:
    """`value` with its mapped axis at `destination`; repeated along one there if it has none."""
    if dim is None:
        return broadcast_axis(value, size, destination)
    return move_axis(value, dim, destination)


def to_front(value: Value, dim: int | None) -> Value:
    """`value` with its mapped axis, if it has one, in front."""
    return value if dim is None else move_axis(value, dim, 0)


# --- the trace ---

_new = object.__new__


_unmapped: dict[tuple[ShapedArray, int], ShapedArray] = {}
UNMAPPED_LIMIT = 4096


def _without_axis(aval: Any, dim: int) -> ShapedArray:
    """The aval of one example."""
    key = (aval, dim)
    found = _unmapped.get(key)
    if found is None:
        if aval.infer_types is None:
            found = aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1 :])
        else:
            found = aval.without_dimension(dim)
        if len(_unmapped) >= UNMAPPED_LIMIT:
            _unmapped.clear()
        _unmapped[key] = found
    return found


class BatchTracer(RuleTracer):
    """A value of the parent trace with a mapped axis `dim`; the tracer's aval is without that axis."""

    __slots__ = ()
    _trace: BatchTrace
    dim = RuleTracer.extra

    def known(self) -> dict[str, object]:
        return {"value": self.value, "dim": self.dim}

    def origin(self) -> str:
        return f"a value mapped by {self._trace.axis}"


class BatchTrace(RuleTrace, kind="batch", own=BatchTracer):
    """Applies batch rules where an argument is mapped, or where a primitive uses the mapped axis by name."""

    __slots__ = ("axis",)

    def __init__(self, parent: Trace, axis: AxisInfo) -> None:
        super().__init__(parent)
        self.axis = axis

    def tracer(self, value: Any, dim: int | None = None) -> BatchTracer:
        """The value as seen by the mapped function; itself if it is not mapped."""
        if dim is None:
            return value
        tracer = _new(BatchTracer)
        tracer._trace = self
        tracer.aval = _without_axis(value.aval, dim)
        tracer.value = value
        tracer.extra = dim
        return tracer

    def apply(self, primitive: Primitive, values: list[Value], dims: list[int | None], params: Params) -> PyTree:
        if self.axis.cut is not None and next(sub_jaxprs(params), None) is not None:  # mapped programs state types
            values = [self.axis.cut_along(value, dim) for value, dim in zip(values, dims, strict=True)]
        out = self.axis.rules[primitive](tuple(values), tuple(dims), axis_info=self.axis, **params)
        if type(out) is not tuple or len(out) != 2:
            raise TypeError(f"the batch rule of {primitive.identity!r} must return (outs, out_dims), got {out!r}")
        outs, out_dims = out
        if primitive.multiple_results:
            return tuple([self._out(primitive, o, d) for o, d in zip(outs, out_dims, strict=True)])
        return self._out(primitive, outs, out_dims)

    @calls_rules("batch")
    def _out(self, primitive: Primitive, value: Value, dim: int | None) -> Value:
        """What a rule returned, as the mapped function sees it."""
        if dim is None:
            return value
        try:
            right = value.aval.shape[dim] == self.axis.size and dim >= 0
        except (AttributeError, TypeError, IndexError):
            right = False
        if not right:
            raise bad_result("batch", primitive, value, dim, self.axis.size)
        return self.tracer(value, dim)

    def applies(self, primitive: Primitive, args: Values, params: Params) -> bool:
        """Whether it uses the mapped axis by name."""
        if self.axis.name is None or (primitive.effects is None and not params):
            return False
        avals = tuple([as_operand(arg).aval for arg in args])
        return NamedAxisEffect(self.axis.name) in equation_effects(primitive, avals, params)


class ResumedTrace(BatchTrace):
    """Goes on where another trace over the same axis is: what that one mapped is mapped here.

    For functions that run for the other trace, but only when a trace around it comes to them, as rules of users do:
    they may have closed over its values.
    """

    __slots__ = ("resumed",)

    def __init__(self, parent: Trace, axis: AxisInfo, resumed: BatchTrace) -> None:
        super().__init__(parent, axis)
        self.resumed = resumed

    def resume(self, value: Value) -> Value:
        """A tracer of the other trace as one of this trace; anything else is returned as it is.

        Raises UnexpectedTracerError for a value of traces between the two: those do not run now.
        """
        if type(value) is not BatchTracer or value._trace is not self.resumed or not self.resumed.alive:
            return value
        inner = value.value
        around: object = self.parent
        if isinstance(inner, Tracer):
            while around is not inner._trace:
                around = getattr(around, "parent", None)
                if around is None:
                    raise UnexpectedTracerError(value)
        return self.tracer(inner, value.dim)

    def split(self, value: Value) -> tuple[Array, int | None]:
        return super().split(self.resume(value))

    def process_primitive(self, primitive: Primitive, args: Values, params: Params) -> PyTree:
        return super().process_primitive(primitive, tuple([self.resume(arg) for arg in args]), params)


def batch_flat(
    function: Callable[..., Sequence[object]],
    values: Sequence[object],
    dims: Sequence[int | None],
    axis: AxisInfo,
    resumed: BatchTrace | None = None,
) -> tuple[list[Any], list[int | None]]:
    """Run a function of flat arguments and results on mapped values. Returns values and their mapped axes.

    `resumed`: a trace over that axis, of whose values the function may have closed over some.
    """

    def run(trace: BatchTrace) -> list[tuple[Any, int | None]]:
        args = [trace.tracer(value, dim) for value, dim in zip(values, dims, strict=True)]
        if axis.name is None:
            return [trace.split(out) for out in function(*args)]
        with holding(axis_environment=(*thread.axis_environment, axis.in_scope)):
            return [trace.split(out) for out in function(*args)]

    outs = run_traced(run, BatchTrace, axis) if resumed is None else run_traced(run, ResumedTrace, axis, resumed)
    return [value for value, _ in outs], [dim for _, dim in outs]


# --- on jaxprs, for the rules of primitives that carry them ---

_batched_programs = JaxprCache()
register_cache(_batched_programs.clear)


def batch_jaxpr(
    closed: ClosedJaxpr, mapped: Sequence[bool], axis: AxisInfo, instantiate: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The jaxpr over mapped inputs, with mapped axes in front.

    Args:
        mapped: for each input, whether it is mapped.
        instantiate: outputs that must be mapped even where they do not depend on mapped inputs.

    Returns:
        the jaxpr, and for each output whether it is mapped.
    """
    wanted = (instantiate,) * len(closed.out_avals) if isinstance(instantiate, bool) else tuple(instantiate)
    key = (tuple(mapped), wanted, axis)
    return _batched_programs.get(closed, key, lambda: _batch_jaxpr(closed, *key))


def _without_name(aval: ShapedArray, name: object) -> ShapedArray:
    """A type without an axis which is a dimension now."""
    if not aval.named_shape:
        return aval
    return aval.update(named_shape=tuple([pair for pair in aval.named_shape if pair[0] != name]))


def _batch_jaxpr(
    closed: ClosedJaxpr, mapped: tuple[bool, ...], wanted: tuple[bool, ...], axis: AxisInfo
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    out_mapped: list[bool] = []

    def run(*args: Array) -> list[Value]:
        dims = [0 if is_mapped else None for is_mapped in mapped]
        outs, out_dims = batch_flat(lambda *a: eval_jaxpr(closed.jaxpr, closed.consts, *a), args, dims, axis)
        out_mapped.extend([dim is not None or want for dim, want in zip(out_dims, wanted, strict=True)])
        found = zip(outs, out_dims, out_mapped, strict=True)
        return [axis.cut_along(place_axis(o, d, 0, axis.size), 0) if m else o for o, d, m in found]

    avals = [
        axis.with_axis(aval) if is_mapped else aval
        for aval, is_mapped in zip([_without_name(aval, axis.name) for aval in closed.in_avals], mapped, strict=True)
    ]
    out = trace_to_closed_jaxpr(run, avals, closed.jaxpr.debug_name)
    return out, tuple(out_mapped)


def batch_by_decomposition(primitive: Primitive) -> BatchRule:
    """A batch rule made of a primitive's decomposition."""

    def rule(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: object) -> tuple[object, object]:
        def run(*inputs: object) -> tuple[Value, ...]:
            out = decomposed(primitive, inputs, params)
            return tuple(out) if primitive.multiple_results else (out,)

        with DerivedRule(primitive, "batch"):
            outs, out_dims = batch_flat(run, args, dims, axis_info)
        if primitive.multiple_results:
            return tuple(outs), tuple(out_dims)
        return outs[0], out_dims[0]

    return rule


def batch_call(primitive: Primitive) -> BatchRule:
    """The rule of a call of the program `jaxpr`: the program is mapped."""

    def rule(
        args: Values, dims: Dims, *, axis_info: AxisInfo, jaxpr: ClosedJaxpr, **params: object
    ) -> tuple[object, object]:
        program, out_mapped = batch_jaxpr(jaxpr, tuple([dim is not None for dim in dims]), axis_info)
        operands = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
        outs = primitive.bind(*operands, jaxpr=program, **params)
        return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])

    return rule


def bad_result(kind: str, primitive: Primitive, value: Value, dim: object, size: object) -> Exception:
    """What is wrong with the result of a rule of a kind, "batch" or "split_axis"."""
    aval = value.aval if hasattr(type(value), "aval") else None
    if aval is None:
        found = f"{value!r} of type {type(value).__name__}; expected an array"
        return TypeError(f"the {kind} rule of {primitive.identity!r} returned {found}")
    if type(dim) is not int:
        found = f"{dim!r} as the mapped axis; expected an integer, or None"
        return TypeError(f"the {kind} rule of {primitive.identity!r} returned {found}")
    return ValueError(
        f"the {kind} rule of {primitive.identity!r} returned {aval.str_short()}, mapped along axis {dim}; expected an "
        f"axis from 0 to {len(aval.shape) - 1}, of size {size}"
    )
