"""Data of `catalogue.py`. Written by `python -m tools.generate_api`: do not edit."""

PUBLIC: dict[str, dict[str, str]] = {  # distribution: module: public names
    "tangrad-autodiff": {
        "ad": "DidntWant DontWant GradRef GradValue NotNeeded NotSaveable VJP",
        "": "grad jvp linear_transpose linearize value_and_grad vjp",
    },
    "tangrad-backend-xla": {
        "cache": "disable enable",
    },
    "tangrad-batching": {
        "": "vmap",
    },
    "tangrad-checkify": {
        "experimental.checkify": (
            "Error ErrorCategory JaxRuntimeError all_checks automatic_checks check check_error checkify debug_check "
            "div_checks float_checks index_checks init_error nan_checks user_checks"
        ),
    },
    "tangrad-collectives": {
        "lax": (
            "all_gather all_to_all axis_index axis_size pbroadcast pcast pdot pmax pmean pmin ppermute pshuffle psum "
            "psum_scatter pswapaxes pvary ragged_all_to_all"
        ),
    },
    "tangrad-console": {
        "": "print_environment_info",
    },
    "tangrad-core": {
        "": (
            "Array Device block_until_ready check_tracer_leaks checking_leaks clear_caches config copy_to_host_async "
            "debug_infs debug_nans default_backend default_device device_count device_get devices dtypes "
            "effects_barrier enable_checks enable_x64 errors float0 local_device_count local_devices log_compiles "
            "named_call named_scope numpy_dtype_promotion process_count process_index process_indices transfer_guard "
            "transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device typeof typing "
            "use_backend"
        ),
        "experimental": "disable_x64 enable_x64",
    },
    "tangrad-custom-rules": {
        "": (
            "checkpoint checkpoint_policies closure_convert custom_gradient custom_jvp custom_transpose custom_vjp "
            "custom_vmap hessian jacfwd jacobian jacrev linear_call remat"
        ),
        "experimental": "custom_dce",
        "lax": "composite custom_implicit_solve custom_linear_solve custom_root",
        "test_util": "check_grads check_jvp check_vjp",
    },
    "tangrad-debug": {
        "debug": "CallbackError DebugEffect OrderedDebugEffect breakpoint callback log print",
        "experimental.buffer_callback": "Buffer ExecutionContext ExecutionStage buffer_callback",
        "experimental": "io_callback",
        "": "live_arrays pure_callback",
    },
    "tangrad-distributed": {
        "distributed": "Cluster ClusterDetector initialize is_initialized shutdown",
        "experimental.multihost_utils": (
            "assert_equal broadcast_one_to_all global_array_to_host_local_array host_local_array_to_global_array "
            "process_allgather sync_global_devices"
        ),
    },
    "tangrad-export": {
        "experimental.serialize_executable": "deserialize_and_load serialize",
        "export": (
            "DisabledSafetyCheck Exported default_export_platform deserialize export "
            "maximum_supported_calling_convention_version minimum_supported_calling_convention_version "
            "register_namedtuple_serialization register_pytree_node_serialization serialize_compiled"
        ),
        "": "load_compiled xla_computation",
    },
    "tangrad-ffi": {
        "ffi": (
            "FfiError ffi_call ffi_lowering host_lowering include_dir pycapsule register_ffi_target register_ffi_type"
        ),
    },
    "tangrad-jit": {
        "": (
            "ShapeDtypeStruct disable_jit ensure_compile_time_eval eval_shape explain_cache_misses jit make_jaxpr "
            "no_tracing"
        ),
        "experimental.compute_on": "compute_on",
        "experimental.xla_metadata": "fuse_limit must_fuse_call set_xla_metadata xla_metadata_call xla_metadata_call2",
    },
    "tangrad-lax": {
        "": "default_matmul_precision device_put",
        "export": (
            "InconclusiveDimensionOperation SymbolicScope is_symbolic_dim symbolic_args_specs symbolic_dim_bounds "
            "symbolic_shape"
        ),
        "lax": (
            "AccuracyMode ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers DotAlgorithm DotAlgorithmPreset "
            "DotDimensionNumbers GatherDimensionNumbers GatherScatterMode Precision PrecisionLike "
            "RaggedDotDimensionNumbers RoundingMethod ScatterDimensionNumbers Tolerance abs acos acosh add "
            "approx_max_k approx_min_k argmax argmin asin asinh associative_scan atan atan2 atanh batch_matmul "
            "bessel_i0e bessel_i1e betainc bitcast_convert_type bitwise_and bitwise_not bitwise_or bitwise_xor "
            "broadcast broadcast_in_dim broadcast_like broadcast_shapes broadcast_to_rank broadcasted_iota cbrt ceil "
            "clamp clz collapse complex concatenate cond conj conv conv_dimension_numbers conv_general_dilated "
            "conv_general_dilated_local conv_general_dilated_patches conv_general_permutations "
            "conv_general_shape_tuple conv_shape_tuple conv_transpose conv_transpose_shape_tuple "
            "conv_with_general_padding convert_element_type cos cosh cumlogsumexp cummax cummin cumprod cumsum digamma "
            "div dot dot_general dtype dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim "
            "dynamic_update_index_in_dim dynamic_update_slice dynamic_update_slice_in_dim empty eq erf erf_inv erfc "
            "exp exp2 expand_dims expm1 floor fori_loop full full_like gather ge gt igamma igamma_grad_a igammac imag "
            "index_in_dim index_take integer_pow iota is_finite le lgamma log log1p log2 logistic lt map max min mul "
            "mulhi ne neg nextafter optimization_barrier pad padtype_to_pads platform_dependent polygamma polynomial "
            "population_count pow ragged_dot ragged_dot_general random_gamma_grad real reciprocal reduce reduce_and "
            "reduce_max reduce_min reduce_or reduce_precision reduce_prod reduce_sum reduce_window "
            "reduce_window_shape_tuple reduce_xor rem reshape rev round rsqrt scaled_dot scan scatter scatter_add "
            "scatter_apply scatter_max scatter_min scatter_mul scatter_sub select select_n shape_as_value shift_left "
            "shift_right_arithmetic shift_right_logical sign sin sinh slice slice_in_dim sort sort_key_val split sqrt "
            "square squeeze stack stage stop_gradient sub switch tan tanh tile top_k transpose unstack while_loop "
            "zeros_like_array zeta"
        ),
        "lax.linalg": (
            "EigImplementation EighImplementation SvdAlgorithm cholesky cholesky_update eig eigh hessenberg "
            "householder_product lu lu_pivots_to_permutation ormqr qdwh qr schur svd symmetric_product "
            "triangular_solve tridiagonal tridiagonal_solve"
        ),
    },
    "tangrad-masking": {
        "": "mask shapecheck",
    },
    "tangrad-nn": {
        "nn": (
            "celu dot_product_attention elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu "
            "log1mexp log_sigmoid log_softmax logmeanexp logsumexp mish one_hot relu relu6 scaled_matmul selu sigmoid "
            "silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus standardize swish tanh"
        ),
    },
    "tangrad-numpy": {
        "lax": "FftType fft xeinsum",
        "numpy": (
            "ComplexWarning abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis "
            "apply_over_axes arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition "
            "argsort argwhere around array array_equal array_equiv array_repr array_split array_str asarray asin asinh "
            "astype atan atan2 atanh atleast_1d atleast_2d atleast_3d average bartlett bfloat16 bincount bitwise_and "
            "bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor "
            "blackman block bool bool_ broadcast_arrays broadcast_shapes broadcast_to c_ can_cast cbrt cdouble ceil "
            "character choose clip column_stack complex128 complex64 complex_ complexfloating compress concat "
            "concatenate conj conjugate convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross "
            "csingle cumprod cumsum cumulative_prod cumulative_sum deg2rad degrees delete diag diag_indices "
            "diag_indices_from diagflat diagonal diff digitize divide divmod dot double dsplit dstack dtype e ediff1d "
            "einsum einsum_path empty empty_like equal euler_gamma exp exp2 expand_dims expm1 extract eye fabs "
            "fill_diagonal finfo flatnonzero flexible flip fliplr flipud float16 float32 float4_e2m1fn float64 "
            "float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz "
            "float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float_ float_power floating floor floor_divide fmax fmin fmod "
            "frexp from_dlpack frombuffer fromfile fromfunction fromiter frompyfunc fromstring full full_like gcd "
            "generic geomspace get_printoptions gradient greater greater_equal hamming hanning heaviside histogram "
            "histogram2d histogram_bin_edges histogramdd hsplit hstack hypot i0 identity iinfo imag index_exp indices "
            "inexact inf inner insert int1 int16 int2 int32 int4 int64 int8 int_ integer interp intersect1d invert "
            "isclose iscomplex iscomplexobj isdtype isfinite isin isinf isnan isneginf isposinf isreal isrealobj "
            "isscalar issubdtype iterable ix_ kaiser kron lcm ldexp left_shift less less_equal lexsort linspace load "
            "log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logspace "
            "mask_indices matmul matrix_transpose matvec max maximum mean median meshgrid mgrid min minimum minmax mod "
            "modf moveaxis multiply nan nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian "
            "nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndarray ndim negative newaxis nextafter "
            "nonzero not_equal number object_ ogrid ones ones_like outer packbits pad partition percentile "
            "permute_dims pi piecewise place poly polyadd polyder polydiv polyfit polyint polymul polysub polyval "
            "positive pow power printoptions prod promote_types ptp put put_along_axis quantile r_ rad2deg radians "
            "ravel ravel_multi_index real reciprocal remainder repeat reshape resize result_type right_shift rint roll "
            "rollaxis roots rot90 round s_ save savez searchsorted select set_printoptions setdiff1d setxor1d shape "
            "sign signbit signedinteger sin sinc single sinh size sort sort_complex spacing split sqrt square squeeze "
            "stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile top_k trace transpose "
            "trapezoid tri tril tril_indices tril_indices_from trim_zeros triu triu_indices triu_indices_from "
            "true_divide trunc ufunc uint uint1 uint16 uint2 uint32 uint4 uint64 uint8 union1d unique unique_all "
            "unique_counts unique_inverse unique_values unpackbits unravel_index unsignedinteger unstack unwrap vander "
            "var vdot vecdot vecmat vectorize vsplit vstack where zeros zeros_like"
        ),
        "numpy.fft": (
            "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 "
            "rfftfreq rfftn"
        ),
        "numpy.linalg": (
            "cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power "
            "matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv "
            "tensorsolve trace vecdot vector_norm"
        ),
        "": "numpy_rank_promotion",
        "ops": "segment_max segment_min segment_prod segment_sum",
    },
    "tangrad-random": {
        "": "debug_key_reuse default_prng_impl enable_custom_prng legacy_prng_key threefry_partitionable",
        "experimental.key_reuse": "KeyUse check_key_reuse",
        "lax": "RandomAlgorithm rng_bit_generator",
        "random": (
            "Key NamedShape PRNGKey ball bernoulli beta binomial bits categorical cauchy chisquare choice clone "
            "dirichlet double_sided_maxwell exponential f fold_in gamma generalized_normal geometric gumbel key "
            "key_data key_dtype key_impl laplace loggamma logistic lognormal maxwell multinomial multivariate_normal "
            "normal orthogonal pareto permutation poisson rademacher randint rayleigh split t triangular "
            "truncated_normal uniform wald weibull_min wrap_key_data"
        ),
    },
    "tangrad-references": {
        "": "Ref empty_ref free_ref freeze new_ref",
        "experimental.pallas": (
            "ANY BlockSpec Blocked Buffered CompilerParams CostEstimate Element GridSpec HOST MemoryRef MemorySpace "
            "Slice Squeezed align_to broadcast_to cdiv debug_print dot ds dslice load loop max_contiguous multiple_of "
            "next_power_of_2 no_block_spec num_programs pallas_call program_id reciprocal run_scoped squeezed store "
            "strides_from_shape swap when"
        ),
        "experimental.pallas.tpu": (
            "ANY ARBITRARY CMEM CORE_PARALLEL CompilerParams GridDimensionSemantics HBM InterpretParams MemorySpace "
            "PARALLEL PrefetchScalarGridSpec SMEM SUBCORE_PARALLEL VMEM VMEM_SHARED load roll store"
        ),
        "experimental.pallas.triton": (
            "CompilerParams approx_tanh atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg "
            "atomic_xor dot load max_contiguous store"
        ),
        "experimental.random": "StatefulPRNG stateful_rng",
        "ref": "AbstractRef Ref addupdate empty_ref free_ref freeze get new_ref set swap",
    },
    "tangrad-runtime": {
        "runtime": "ArtifactError Limits load save",
    },
    "tangrad-scipy": {
        "example_libraries.optimizers": (
            "JoinPoint Optimizer OptimizerState adagrad adam adamax clip_grads constant exponential_decay "
            "inverse_time_decay l2_norm make_schedule momentum nesterov optimizer pack_optimizer_state "
            "piecewise_constant polynomial_decay rmsprop rmsprop_momentum sgd sm3 unpack_optimizer_state"
        ),
        "example_libraries.stax": (
            "AvgPool BatchNorm Conv Conv1DTranspose ConvTranspose Dense Dropout Elu Exp FanInConcat FanInSum FanOut "
            "Flatten Gelu GeneralConv GeneralConvTranspose Identity LeakyRelu LogSoftmax MaxPool Relu Selu Sigmoid "
            "Softmax Softplus SumPool Tanh elementwise parallel serial shape_dependent"
        ),
        "experimental.ode": "odeint",
        "image": "ResizeMethod resize scale_and_translate",
        "scipy.cluster.vq": "vq",
        "scipy.fft": "dct dctn idct idctn",
        "scipy.integrate": "trapezoid",
        "scipy.interpolate": "RegularGridInterpolator",
        "scipy.linalg": (
            "block_diag cho_factor cho_solve cholesky circulant companion convolution_matrix det dft eigh "
            "eigh_tridiagonal expm expm_frechet fiedler fiedler_companion funm hadamard hankel helmert hessenberg "
            "hilbert inv invhilbert invpascal leslie lu lu_factor lu_solve pascal polar qr qr_multiply rsf2csf schur "
            "solve solve_sylvester solve_triangular sqrtm svd toeplitz"
        ),
        "scipy.ndimage": "map_coordinates",
        "scipy.optimize": "OptimizeResults minimize",
        "scipy.signal": "convolve convolve2d correlate correlate2d csd detrend fftconvolve istft stft welch",
        "scipy.sparse.linalg": "bicgstab cg gmres",
        "scipy.spatial.transform": "Rotation Slerp",
        "scipy.special": (
            "bernoulli bessel_jn beta betainc betaln boxcox boxcox1p comb dawsn digamma entr erf erfc erfcinv erfcx "
            "erfinv exp1 expi expit expn factorial fresnel gamma gammainc gammaincc gammaln gammasgn hyp1f1 hyp2f1 i0 "
            "i0e i1 i1e kl_div log_ndtr log_softmax loggamma logit logsumexp lpmn lpmn_values multigammaln ndtr ndtri "
            "owens_t poch polygamma rel_entr sici softmax spence sph_harm_y wofz xlog1py xlogy zeta"
        ),
        "scipy.stats.bernoulli": "cdf logpmf pmf ppf",
        "scipy.stats.beta": "cdf logcdf logpdf logsf pdf sf",
        "scipy.stats.betabinom": "logpmf pmf",
        "scipy.stats.binom": "logpmf pmf",
        "scipy.stats.cauchy": "cdf isf logcdf logpdf logsf pdf ppf sf",
        "scipy.stats.chi2": "cdf logcdf logpdf logsf pdf sf",
        "scipy.stats.dirichlet": "logpdf pdf",
        "scipy.stats.expon": "cdf logcdf logpdf logsf pdf ppf sf",
        "scipy.stats.gamma": "cdf logcdf logpdf logsf pdf sf",
        "scipy.stats": "gaussian_kde mode rankdata sem",
        "scipy.stats.gennorm": "cdf logpdf pdf",
        "scipy.stats.geom": "logpmf pmf",
        "scipy.stats.gumbel_l": "cdf logcdf logpdf logsf pdf ppf sf",
        "scipy.stats.gumbel_r": "cdf logcdf logpdf logsf pdf ppf sf",
        "scipy.stats.laplace": "cdf logpdf pdf",
        "scipy.stats.logistic": "cdf isf logpdf pdf ppf sf",
        "scipy.stats.multinomial": "logpmf pmf",
        "scipy.stats.multivariate_normal": "logpdf pdf",
        "scipy.stats.nbinom": "logpmf pmf",
        "scipy.stats.norm": "cdf isf logcdf logpdf logsf pdf ppf sf",
        "scipy.stats.pareto": "cdf logcdf logpdf logsf pdf ppf sf",
        "scipy.stats.poisson": "cdf entropy logpmf pmf",
        "scipy.stats.t": "logpdf pdf",
        "scipy.stats.truncnorm": "cdf logcdf logpdf logsf pdf sf",
        "scipy.stats.uniform": "cdf logpdf pdf ppf",
        "scipy.stats.vonmises": "logpdf pdf",
        "scipy.stats.wrapcauchy": "logpdf pdf",
    },
    "tangrad-sharding": {
        "": (
            "NamedSharding P Shard device_put_replicated device_put_sharded make_array_from_callback "
            "make_array_from_process_local_data make_array_from_single_device_arrays make_mesh pmap reshard set_mesh "
            "shard_map smap soft_pmap xmap"
        ),
        "debug": "inspect_array_sharding visualize_array_sharding visualize_sharding",
        "experimental.custom_partitioning": "ArrayMapping BATCHING CompoundFactor SdyShardingRule custom_partitioning",
        "experimental.mesh_utils": "create_device_mesh",
        "experimental.pjit": "pjit with_sharding_constraint",
        "experimental.shard_map": "shard_map",
        "lax": "with_sharding_constraint",
        "sharding": (
            "AbstractMesh AxisType GSPMDSharding HloSharding ManualAxisType Mesh NamedSharding PartitionSpec "
            "PositionalSharding Sharding ShardingTypeError SingleDeviceSharding UnreducedKind auto_axes explicit_axes "
            "get_abstract_mesh get_mesh inspect_array_sharding reshard set_mesh use_abstract_mesh use_mesh"
        ),
    },
    "tangrad-sparse": {
        "experimental.sparse": (
            "BCOO BCSR COO CSC CSR JAXSparse SparseEfficiencyError SparseEfficiencyWarning bcoo_broadcast_in_dim "
            "bcoo_concatenate bcoo_dot_general bcoo_dot_general_sampled bcoo_dynamic_slice bcoo_extract bcoo_fromdense "
            "bcoo_multiply_dense bcoo_multiply_sparse bcoo_reduce_sum bcoo_reshape bcoo_rev bcoo_slice "
            "bcoo_sort_indices bcoo_squeeze bcoo_sum_duplicates bcoo_todense bcoo_transpose bcoo_update_layout "
            "bcsr_broadcast_in_dim bcsr_concatenate bcsr_dot_general bcsr_extract bcsr_fromdense bcsr_sum_duplicates "
            "bcsr_todense coo_fromdense coo_matmat coo_matvec coo_todense csr_fromdense csr_matmat csr_matvec "
            "csr_todense empty eye grad jacfwd jacobian jacrev random_bcoo sparsify todense value_and_grad"
        ),
        "experimental.sparse.linalg": "lobpcg_standard spsolve",
    },
}

