"""What functions do with their arguments: sizes, which may be symbolic, and objects that represent arrays."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.dtypes.arguments": (
            "as_size can_represent_array first_symbolic is_symbolic max_size min_size product represented_array "
            "SymbolicDimension"
        ),
        "tangrad._core.kernel.aval": "canonicalize_shape",
    },
)
