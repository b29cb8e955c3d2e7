"""What other distributions may use of tangrad-custom-rules, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._custom_rules.checkpoint.division": "Recomputation",
        "tangrad._custom_rules.checkpoint.primitives": "name_p remat_p",
        "tangrad._custom_rules.composites": "Attributes composite_p",
        "tangrad._custom_rules.forward": "custom_jvp",
        "tangrad._custom_rules.primitives": "custom_vjp_call_p",
        "tangrad._custom_rules.reverse": "custom_vjp",
        "tangrad._custom_rules.solves": "custom_linear_solve custom_linear_solve_p",
    },
)
