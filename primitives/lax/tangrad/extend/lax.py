"""What other distributions may use of tangrad-lax, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._lax.checks": (
            "ANY FLOATING INEXACT INTEGER NUMERIC canonical_axis check_axes check_dtype check_int nary unary"
        ),
        "tangrad._lax.contractions.functions": "dot_general",
        "tangrad._lax.contractions.precision": (
            "DotAlgorithmPreset Precision algorithm_dtypes algorithm_parts canonicalize_precision "
            "check_cpu_algorithm is_algorithm"
        ),
        "tangrad._lax.contractions.primitives": (
            "BATCH CONTRACTING DotDimensionNumbers dot_general_p free_axes layout ragged_dot_general_p"
        ),
        "tangrad._lax.control_flow.conditionals": "cond switch",
        "tangrad._lax.control_flow.evaluation": "branch_of_platform",
        "tangrad._lax.control_flow.loops": "fori_loop while_loop",
        "tangrad._lax.control_flow.primitives": "cond_p platform_dependent_p scan_p split_list while_p",
        "tangrad._lax.control_flow.programs": "counted_condition counters sums without_invariants",
        "tangrad._lax.control_flow.repeated_windows": "MOST_ROUNDS ranks_of",
        "tangrad._lax.control_flow.scans": "scan",
        "tangrad._lax.decompositions.functions": "eig eigh hessenberg lu lu_pivots_to_permutation ormqr qr schur svd",
        "tangrad._lax.decompositions.primitives": (
            "eig_p eigh_p geqp3_p geqrf_p hessenberg_p householder_product_p lu_p "
            "lu_pivots_to_permutation_p qr_p schur_p svd_p tridiagonal_p"
        ),
        "tangrad._lax.decompositions.systems": (
            "determinant_p log_determinant_p pseudoinverse_p solve_by_factors solve_p tridiagonal_solve_p"
        ),
        "tangrad._lax.definitions": "Definition declare definitions",
        "tangrad._lax.elementwise.functions.analytic": "exp expm1 log log1p logistic rsqrt sqrt tan tanh",
        "tangrad._lax.elementwise.functions.arithmetic": "abs add div integer_pow max min mul neg pow rem sign sub",
        "tangrad._lax.elementwise.functions.bits": (
            "bitwise_and bitwise_not bitwise_or clz eq ge gt le lt ne shift_left shift_right_logical"
        ),
        "tangrad._lax.elementwise.functions.selection": (
            "bitcast_convert_type ceil clamp complex convert_element_type floor nextafter select"
        ),
        "tangrad._lax.elementwise.primitives": (
            "RoundingMethod abs_p acos_p acosh_p add_p and_p asin_p asinh_p atan2_p atan_p atanh_p "
            "bitcast_convert_type_p cbrt_p ceil_p clamp_p clz_p complex_p conj_p convert_element_type_p "
            "cos_p cosh_p div_p elementwise eq_p eq_to_p exp2_p exp_p expm1_p floor_p ge_p gt_p imag_p "
            "integer_pow_p is_finite_p le_p le_to_p log10_p log1p_p log2_p log_p logistic_p lt_p lt_to_p "
            "max_p min_p mul_p mulhi_p ne_p neg_p nextafter_p not_p or_p population_count_p pow_p real_p "
            "reduce_precision_p rem_p round_p rsqrt_p select_n_p shift_left_p shift_right_arithmetic_p "
            "shift_right_logical_p sign_p sin_p sinh_p sqrt_p square_p sub_p tan_p tanh_p xor_p"
        ),
        "tangrad._lax.indexing.functions": "gather index_take",
        "tangrad._lax.indexing.primitives": (
            "GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers gather_p scatter_add_p "
            "scatter_max_p scatter_min_p scatter_mul_p scatter_p scatter_sub_p window_sizes"
        ),
        "tangrad._lax.linalg.functions": "cholesky triangular_solve",
        "tangrad._lax.linalg.primitives": "adjoint cholesky_p cholesky_update_p triangular_solve_p",
        "tangrad._lax.operands": "float0_zeros operand size_operand",
        "tangrad._lax.placement.functions": "device_put",
        "tangrad._lax.placement.primitives": (
            "constrained device_put_p is_device place_of sharded_call sharding_of takes_out_sharding with_plain_type"
        ),
        "tangrad._lax.reductions.functions": "argmax cummax cummin cumsum reduce_max reduce_or reduce_sum",
        "tangrad._lax.reductions.primitives": (
            "argmax_p argmin_p cumlogsumexp_p cummax_p cummin_p cumprod_p cumsum_p greatest identities least "
            "reduce_and_p reduce_max_p reduce_min_p reduce_or_p reduce_p reduce_prod_p reduce_sum_p "
            "reduce_xor_p zero"
        ),
        "tangrad._lax.sorting.functions": "sort_key_val top_k",
        "tangrad._lax.sorting.primitives": "halve search_sorted_p sort_p top_k_p",
        "tangrad._lax.special.coefficients": (
            "BESSEL_I0_FAR BESSEL_I0_NEAR BESSEL_I1_FAR BESSEL_I1_NEAR DIGAMMA_NEAR_2 DIGAMMA_TAIL "
            "EULER_MACLAURIN HALF_LOG_2PI NEAR_2 STIRLING STIRLING_FROM"
        ),
        "tangrad._lax.special.functions": "erf erf_inv lgamma random_gamma_grad",
        "tangrad._lax.special.incomplete": "betainc gamma_sample_gradient igamma igamma_grad_a igammac",
        "tangrad._lax.special.primitives": (
            "bessel_i0e_p bessel_i1e_p digamma_p erf_inv_p erf_p erfc_p igamma_grad_a_p igamma_p igammac_p "
            "lgamma_p polygamma_p random_gamma_grad_p regularized_incomplete_beta_p special zeta_p"
        ),
        "tangrad._lax.structure.functions.creation": "broadcasted_iota full full_like iota stop_gradient",
        "tangrad._lax.structure.functions.parts": (
            "dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_slice index_in_dim "
            "slice_in_dim unstack"
        ),
        "tangrad._lax.structure.functions.shapes": "broadcast_in_dim broadcast_shapes expand_dims reshape squeeze",
        "tangrad._lax.structure.primitives": (
            "broadcast_in_dim_p concatenate_p copy_p dynamic_slice_p dynamic_update_slice_p iota_p "
            "optimization_barrier_p pad_p reshape_p rev_p slice_p split_p squeeze_p stop_gradient_p "
            "transpose_p"
        ),
        "tangrad._lax.windows.convolutions": "conv_general_dilated",
        "tangrad._lax.windows.primitives": (
            "conv_general_dilated_p reduce_window_max_p reduce_window_min_p reduce_window_p "
            "reduce_window_sum_p select_and_gather_add_p select_and_scatter_add_p"
        ),
    },
)