MODULES: dict[str, str] = {  # distribution: the tops of its tree
    "tangrad-autodiff": "tangrad._autodiff tangrad.ad tangrad.autodiff",
    "tangrad-backend-numpy": "tangrad._backend_numpy tangrad.extend.backend_numpy",
    "tangrad-backend-xla": "tangrad._backend_xla tangrad.cache",
    "tangrad-batching": "tangrad._batching tangrad.batching",
    "tangrad-checkify": "tangrad._checkify tangrad.experimental.checkify tangrad.extend.checkify",
    "tangrad-collectives": "tangrad._collectives tangrad.extend.collectives",
    "tangrad-compat": "tangrad._compat tangrad.compat",
    "tangrad-conformance": "tangrad._conformance tangrad.conformance",
    "tangrad-console": "tangrad.__main__ tangrad._console tangrad.extend.console",
    "tangrad-custom-rules": (
        "tangrad._custom_rules tangrad.ad_checkpoint tangrad.custom_batching tangrad.custom_derivatives "
        "tangrad.extend.custom_rules tangrad.test_util"
    ),
    "tangrad-debug": "tangrad._debug tangrad.debug tangrad.experimental.buffer_callback tangrad.extend.debug",
    "tangrad-distributed": "tangrad._distributed tangrad.distributed tangrad.experimental.multihost_utils",
    "tangrad-export": "tangrad._export tangrad.experimental.serialize_executable tangrad.extend.export",
    "tangrad-ffi": "tangrad._ffi tangrad.extend.ffi tangrad.ffi",
    "tangrad-jit": (
        "tangrad._jit tangrad.experimental.compute_on tangrad.experimental.xla_metadata tangrad.extend.jit "
        "tangrad.stages"
    ),
    "tangrad-kernels": "tangrad._kernels",
    "tangrad-lax": "tangrad._lax tangrad.export tangrad.extend.lax tangrad.extend.symbolic tangrad.lax",
    "tangrad-masking": "tangrad._masking tangrad.extend.masking",
    "tangrad-nn": "tangrad._nn tangrad.extend.nn tangrad.nn",
    "tangrad-numba": "tangrad._numba",
    "tangrad-numpy": (
        "tangrad._numpy tangrad.dlpack tangrad.extend.fft tangrad.extend.numpy tangrad.flatten_util tangrad.numpy "
        "tangrad.ops"
    ),
    "tangrad-profiler": "tangrad._profiler tangrad.experimental.roofline tangrad.monitoring tangrad.profiler",
    "tangrad-random": "tangrad._random tangrad.experimental.key_reuse tangrad.extend.random tangrad.random",
    "tangrad-references": (
        "tangrad._references tangrad.experimental.pallas tangrad.experimental.random tangrad.extend.references "
        "tangrad.ref"
    ),
    "tangrad-runtime": "tangrad._runtime tangrad.extend.runtime tangrad.runtime",
    "tangrad-scipy": (
        "tangrad._scipy tangrad.example_libraries tangrad.experimental.ode tangrad.extend.scipy tangrad.image "
        "tangrad.scipy"
    ),
    "tangrad-sharding": (
        "tangrad._sharding tangrad.experimental.custom_partitioning tangrad.experimental.maps "
        "tangrad.experimental.mesh_utils tangrad.experimental.pjit tangrad.experimental.shard_map "
        "tangrad.extend.sharding tangrad.sharding"
    ),
    "tangrad-sparse": "tangrad._sparse tangrad.experimental.sparse",
}

