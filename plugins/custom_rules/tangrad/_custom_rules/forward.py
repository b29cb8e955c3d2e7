"""`custom_jvp`: functions whose derivative in a direction their author writes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from tangrad import tree
from tangrad._custom_rules.calls import (
    Arguments,
    FlatCall,
    Stackable,
    UserRule,
    call,
    function_name,
    lines_of,
    place,
    rule_closed_over,
)
from tangrad._custom_rules.primitives import custom_jvp_call_p
from tangrad._custom_rules.zeros import SymbolicZero, shown, taken
from tangrad.autodiff import TapeTrace, Zero, add_tangents, tangent_aval
from tangrad.core import (
    ShapedArray,
    Tracer,
    WrappedSignature,
    as_array,
    class_boundary,
    copy_identity,
    dtypes,
    thread,
)
from tangrad.core.programs import computes_at_once
from tangrad.errors import UnexpectedTracerError
from tangrad.extend.lax import stop_gradient_p

if TYPE_CHECKING:
    from tangrad._custom_rules.primitives import Tangents
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree, Value

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
S = TypeVar("S")


@class_boundary
class custom_jvp(Stackable, Generic[P, R]):  # noqa: N801 - a decorator, named as the field knows it
    """A function with a jvp rule of its own, which serves forward and reverse mode.

    Args:
        fun: a function of positional arguments that are trees of arrays.
        nondiff_argnums: positions of arguments that the rule gets as they are, in front of the others. Nothing is
            differentiated with respect to them: where they are traced, derivatives are zero.
        nondiff_argnames: names of such arguments.

    The rule is given by `defjvp(rule)`, `rule(*nondiff, primals, tangents) -> (output, output tangent)`, linear in the
    tangents, or by `defjvps(rule, ...)`, one `rule(tangent, output, *primals)` for each argument.

    Raises (at a call): AttributeError without a rule; TypeError for a rule whose results do not fit.

    >>> import tangrad
    >>> @tangrad.custom_jvp
    ... def log1pexp(x):
    ...     return tangrad.numpy.log(1.0 + tangrad.numpy.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), (1.0 - 1.0 / (1.0 + tangrad.numpy.exp(x))) * t
    >>> float(tangrad.grad(log1pexp)(100.0))
    1.0
    """

    __signature__ = WrappedSignature()

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        self._arguments = Arguments(fun, "custom_jvp", nondiff_argnums, nondiff_argnames)
        self.fun = fun
        self.nondiff_argnums = self._arguments.nondiff
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        copy_identity(self, fun)

    def defjvp(self, jvp: Callable[Q, S], symbolic_zeros: bool = False) -> Callable[Q, S]:
        """Give the rule, `(*nondiff, primals, tangents) -> (output, output tangent)`; returns it.

        With `symbolic_zeros` tangents that are known to be zero are `SymbolicZero` objects, and Python numbers among
        the arguments come as they were passed.
        """
        if not callable(jvp):
            raise TypeError(f"defjvp expects a function, got {jvp!r} of type {type(jvp).__name__}")
        self.jvp = jvp
        self.symbolic_zeros = bool(symbolic_zeros)
        return jvp

    def defjvps(self, *jvps: Callable[..., PyTree] | None) -> None:
        """Give a rule for each argument, `(tangent, output, *primals) -> output tangent`; None: no dependence."""
        if self.nondiff_argnums:
            raise TypeError(f"custom_jvp function {self._arguments.name}: defjvps does not go with nondiff_argnums")
        if not all(rule is None or callable(rule) for rule in jvps):
            raise TypeError(f"defjvps expects functions or None, got {jvps!r}")
        self.defjvp(_SumOfRules(self, jvps), symbolic_zeros=True)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        arguments = self._arguments
        if self.jvp is None:
            raise AttributeError(
                f"custom_jvp function {arguments.name} has no rule; give it one: @{arguments.name}.defjvp"
            )
        positional: Any = arguments.resolve(args, kwargs)
        flat = FlatCall(arguments, positional)
        if computes_at_once(positional):
            return self.fun(*positional)
        if flat.nondiff:  # they are constants to all derivatives
            flat.nondiff = [(position, _constant(value)) for position, value in flat.nondiff]
        operands = flat.operands()
        outs = call(
            custom_jvp_call_p,
            flat,
            operands,
            lambda avals: {"rule": JVPRule(flat, self.jvp, self.symbolic_zeros, avals)},
        )
        return flat.out_tree.unflatten([as_array(out) for out in outs])

    @overload
    def __get__(self, instance: None, owner: object = None) -> custom_jvp[P, R]: ...
    @overload
    def __get__(self: custom_jvp[Concatenate[Any, Q], S], instance: object, owner: object = None) -> Callable[Q, S]: ...
    def __get__(self, instance: Any, owner: object = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def _constant(value: object) -> PyTree:
    """A tree without derivatives: its tracers as constants."""
    return tree.map(lambda leaf: stop_gradient_p.bind(leaf) if isinstance(leaf, Tracer) else leaf, value)


class _SumOfRules:
    """The rule that `defjvps` makes."""

    def __init__(self, function: custom_jvp[..., PyTree], rules: Sequence[Callable[..., PyTree] | None]) -> None:
        self._function = function
        self._rules = rules
        self.__name__ = "defjvps"

    def __call__(self, primals: tuple[PyTree, ...], tangents: tuple[PyTree, ...]) -> tuple[PyTree, PyTree]:
        if len(self._rules) != len(primals):
            raise TypeError(
                f"custom_jvp function {function_name(self._function)}: defjvps was given {len(self._rules)} rules, "
                f"but the function was called with {len(primals)} arguments"
            )
        out = self._function(*primals)
        outs, treedef = tree.flatten(out)
        sums: list[Value | Zero] = [Zero.of(as_array(leaf)) for leaf in outs]
        for rule, tangent in zip(self._rules, tangents):
            leaves = tree.leaves(tangent)
            if rule is None or all([_is_zero(leaf) for leaf in leaves]):
                continue
            filled = tree.map(lambda leaf: shown(Zero(leaf.aval), False) if _is_zero(leaf) else leaf, tangent)
            found = tree.leaves(rule(filled, out, *primals))
            if len(found) != len(sums):
                raise TypeError(
                    f"rule {function_name(rule)!r} of the custom_jvp function {function_name(self._function)} returned "
                    f"{len(found)} tangents for {len(sums)} results"
                )
            sums = [add_tangents(total, taken(term)) for total, term in zip(sums, found)]
        return out, treedef.unflatten(sums)


def _is_zero(leaf: Value) -> bool:
    return isinstance(leaf, SymbolicZero)


class JVPRule(UserRule):
    """The rule of one call: `(primals, tangents) -> (outs, tangents out)` of flat values; tangents may be `Zero`.

    Attributes:
        avals: the types of the function's results, where they are known.
    """

    __slots__ = ("_avals", "_symbolic_zeros")

    def __init__(self, flat: FlatCall, rule: Any, symbolic_zeros: bool, avals: tuple[ShapedArray, ...] | None) -> None:
        super().__init__(flat, rule)
        self._symbolic_zeros = symbolic_zeros
        self._avals = avals

    def __call__(self, primals: Sequence[Value], tangents: Tangents) -> tuple[list[Value], list[Value | Zero]]:
        flat, rule = self._flat, self._rule
        given = flat.treedef.unflatten(flat.shown(primals, self._symbolic_zeros))
        directions = flat.treedef.unflatten([shown(tangent, self._symbolic_zeros) for tangent in tangents])
        tape = thread.trace if type(thread.trace) is TapeTrace else None
        recorded = 0 if tape is None else len(tape.equations)
        try:
            pair = rule(*flat.nondiff_values(), given, directions)
            if tape is not None:
                _check_recorded(tape, recorded)
        except UnexpectedTracerError as error:
            if flat.out_tree is None:  # the call itself tries again, as a program
                raise
            raise rule_closed_over("custom_jvp", flat.arguments.name, rule, error) from error
        what = f"the jvp rule {function_name(rule)!r} of {flat.arguments.name}"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{what} must return a pair (output, output tangent), got {pair!r}")
        outs = flat.flat_result(pair[0], what)
        leaves, treedef = tree.flatten(pair[1])
        if treedef != flat.out_tree:
            raise TypeError(
                f"{what} must return output and output tangent of one structure, got {flat.out_tree} and {treedef}"
                + lines_of(flat.out_tree, treedef)
            )
        check_outputs(what, treedef, outs, self._avals)
        return outs, [_check_tangent(what, treedef, i, out, leaf) for i, (out, leaf) in enumerate(zip(outs, leaves))]


def _check_recorded(tape: TapeTrace, start: int) -> None:
    """Raise UnexpectedTracerError for a value of the transformation itself that a rule has used: it closed over it.

    The tape would take it for a residual, and find it useless when the tape is walked, far from the rule.
    """
    for _, args, _, _ in tape.equations[start:]:
        for arg in args:
            if isinstance(arg, Tracer) and arg._trace is not tape:
                if tape.above_bottom or getattr(arg._trace, "tape", None) is tape:
                    raise UnexpectedTracerError(arg)


def check_outputs(what: str, treedef: PyTreeDef, outs: Sequence[Value], avals: tuple[ShapedArray, ...] | None) -> None:
    for position, (out, aval) in enumerate(zip(outs, avals or ())):
        if out.aval.shape != aval.shape or out.aval.dtype != aval.dtype:
            raise TypeError(
                f"{what} returned, as output {position}{place(treedef, position)}, {out.aval.str_short()}, but the "
                f"function returns {aval.str_short()}"
            )


def _check_tangent(what: str, treedef: PyTreeDef, position: int, out: Value, leaf: Value) -> Value | Zero:
    try:
        tangent = taken(leaf)
    except TypeError as error:
        raise TypeError(f"{what} returned, as output tangent {position}{place(treedef, position)}, {error}") from None
    expected = tangent_aval(out.aval)
    found = tangent.aval
    if found.dtype == expected.dtype and found.shape == expected.shape:
        return tangent
    if type(tangent) is Zero and found.shape == expected.shape:
        return Zero(expected)
    raise TypeError(
        f"{what} returned, as output tangent {position}{place(treedef, position)}, {found.str_short()}; output "
        f"{position} is {out.aval.str_short()}, so expected {dtypes.dtype_name(expected.dtype)} of shape "
        f"{expected.shape}"
    )
