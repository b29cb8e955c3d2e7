"""Dtypes as users ask about them: limits, kinds, promotion."""

from tangrad._core.composition.doors import door
from tangrad._core.dtypes.objects import narrow_type

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.diagnostics.errors": "TypePromotionError",
        "tangrad._core.dtypes.objects": (
            "as_dtype canonicalize_dtype extended ExtendedDType finfo float0 iinfo issubdtype itemsize_bits prng_key"
        ),
        "tangrad._core.dtypes.promotion": "promote_types result_type scalar_type_of",
    },
    otherwise=narrow_type,
)
