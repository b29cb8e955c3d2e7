"""Calls of functions with rules of their own, with checks: the function returns its error, which has no derivative.

A rule of the author's is run as it is: where it is used, the error is that of the function, computed beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.primitives import axes_of, custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from tangrad.autodiff import Zero
from tangrad.core import ClosedJaxpr, Primitive, RuleSet, as_operand
from tangrad.extend.checkify import Checks, checked_flat, checked_program, handed_on

if TYPE_CHECKING:
    import weakref

    from tangrad._custom_rules.calls import FlatCall
    from tangrad._custom_rules.primitives import Axes, BwdFunction, FwdFunction, JVPFunction, Tangents
    from tangrad.core import Trace
    from tangrad.typing import Params, Value, Values

checkify = RuleSet("checkify", api=1)
handed_on(checkify, custom_lin_p)  # linear in tangents: what is wrong with them was wrong before


class _Checked:
    """What the checked forms of a function and its rules share.

    Attributes:
        function: the function, or its rule, of flat values.
    """

    __slots__ = ("function",)
    function: Any
    holds_program = True

    def __init__(self, function: object) -> None:
        self.function = function

    @property
    def axes(self) -> Axes:
        return axes_of(self.function)

    @property
    def trace(self) -> weakref.ref[Trace]:
        return self.function.trace

    def __repr__(self) -> str:
        return repr(self.function)


class _CheckedCall(_Checked):
    """A function that returns the leaves of its error behind its results.

    Attributes:
        enabled: the failures that are looked for.
        layout: what the error looks like, once the function, or its rule, has run.
    """

    __slots__ = ("enabled", "layout")
    function: FlatCall

    def __init__(self, function: FlatCall, enabled: Any) -> None:
        super().__init__(function)
        self.enabled = enabled
        self.layout: Any = None

    def __call__(self, *values: Value) -> list[Value]:
        outs, checks = checked_flat(self.function, values, self.enabled)
        self.layout = checks.layout
        return [*outs, *checks.leaves()]

    def error(self, values: Sequence[Value]) -> list[Value]:
        """The leaves of the error alone."""
        outs = self(*values)
        return outs[len(outs) - self.layout.count :]


class _CheckedRule(_Checked):
    """A rule that returns the error of its function too; `error` computes the leaves of that of the arguments."""

    __slots__ = ("error",)

    def __init__(self, function: object, error: Callable[[Sequence[Value]], Sequence[Value]]) -> None:
        super().__init__(function)
        self.error = error


class _CheckedJVP(_CheckedRule):
    __slots__ = ()
    function: JVPFunction

    def __call__(self, primals: Sequence[Value], tangents: Tangents) -> tuple[list[Value], list[Value | Zero]]:
        outs, tangents_out = self.function(primals, tangents)
        leaves = self.error(primals)
        return [*outs, *leaves], [*tangents_out, *[Zero.of(as_operand(leaf)) for leaf in leaves]]


class _CheckedFwd(_CheckedRule):
    __slots__ = ()
    function: FwdFunction

    def __call__(
        self, primals: Sequence[Value], active: Sequence[bool]
    ) -> tuple[list[Value], Sequence[Value], _CheckedBwd]:
        outs, residuals, bwd = self.function(primals, active)
        return [*outs, *self.error(primals)], residuals, _CheckedBwd(bwd, len(outs))


class _CheckedBwd(_Checked):
    """A backward rule, which is not given the cotangents of the error."""

    __slots__ = ("_count",)
    function: BwdFunction

    def __init__(self, function: BwdFunction, count: int) -> None:
        super().__init__(function)
        self._count = count

    def __call__(self, residuals: Sequence[Value], cotangents: Tangents) -> Sequence[Value | Zero]:
        return self.function(residuals, cotangents[: self._count])


def _checked(
    primitive: Primitive,
    wrapper: type | type[_CheckedFwd] | type[_CheckedJVP],
    args: Values,
    checks: Checks,
    jaxpr: Any,
    name_of_rule: str,
    params: Params,
) -> Values:
    """Bind the call of a function in its checked form, and take its error."""
    if type(jaxpr) is ClosedJaxpr:
        program = checked_program(jaxpr, checks.enabled)
        function: Any = program.jaxpr
        # A rule is not given what the function closed over, and could not know what fails because of that.
        clear = params["num_consts"] > 0
        error = lambda values: program.layout.clear() if clear else program.run(*values)[1]
        layout_of = lambda: program.layout
    else:
        function = _CheckedCall(jaxpr, checks.enabled)
        error = function.error
        layout_of = lambda: function.layout
    rule = wrapper(params.pop(name_of_rule), error)
    outs = primitive.bind(*args, jaxpr=function, **{name_of_rule: rule}, **params)
    return checks.take(layout_of(), outs)


@checkify.rule(custom_jvp_call_p)
def _(args: Values, *, checks: Checks, jaxpr: object, **params: object) -> Values:
    return _checked(custom_jvp_call_p, _CheckedJVP, args, checks, jaxpr, "rule", params)


@checkify.rule(custom_vjp_call_p)
def _(args: Values, *, checks: Checks, jaxpr: object, **params: object) -> Values:
    return _checked(custom_vjp_call_p, _CheckedFwd, args, checks, jaxpr, "fwd", params)