FAMILIES: dict[str, str] = {  # distribution: families of primitives
    "tangrad-autodiff": "autodiff",
    "tangrad-batching": "batching",
    "tangrad-checkify": "runtime_checks",
    "tangrad-collectives": "collectives",
    "tangrad-custom-rules": "checkpointing composites custom_rules linear_calls mapped_calls partial_calls solves",
    "tangrad-debug": "callbacks",
    "tangrad-export": "exporting",
    "tangrad-ffi": "foreign",
    "tangrad-jit": "jit regions",
    "tangrad-lax": (
        "contractions control_flow decompositions dimensions elementwise indexing linalg placement reductions sorting "
        "special structure systems windows"
    ),
    "tangrad-nn": "activations",
    "tangrad-numpy": "fft numerical whole_arrays",
    "tangrad-random": "random",
    "tangrad-references": "pallas references",
    "tangrad-sharding": "custom_partitioning shard_map sharding xmapping",
}

RULE_KINDS: dict[str, str] = {  # distribution: rule kinds
    "tangrad-autodiff": "jvp linearize partial_eval transpose",
    "tangrad-backend-numpy": "lower.numpy",
    "tangrad-backend-xla": "lower.xla lower.xla.cpu lower.xla.cuda lower.xla.rocm lower.xla.tpu",
    "tangrad-batching": "batch split_axis",
    "tangrad-checkify": "checkify",
    "tangrad-collectives": "axis_subst",
    "tangrad-core": "dce",
    "tangrad-custom-rules": "recompute",
    "tangrad-masking": "mask",
    "tangrad-profiler": "roofline",
    "tangrad-random": "key_reuse",
    "tangrad-references": "discharge",
    "tangrad-runtime": "portable",
    "tangrad-sharding": "replication sharding",
    "tangrad-sparse": "sparse",
}

