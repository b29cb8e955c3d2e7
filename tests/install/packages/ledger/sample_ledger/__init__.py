"""How many numbers a program computes; the rules are for any family of any distribution.

The module is the hook object.
"""

import math

import numpy

from tangrad.core import RuleKind, RuleSet, ShapedArray, hookimpl, rule_table, trace_to_closed_jaxpr

cost = RuleKind("cost", api=1, signature="(equation) -> int", doc="how many numbers an equation computes")


def cost_of(function):
    """A function of the same arguments that returns how many numbers `function` would compute."""

    def counted(*args):
        avals = [ShapedArray(numpy.shape(arg), numpy.dtype(numpy.float32)) for arg in args]
        program = trace_to_closed_jaxpr(lambda *xs: [function(*xs)], avals)
        return sum(rule_table("cost")[equation.primitive](equation) for equation in program.jaxpr.eqns)

    return counted


def by_results(equation):
    """One for each element of each result."""
    return sum(math.prod(var.aval.shape) for var in equation.outvars)


@hookimpl
def tangrad_rules(kind, primitives):
    """Answer for one kind alone; for all others this hook has nothing to say."""
    if kind != "cost":
        return None
    rules = RuleSet("cost", api=1)
    for primitive in primitives:
        rules.add(primitive, by_results)
    return rules
