"""The types of array elements: 32-bit by default, weak Python scalars, bfloat16 and float8, float0, typed keys."""

from tangrad._core.composition.doors import door
from tangrad._core.dtypes.objects import narrow_type

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.diagnostics.errors": "TypePromotionError",
        "tangrad._core.diagnostics.source_info": "written_by_user",
        "tangrad._core.dtypes.objects": (
            "as_dtype bit_width bool_ canonicalize_dtype check_user_dtype_supported complex_ "
            "default_complex_dtype default_float_dtype default_int_dtype default_uint_dtype DType dtype_name "
            "extended ExtendedDType finfo float0 float_ iinfo int_ issubdtype narrow_dtype NARROW_NAMES "
            "on_x64_change prng_key python_scalar_dtypes short_name to_complex_dtype to_floating_dtype "
            "to_inexact_dtype to_numeric_dtype uint user_stack_level"
        ),
        "tangrad._core.dtypes.promotion": (
            "check_integer_fits dtype_of is_weakly_typed lattice_result_type promote_pair "
            "promote_types result_type scalar_type_of"
        ),
    },
    otherwise=narrow_type,
)
