"""Calls of every function of `lax` and `lax.linalg`. The operands: see `calls_numpy`."""

from .calls_numpy import families

UNARY = """
    abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil clz conj cos cosh digamma erf erf_inv
    erfc exp exp2 expm1 floor imag is_finite lgamma log log1p logistic neg population_count real reciprocal round rsqrt sign
    sin sinh sqrt square tan tanh stop_gradient optimization_barrier full_like_ones
"""
BINARY = """
    add atan2 bitwise_and bitwise_or bitwise_xor complex div eq ge gt igamma igamma_grad_a igammac le lt max min mul mulhi ne
    nextafter pow random_gamma_grad rem shift_left shift_right_arithmetic shift_right_logical sub polygamma zeta
"""
REDUCED = "cumlogsumexp cummax cummin cumprod cumsum"
REDUCTIONS = "reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor"
SCATTERS = "scatter scatter_add scatter_max scatter_min scatter_mul scatter_sub"
_GATHER = "lax.GatherDimensionNumbers((), (0,), (0,))"
_SCATTER = "lax.ScatterDimensionNumbers((), (0,), (0,))"
OTHERS = [
    *("lax.argmax(v, 0, 'int32')", "lax.argmin(v, 0, int)", "lax.approx_max_k(v, 2)", "lax.approx_min_k(v, 2)", "lax.associative_scan(lambda a, b: a + b, v)", "lax.batch_matmul(t, np.swapaxes(t, 1, 2))"),
    *("lax.betainc(x, x, x)", "lax.bitcast_convert_type(v, 'uint8')", "lax.bitcast_convert_type(v, v.dtype)", "lax.broadcast(x, (2,))", "lax.broadcast_in_dim(v, (2, 3), (1,))", "lax.broadcast_like(x, m)"),
    *("lax.broadcast_shapes((1, 3), (2, 1))", "lax.broadcast_to_rank(x, 3)", "lax.broadcasted_iota(v.dtype, (2, 3), 1)", "lax.clamp(x, v, x)", "lax.clamp(0, v, 2)", "lax.clamp(v, v, v)", "lax.collapse(m, 0)"),
    *("lax.concatenate([v, w], 0)", "lax.concatenate([v, v], 0)", "lax.cond(True, lambda a: a, lambda a: a + a, x)", "lax.conv(t, t[:1], (1,), 'SAME')", "lax.conv_general_dilated(t, t[:1], (1,), 'SAME')", "lax.conv_general_dilated_local(t, np.ones((1, 9, 4), v.dtype), (1,), 'SAME', (3,))"),
    *("lax.conv_general_dilated_patches(t, (2,), (1,), 'SAME')", "lax.conv_transpose(t, np.ones((2, 3, 1), v.dtype).swapaxes(1, 2)[:, :, :1].repeat(4, 1), (1,), 'SAME')", "lax.conv_with_general_padding(t, t[:1], (1,), ((0, 0),), None, None)"),
    *("lax.convert_element_type(x, 'float32')", "lax.convert_element_type(x, 'int8')", "lax.convert_element_type(x, 'bfloat16')", "lax.convert_element_type(x, float)", "lax.convert_element_type(x, int)", "lax.dot(v, w)", "lax.dot(m, m, preferred_element_type='float32')", "lax.dot_general(m, m, (((1,), (0,)), ((), ())))"),
    *("lax.dtype(x)", "lax.dynamic_index_in_dim(v, 1)", "lax.dynamic_slice(m, (0, 1), (2, 2))", "lax.dynamic_slice_in_dim(v, 1, 2)", "lax.dynamic_update_index_in_dim(v, x, 1, 0)", "lax.dynamic_update_index_in_dim(v, v[0], 1, 0)", "lax.dynamic_update_slice(v, w[:2], (1,))", "lax.dynamic_update_slice_in_dim(v, w[:2], 1, 0)"),
    *("lax.empty((2,), v.dtype)", "lax.expand_dims(x, (0,))", "lax.fft(v, 'fft', (3,))", "lax.fft(v, 'rfft', (3,))", "lax.fft(v, 'irfft', (3,))", "lax.fori_loop(0, 3, lambda i, a: a, x)", "lax.fori_loop(0, 3, lambda i, a: i, 0)", "lax.fori_loop(0, k[1], lambda i, a: a + a, v)"),
    *("lax.full((2,), x)", "lax.full((2,), x, 'bfloat16')", "lax.full_like(x, y)", "lax.full_like(v, 2)", "lax.full_like(x, 2, 'float32')", "lax.full_like(x, 2, shape=(3,))", f"lax.gather(v, k[:, None], {_GATHER}, (1,))", "lax.index_in_dim(v, 1)", "lax.index_take(m, (k,), (0,))", "lax.integer_pow(x, 2)", "lax.integer_pow(x, -1)", "lax.integer_pow(x, 0)"),
    *("lax.iota(v.dtype, 3)", "lax.iota(int, 3)", "lax.map(lambda a: a + a, v)", "lax.map(lambda a: a * 2, v)", "lax.pad(v, v[0], ((1, 1, 0),))", "lax.pad(v, x, ((1, 1, 0),))", "lax.ragged_dot(m, t[:, :, :3] if False else np.stack([m, m]), k[:2])"),
    *("lax.reduce(v, v[0], lax.add, (0,))", "lax.reduce(v, x, lax.add, (0,))", "lax.reduce(m, np.zeros((), v.dtype), lambda a, b: a + b, (0,))", "lax.reduce_precision(x, 5, 3)", "lax.reduce_window(v, x, lax.add, (2,), (1,), 'SAME')", "lax.reduce_window(v, v[0], lax.max, (2,), (1,), 'SAME')"),
    *("lax.reshape(x, (1, 1, -1))", "lax.reshape(m, (9,))", "lax.rev(v, (0,))", "lax.rng_bit_generator(np.zeros(4, 'uint32'), (3,), 'uint32')", "lax.scan(lambda c, a: (c, a + a), x, v)", "lax.scan(lambda c, a: (c, c), 0., v)", "lax.scan(lambda c, a: (c, 2.), v, k)", "lax.scan(lambda c, a: (c + a, a), v[0], v)"),
    *("lax.select(B, v, w)", "lax.select(True, x, x)", "lax.select_n(B, v, w)", "lax.shape_as_value((2, 3))", "lax.slice(m, (0, 0), (2, 2))", "lax.slice_in_dim(v, 0, 2)", "lax.sort(v)", "lax.sort((v, k))", "lax.sort_key_val(v, k)", "lax.split(v, (1, 2))", "lax.squeeze(v[None], (0,))"),
    *("lax.stack([v, w])", "lax.switch(1, [lambda a: a, lambda a: a + a], x)", "lax.tile(v, (2,))", "lax.top_k(v, 2)", "lax.transpose(m, (1, 0))", "lax.unstack(m)", "lax.while_loop(lambda a: False, lambda a: a, x)", "lax.while_loop(lambda a: (a[0] < 3), lambda a: (a[0] + 1, a[1]), (0, x))"),
    *("lax.composite(lambda a: a * 2, 'mine')(x)", "lax.platform_dependent(x, default=lambda a: a)", "lax.custom_root(lambda a: a - 1., .5, lambda f, a: a, lambda g, b: b)", "lax.custom_linear_solve(lambda a: a, v, lambda f, b: b)"),
    *("lax.reduce_window_shape_tuple((4,), (2,), (1,), ((0, 0),))", "lax.padtype_to_pads((4,), (2,), (1,), 'SAME')", "lax.conv_shape_tuple((1, 2, 4), (1, 2, 3), (1,), ((0, 0),))", "lax.conv_transpose_shape_tuple((1, 2, 4), (2, 1, 3), (1,), ((0, 0),))"),
    *("lax.conv_general_shape_tuple((1, 2, 4), (1, 2, 3), (1,), ((0, 0),), ('NCH', 'OIH', 'NCH'))", "lax.conv_general_permutations(('NCH', 'OIH', 'NCH'))", "lax.conv_dimension_numbers((1, 2, 4), (1, 2, 3), ('NCH', 'OIH', 'NCH'))"),
    *(f"lax.scatter_apply(v, k[:2, None], lambda a: a + a, {_SCATTER}, update_shape=(2,))", "lax.acos(x)", "lax.reduce_or(m > 0, (0,))", "lax.exp(x, accuracy=None)", "lax.ragged_dot_general(m, np.stack([m, m]), k[:2], lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]))"),
]  # fmt: skip
COLLECTIVES = [
    f"jax.vmap(lambda v: lax.{call}, axis_name='i')(m)"
    for call in (
        *("psum(v, 'i')", "pmean(v, 'i')", "pmax(v, 'i')", "pmin(v, 'i')", "all_gather(v, 'i')", "all_to_all(v, 'i', 0, 0)", "axis_index('i')", "axis_size('i')"),
        *("ppermute(v, 'i', [(0, 1)])", "pshuffle(v, 'i', [1, 2, 0])", "pswapaxes(v, 'i', 0)", "psum_scatter(v, 'i')", "pbroadcast(v, 'i', 0)", "psum(1, 'i')", "psum(2., 'i')", "pmean(1, 'i')"),
    )
]  # fmt: skip
LINALG = [
    *("lax.linalg.cholesky(m)", "lax.linalg.cholesky_update(m, v)", "lax.linalg.eig(m)", "lax.linalg.eigh(m)", "lax.linalg.hessenberg(m)", "lax.linalg.householder_product(m, v)", "lax.linalg.lu(m)", "lax.linalg.lu_pivots_to_permutation(k, 3)"),
    *("lax.linalg.ormqr(m, v, m)", "lax.linalg.qdwh(m)", "lax.linalg.qr(m)", "lax.linalg.schur(m)", "lax.linalg.svd(m)", "lax.linalg.symmetric_product(m, m)", "lax.linalg.triangular_solve(m, m)", "lax.linalg.tridiagonal(m)", "lax.linalg.tridiagonal_solve(v, v, v, m)"),
]  # fmt: skip
CALLS = [
    *families("lax.{}(x)", UNARY.replace("full_like_ones", "")),
    *families("lax.{}(x, y)", BINARY),
    *families("lax.{}(v)", REDUCED),
    *families("lax.{}(m, axis=1, reverse=True)", REDUCED),
    *families("lax.{}(m, (0,))", REDUCTIONS),
    *[f"lax.{name}(v, k[:, None], w, {_SCATTER})" for name in SCATTERS.split()],
    *OTHERS,
    *COLLECTIVES,
    *LINALG,
]
WITHOUT = {
    "lax": {
        "AccuracyMode ConvDimensionNumbers DotAlgorithm DotAlgorithmPreset DotDimensionNumbers FftType GatherScatterMode "
        "Precision RandomAlgorithm RoundingMethod Tolerance": "classes",
        "pcast ragged_all_to_all with_sharding_constraint stage": "need a mesh",
        "scaled_dot": "needs dtypes that NumPy does not compute with",
    },
    "lax.linalg": {"EigImplementation EighImplementation SvdAlgorithm": "classes"},
}  # fmt: skip
