"""`custom_dce`: functions whose author defines what to compute where only some of their results are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tangrad import tree
from tangrad._custom_rules.calls import Stackable, function_name, index_tuple, leaves_or_none, lines_of, place
from tangrad._custom_rules.primitives import evaluate, inline
from tangrad.core import (
    EVAL_TRACE,
    ClosedJaxpr,
    PrimitiveSet,
    ShapedArray,
    Tracer,
    array_leaves,
    as_array,
    as_operand,
    class_boundary,
    closed_over_as_arguments,
    copy_identity,
    holding,
    is_array_value,
    returned_leaves,
    thread,
    trace_to_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree, Value

    F = TypeVar("F", bound=Callable[..., object])
    T = TypeVar("T")

partial_calls = PrimitiveSet("partial_calls", api=1)


@partial_calls.primitive(
    name="custom_dce_call",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=evaluate,
    decompose=inline,
)
def custom_dce_call_p(*avals: ShapedArray, jaxpr: ClosedJaxpr, rule: PartRule, name: str) -> tuple[ShapedArray, ...]:
    """A call of a program; `rule(used)` gives the program of the results that are used, or is None."""
    return tuple(jaxpr.out_avals)


_programs = JaxprCache()
register_cache(_programs.clear)


class PartRule:
    """The programs of a function for each choice of its results.

    `program(used)` is a closed jaxpr of the same inputs as the whole one, which gives the results that are used.
    """

    __slots__ = ("_make", "_name", "_whole")
    holds_program = True

    def __init__(self, whole: ClosedJaxpr, name: str, make: Callable[[tuple[bool, ...]], ClosedJaxpr]) -> None:
        self._whole = whole
        self._name = name
        self._make = make

    def program(self, used: Sequence[bool]) -> ClosedJaxpr:
        used = tuple(used)
        if all(used):
            return self._whole
        return _programs.get(self._whole, (id(self), used), lambda: self._make(used))

    def __repr__(self) -> str:  # in printed programs
        return self._name


@class_boundary
class custom_dce(Stackable):  # noqa: N801 - a decorator, named as the field knows it
    """A function with a rule of its own for dead code: what to compute where only some of its results are used.

    Programs are thinned when they are compiled: code whose result is unused goes. Of a call that cannot be looked
    into, such as one of a kernel, all stays, unless such a rule names what less to call. Outside of `jit` the function
    runs as it is.

    Args:
        fun: a function of positional arguments that are trees of arrays, without side effects.
        static_argnums: positions of arguments that are no arrays.

    The rule is given by `def_dce(rule)`, `rule(*static, used_outs, *args)`: `used_outs` has the structure of the
    result, with a bool for each leaf. It returns that structure, where None may stand in place of a result that is not
    used, or of a part of the tree in which none is.

    Raises (at a call): AttributeError without a rule; TypeError for a rule whose results do not fit.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> @tangrad.experimental.custom_dce
    ... def both(x):
    ...     return np.tanh(x), np.exp(x)
    >>> @both.def_dce
    ... def both_dce(used, x):
    ...     return (np.tanh(x) if used[0] else None, np.exp(x) if used[1] else None)
    >>> "tanh" in tangrad.jit(lambda x: both(x)[1]).lower(1.0).as_text()
    False
    """

    def __init__(self, fun: Callable[..., PyTree], *, static_argnums: int | Sequence[int] = ()) -> None:
        if not callable(fun):
            raise TypeError(f"custom_dce expects a function, got {fun!r} of type {type(fun).__name__}")
        self.fun = fun
        self.static_argnums = index_tuple(static_argnums, "static_argnums")
        self.dce_rule: Callable[..., object] | None = None
        copy_identity(self, fun)

    def def_dce(self, dce_rule: F) -> F:
        """Give the rule, `(*static, used_outs, *args) -> results, or None in place of those not used`; returns it."""
        if not callable(dce_rule):
            raise TypeError(f"def_dce expects a function, got {dce_rule!r} of type {type(dce_rule).__name__}")
        self.dce_rule = dce_rule
        return dce_rule

    def __call__(self, *args: PyTree) -> PyTree:
        name, dce_rule = function_name(self.fun), self.dce_rule
        if dce_rule is None:
            raise AttributeError(f"custom_dce function {name} has no rule; give it one: @{name}.def_dce")
        count = len(args)
        positions = {position % count if count else position for position in self.static_argnums}
        static = [(position, args[position]) for position in sorted(positions)]
        dynamic = tuple([arg for position, arg in enumerate(args) if position not in positions])
        leaves, treedef = array_leaves(dynamic, f"custom_dce: of the arguments of {name}, the leaf at ")
        if thread.trace is EVAL_TRACE and not any([isinstance(leaf, Tracer) for leaf in leaves]):
            return self.fun(*args)
        return _call(self.fun, dce_rule, name, static, [as_operand(leaf) for leaf in leaves], treedef)


def _call(
    fun: Callable[..., object],
    dce_rule: Callable[..., object],
    name: str,
    static: Sequence[tuple[int, object]],
    operands: Sequence[Value],
    treedef: PyTreeDef,
) -> PyTree:
    out_tree: list[PyTreeDef] = []

    def flat(*values: Value) -> list[Value]:
        args = list(treedef.unflatten(values))
        for position, value in static:
            args.insert(position, value)
        outs, structure = returned_leaves(fun(*args), f"custom_dce: {name}")
        out_tree.append(structure)
        return outs

    avals = [operand.aval for operand in operands]
    jaxpr, consts = trace_to_jaxpr(flat, avals, name)
    whole = ClosedJaxpr(closed_over_as_arguments(jaxpr))
    structure, out_avals = out_tree[0], whole.out_avals
    what = f"the rule {function_name(dce_rule)!r} of the custom_dce function {name}"
    axes = thread.axis_environment

    def make(used: tuple[bool, ...]) -> ClosedJaxpr:
        def thinned(*values: Value) -> list[Value]:
            given = treedef.unflatten(values[len(consts) :])
            found = dce_rule(*[value for _, value in static], structure.unflatten(used), *given)
            return _used_results(what, structure, found, used, out_avals)

        with holding(axis_environment=axes):  # those of the call: it is thinned when its program is compiled
            program, closed_over = trace_to_jaxpr(thinned, whole.in_avals, function_name(dce_rule))
        return ClosedJaxpr(program, closed_over)

    outs = custom_dce_call_p.bind(*consts, *operands, jaxpr=whole, rule=PartRule(whole, name, make), name=name)
    return structure.unflatten([as_array(out) for out in outs])


def _used_results(
    what: str, structure: Any, found: object, used: Sequence[bool], out_avals: Sequence[ShapedArray]
) -> list[Value]:
    if isinstance(found, list) and structure.node_data() is not None and structure.node_data()[0] is tuple:
        found = tuple(found)
    try:
        leaves = leaves_or_none(structure, found)
    except (TypeError, ValueError):
        treedef = tree.structure(found)
        raise TypeError(
            f"{what} must return the structure that the function returns, {structure}, got {treedef}"
            + lines_of(structure, treedef)
        ) from None
    outs = []
    for position, (leaf, is_used, expected) in enumerate(zip(leaves, used, out_avals, strict=True)):
        if not is_used:
            continue
        where = f"{what} returned, as output {position}{place(structure, position)},"
        if leaf is None or not is_array_value(leaf):
            raise TypeError(f"{where} {leaf!r}, but that output is used: expected {expected.str_short()}")
        value = as_operand(leaf)
        if value.aval.shape != expected.shape or value.aval.dtype != expected.dtype:
            raise TypeError(f"{where} {value.aval.str_short()}, but the function returns {expected.str_short()}")
        outs.append(value)
    return outs


def chosen(values: Iterable[T], flags: Iterable[bool]) -> list[T]:
    """The values whose flag is set."""
    return [value for value, flag in zip(values, flags, strict=True) if flag]


def merged(flags: Sequence[bool], used: Sequence[bool]) -> tuple[bool, ...]:
    """The flags, those that are set replaced by `used` in order."""
    remaining = iter(used)
    return tuple([flag and next(remaining) for flag in flags])


def with_outputs(program: ClosedJaxpr, used: Sequence[bool]) -> ClosedJaxpr:
    """The program with the outputs that are used alone."""
    return ClosedJaxpr(program.jaxpr.replace(outvars=chosen(program.jaxpr.outvars, used)), program.consts)
