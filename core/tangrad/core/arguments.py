"""What functions do with their arguments: sizes, which may be symbolic, and objects that represent arrays."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.dtypes.conversions": "can_represent_array represented_array",
        "tangrad._core.dtypes.sizes": "as_size first_symbolic is_symbolic max_size min_size product SymbolicDimension",
        "tangrad._core.kernel.aval": "canonicalize_shape",
    },
)