ARRAY_ATTRIBUTES: dict[str, str] = {  # distribution: attributes of arrays
    "tangrad-numpy": (
        "T __abs__ __add__ __and__ __array_namespace__ __contains__ __divmod__ __eq__ __floordiv__ __ge__ __getitem__ "
        "__gt__ __invert__ __iter__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ "
        "__pow__ __round__ __rshift__ __sub__ __truediv__ __xor__ all any argmax argmin argpartition argsort astype at "
        "byteswap choose clip compress conj conjugate copy ctypes cumprod cumsum diagonal dot flat flatten imag mT max "
        "mean min nonzero prod ptp ravel real repeat reshape round searchsorted sort squeeze std sum swapaxes take "
        "to_device tobytes trace transpose var view"
    ),
    "tangrad-references": "addupdate",
    "tangrad-sharding": "addressable_data addressable_shards device_buffer device_buffers global_shards mat sharding",
}

SETTINGS: dict[str, str] = {  # distribution: settings
    "tangrad-backend-numpy": "numpy_threads",
    "tangrad-backend-xla": (
        "compilation_cache_dir compilation_cache_max_size enable_compilation_cache xla_cache_min_compile_seconds "
        "xla_cache_min_entry_bytes xla_cpu_asynchronous xla_cpu_freed_memory xla_platforms"
    ),
    "tangrad-core": (
        "backend check_jaxprs check_tracer_leaks debug_infs debug_nans default_device disable_jit enable_x64 "
        "explicit_x64_dtypes log_compiles num_cpu_devices numpy_dtype_promotion traceback_filtering transfer_guard "
        "transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device"
    ),
    "tangrad-jit": "compile_effort compile_regions explain_cache_misses no_tracing",
    "tangrad-lax": "default_matmul_precision",
    "tangrad-numba": "numba_loops",
    "tangrad-numpy": "numpy_rank_promotion",
    "tangrad-random": (
        "debug_key_reuse default_prng_impl enable_custom_prng legacy_prng_key random_seed_offset threefry_partitionable"
    ),
    "tangrad-sharding": (
        "experimental_xmap_spmd_lowering experimental_xmap_spmd_lowering_manual mesh mesh_axis_types serial_loops "
        "types_without_axes_of_size_one"
    ),
}

SETTING_NAMES: dict[str, str] = {  # distribution: how other libraries' names of settings begin
    "tangrad-compat": "jax jax2tf",
}

BACKENDS: dict[str, str] = {  # distribution: backends
    "tangrad-backend-numpy": "numpy",
    "tangrad-backend-xla": "xla",
}

COMMANDS: dict[str, str] = {  # distribution: commands of `tangrad`
    "tangrad-backend-xla": "cache",
    "tangrad-conformance": "conformance new",
    "tangrad-console": "doctor plugins rules stubs",
}

USUAL: dict[str, str] = {  # distribution: those that it brings
    "tangrad": (
        "tangrad-autodiff tangrad-backend-numpy tangrad-batching tangrad-collectives tangrad-console tangrad-core "
        "tangrad-custom-rules tangrad-debug tangrad-jit tangrad-lax tangrad-nn tangrad-numpy tangrad-random "
        "tangrad-sharding"
    ),
}
