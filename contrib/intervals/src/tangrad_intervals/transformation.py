"""The transformation: a trace whose values are between two values of the trace below, and its rule kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import tangrad
from tangrad.core import (
    RuleKind,
    RuleTrace,
    RuleTracer,
    Tracer,
    Transformation,
    api_boundary,
    as_array,
    dtypes,
    rule_table,
    run_traced,
)
from tangrad.core.transformations import is_operand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from tangrad.core import Array, Primitive
    from tangrad.typing import ArrayLike, Params, PyTree, Value

    Pair: TypeAlias = tuple[Value, Value]  # bounds; one object twice: what is known exactly
    Pairs: TypeAlias = Sequence[Pair]
    Rule: TypeAlias = Callable[..., Pair]  # of one result
    Rules: TypeAlias = Callable[..., Pairs]  # of several

BOUNDS = rule_table("bounds")


class Bounded(RuleTracer):
    """A value between two values of the trace below: `value`, and what is `extra`."""

    __slots__ = ()

    def known(self) -> dict[str, Value]:
        """For `repr`: the bounds."""
        return {"low": self.value, "high": self.extra}


class BoundsTrace(RuleTrace, kind="bounds", own=Bounded):
    """Applies rules of the kind `bounds` where an operand has bounds."""

    __slots__ = ()
    absent = staticmethod(lambda value: value)  # both bounds of what is known exactly

    def bounds(self, value: Value) -> Pair:
        """The bounds of a value; of one that is known exactly, the value twice."""
        low, high = self.split(value)
        return low, low if high is None else high

    def apply(
        self, primitive: Primitive, values: list[Value], extras: list[Value], params: Params
    ) -> Value | tuple[Value, ...]:
        """The results between their bounds."""
        out = BOUNDS[primitive](list(zip(values, extras, strict=True)), **params)
        outs = out if primitive.multiple_results else (out,)
        if not isinstance(outs, (tuple, list)) or not all([_is_pair(one) for one in outs]):
            expected = "(low, high) for each result" if primitive.multiple_results else "two arrays (low, high)"
            raise TypeError(f"the bounds rule of {primitive.identity!r} returned {out!r}; expected {expected}")
        found = tuple([self.between(*pair) for pair in outs])
        return found if primitive.multiple_results else found[0]

    def between(self, low: Value, high: Value) -> Value:
        """A value between bounds; where they are one object, that."""
        return low if low is high else self.tracer(low, high)


def _is_pair(bounds: object) -> bool:
    return isinstance(bounds, (tuple, list)) and len(bounds) == 2 and all([is_operand(one) for one in bounds])


def run(function: Callable[..., Iterable[Value]], pairs: Pairs) -> list[Pair]:
    """The bounds of the flat results of a function of flat arguments between bounds."""

    def traced(trace: BoundsTrace) -> list[Pair]:
        return [trace.bounds(out) for out in function(*[trace.between(low, high) for low, high in pairs])]

    return run_traced(traced, BoundsTrace)


def _by_decomposition(primitive: Primitive) -> Callable[..., Pair | Pairs]:
    decompose = primitive.decompose
    assert decompose is not None  # or this is not asked for

    def rule(pairs: Pairs, **params: object) -> Pair | Pairs:
        def function(*args: Value) -> Sequence[Value]:
            out = decompose(*args, **params)
            return out if primitive.multiple_results else (out,)

        outs = run(function, pairs)
        return outs if primitive.multiple_results else outs[0]

    return rule


kind = RuleKind(
    "bounds",
    api=1,
    signature="(pairs, **params) -> (low, high)",
    doc="bounds of the result, given bounds (low, high) of the operands",
    derive=_by_decomposition,
    optional=True,  # not every operation has known bounds; `bounds` refuses such programs
)
intervals = Transformation("intervals", api=1, kinds=(kind,), doc="sound interval bounds")


@api_boundary
def bounds(fun: Callable[..., PyTree]) -> Callable[[Sequence[PyTree], Sequence[PyTree]], tuple[PyTree, PyTree]]:
    """What a function can return at least and at most, for arguments between bounds.

    Sound: for any arguments in between, each element of what `fun` would return in exact arithmetic, and of what it
    does return in floating point, is between the two results. Rounding errors are accounted for. Bounds are those
    of interval arithmetic: each operation is bounded by itself, so they may be wider than need be.

    Args:
        fun: a function of pytrees of arrays, made of operations with a rule of kind `bounds`, or that can be derived.

    Returns:
        `bounded(lows, highs)`, where both are tuples of arguments: the least and the greatest results. It may be
        jitted.

    Raises:
        TypeError: for bounds of different structures, and of complex numbers; ValueError: for different shapes or
            dtypes, and for an interval
            that is empty (a low bound above the high one, or NaN), where the bounds are known numbers;
            MissingRuleError: for an operation without a rule.
    """

    if not callable(fun):
        raise TypeError(f"bounds expects a function, got {fun!r} of type {type(fun).__name__}")

    def bounded(lows: Sequence[PyTree], highs: Sequence[PyTree]) -> tuple[PyTree, PyTree]:
        for given in (lows, highs):
            if not isinstance(given, (tuple, list)):
                raise TypeError(f"lower and upper bounds are tuples of arguments, got {given!r}")
        low_leaves, treedef = tangrad.tree.flatten(tuple(lows))
        high_leaves, high_tree = tangrad.tree.flatten(tuple(highs))
        if treedef != high_tree:
            raise TypeError(f"lower and upper bounds must have one structure, got {treedef} and {high_tree}")
        pairs = [_pair(low, high, number) for number, (low, high) in enumerate(zip(low_leaves, high_leaves))]
        out_tree = []

        def flat(*args: Value) -> list[Value]:
            leaves, structure = tangrad.tree.flatten(fun(*treedef.unflatten(args)))
            out_tree.append(structure)
            return leaves

        outs = run(flat, pairs)
        low, high = [out_tree[0].unflatten([as_array(pair[side]) for pair in outs]) for side in (0, 1)]
        return low, high

    return bounded


def _pair(low: ArrayLike, high: ArrayLike, number: int) -> tuple[Array, Array]:
    if low is high:  # known exactly
        known = as_array(low)
        return known, known
    low, high = as_array(low), as_array(high)
    if low.shape != high.shape or low.dtype != high.dtype:
        raise ValueError(f"the bounds of leaf {number} are of types {low.aval.str_short()} and {high.aval.str_short()}")
    if dtypes.issubdtype(low.dtype, numpy.complexfloating):
        raise TypeError(
            f"the bounds of leaf {number} are of type {low.aval.str_short()}: complex numbers have no order"
        )
    if not any(isinstance(one, Tracer) for one in (low, high)) and not bool((low <= high).all()):
        raise ValueError(
            f"the interval of leaf {number} is empty: somewhere its low bound is above its high one, or NaN"
        )
    return low, high
