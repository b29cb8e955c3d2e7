# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._custom_rules.checkpoint.division import Recomputation as Recomputation
from tangrad._custom_rules.checkpoint.primitives import (
    name_p as name_p,
    remat_p as remat_p,
)
from tangrad._custom_rules.composites import composite_p as composite_p
from tangrad._custom_rules.forward import custom_jvp as custom_jvp
from tangrad._custom_rules.linear_solves import custom_linear_solve as custom_linear_solve
from tangrad._custom_rules.primitives import custom_vjp_call_p as custom_vjp_call_p
from tangrad._custom_rules.reverse import custom_vjp as custom_vjp
from tangrad._custom_rules.solves import custom_linear_solve_p as custom_linear_solve_p

__all__ = [
    "Recomputation",
    "composite_p",
    "custom_jvp",
    "custom_linear_solve",
    "custom_linear_solve_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "name_p",
    "remat_p",
]
