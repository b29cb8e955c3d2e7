"""Calls with rules of their own, where mapped axes get other names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tangrad._custom_rules.dead_code import PartRule, custom_dce_call_p
from tangrad._custom_rules.mapped import custom_vmap_call_p
from tangrad._custom_rules.primitives import axes_of, custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from tangrad.autodiff import Logged, Zero, logged
from tangrad.core import ClosedJaxpr, RuleSet
from tangrad.extend.collectives import RenamedFunction, subst_axis_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad._custom_rules.primitives import BwdFunction, FwdFunction, JVPFunction, Tangents, VmapFunction
    from tangrad.typing import Value

    F = TypeVar("F")
    Subst = Callable[[Hashable], tuple[Hashable, ...]]

    from tangrad.typing import Params


axis_subst = RuleSet("axis_subst", api=1)


class _Renamed(RenamedFunction):
    """A function or rule that was written with the old names."""

    __slots__ = ("function",)
    function: object
    holds_program = True

    def __init__(self, function: object, subst: object) -> None:
        super().__init__(subst, axes_of(function))
        self.function = function


class _RenamedCall(_Renamed):
    __slots__ = ()
    function: Callable[..., Sequence[Value]]

    def __call__(self, *values: object) -> list[Value]:
        return self.run(self.function, values)


class _RenamedJVP(_Renamed):
    __slots__ = ()
    function: JVPFunction

    def __call__(self, primals: Sequence[Value], tangents: Tangents) -> tuple[list[Value], list[Value | Zero]]:
        nonzero = [type(tangent) is not Zero for tangent in tangents]
        has_tangent: list[bool] = []
        count = len(primals)

        def flat(*values: Value) -> list[Value]:
            given = iter(values[count:])
            inner = [next(given) if has else zero for zero, has in zip(tangents, nonzero, strict=True)]
            outs, tangents_out = self.function(values[:count], inner)
            has_tangent.extend([type(tangent) is not Zero for tangent in tangents_out])
            return [*outs, *[tangent for tangent in tangents_out if type(tangent) is not Zero]]

        results = self.run(flat, [*primals, *[tangent for tangent in tangents if type(tangent) is not Zero]])
        outs, rest = results[: len(has_tangent)], iter(results[len(has_tangent) :])
        return outs, [next(rest) if has else Zero.of(out) for out, has in zip(outs, has_tangent, strict=True)]


class _RenamedFwd(_Renamed):
    __slots__ = ()
    function: FwdFunction

    def __call__(
        self, primals: Sequence[Value], active: Sequence[bool]
    ) -> tuple[list[Value], list[Value], BwdFunction]:
        found: list[Any] = []

        def flat(*values: Value) -> list[Value]:
            outs, residuals, bwd = self.function(values, active)
            found.extend([len(outs), bwd])
            return [*outs, *residuals]

        results = self.run(flat, primals)
        count, bwd = found
        return results[:count], results[count:], renamed(_RenamedBwd, bwd, self._subst)


class _RenamedBwd(_Renamed):
    __slots__ = ()
    function: BwdFunction

    def __call__(self, residuals: Sequence[Value], cotangents: Tangents) -> list[Value | Zero]:
        zeros: list[Zero | None] = []
        count = len(residuals)

        def flat(*values: Value) -> list[Value]:
            given = iter(values[count:])
            inner = [next(given) if type(ct) is not Zero else ct for ct in cotangents]
            found = self.function(values[:count], inner)
            zeros.extend([value if type(value) is Zero else None for value in found])
            return [value for value in found if type(value) is not Zero]

        rule = Logged(flat)
        found = self.run(rule, [*residuals, *[ct for ct in cotangents if type(ct) is not Zero]])
        results = iter(logged(rule.structure, found))
        return [next(results) if zero is None else zero for zero in zeros]


class _RenamedVmap(_Renamed):
    __slots__ = ()
    function: VmapFunction

    def __call__(self, size: int, mapped: Sequence[bool], values: Sequence[Value]) -> tuple[list[Value], list[bool]]:
        flags: list[bool] = []

        def flat(*inner: Value) -> list[Value]:
            outs, found = self.function(size, mapped, inner)
            flags.extend(found)
            return outs

        return self.run(flat, values), flags


def renamed(wrapper: Callable[[F, Subst], F], function: F, subst: Subst) -> F:
    """The function with other names; itself, where none of the axes that it may use gets another one."""
    if all([tuple(subst(name)) == (name,) for name, _ in axes_of(function)]):
        return function
    return wrapper(function, subst)


def _program(program: object, subst: Subst) -> object:
    if type(program) is ClosedJaxpr:
        return subst_axis_names(program, subst)
    return renamed(_RenamedCall, program, subst)


@axis_subst.rule(custom_jvp_call_p)
def _(params: Params, subst: Subst) -> Params:
    rule = renamed(_RenamedJVP, params["rule"], subst)
    return {**params, "jaxpr": _program(params["jaxpr"], subst), "rule": rule}


@axis_subst.rule(custom_vjp_call_p)
def _(params: Params, subst: Subst) -> Params:
    fwd = renamed(_RenamedFwd, params["fwd"], subst)
    return {**params, "jaxpr": _program(params["jaxpr"], subst), "fwd": fwd}


@axis_subst.rule(custom_lin_p)
def _(params: Params, subst: Subst) -> Params:
    return {**params, "bwd": renamed(_RenamedBwd, params["bwd"], subst)}


@axis_subst.rule(custom_vmap_call_p)
def _(params: Params, subst: Subst) -> Params:
    rule = renamed(_RenamedVmap, params["rule"], subst)
    return {**params, "jaxpr": _program(params["jaxpr"], subst), "rule": rule}


@axis_subst.rule(custom_dce_call_p)
def _(params: Params, subst: Subst) -> Params:
    old, rule, name = params["jaxpr"], params["rule"], params["name"]
    whole = subst_axis_names(old, subst)
    if rule is None or whole is old:
        return {**params, "jaxpr": whole}

    def make(used: tuple[bool, ...]) -> ClosedJaxpr:
        return subst_axis_names(rule.program(used), subst)

    return {**params, "jaxpr": whole, "rule": PartRule(whole, name, make)}
