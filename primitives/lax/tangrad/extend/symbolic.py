"""What other distributions may use of the symbolic dimensions of tangrad-lax, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._lax.symbolic.dimensions": "dimension_as_value_p",
        "tangrad._lax.symbolic.scopes": "parse_dimension SymbolicScope",
        "tangrad._lax.symbolic.shapes": "symbolic_shape",
        "tangrad._lax.symbolic.solving": (
            "Arithmetic evaluate evaluate_polynomial evaluate_shape INTEGERS Plan plan shape_text"
        ),
    },
)
