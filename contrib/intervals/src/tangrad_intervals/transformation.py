"""The transformation: a trace whose values are between two values of the trace below, and its rule kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    from collections.abc import Callable

    from tangrad.typing import PyTree

BOUNDS = rule_table("bounds")


class Bounded(RuleTracer):
    """A value between two values of the trace below: `value`, and what is `extra`."""

    __slots__ = ()

    def known(self) -> dict[str, Any]:
        """For `repr`: the bounds."""
        return {"low": self.value, "high": self.extra}


class BoundsTrace(RuleTrace, kind="bounds", own=Bounded):
    """Applies rules of the kind `bounds` where an operand has bounds."""

    __slots__ = ()
    absent = staticmethod(lambda value: value)  # both bounds of what is known exactly

    def bounds(self, value: Any) -> tuple[Any, Any]:
        """The bounds of a value; of one that is known exactly, the value twice."""
        low, high = self.split(value)
        return low, low if high is None else high

    def apply(self, primitive: Any, values: list[Any], extras: list[Any], params: dict[str, Any]) -> Any:
        """The results between their bounds."""
        out = BOUNDS[primitive](list(zip(values, extras, strict=True)), **params)
        outs = out if primitive.multiple_results else (out,)
        if not isinstance(outs, (tuple, list)) or not all([_is_pair(one) for one in outs]):
            expected = "(low, high) for each result" if primitive.multiple_results else "two arrays (low, high)"
            raise TypeError(f"the bounds rule of {primitive.identity!r} returned {out!r}; expected {expected}")
        found = tuple([self.between(*pair) for pair in outs])
        return found if primitive.multiple_results else found[0]

    def between(self, low: Any, high: Any) -> Any:
        """A value between bounds; where they are one object, that."""
        return low if low is high else self.tracer(low, high)


def _is_pair(bounds: Any) -> bool:
    return isinstance(bounds, (tuple, list)) and len(bounds) == 2 and all([is_operand(one) for one in bounds])


def run(function: Any, pairs: Any) -> list[tuple[Any, Any]]:
    """The bounds of the flat results of a function of flat arguments between bounds."""

    def traced(trace: BoundsTrace) -> list[tuple[Any, Any]]:
        return [trace.bounds(out) for out in function(*[trace.between(low, high) for low, high in pairs])]

    return run_traced(traced, BoundsTrace)


def _by_decomposition(primitive: Any) -> Any:
    def rule(pairs: Any, **params: Any) -> Any:
        def function(*args: Any) -> Any:
            out = primitive.decompose(*args, **params)
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
def bounds(fun: Any) -> Callable[..., PyTree]:
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

    def bounded(lows: Any, highs: Any) -> Any:
        for given in (lows, highs):
            if not isinstance(given, (tuple, list)):
                raise TypeError(f"lower and upper bounds are tuples of arguments, got {given!r}")
        low_leaves, treedef = tangrad.tree.flatten(tuple(lows))
        high_leaves, high_tree = tangrad.tree.flatten(tuple(highs))
        if treedef != high_tree:
            raise TypeError(f"lower and upper bounds must have one structure, got {treedef} and {high_tree}")
        pairs = [_pair(low, high, number) for number, (low, high) in enumerate(zip(low_leaves, high_leaves))]
        out_tree = []

        def flat(*args: Any) -> Any:
            leaves, structure = tangrad.tree.flatten(fun(*treedef.unflatten(args)))
            out_tree.append(structure)
            return leaves

        outs = run(flat, pairs)
        low, high = [out_tree[0].unflatten([as_array(pair[side]) for pair in outs]) for side in (0, 1)]
        return low, high

    return bounded


def _pair(low: Any, high: Any, number: int) -> tuple[Any, Any]:
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
