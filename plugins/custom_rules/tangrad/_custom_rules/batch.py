"""How calls with rules of their own are mapped: the function is, and so are its rules."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.primitives import axes_of, custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from tangrad.autodiff import Logged, Zero, logged, tangent_aval
from tangrad.batching import AxisInfo, BatchTrace, batch_flat, batch_jaxpr, place_axis, sum_axes_p, to_front
from tangrad.core import Array, ClosedJaxpr, RuleSet, ShapedArray, dtypes, trace_to_jaxpr
from tangrad.core.tools import own_fault

if TYPE_CHECKING:
    from tangrad._custom_rules.primitives import Axes, BwdFunction, FwdFunction, JVPFunction, Tangents
    from tangrad._custom_rules.reverse import BwdRule
    from tangrad.core import Trace
    from tangrad.typing import Dims, Value, Values

batch = RuleSet("batch", api=1)

Flags = tuple[bool, ...]


def _dims(mapped: Sequence[bool]) -> list[int | None]:
    return [0 if is_mapped else None for is_mapped in mapped]


def _nothing() -> None:
    """A weak reference to nothing."""


def _origin(function: object, axis: AxisInfo) -> weakref.ref[BatchTrace] | Callable[[], None]:
    """A weak reference to the trace that maps a function or a rule: the innermost around its call, over that axis."""
    trace = getattr(function, "trace", _nothing)()
    while trace is not None and not (isinstance(trace, BatchTrace) and trace.axis is axis):
        trace = getattr(trace, "parent", None)
    return _nothing if trace is None else weakref.ref(trace)


class _Outs:
    """Which results of a function, and of its rule, differ along the axis: they must agree about that.

    Of a program this is known beforehand; for other functions what runs first decides, the function or its rule.
    """

    __slots__ = ("mapped",)

    def __init__(self, mapped: Flags | None = None) -> None:
        self.mapped = mapped

    @property
    def dims(self) -> tuple[int | None, ...]:
        assert self.mapped is not None, "the function and its rule have not run"
        return tuple(_dims(self.mapped))


class _Mapped:
    """What the mapped forms of a function and its rules share: which flat arguments and results are mapped, along
    which axis."""

    __slots__ = ("_origin", "axis", "function", "mapped", "outs")
    function: object
    holds_program = True

    def __init__(self, function: object, mapped: Flags, axis: AxisInfo, outs: _Outs) -> None:
        self.function = function
        self.mapped = mapped
        self.axis = axis
        self.outs = outs
        self._origin = _origin(function, axis)

    @property
    def trace(self) -> weakref.ref[Trace] | Callable[[], None]:
        """A weak reference to the trace outside of the one that mapped the function."""
        origin = self._origin()
        return _nothing if origin is None else weakref.ref(origin.parent)

    def __repr__(self) -> str:
        return repr(self.function)

    def batch(
        self, function: Callable[..., Sequence[Value]], values: Sequence[Value], mapped: Sequence[bool]
    ) -> tuple[list[Value], list[int | None]]:
        """Run a function of flat values, mapped as its caller is; it may have closed over values of that caller."""
        return batch_flat(function, values, _dims(mapped), self.axis, self._origin())

    @property
    def axes(self) -> Axes:
        """The axes that the function may use, less the one that it is mapped over: the last one of its name."""
        axes = list(axes_of(self.function))
        own = [position for position, (name, _) in enumerate(axes) if name == self.axis.name]
        if own:
            del axes[own[-1]]
        return tuple(axes)

    def decide(self, dims: Sequence[int | None]) -> Flags:
        """Which results are mapped. Raises TypeError for a value that differs where those of the function do not."""
        if self.outs.mapped is None:
            self.outs.mapped = tuple([dim is not None for dim in dims])
        for position, (mapped, dim) in enumerate(zip(self.outs.mapped, dims, strict=True)):
            if dim is not None and not mapped:
                raise TypeError(
                    f"the rule {self!r} returns, for output {position}, a value that differs along the axis "
                    f"{self.axis.name!r}, but the result of its function is the same for all: one of the two lacks a "
                    "collective"
                )
        return self.outs.mapped

    def placed(self, values: Sequence[Value], dims: Sequence[int | None], mapped: Sequence[bool]) -> list[Value]:
        """Values with the axis in front, where they are to have it."""
        return [
            place_axis(value, dim, 0, self.axis.size) if is_mapped else value
            for value, dim, is_mapped in zip(values, dims, mapped, strict=True)
        ]


class _MappedFunction(_Mapped):
    __slots__ = ()
    function: Callable[..., Sequence[Value]]

    def __call__(self, *values: Value) -> list[Value]:
        outs, dims = self.batch(self.function, values, self.mapped)
        return self.placed(outs, dims, self.decide(dims))


class _MappedJVP(_Mapped):
    __slots__ = ()
    function: JVPFunction

    def __call__(self, primals: Sequence[Value], tangents: Tangents) -> tuple[list[Value], list[Value | Zero]]:
        nonzero = [type(tangent) is not Zero for tangent in tangents]
        has_tangent: list[bool] = []
        count = len(primals)

        def run(*values: Value) -> list[Value]:
            given = iter(values[count:])
            inner = [next(given) if has else Zero.of(p) for p, has in zip(values[:count], nonzero, strict=True)]
            outs, tangents_out = self.function(values[:count], inner)
            has_tangent.extend([type(tangent) is not Zero for tangent in tangents_out])
            return [*outs, *[tangent for tangent in tangents_out if type(tangent) is not Zero]]

        inner_mapped = [*self.mapped, *[is_mapped for is_mapped, has in zip(self.mapped, nonzero, strict=True) if has]]
        values = [*primals, *[tangent for tangent in tangents if type(tangent) is not Zero]]
        results, dims = self.batch(run, values, inner_mapped)
        count_out = len(has_tangent)
        of_tangents = iter(dims[count_out:])
        tangent_dims = [next(of_tangents) if has else None for has in has_tangent]
        # A tangent has the type of its primal: both are mapped if either is.
        mapped = self.decide([dim if t is None else t for dim, t in zip(dims[:count_out], tangent_dims, strict=True)])
        outs = self.placed(results[:count_out], dims[:count_out], mapped)
        with_tangent = [is_mapped for is_mapped, has in zip(mapped, has_tangent, strict=True) if has]
        rest = iter(self.placed(results[count_out:], dims[count_out:], with_tangent))
        return outs, [next(rest) if has else Zero.of(out) for out, has in zip(outs, has_tangent, strict=True)]


class _MappedFwd(_Mapped):
    __slots__ = ()
    function: FwdFunction

    def __call__(self, primals: Sequence[Value], active: Sequence[bool]) -> tuple[list[Value], list[Value], _MappedBwd]:
        found: list[Any] = []

        def run(*values: Value) -> list[Value]:
            outs, residuals, bwd = self.function(values, active)
            found.extend([len(outs), bwd])
            return [*outs, *residuals]

        values, dims = self.batch(run, primals, self.mapped)
        count, bwd = found
        residuals = [to_front(value, dim) for value, dim in zip(values[count:], dims[count:], strict=True)]
        res_mapped = tuple([dim is not None for dim in dims[count:]])
        outs = self.placed(values[:count], dims[:count], self.decide(dims[:count]))
        return outs, residuals, _MappedBwd(bwd, self.mapped, self.axis, self.outs, res_mapped)


class _MappedBwd(_Mapped):
    """The cotangent of a result that all examples share is one for all of them; so is that of a shared argument."""

    __slots__ = ("res_mapped",)
    function: BwdFunction

    def __init__(self, function: BwdRule, mapped: Flags, axis: AxisInfo, outs: _Outs, res_mapped: Flags) -> None:
        super().__init__(function, mapped, axis, outs)
        self.res_mapped = res_mapped

    def __call__(self, residuals: Sequence[Value], cotangents: Tangents) -> list[Value | Zero]:
        zeros: list[Zero | None] = []
        count = len(residuals)
        assert self.outs.mapped is not None, "the forward rule has run"
        given_ones = list(zip(cotangents, self.outs.mapped, strict=True))

        def run(*values: Value) -> list[Value]:
            given = iter(values[count:])
            inner = [
                next(given) if type(c) is not Zero else Zero(_one_example(c.aval) if is_mapped else c.aval)
                for c, is_mapped in given_ones
            ]
            found = self.function(values[:count], inner)
            zeros.extend([value if type(value) is Zero else None for value in found])
            return [value for value in found if type(value) is not Zero]

        nonzero = [(c, is_mapped) for c, is_mapped in given_ones if type(c) is not Zero]
        values = [*residuals, *[c for c, _ in nonzero]]
        mapped = [*self.res_mapped, *[is_mapped for _, is_mapped in nonzero]]
        rule = Logged(run)
        found, dims = self.batch(rule, values, mapped)
        if rule.structure is not None:
            places = range(len(found) - rule.structure.num_leaves, len(found))
            found[places.start :] = [place_axis(found[i], dims[i], 0, self.axis.size) for i in places]
            found = [*logged(rule.structure, found)]
        pairs = zip(found, dims)  # without those of the logs
        results: list[Value | Zero] = []
        for zero, is_mapped in zip(zeros, self.mapped, strict=True):
            if zero is not None:
                size = (self.axis.size,) if is_mapped else ()
                results.append(Zero(zero.aval.update(shape=(*size, *zero.aval.shape))))
                continue
            value, dim = next(pairs)
            if is_mapped:
                value = place_axis(value, dim, 0, self.axis.size)
            elif dim is not None:  # an argument that all examples share gets the sum of their cotangents
                value = sum_axes_p.bind(to_front(value, dim), axes=(0,))
            results.append(value)
        return results


def _one_example(aval: ShapedArray) -> ShapedArray:
    return aval.update(shape=aval.shape[1:])


def _program(jaxpr: object, mapped: Flags, axis: AxisInfo) -> tuple[ClosedJaxpr | _MappedFunction, _Outs]:
    """The mapped function, and which of its results are mapped."""
    if type(jaxpr) is ClosedJaxpr:
        program, outs_mapped = batch_jaxpr(jaxpr, mapped, axis)
        return program, _Outs(tuple(outs_mapped))
    outs = _Outs()
    return _MappedFunction(jaxpr, mapped, axis, outs), outs


def _with_rule(
    jaxpr: ClosedJaxpr,
    program: ClosedJaxpr | _MappedFunction,
    results: _Outs,
    rule: object,
    operands: Sequence[Value],
    mapped: Flags,
    axis: AxisInfo,
) -> tuple[ClosedJaxpr | _MappedFunction, _Outs]:
    """The mapped program, such that a result is mapped where its tangent, which the rule makes, is.

    That of a function whose result is constant may be: then the result is repeated, as it is where no program is staged
    and the rule runs first. What raises in the rule is for those who differentiate.
    """
    if type(jaxpr) is not ClosedJaxpr or all(results.mapped or ()) or not any(mapped):
        return program, results
    found = _Outs()
    of_rule = mapped[len(mapped) - len(operands) :]
    has_tangent = [tangent_aval(operand.aval).dtype != dtypes.float0 for operand in operands]
    avals = [operand.aval for operand in operands]

    def run(*values: Value) -> list[Value]:
        given = iter(values[len(avals) :])
        primals = values[: len(avals)]
        tangents = [next(given) if has else Zero.of(p) for p, has in zip(primals, has_tangent, strict=True)]
        return list(_MappedJVP(rule, of_rule, axis, found)(primals, tangents)[0])

    try:
        trace_to_jaxpr(run, [*avals, *[tangent_aval(a) for a, has in zip(avals, has_tangent, strict=True) if has]])
    except own_fault(Exception):
        return program, results
    if found.mapped is None or results.mapped is None or len(found.mapped) != len(results.mapped):
        return program, results
    either = tuple([a or b for a, b in zip(results.mapped, found.mapped, strict=True)])
    if either == results.mapped:
        return program, results
    return batch_jaxpr(jaxpr, mapped, axis, either)[0], _Outs(either)


def _prepared(args: Values, dims: Dims) -> tuple[list[Value], Flags]:
    operands = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
    return operands, tuple([dim is not None for dim in dims])


@batch.rule(custom_jvp_call_p)
def _(
    args: tuple[Value, ...],
    dims: Dims,
    *,
    axis_info: AxisInfo,
    jaxpr: ClosedJaxpr,
    rule: object,
    num_consts: int,
    name: str,
) -> tuple[tuple[Array, ...], tuple[int | None, ...]]:
    operands, mapped = _prepared(args, dims)
    program, results = _program(jaxpr, mapped, axis_info)
    program, results = _with_rule(jaxpr, program, results, rule, operands[num_consts:], mapped, axis_info)
    rule = _MappedJVP(rule, mapped[num_consts:], axis_info, results)
    outs = custom_jvp_call_p.bind(*operands, jaxpr=program, rule=rule, num_consts=num_consts, name=name)
    return outs, results.dims


@batch.rule(custom_vjp_call_p)
def _(
    args: tuple[Array, ...],
    dims: Dims,
    *,
    axis_info: AxisInfo,
    jaxpr: ClosedJaxpr,
    fwd: object,
    num_consts: int,
    name: str,
) -> tuple[tuple[Array, ...], tuple[int | None, ...]]:
    operands, mapped = _prepared(args, dims)
    program, results = _program(jaxpr, mapped, axis_info)
    fwd = _MappedFwd(fwd, mapped[num_consts:], axis_info, results)
    outs = custom_vjp_call_p.bind(*operands, jaxpr=program, fwd=fwd, num_consts=num_consts, name=name)
    return outs, results.dims


@batch.rule(custom_lin_p)
def _(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    bwd: BwdRule,
    num_res: int,
    active: Flags,
    avals_out: Sequence[ShapedArray],
    nonzero: object,
    name: str,
) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    size = axis_info.size
    residuals, res_mapped = _prepared(args[:num_res], dims[:num_res])
    tangents = [place_axis(arg, dim, 0, size) for arg, dim in zip(args[num_res:], dims[num_res:], strict=True)]
    outs = custom_lin_p.bind(
        *residuals,
        *tangents,
        bwd=_MappedBwd(bwd, (True,) * len(active), axis_info, _Outs((True,) * len(avals_out)), res_mapped),
        num_res=num_res,
        active=active,
        avals_out=tuple([aval.update(shape=(size, *aval.shape)) for aval in avals_out]),
        nonzero=nonzero,
        name=name,
    )
    return outs, (0,) * len(outs)
