"""What other distributions may use of tangrad-symbolic, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._symbolic.evaluation": "Arithmetic INTEGERS evaluate evaluate_polynomial evaluate_shape",
        "tangrad._symbolic.parsing": "parse_dimension",
        "tangrad._symbolic.primitives": "dimension_as_value_p",
        "tangrad._symbolic.scopes": "SymbolicScope",
        "tangrad._symbolic.shapes": "symbolic_shape",
        "tangrad._symbolic.solving": "Plan plan shape_text",
    },
)
