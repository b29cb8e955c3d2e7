"""Interval bounds of what a function can return: the trace, the rule kind, and the function that users call."""

from tangrad import tree
from tangrad.core import (
    RuleKind,
    Trace,
    Tracer,
    Transformation,
    as_array,
    current_trace,
    rule_table,
    set_current_trace,
)

INTERVAL = rule_table("interval")


class Bounded(Tracer):
    """A value between two values of the trace below."""

    __slots__ = ("high", "low")

    def __init__(self, trace, low, high):
        self._trace, self.aval, self.low, self.high = trace, low.aval, low, high


class IntervalTrace(Trace):
    """Applies interval rules where an operand has bounds."""

    __slots__ = ("parent",)

    def __init__(self, parent):
        super().__init__()
        self.parent = parent

    def bounds(self, value):
        if isinstance(value, Bounded) and value._trace is self:
            return value.low, value.high
        return value, value

    def process_primitive(self, primitive, args, params):
        with set_current_trace(self.parent):
            if not any(isinstance(arg, Bounded) and arg._trace is self for arg in args):
                return primitive.bind(*args, **params)
            out = INTERVAL[primitive]([self.bounds(arg) for arg in args], **params)
        if primitive.multiple_results:
            return tuple(Bounded(self, low, high) for low, high in out)
        return Bounded(self, *out)


def run(function, bounds):
    """Flat results, as pairs, of a function of flat arguments between bounds."""
    trace = IntervalTrace(current_trace())
    with set_current_trace(trace):
        outs = function(*[Bounded(trace, low, high) for low, high in bounds])
        return [trace.bounds(out) for out in outs]


def by_decomposition(primitive):
    def rule(bounds, **params):
        def function(*args):
            out = primitive.decompose(*args, **params)
            return out if primitive.multiple_results else (out,)

        out = run(function, bounds)
        return out if primitive.multiple_results else out[0]

    return rule


interval = RuleKind(
    "interval",
    api=1,
    signature="(bounds, **params) -> (low, high)",
    doc="bounds of the result, given bounds (low, high) of the operands",
    derive=by_decomposition,
)
intervals = Transformation("intervals", api=1, kinds=(interval,), doc="interval bounds")


def interval_bounds(fun):
    """A function from lower and upper bounds of the arguments of `fun` to those of its result."""

    def bounded(lows, highs):
        low_leaves, treedef = tree.flatten(tuple(lows))
        high_leaves, high_tree = tree.flatten(tuple(highs))
        if treedef != high_tree:
            raise TypeError(f"lower and upper bounds must have one structure, got {treedef} and {high_tree}")
        out_tree = []

        def flat(*args):
            leaves, structure = tree.flatten(fun(*treedef.unflatten(args)))
            out_tree.append(structure)
            return leaves

        pairs = [(as_array(low), as_array(high)) for low, high in zip(low_leaves, high_leaves, strict=True)]
        outs = run(flat, pairs)
        return tuple(out_tree[0].unflatten([as_array(pair[side]) for pair in outs]) for side in (0, 1))

    return bounded
