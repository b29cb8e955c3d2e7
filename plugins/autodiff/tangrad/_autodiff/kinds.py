"""The rule kinds that autodiff owns, and itself as a plugin."""

from __future__ import annotations

from tangrad._autodiff.forward import jvp_by_decomposition
from tangrad._autodiff.programs import transpose_by_decomposition
from tangrad._autodiff.tangents import JVP_FORMS, adapt_jvp_rule
from tangrad._autodiff.transpose_rules import TRANSPOSE_FORMS
from tangrad.core import RuleKind, Transformation

jvp = RuleKind(
    "jvp",
    api=1,
    signature="(primals, tangents, **params) -> (primals_out, tangents_out)",
    doc="the derivative in a direction",
    derive=jvp_by_decomposition,
    forms=JVP_FORMS,
    adapt=adapt_jvp_rule,
)
transpose = RuleKind(
    "transpose",
    api=1,
    signature="(cotangents, *args, **params) -> a tuple with a cotangent or None per argument",
    doc="the transpose of a primitive that is linear in some arguments, which are Linear(aval) placeholders",
    derive=transpose_by_decomposition,
    forms=TRANSPOSE_FORMS,
)
linearize = RuleKind(
    "linearize",
    api=1,
    signature="(primals, active, **params) -> Linearized(primals_out, residuals, linear_jaxpr, nonzero)",
    doc="evaluates a call and returns its linear part as a jaxpr",
    optional=True,
)
partial_eval = RuleKind(
    "partial_eval",
    api=1,
    signature="(known, args, **params) -> PartialEval(known_outs, residuals, unknown_equation, operands) or None",
    doc="computes of a call with known and unknown arguments what is known",
    optional=True,
)
autodiff = Transformation(
    "autodiff",
    api=1,
    kinds=(jvp, transpose, linearize, partial_eval),
    doc="derivatives, forward (jvp) and reverse (vjp, grad)",
)
