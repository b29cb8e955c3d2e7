"""How calls with rules of their own are mapped: the function is, and so are its rules."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from tangrad.autodiff import Zero
from tangrad.batching import AxisInfo, BatchTrace, batch_flat, batch_jaxpr, place_axis, to_front
from tangrad.batching.primitives import sum_axes_p
from tangrad.core import ClosedJaxpr, RuleSet, Tracer, trace_to_jaxpr
from tangrad.core.errors import TracerError
from tangrad.custom_rules.primitives import axes_of, custom_jvp_call_p, custom_lin_p, custom_vjp_call_p

batch = RuleSet("batch", api=1)

Flags = tuple[bool, ...]


def _dims(mapped: Sequence[bool]) -> list[int | None]:
    return [0 if is_mapped else None for is_mapped in mapped]


def _nothing() -> None:
    """A weak reference to nothing."""


def _origin(function: Any, axis: AxisInfo) -> Any:
    """A weak reference to the trace that maps a function or a rule: the innermost around its call, over that axis."""
    trace = getattr(function, "trace", _nothing)()
    while trace is not None and not (isinstance(trace, BatchTrace) and trace.axis is axis):
        trace = getattr(trace, "parent", None)
    return _nothing if trace is None else weakref.ref(trace)


class _Mapped:
    """What the mapped forms of a function and its rules share: which flat arguments are mapped, and along which axis.

    All results are mapped, since the function and its rule must agree about that. None is if they are `shared`: where
    no argument is mapped, and the function only uses the axis by its name.
    """

    __slots__ = ("_origin", "axis", "function", "mapped", "shared")
    holds_program = True

    def __init__(self, function: Any, mapped: Flags, axis: AxisInfo, shared: bool = False) -> None:
        self.function = function
        self.mapped = mapped
        self.axis = axis
        self.shared = shared
        self._origin = _origin(function, axis)

    @property
    def trace(self) -> Any:
        """A weak reference to the trace outside of the one that mapped the function."""
        origin = self._origin()
        return _nothing if origin is None else weakref.ref(origin.parent)

    def check_shared(self, dims: Sequence[int | None]) -> None:
        """Raise TypeError if a rule's values are mapped where those of its function are not."""
        if any([dim is not None for dim in dims]):
            raise TypeError(
                f"the rule {self!r} returns values that differ along the axis {self.axis.name!r}, but the results of "
                "its function are the same for all; give the function an argument that is mapped"
            )

    def __repr__(self) -> str:
        return repr(self.function)

    def batch(self, function: Any, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
        """Run a function of flat values, mapped as its caller is; it may have closed over values of that caller."""
        return batch_flat(function, values, _dims(mapped), self.axis, self._origin())

    @property
    def axes(self) -> Any:
        """The axes that the function may use, less the one that it is mapped over: the last one of its name."""
        axes = list(axes_of(self.function))
        own = [position for position, (name, _) in enumerate(axes) if name == self.axis.name]
        if own:
            del axes[own[-1]]
        return tuple(axes)

    def placed(self, values: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
        if self.shared:
            self.check_shared(dims)
            return list(values)
        return [place_axis(value, dim, 0, self.axis.size) for value, dim in zip(values, dims, strict=True)]


class _MappedFunction(_Mapped):
    __slots__ = ()

    def __call__(self, *values: Any) -> list[Any]:
        return self.placed(*self.batch(self.function, values, self.mapped))


class _MappedJVP(_Mapped):
    __slots__ = ()

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        nonzero = [type(tangent) is not Zero for tangent in tangents]
        has_tangent: list[bool] = []
        count = len(primals)

        def run(*values: Any) -> list[Any]:
            given = iter(values[count:])
            inner = [next(given) if has else Zero.of(p) for p, has in zip(values[:count], nonzero, strict=True)]
            outs, tangents_out = self.function(values[:count], inner)
            has_tangent.extend([type(tangent) is not Zero for tangent in tangents_out])
            return [*outs, *[tangent for tangent in tangents_out if type(tangent) is not Zero]]

        mapped = [*self.mapped, *[is_mapped for is_mapped, has in zip(self.mapped, nonzero, strict=True) if has]]
        values = [*primals, *[tangent for tangent in tangents if type(tangent) is not Zero]]
        results = self.placed(*self.batch(run, values, mapped))
        outs, rest = results[: len(has_tangent)], iter(results[len(has_tangent) :])
        return outs, [next(rest) if has else Zero.of(out) for out, has in zip(outs, has_tangent, strict=True)]


class _MappedFwd(_Mapped):
    __slots__ = ()

    def __call__(self, primals: Sequence[Any], active: Sequence[bool]) -> tuple[Any, Any, Any]:
        found: list[Any] = []

        def run(*values: Any) -> list[Any]:
            outs, residuals, bwd = self.function(values, active)
            found.extend([len(outs), bwd])
            return [*outs, *residuals]

        values, dims = self.batch(run, primals, self.mapped)
        count, bwd = found
        residuals = [to_front(value, dim) for value, dim in zip(values[count:], dims[count:], strict=True)]
        res_mapped = tuple([dim is not None for dim in dims[count:]])
        outs = self.placed(values[:count], dims[:count])
        if self.shared:  # the cotangents of all examples will have been added before they meet the residuals
            self.check_shared(dims[count:])
        return outs, residuals, _MappedBwd(bwd, self.mapped, self.axis, res_mapped, self.shared)


class _MappedBwd(_Mapped):
    __slots__ = ("res_mapped",)

    def __init__(self, function: Any, mapped: Flags, axis: AxisInfo, res_mapped: Flags, shared: bool = False) -> None:
        super().__init__(function, mapped, axis, shared)
        self.res_mapped = res_mapped

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        zeros: list[Any] = []
        count = len(residuals)
        example = _itself if self.shared else _one_example

        def run(*values: Any) -> list[Any]:
            given = iter(values[count:])
            inner = [next(given) if type(c) is not Zero else Zero(example(c.aval)) for c in cotangents]
            found = self.function(values[:count], inner)
            zeros.extend([value if type(value) is Zero else None for value in found])
            return [value for value in found if type(value) is not Zero]

        values = [*residuals, *[cotangent for cotangent in cotangents if type(cotangent) is not Zero]]
        mapped = [*self.res_mapped, *[not self.shared] * (len(values) - count)]
        found = zip(*self.batch(run, values, mapped), strict=True)
        results = []
        for zero, is_mapped in zip(zeros, self.mapped, strict=True):
            if zero is not None:
                size = (self.axis.size,) if is_mapped else ()
                results.append(Zero(zero.aval.update(shape=(*size, *zero.aval.shape))))
                continue
            value, dim = next(found)
            if not (self.shared and dim is None):
                value = place_axis(value, dim, 0, self.axis.size)
                if not is_mapped:  # an argument that all examples share gets the sum of their cotangents
                    value = sum_axes_p.bind(value, axes=(0,))
            results.append(value)
        return results


def _one_example(aval: Any) -> Any:
    return aval.update(shape=aval.shape[1:])


def _itself(aval: Any) -> Any:
    return aval


def _program(jaxpr: Any, operands: Sequence[Any], mapped: Flags, axis: AxisInfo, name: str) -> tuple[Any, bool]:
    """The mapped function, and whether its results are shared by all examples."""
    if not any(mapped):
        shared = _shared_program(jaxpr, operands, mapped, axis, name)
        if shared is not None:
            return shared, True
    if type(jaxpr) is ClosedJaxpr:
        return batch_jaxpr(jaxpr, mapped, axis, instantiate=True)[0], False
    return _MappedFunction(jaxpr, mapped, axis), False


def _shared_program(jaxpr: Any, operands: Sequence[Any], mapped: Flags, axis: AxisInfo, name: str) -> Any:
    """The program of a function whose results do not differ along the axis; None if they do, or nobody knows."""
    if type(jaxpr) is not ClosedJaxpr:
        try:
            open_jaxpr, consts = trace_to_jaxpr(jaxpr, [operand.aval for operand in operands], name)
        except TracerError:  # it looks at values
            return None
        if any([isinstance(const, Tracer) for const in consts]):
            return None
        jaxpr = ClosedJaxpr(open_jaxpr, consts)
    program, out_mapped = batch_jaxpr(jaxpr, mapped, axis)
    return None if any(out_mapped) else program


def _prepared(args: Any, dims: Any) -> tuple[list[Any], Flags]:
    operands = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
    return operands, tuple([dim is not None for dim in dims])


@batch.rule(custom_jvp_call_p)
def _(args: Any, dims: Any, *, axis_info: Any, jaxpr: Any, rule: Any, num_consts: int, name: str) -> Any:
    operands, mapped = _prepared(args, dims)
    program, shared = _program(jaxpr, operands, mapped, axis_info, name)
    rule = _MappedJVP(rule, mapped[num_consts:], axis_info, shared)
    outs = custom_jvp_call_p.bind(*operands, jaxpr=program, rule=rule, num_consts=num_consts, name=name)
    return outs, (None if shared else 0,) * len(outs)


@batch.rule(custom_vjp_call_p)
def _(args: Any, dims: Any, *, axis_info: Any, jaxpr: Any, fwd: Any, num_consts: int, name: str) -> Any:
    operands, mapped = _prepared(args, dims)
    program, shared = _program(jaxpr, operands, mapped, axis_info, name)
    fwd = _MappedFwd(fwd, mapped[num_consts:], axis_info, shared)
    outs = custom_vjp_call_p.bind(*operands, jaxpr=program, fwd=fwd, num_consts=num_consts, name=name)
    return outs, (None if shared else 0,) * len(outs)


@batch.rule(custom_lin_p)
def _(
    args: Any,
    dims: Any,
    *,
    axis_info: Any,
    bwd: Any,
    num_res: int,
    active: Any,
    avals_out: Any,
    nonzero: Any,
    name: str,
) -> Any:
    size = axis_info.size
    residuals, res_mapped = _prepared(args[:num_res], dims[:num_res])
    tangents = [place_axis(arg, dim, 0, size) for arg, dim in zip(args[num_res:], dims[num_res:], strict=True)]
    outs = custom_lin_p.bind(
        *residuals,
        *tangents,
        bwd=_MappedBwd(bwd, (True,) * len(active), axis_info, res_mapped),
        num_res=num_res,
        active=active,
        avals_out=tuple([aval.update(shape=(size, *aval.shape)) for aval in avals_out]),
        nonzero=nonzero,
        name=name,
    )
    return outs, (0,) * len(outs)
