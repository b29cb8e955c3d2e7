"""What other distributions may use of tangrad-numpy, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._numpy.analytic": "sqrt",
        "tangrad._numpy.arithmetic": "abs divide floor_divide minimum multiply power remainder sign",
        "tangrad._numpy.axes": "matrix_transpose swapaxes",
        "tangrad._numpy.conversion": "asarray placed stacked",
        "tangrad._numpy.creation": "zeros zeros_like",
        "tangrad._numpy.dtype_functions": "finfo",
        "tangrad._numpy.fusing": "Fused as_one",
        "tangrad._numpy.joining": "concatenate",
        "tangrad._numpy.linear_systems": "det inv SlogdetResult solve",
        "tangrad._numpy.matrices": "diagonal tril triu",
        "tangrad._numpy.matrix_factors": (
            "cholesky eigh EighResult EigResult inexact_matrix norm qr QRResult square_matrix svd SVDResult"
        ),
        "tangrad._numpy.nan_reductions": "nanmax nanmin",
        "tangrad._numpy.numerical": "convolve correlate interpolation",
        "tangrad._numpy.operands": (
            "array_operand broadcast_all broadcast_shape canonical_axes canonical_axis canonical_shape cast "
            "check_array_like convert index_argument is_complex is_kind promote promote_inexact promote_numeric strong "
            "user_dtype"
        ),
        "tangrad._numpy.padding": "pad",
        "tangrad._numpy.products": "matmul",
        "tangrad._numpy.ranges": "arange eye",
        "tangrad._numpy.reduced_axes": "split_names",
        "tangrad._numpy.reductions": "max sum",
        "tangrad._numpy.rounding": "ceil copysign fmax fmin heaviside trunc",
        "tangrad._numpy.searching": "searchsorted unravel_index",
        "tangrad._numpy.selection": "where",
        "tangrad._numpy.set_operations": "isin",
        "tangrad._numpy.sets": "UniqueAll UniqueCounts UniqueInverse",
        "tangrad._numpy.settings": "check_dtypes check_promotion check_rank_promotion shape_of",
        "tangrad._numpy.shapes": "broadcast_to",
        "tangrad._numpy.tiling": "repeat roll",
        "tangrad._numpy.transcendental": "hypot log2 logaddexp logaddexp2",
    },
)
