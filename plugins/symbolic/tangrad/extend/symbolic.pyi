# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._symbolic.evaluation import (
    Arithmetic as Arithmetic,
    INTEGERS as INTEGERS,
    evaluate as evaluate,
    evaluate_polynomial as evaluate_polynomial,
    evaluate_shape as evaluate_shape,
)
from tangrad._symbolic.parsing import parse_dimension as parse_dimension
from tangrad._symbolic.primitives import dimension_as_value_p as dimension_as_value_p
from tangrad._symbolic.scopes import SymbolicScope as SymbolicScope
from tangrad._symbolic.shapes import symbolic_shape as symbolic_shape
from tangrad._symbolic.solving import (
    Plan as Plan,
    plan as plan,
    shape_text as shape_text,
)

__all__ = [
    "Arithmetic",
    "INTEGERS",
    "Plan",
    "SymbolicScope",
    "dimension_as_value_p",
    "evaluate",
    "evaluate_polynomial",
    "evaluate_shape",
    "parse_dimension",
    "plan",
    "shape_text",
    "symbolic_shape",
]
