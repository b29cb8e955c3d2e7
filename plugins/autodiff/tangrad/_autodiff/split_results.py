"""What rules of the kinds `linearize` and `partial_eval` return: a call in two parts, known and linear or unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tangrad.core import ClosedJaxpr
    from tangrad.typing import Values


class Linearized:
    """What a `linearize` rule returns.

    Attributes:
        primals_out: the results of the primitive.
        residuals: what the linear part needs of the primals.
        linear_jaxpr: closed jaxpr `(*residuals, *active tangents) -> tangents of the outputs that have one`.
        nonzero: for each output, whether it has a tangent; None: all have.
    """

    __slots__ = ("linear_jaxpr", "nonzero", "primals_out", "residuals")

    def __init__(self, primals_out: Values, residuals: Values, linear_jaxpr: ClosedJaxpr, nonzero: Any = None) -> None:
        self.primals_out = primals_out
        self.residuals = residuals
        self.linear_jaxpr = linear_jaxpr
        self.nonzero = nonzero


class PartialEval:
    """What a `partial_eval` rule returns; None in its place says that every output depends on the unknowns.

    Attributes:
        known_outs: for each output, its value, or None where it is unknown.
        residuals: what the unknown part needs of the known one.
        unknown_equation: an equation (primitive and params count) that takes `(*residuals, *unknown args)` and returns
            the unknown outputs in order, or all outputs; None where all outputs are known.
        operands: the operands of that equation, where their order is another one.
    """

    __slots__ = ("known_outs", "operands", "residuals", "unknown_equation")

    def __init__(self, known_outs: Any, residuals: Any, unknown_equation: Any, operands: Any = None) -> None:
        self.known_outs = known_outs
        self.residuals = residuals
        self.unknown_equation = unknown_equation
        self.operands = operands
