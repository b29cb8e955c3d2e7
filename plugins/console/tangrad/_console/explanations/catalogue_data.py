"""Data of `catalogue.py`. Written by `python -m tools.generate_api`: do not edit."""

PUBLIC_NAMES: dict[str, str] = {  # distribution: public names
    "tangrad-autodiff": (
        "ad.DidntWant ad.DontWant ad.GradRef ad.GradValue ad.NotNeeded ad.NotSaveable ad.VJP grad jvp linear_transpose "
        "linearize value_and_grad vjp"
    ),
    "tangrad-backend-xla": "cache.disable cache.enable",
    "tangrad-batching": "vmap",
    "tangrad-checkify": (
        "experimental.checkify.Error experimental.checkify.ErrorCategory experimental.checkify.JaxRuntimeError "
        "experimental.checkify.all_checks experimental.checkify.automatic_checks experimental.checkify.check "
        "experimental.checkify.check_error experimental.checkify.checkify experimental.checkify.debug_check "
        "experimental.checkify.div_checks experimental.checkify.float_checks experimental.checkify.index_checks "
        "experimental.checkify.init_error experimental.checkify.nan_checks experimental.checkify.user_checks"
    ),
    "tangrad-collectives": (
        "lax.all_gather lax.all_to_all lax.axis_index lax.axis_size lax.pbroadcast lax.pcast lax.pdot lax.pmax "
        "lax.pmean lax.pmin lax.ppermute lax.pshuffle lax.psum lax.psum_scatter lax.pswapaxes lax.pvary "
        "lax.ragged_all_to_all"
    ),
    "tangrad-console": "print_environment_info",
    "tangrad-core": (
        "Array Device block_until_ready check_tracer_leaks checking_leaks clear_caches config copy_to_host_async "
        "debug_infs debug_nans default_backend default_device device_count device_get devices dtypes effects_barrier "
        "enable_checks enable_x64 errors experimental.disable_x64 experimental.enable_x64 float0 local_device_count "
        "local_devices log_compiles named_call named_scope numpy_dtype_promotion process_count process_index "
        "process_indices transfer_guard transfer_guard_device_to_device transfer_guard_device_to_host "
        "transfer_guard_host_to_device typeof typing use_backend"
    ),
    "tangrad-custom-rules": (
        "checkpoint checkpoint_policies closure_convert custom_gradient custom_jvp custom_transpose custom_vjp "
        "custom_vmap experimental.custom_dce hessian jacfwd jacobian jacrev lax.composite lax.custom_implicit_solve "
        "lax.custom_linear_solve lax.custom_root linear_call remat test_util.check_grads test_util.check_jvp "
        "test_util.check_vjp"
    ),
    "tangrad-debug": (
        "debug.CallbackError debug.DebugEffect debug.OrderedDebugEffect debug.breakpoint debug.callback debug.log "
        "debug.print experimental.buffer_callback.Buffer experimental.buffer_callback.ExecutionContext "
        "experimental.buffer_callback.ExecutionStage experimental.buffer_callback.buffer_callback "
        "experimental.io_callback live_arrays pure_callback"
    ),
    "tangrad-distributed": (
        "distributed.Cluster distributed.ClusterDetector distributed.initialize distributed.is_initialized "
        "distributed.shutdown experimental.multihost_utils.assert_equal "
        "experimental.multihost_utils.broadcast_one_to_all "
        "experimental.multihost_utils.global_array_to_host_local_array "
        "experimental.multihost_utils.host_local_array_to_global_array experimental.multihost_utils.process_allgather "
        "experimental.multihost_utils.sync_global_devices"
    ),
    "tangrad-export": (
        "experimental.serialize_executable.deserialize_and_load experimental.serialize_executable.serialize "
        "export.DisabledSafetyCheck export.Exported export.default_export_platform export.deserialize export.export "
        "export.maximum_supported_calling_convention_version export.minimum_supported_calling_convention_version "
        "export.register_namedtuple_serialization export.register_pytree_node_serialization export.serialize_compiled "
        "load_compiled xla_computation"
    ),
    "tangrad-ffi": (
        "ffi.FfiError ffi.ffi_call ffi.ffi_lowering ffi.host_lowering ffi.include_dir ffi.pycapsule "
        "ffi.register_ffi_target ffi.register_ffi_type"
    ),
    "tangrad-jit": (
        "ShapeDtypeStruct disable_jit ensure_compile_time_eval eval_shape experimental.compute_on.compute_on "
        "experimental.xla_metadata.fuse_limit experimental.xla_metadata.must_fuse_call "
        "experimental.xla_metadata.set_xla_metadata experimental.xla_metadata.xla_metadata_call "
        "experimental.xla_metadata.xla_metadata_call2 explain_cache_misses jit make_jaxpr no_tracing"
    ),
    "tangrad-lax": (
        "default_matmul_precision device_put export.InconclusiveDimensionOperation export.SymbolicScope "
        "export.is_symbolic_dim export.symbolic_args_specs export.symbolic_dim_bounds export.symbolic_shape "
        "lax.AccuracyMode lax.ConvDimensionNumbers lax.ConvGeneralDilatedDimensionNumbers lax.DotAlgorithm "
        "lax.DotAlgorithmPreset lax.DotDimensionNumbers lax.GatherDimensionNumbers lax.GatherScatterMode lax.Precision "
        "lax.PrecisionLike lax.RaggedDotDimensionNumbers lax.RoundingMethod lax.ScatterDimensionNumbers lax.Tolerance "
        "lax.abs lax.acos lax.acosh lax.add lax.approx_max_k lax.approx_min_k lax.argmax lax.argmin lax.asin lax.asinh "
        "lax.associative_scan lax.atan lax.atan2 lax.atanh lax.batch_matmul lax.bessel_i0e lax.bessel_i1e lax.betainc "
        "lax.bitcast_convert_type lax.bitwise_and lax.bitwise_not lax.bitwise_or lax.bitwise_xor lax.broadcast "
        "lax.broadcast_in_dim lax.broadcast_like lax.broadcast_shapes lax.broadcast_to_rank lax.broadcasted_iota "
        "lax.cbrt lax.ceil lax.clamp lax.clz lax.collapse lax.complex lax.concatenate lax.cond lax.conj lax.conv "
        "lax.conv_dimension_numbers lax.conv_general_dilated lax.conv_general_dilated_local "
        "lax.conv_general_dilated_patches lax.conv_general_permutations lax.conv_general_shape_tuple "
        "lax.conv_shape_tuple lax.conv_transpose lax.conv_transpose_shape_tuple lax.conv_with_general_padding "
        "lax.convert_element_type lax.cos lax.cosh lax.cumlogsumexp lax.cummax lax.cummin lax.cumprod lax.cumsum "
        "lax.digamma lax.div lax.dot lax.dot_general lax.dtype lax.dynamic_index_in_dim lax.dynamic_slice "
        "lax.dynamic_slice_in_dim lax.dynamic_update_index_in_dim lax.dynamic_update_slice "
        "lax.dynamic_update_slice_in_dim lax.empty lax.eq lax.erf lax.erf_inv lax.erfc lax.exp lax.exp2 "
        "lax.expand_dims lax.expm1 lax.floor lax.fori_loop lax.full lax.full_like lax.gather lax.ge lax.gt lax.igamma "
        "lax.igamma_grad_a lax.igammac lax.imag lax.index_in_dim lax.index_take lax.integer_pow lax.iota lax.is_finite "
        "lax.le lax.lgamma lax.linalg.EigImplementation lax.linalg.EighImplementation lax.linalg.SvdAlgorithm "
        "lax.linalg.cholesky lax.linalg.cholesky_update lax.linalg.eig lax.linalg.eigh lax.linalg.hessenberg "
        "lax.linalg.householder_product lax.linalg.lu lax.linalg.lu_pivots_to_permutation lax.linalg.ormqr "
        "lax.linalg.qdwh lax.linalg.qr lax.linalg.schur lax.linalg.svd lax.linalg.symmetric_product "
        "lax.linalg.triangular_solve lax.linalg.tridiagonal lax.linalg.tridiagonal_solve lax.log lax.log1p lax.log2 "
        "lax.logistic lax.lt lax.map lax.max lax.min lax.mul lax.mulhi lax.ne lax.neg lax.nextafter "
        "lax.optimization_barrier lax.pad lax.padtype_to_pads lax.platform_dependent lax.polygamma lax.polynomial "
        "lax.population_count lax.pow lax.ragged_dot lax.ragged_dot_general lax.random_gamma_grad lax.real "
        "lax.reciprocal lax.reduce lax.reduce_and lax.reduce_max lax.reduce_min lax.reduce_or lax.reduce_precision "
        "lax.reduce_prod lax.reduce_sum lax.reduce_window lax.reduce_window_shape_tuple lax.reduce_xor lax.rem "
        "lax.reshape lax.rev lax.round lax.rsqrt lax.scaled_dot lax.scan lax.scatter lax.scatter_add lax.scatter_apply "
        "lax.scatter_max lax.scatter_min lax.scatter_mul lax.scatter_sub lax.select lax.select_n lax.shape_as_value "
        "lax.shift_left lax.shift_right_arithmetic lax.shift_right_logical lax.sign lax.sin lax.sinh lax.slice "
        "lax.slice_in_dim lax.sort lax.sort_key_val lax.split lax.sqrt lax.square lax.squeeze lax.stack lax.stage "
        "lax.stop_gradient lax.sub lax.switch lax.tan lax.tanh lax.tile lax.top_k lax.transpose lax.unstack "
        "lax.while_loop lax.zeros_like_array lax.zeta"
    ),
    "tangrad-masking": "mask shapecheck",
    "tangrad-nn": (
        "nn.celu nn.dot_product_attention nn.elu nn.gelu nn.glu nn.hard_sigmoid nn.hard_silu nn.hard_swish "
        "nn.hard_tanh nn.identity nn.leaky_relu nn.log1mexp nn.log_sigmoid nn.log_softmax nn.logmeanexp nn.logsumexp "
        "nn.mish nn.one_hot nn.relu nn.relu6 nn.scaled_matmul nn.selu nn.sigmoid nn.silu nn.soft_sign nn.softmax "
        "nn.softplus nn.sparse_plus nn.sparse_sigmoid nn.squareplus nn.standardize nn.swish nn.tanh"
    ),
    "tangrad-numpy": (
        "lax.FftType lax.fft lax.xeinsum numpy.ComplexWarning numpy.abs numpy.absolute numpy.acos numpy.acosh "
        "numpy.add numpy.all numpy.allclose numpy.amax numpy.amin numpy.angle numpy.any numpy.append "
        "numpy.apply_along_axis numpy.apply_over_axes numpy.arange numpy.arccos numpy.arccosh numpy.arcsin "
        "numpy.arcsinh numpy.arctan numpy.arctan2 numpy.arctanh numpy.argmax numpy.argmin numpy.argpartition "
        "numpy.argsort numpy.argwhere numpy.around numpy.array numpy.array_equal numpy.array_equiv numpy.array_repr "
        "numpy.array_split numpy.array_str numpy.asarray numpy.asin numpy.asinh numpy.astype numpy.atan numpy.atan2 "
        "numpy.atanh numpy.atleast_1d numpy.atleast_2d numpy.atleast_3d numpy.average numpy.bartlett numpy.bfloat16 "
        "numpy.bincount numpy.bitwise_and numpy.bitwise_count numpy.bitwise_invert numpy.bitwise_left_shift "
        "numpy.bitwise_not numpy.bitwise_or numpy.bitwise_right_shift numpy.bitwise_xor numpy.blackman numpy.block "
        "numpy.bool numpy.bool_ numpy.broadcast_arrays numpy.broadcast_shapes numpy.broadcast_to numpy.c_ "
        "numpy.can_cast numpy.cbrt numpy.cdouble numpy.ceil numpy.character numpy.choose numpy.clip numpy.column_stack "
        "numpy.complex128 numpy.complex64 numpy.complex_ numpy.complexfloating numpy.compress numpy.concat "
        "numpy.concatenate numpy.conj numpy.conjugate numpy.convolve numpy.copy numpy.copysign numpy.corrcoef "
        "numpy.correlate numpy.cos numpy.cosh numpy.count_nonzero numpy.cov numpy.cross numpy.csingle numpy.cumprod "
        "numpy.cumsum numpy.cumulative_prod numpy.cumulative_sum numpy.deg2rad numpy.degrees numpy.delete numpy.diag "
        "numpy.diag_indices numpy.diag_indices_from numpy.diagflat numpy.diagonal numpy.diff numpy.digitize "
        "numpy.divide numpy.divmod numpy.dot numpy.double numpy.dsplit numpy.dstack numpy.dtype numpy.e numpy.ediff1d "
        "numpy.einsum numpy.einsum_path numpy.empty numpy.empty_like numpy.equal numpy.euler_gamma numpy.exp "
        "numpy.exp2 numpy.expand_dims numpy.expm1 numpy.extract numpy.eye numpy.fabs numpy.fft.fft numpy.fft.fft2 "
        "numpy.fft.fftfreq numpy.fft.fftn numpy.fft.fftshift numpy.fft.hfft numpy.fft.ifft numpy.fft.ifft2 "
        "numpy.fft.ifftn numpy.fft.ifftshift numpy.fft.ihfft numpy.fft.irfft numpy.fft.irfft2 numpy.fft.irfftn "
        "numpy.fft.rfft numpy.fft.rfft2 numpy.fft.rfftfreq numpy.fft.rfftn numpy.fill_diagonal numpy.finfo "
        "numpy.flatnonzero numpy.flexible numpy.flip numpy.fliplr numpy.flipud numpy.float16 numpy.float32 "
        "numpy.float4_e2m1fn numpy.float64 numpy.float6_e2m3fn numpy.float6_e3m2fn numpy.float8_e3m4 numpy.float8_e4m3 "
        "numpy.float8_e4m3b11fnuz numpy.float8_e4m3fn numpy.float8_e4m3fnuz numpy.float8_e5m2 numpy.float8_e5m2fnuz "
        "numpy.float8_e8m0fnu numpy.float_ numpy.float_power numpy.floating numpy.floor numpy.floor_divide numpy.fmax "
        "numpy.fmin numpy.fmod numpy.frexp numpy.from_dlpack numpy.frombuffer numpy.fromfile numpy.fromfunction "
        "numpy.fromiter numpy.frompyfunc numpy.fromstring numpy.full numpy.full_like numpy.gcd numpy.generic "
        "numpy.geomspace numpy.get_printoptions numpy.gradient numpy.greater numpy.greater_equal numpy.hamming "
        "numpy.hanning numpy.heaviside numpy.histogram numpy.histogram2d numpy.histogram_bin_edges numpy.histogramdd "
        "numpy.hsplit numpy.hstack numpy.hypot numpy.i0 numpy.identity numpy.iinfo numpy.imag numpy.index_exp "
        "numpy.indices numpy.inexact numpy.inf numpy.inner numpy.insert numpy.int1 numpy.int16 numpy.int2 numpy.int32 "
        "numpy.int4 numpy.int64 numpy.int8 numpy.int_ numpy.integer numpy.interp numpy.intersect1d numpy.invert "
        "numpy.isclose numpy.iscomplex numpy.iscomplexobj numpy.isdtype numpy.isfinite numpy.isin numpy.isinf "
        "numpy.isnan numpy.isneginf numpy.isposinf numpy.isreal numpy.isrealobj numpy.isscalar numpy.issubdtype "
        "numpy.iterable numpy.ix_ numpy.kaiser numpy.kron numpy.lcm numpy.ldexp numpy.left_shift numpy.less "
        "numpy.less_equal numpy.lexsort numpy.linalg.cholesky numpy.linalg.cond numpy.linalg.cross numpy.linalg.det "
        "numpy.linalg.diagonal numpy.linalg.eig numpy.linalg.eigh numpy.linalg.eigvals numpy.linalg.eigvalsh "
        "numpy.linalg.inv numpy.linalg.lstsq numpy.linalg.matmul numpy.linalg.matrix_norm numpy.linalg.matrix_power "
        "numpy.linalg.matrix_rank numpy.linalg.matrix_transpose numpy.linalg.multi_dot numpy.linalg.norm "
        "numpy.linalg.outer numpy.linalg.pinv numpy.linalg.qr numpy.linalg.slogdet numpy.linalg.solve numpy.linalg.svd "
        "numpy.linalg.svdvals numpy.linalg.tensordot numpy.linalg.tensorinv numpy.linalg.tensorsolve "
        "numpy.linalg.trace numpy.linalg.vecdot numpy.linalg.vector_norm numpy.linspace numpy.load numpy.log "
        "numpy.log10 numpy.log1p numpy.log2 numpy.logaddexp numpy.logaddexp2 numpy.logical_and numpy.logical_not "
        "numpy.logical_or numpy.logical_xor numpy.logspace numpy.mask_indices numpy.matmul numpy.matrix_transpose "
        "numpy.matvec numpy.max numpy.maximum numpy.mean numpy.median numpy.meshgrid numpy.mgrid numpy.min "
        "numpy.minimum numpy.minmax numpy.mod numpy.modf numpy.moveaxis numpy.multiply numpy.nan numpy.nan_to_num "
        "numpy.nanargmax numpy.nanargmin numpy.nancumprod numpy.nancumsum numpy.nanmax numpy.nanmean numpy.nanmedian "
        "numpy.nanmin numpy.nanpercentile numpy.nanprod numpy.nanquantile numpy.nanstd numpy.nansum numpy.nanvar "
        "numpy.ndarray numpy.ndim numpy.negative numpy.newaxis numpy.nextafter numpy.nonzero numpy.not_equal "
        "numpy.number numpy.object_ numpy.ogrid numpy.ones numpy.ones_like numpy.outer numpy.packbits numpy.pad "
        "numpy.partition numpy.percentile numpy.permute_dims numpy.pi numpy.piecewise numpy.place numpy.poly "
        "numpy.polyadd numpy.polyder numpy.polydiv numpy.polyfit numpy.polyint numpy.polymul numpy.polysub "
        "numpy.polyval numpy.positive numpy.pow numpy.power numpy.printoptions numpy.prod numpy.promote_types "
        "numpy.ptp numpy.put numpy.put_along_axis numpy.quantile numpy.r_ numpy.rad2deg numpy.radians numpy.ravel "
        "numpy.ravel_multi_index numpy.real numpy.reciprocal numpy.remainder numpy.repeat numpy.reshape numpy.resize "
        "numpy.result_type numpy.right_shift numpy.rint numpy.roll numpy.rollaxis numpy.roots numpy.rot90 numpy.round "
        "numpy.s_ numpy.save numpy.savez numpy.searchsorted numpy.select numpy.set_printoptions numpy.setdiff1d "
        "numpy.setxor1d numpy.shape numpy.sign numpy.signbit numpy.signedinteger numpy.sin numpy.sinc numpy.single "
        "numpy.sinh numpy.size numpy.sort numpy.sort_complex numpy.spacing numpy.split numpy.sqrt numpy.square "
        "numpy.squeeze numpy.stack numpy.std numpy.subtract numpy.sum numpy.swapaxes numpy.take numpy.take_along_axis "
        "numpy.tan numpy.tanh numpy.tensordot numpy.tile numpy.top_k numpy.trace numpy.transpose numpy.trapezoid "
        "numpy.tri numpy.tril numpy.tril_indices numpy.tril_indices_from numpy.trim_zeros numpy.triu "
        "numpy.triu_indices numpy.triu_indices_from numpy.true_divide numpy.trunc numpy.ufunc numpy.uint numpy.uint1 "
        "numpy.uint16 numpy.uint2 numpy.uint32 numpy.uint4 numpy.uint64 numpy.uint8 numpy.union1d numpy.unique "
        "numpy.unique_all numpy.unique_counts numpy.unique_inverse numpy.unique_values numpy.unpackbits "
        "numpy.unravel_index numpy.unsignedinteger numpy.unstack numpy.unwrap numpy.vander numpy.var numpy.vdot "
        "numpy.vecdot numpy.vecmat numpy.vectorize numpy.vsplit numpy.vstack numpy.where numpy.zeros numpy.zeros_like "
        "numpy_rank_promotion ops.segment_max ops.segment_min ops.segment_prod ops.segment_sum"
    ),
    "tangrad-random": (
        "debug_key_reuse default_prng_impl enable_custom_prng experimental.key_reuse.KeyUse "
        "experimental.key_reuse.check_key_reuse lax.RandomAlgorithm lax.rng_bit_generator legacy_prng_key random.Key "
        "random.NamedShape random.PRNGKey random.ball random.bernoulli random.beta random.binomial random.bits "
        "random.categorical random.cauchy random.chisquare random.choice random.clone random.dirichlet "
        "random.double_sided_maxwell random.exponential random.f random.fold_in random.gamma random.generalized_normal "
        "random.geometric random.gumbel random.key random.key_data random.key_dtype random.key_impl random.laplace "
        "random.loggamma random.logistic random.lognormal random.maxwell random.multinomial random.multivariate_normal "
        "random.normal random.orthogonal random.pareto random.permutation random.poisson random.rademacher "
        "random.randint random.rayleigh random.split random.t random.triangular random.truncated_normal random.uniform "
        "random.wald random.weibull_min random.wrap_key_data threefry_partitionable"
    ),
    "tangrad-references": (
        "Ref empty_ref experimental.pallas.ANY experimental.pallas.BlockSpec experimental.pallas.Blocked "
        "experimental.pallas.Buffered experimental.pallas.CompilerParams experimental.pallas.CostEstimate "
        "experimental.pallas.Element experimental.pallas.GridSpec experimental.pallas.HOST "
        "experimental.pallas.MemoryRef experimental.pallas.MemorySpace experimental.pallas.Slice "
        "experimental.pallas.Squeezed experimental.pallas.align_to experimental.pallas.broadcast_to "
        "experimental.pallas.cdiv experimental.pallas.debug_print experimental.pallas.dot experimental.pallas.ds "
        "experimental.pallas.dslice experimental.pallas.load experimental.pallas.loop "
        "experimental.pallas.max_contiguous experimental.pallas.multiple_of experimental.pallas.next_power_of_2 "
        "experimental.pallas.no_block_spec experimental.pallas.num_programs experimental.pallas.pallas_call "
        "experimental.pallas.program_id experimental.pallas.reciprocal experimental.pallas.run_scoped "
        "experimental.pallas.squeezed experimental.pallas.store experimental.pallas.strides_from_shape "
        "experimental.pallas.swap experimental.pallas.tpu.ANY experimental.pallas.tpu.ARBITRARY "
        "experimental.pallas.tpu.CMEM experimental.pallas.tpu.CORE_PARALLEL experimental.pallas.tpu.CompilerParams "
        "experimental.pallas.tpu.GridDimensionSemantics experimental.pallas.tpu.HBM "
        "experimental.pallas.tpu.InterpretParams experimental.pallas.tpu.MemorySpace experimental.pallas.tpu.PARALLEL "
        "experimental.pallas.tpu.PrefetchScalarGridSpec experimental.pallas.tpu.SMEM "
        "experimental.pallas.tpu.SUBCORE_PARALLEL experimental.pallas.tpu.VMEM experimental.pallas.tpu.VMEM_SHARED "
        "experimental.pallas.tpu.load experimental.pallas.tpu.roll experimental.pallas.tpu.store "
        "experimental.pallas.triton.CompilerParams experimental.pallas.triton.approx_tanh "
        "experimental.pallas.triton.atomic_add experimental.pallas.triton.atomic_and "
        "experimental.pallas.triton.atomic_cas experimental.pallas.triton.atomic_max "
        "experimental.pallas.triton.atomic_min experimental.pallas.triton.atomic_or "
        "experimental.pallas.triton.atomic_xchg experimental.pallas.triton.atomic_xor experimental.pallas.triton.dot "
        "experimental.pallas.triton.load experimental.pallas.triton.max_contiguous experimental.pallas.triton.store "
        "experimental.pallas.when experimental.random.StatefulPRNG experimental.random.stateful_rng free_ref freeze "
        "new_ref ref.AbstractRef ref.Ref ref.addupdate ref.empty_ref ref.free_ref ref.freeze ref.get ref.new_ref "
        "ref.set ref.swap"
    ),
    "tangrad-runtime": "runtime.ArtifactError runtime.Limits runtime.load runtime.save",
    "tangrad-scipy": (
        "example_libraries.optimizers.JoinPoint example_libraries.optimizers.Optimizer "
        "example_libraries.optimizers.OptimizerState example_libraries.optimizers.adagrad "
        "example_libraries.optimizers.adam example_libraries.optimizers.adamax example_libraries.optimizers.clip_grads "
        "example_libraries.optimizers.constant example_libraries.optimizers.exponential_decay "
        "example_libraries.optimizers.inverse_time_decay example_libraries.optimizers.l2_norm "
        "example_libraries.optimizers.make_schedule example_libraries.optimizers.momentum "
        "example_libraries.optimizers.nesterov example_libraries.optimizers.optimizer "
        "example_libraries.optimizers.pack_optimizer_state example_libraries.optimizers.piecewise_constant "
        "example_libraries.optimizers.polynomial_decay example_libraries.optimizers.rmsprop "
        "example_libraries.optimizers.rmsprop_momentum example_libraries.optimizers.sgd "
        "example_libraries.optimizers.sm3 example_libraries.optimizers.unpack_optimizer_state "
        "example_libraries.stax.AvgPool example_libraries.stax.BatchNorm example_libraries.stax.Conv "
        "example_libraries.stax.Conv1DTranspose example_libraries.stax.ConvTranspose example_libraries.stax.Dense "
        "example_libraries.stax.Dropout example_libraries.stax.Elu example_libraries.stax.Exp "
        "example_libraries.stax.FanInConcat example_libraries.stax.FanInSum example_libraries.stax.FanOut "
        "example_libraries.stax.Flatten example_libraries.stax.Gelu example_libraries.stax.GeneralConv "
        "example_libraries.stax.GeneralConvTranspose example_libraries.stax.Identity example_libraries.stax.LeakyRelu "
        "example_libraries.stax.LogSoftmax example_libraries.stax.MaxPool example_libraries.stax.Relu "
        "example_libraries.stax.Selu example_libraries.stax.Sigmoid example_libraries.stax.Softmax "
        "example_libraries.stax.Softplus example_libraries.stax.SumPool example_libraries.stax.Tanh "
        "example_libraries.stax.elementwise example_libraries.stax.parallel example_libraries.stax.serial "
        "example_libraries.stax.shape_dependent experimental.ode.odeint image.ResizeMethod image.resize "
        "image.scale_and_translate scipy.cluster.vq.vq scipy.fft.dct scipy.fft.dctn scipy.fft.idct scipy.fft.idctn "
        "scipy.integrate.trapezoid scipy.interpolate.RegularGridInterpolator scipy.linalg.block_diag "
        "scipy.linalg.cho_factor scipy.linalg.cho_solve scipy.linalg.cholesky scipy.linalg.circulant "
        "scipy.linalg.companion scipy.linalg.convolution_matrix scipy.linalg.det scipy.linalg.dft scipy.linalg.eigh "
        "scipy.linalg.eigh_tridiagonal scipy.linalg.expm scipy.linalg.expm_frechet scipy.linalg.fiedler "
        "scipy.linalg.fiedler_companion scipy.linalg.funm scipy.linalg.hadamard scipy.linalg.hankel "
        "scipy.linalg.helmert scipy.linalg.hessenberg scipy.linalg.hilbert scipy.linalg.inv scipy.linalg.invhilbert "
        "scipy.linalg.invpascal scipy.linalg.leslie scipy.linalg.lu scipy.linalg.lu_factor scipy.linalg.lu_solve "
        "scipy.linalg.pascal scipy.linalg.polar scipy.linalg.qr scipy.linalg.qr_multiply scipy.linalg.rsf2csf "
        "scipy.linalg.schur scipy.linalg.solve scipy.linalg.solve_sylvester scipy.linalg.solve_triangular "
        "scipy.linalg.sqrtm scipy.linalg.svd scipy.linalg.toeplitz scipy.ndimage.map_coordinates "
        "scipy.optimize.OptimizeResults scipy.optimize.minimize scipy.signal.convolve scipy.signal.convolve2d "
        "scipy.signal.correlate scipy.signal.correlate2d scipy.signal.csd scipy.signal.detrend "
        "scipy.signal.fftconvolve scipy.signal.istft scipy.signal.stft scipy.signal.welch scipy.sparse.linalg.bicgstab "
        "scipy.sparse.linalg.cg scipy.sparse.linalg.gmres scipy.spatial.transform.Rotation "
        "scipy.spatial.transform.Slerp scipy.special.bernoulli scipy.special.bessel_jn scipy.special.beta "
        "scipy.special.betainc scipy.special.betaln scipy.special.boxcox scipy.special.boxcox1p scipy.special.comb "
        "scipy.special.dawsn scipy.special.digamma scipy.special.entr scipy.special.erf scipy.special.erfc "
        "scipy.special.erfcinv scipy.special.erfcx scipy.special.erfinv scipy.special.exp1 scipy.special.expi "
        "scipy.special.expit scipy.special.expn scipy.special.factorial scipy.special.fresnel scipy.special.gamma "
        "scipy.special.gammainc scipy.special.gammaincc scipy.special.gammaln scipy.special.gammasgn "
        "scipy.special.hyp1f1 scipy.special.hyp2f1 scipy.special.i0 scipy.special.i0e scipy.special.i1 "
        "scipy.special.i1e scipy.special.kl_div scipy.special.log_ndtr scipy.special.log_softmax "
        "scipy.special.loggamma scipy.special.logit scipy.special.logsumexp scipy.special.lpmn "
        "scipy.special.lpmn_values scipy.special.multigammaln scipy.special.ndtr scipy.special.ndtri "
        "scipy.special.owens_t scipy.special.poch scipy.special.polygamma scipy.special.rel_entr scipy.special.sici "
        "scipy.special.softmax scipy.special.spence scipy.special.sph_harm_y scipy.special.wofz scipy.special.xlog1py "
        "scipy.special.xlogy scipy.special.zeta scipy.stats.bernoulli.cdf scipy.stats.bernoulli.logpmf "
        "scipy.stats.bernoulli.pmf scipy.stats.bernoulli.ppf scipy.stats.beta.cdf scipy.stats.beta.logcdf "
        "scipy.stats.beta.logpdf scipy.stats.beta.logsf scipy.stats.beta.pdf scipy.stats.beta.sf "
        "scipy.stats.betabinom.logpmf scipy.stats.betabinom.pmf scipy.stats.binom.logpmf scipy.stats.binom.pmf "
        "scipy.stats.cauchy.cdf scipy.stats.cauchy.isf scipy.stats.cauchy.logcdf scipy.stats.cauchy.logpdf "
        "scipy.stats.cauchy.logsf scipy.stats.cauchy.pdf scipy.stats.cauchy.ppf scipy.stats.cauchy.sf "
        "scipy.stats.chi2.cdf scipy.stats.chi2.logcdf scipy.stats.chi2.logpdf scipy.stats.chi2.logsf "
        "scipy.stats.chi2.pdf scipy.stats.chi2.sf scipy.stats.dirichlet.logpdf scipy.stats.dirichlet.pdf "
        "scipy.stats.expon.cdf scipy.stats.expon.logcdf scipy.stats.expon.logpdf scipy.stats.expon.logsf "
        "scipy.stats.expon.pdf scipy.stats.expon.ppf scipy.stats.expon.sf scipy.stats.gamma.cdf "
        "scipy.stats.gamma.logcdf scipy.stats.gamma.logpdf scipy.stats.gamma.logsf scipy.stats.gamma.pdf "
        "scipy.stats.gamma.sf scipy.stats.gaussian_kde scipy.stats.gennorm.cdf scipy.stats.gennorm.logpdf "
        "scipy.stats.gennorm.pdf scipy.stats.geom.logpmf scipy.stats.geom.pmf scipy.stats.gumbel_l.cdf "
        "scipy.stats.gumbel_l.logcdf scipy.stats.gumbel_l.logpdf scipy.stats.gumbel_l.logsf scipy.stats.gumbel_l.pdf "
        "scipy.stats.gumbel_l.ppf scipy.stats.gumbel_l.sf scipy.stats.gumbel_r.cdf scipy.stats.gumbel_r.logcdf "
        "scipy.stats.gumbel_r.logpdf scipy.stats.gumbel_r.logsf scipy.stats.gumbel_r.pdf scipy.stats.gumbel_r.ppf "
        "scipy.stats.gumbel_r.sf scipy.stats.laplace.cdf scipy.stats.laplace.logpdf scipy.stats.laplace.pdf "
        "scipy.stats.logistic.cdf scipy.stats.logistic.isf scipy.stats.logistic.logpdf scipy.stats.logistic.pdf "
        "scipy.stats.logistic.ppf scipy.stats.logistic.sf scipy.stats.mode scipy.stats.multinomial.logpmf "
        "scipy.stats.multinomial.pmf scipy.stats.multivariate_normal.logpdf scipy.stats.multivariate_normal.pdf "
        "scipy.stats.nbinom.logpmf scipy.stats.nbinom.pmf scipy.stats.norm.cdf scipy.stats.norm.isf "
        "scipy.stats.norm.logcdf scipy.stats.norm.logpdf scipy.stats.norm.logsf scipy.stats.norm.pdf "
        "scipy.stats.norm.ppf scipy.stats.norm.sf scipy.stats.pareto.cdf scipy.stats.pareto.logcdf "
        "scipy.stats.pareto.logpdf scipy.stats.pareto.logsf scipy.stats.pareto.pdf scipy.stats.pareto.ppf "
        "scipy.stats.pareto.sf scipy.stats.poisson.cdf scipy.stats.poisson.entropy scipy.stats.poisson.logpmf "
        "scipy.stats.poisson.pmf scipy.stats.rankdata scipy.stats.sem scipy.stats.t.logpdf scipy.stats.t.pdf "
        "scipy.stats.truncnorm.cdf scipy.stats.truncnorm.logcdf scipy.stats.truncnorm.logpdf "
        "scipy.stats.truncnorm.logsf scipy.stats.truncnorm.pdf scipy.stats.truncnorm.sf scipy.stats.uniform.cdf "
        "scipy.stats.uniform.logpdf scipy.stats.uniform.pdf scipy.stats.uniform.ppf scipy.stats.vonmises.logpdf "
        "scipy.stats.vonmises.pdf scipy.stats.wrapcauchy.logpdf scipy.stats.wrapcauchy.pdf"
    ),
    "tangrad-sharding": (
        "NamedSharding P Shard debug.inspect_array_sharding debug.visualize_array_sharding debug.visualize_sharding "
        "device_put_replicated device_put_sharded experimental.custom_partitioning.ArrayMapping "
        "experimental.custom_partitioning.BATCHING experimental.custom_partitioning.CompoundFactor "
        "experimental.custom_partitioning.SdyShardingRule experimental.custom_partitioning.custom_partitioning "
        "experimental.mesh_utils.create_device_mesh experimental.pjit.pjit experimental.pjit.with_sharding_constraint "
        "experimental.shard_map.shard_map lax.with_sharding_constraint make_array_from_callback "
        "make_array_from_process_local_data make_array_from_single_device_arrays make_mesh pmap reshard set_mesh "
        "shard_map sharding.AbstractMesh sharding.AxisType sharding.GSPMDSharding sharding.HloSharding "
        "sharding.ManualAxisType sharding.Mesh sharding.NamedSharding sharding.PartitionSpec "
        "sharding.PositionalSharding sharding.Sharding sharding.ShardingTypeError sharding.SingleDeviceSharding "
        "sharding.UnreducedKind sharding.auto_axes sharding.explicit_axes sharding.get_abstract_mesh sharding.get_mesh "
        "sharding.inspect_array_sharding sharding.reshard sharding.set_mesh sharding.use_abstract_mesh "
        "sharding.use_mesh smap soft_pmap xmap"
    ),
    "tangrad-sparse": (
        "experimental.sparse.BCOO experimental.sparse.BCSR experimental.sparse.COO experimental.sparse.CSC "
        "experimental.sparse.CSR experimental.sparse.JAXSparse experimental.sparse.SparseEfficiencyError "
        "experimental.sparse.SparseEfficiencyWarning experimental.sparse.bcoo_broadcast_in_dim "
        "experimental.sparse.bcoo_concatenate experimental.sparse.bcoo_dot_general "
        "experimental.sparse.bcoo_dot_general_sampled experimental.sparse.bcoo_dynamic_slice "
        "experimental.sparse.bcoo_extract experimental.sparse.bcoo_fromdense experimental.sparse.bcoo_multiply_dense "
        "experimental.sparse.bcoo_multiply_sparse experimental.sparse.bcoo_reduce_sum experimental.sparse.bcoo_reshape "
        "experimental.sparse.bcoo_rev experimental.sparse.bcoo_slice experimental.sparse.bcoo_sort_indices "
        "experimental.sparse.bcoo_squeeze experimental.sparse.bcoo_sum_duplicates experimental.sparse.bcoo_todense "
        "experimental.sparse.bcoo_transpose experimental.sparse.bcoo_update_layout "
        "experimental.sparse.bcsr_broadcast_in_dim experimental.sparse.bcsr_concatenate "
        "experimental.sparse.bcsr_dot_general experimental.sparse.bcsr_extract experimental.sparse.bcsr_fromdense "
        "experimental.sparse.bcsr_sum_duplicates experimental.sparse.bcsr_todense experimental.sparse.coo_fromdense "
        "experimental.sparse.coo_matmat experimental.sparse.coo_matvec experimental.sparse.coo_todense "
        "experimental.sparse.csr_fromdense experimental.sparse.csr_matmat experimental.sparse.csr_matvec "
        "experimental.sparse.csr_todense experimental.sparse.empty experimental.sparse.eye experimental.sparse.grad "
        "experimental.sparse.jacfwd experimental.sparse.jacobian experimental.sparse.jacrev "
        "experimental.sparse.linalg.lobpcg_standard experimental.sparse.linalg.spsolve experimental.sparse.random_bcoo "
        "experimental.sparse.sparsify experimental.sparse.todense experimental.sparse.value_and_grad"
    ),
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
        "xla_cache_min_entry_bytes xla_cpu_asynchronous xla_platforms"
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
        "experimental_xmap_spmd_lowering experimental_xmap_spmd_lowering_manual mesh mesh_axis_types serial_loops"
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
