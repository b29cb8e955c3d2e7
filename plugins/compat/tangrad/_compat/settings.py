"""JAX's names of settings, for programs that come from there: `config.update("jax_enable_x64", True)`.

Each name of JAX 0.10 to 0.12 is of one of three kinds. Some are settings of Tangrad under another name. Some ask for
one of several ways of doing things, of which there is one here: its value is accepted, any other is an error that gives
the reason. Others make nothing but a difference in speed, in JAX: their values are kept, and nothing depends on them.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import tangrad
from tangrad.core.settings import ForeignNames, Setting, usable_settings
from tangrad.errors import MissingDistributionError

# --- JAX's names of settings, for programs that come from there: `config.update("jax_enable_x64", True)` ---


class Alias(NamedTuple):
    """A setting of Tangrad.

    Attributes:
        setting: its name.
        values: JAX's values that are called otherwise here; all others are the same.
        optional: the values that ask for nothing where the setting's distribution is not installed.
    """

    setting: str
    values: Mapping[Any, object] = {}
    optional: tuple[object, ...] = ()


class Fixed(NamedTuple):
    """What is always so.

    Attributes:
        value: what it is, in JAX's words.
        reason: why it cannot be otherwise, and what to use.
        also: other values that ask for no more than this.
    """

    value: object
    reason: str
    also: tuple[object, ...] = ()


class Ignored(NamedTuple):
    """What makes no difference here.

    Attributes:
        default: the value where none is set.
        reason: why there is nothing that it could change.
    """

    default: object
    reason: str


_PLATFORMS = {"gpu": "cuda", "": None}
_CPU = ("cpu", "", None)
_FILTERED = {"tracebackhide": "auto", "remove_frames": "auto", "quiet_remove_frames": "auto"}
_OPEN = ("allow", None)

_CONSTANTS = "constants are written into programs, whatever their size; what is large is better an argument"
_DIRECT = "gradients are always linearised directly"
_DUMPS = "f.lower(x).as_text() and .compile().as_text() give a program's text; the hook tangrad_lowered sees every one"
_LOCATIONS = "operations carry the line of the user's program that made them"
_LOGGING = "levels are those of the standard library: logging.getLogger('tangrad').setLevel(...)"
_PALLAS = "kernels are interpreted"
_PGLE = "programs are not compiled anew by measured profiles"
_RELAYED = "programs are compiled by each process for itself"
_TRIALS = "it turns on what is being tried out inside of JAX"
_ELSEWHERE = "the hardware or the service that it is about is not supported"

NAMES: dict[str, Alias | Fixed | Ignored] = {
    "jax2tf_associative_scan_reductions": Ignored(False, "programs are not converted to TensorFlow's"),
    "jax2tf_default_native_serialization": Ignored(True, "programs are not converted to TensorFlow's"),
    "jax_accurate_erf_inv": Ignored(False, "`erf_inv` is as exact near 1 as elsewhere"),
    "jax_allow_f16_reductions": Fixed(True, "16-bit numbers may be summed"),
    "jax_array_garbage_collection_guard": Fixed(None, "arrays in cycles of references are freed as Python does", _OPEN),
    "jax_auto_pcast": Fixed(True, "within shard_map no casts are needed"),
    "jax_backend_target": Fixed("", _ELSEWHERE, (None,)),
    "jax_bcoo_cusparse_lowering": Fixed(False, "products of sparse arrays are gathers and sums"),
    "jax_captured_constants_report_frames": Ignored(0, _CONSTANTS),
    "jax_captured_constants_warn_bytes": Ignored(2 * 10**9, _CONSTANTS),
    "jax_check_proxy_envs": Ignored(True, "only a warning depends on it"),
    "jax_check_static_indices": Fixed(False, "indices out of range are clamped or dropped, by the mode"),
    "jax_check_tracer_leaks": Alias("check_tracer_leaks"),
    "jax_compilation_cache_check_contents": Fixed(False, "each entry of the cache holds a digest, which is checked"),
    "jax_compilation_cache_dir": Alias("compilation_cache_dir", {"": None}),
    "jax_compilation_cache_expect_pgle": Fixed(False, _PGLE),
    "jax_compilation_cache_include_metadata_in_key": Ignored(False, "keys leave out names of files and lines"),
    "jax_compilation_cache_max_size": Alias("compilation_cache_max_size", {-1: None}),
    "jax_compiler_detailed_logging_min_ops": Ignored(10, "XLA writes no logs of its own work"),
    "jax_compiler_enable_remat_pass": Ignored(True, "XLA decides; tangrad.checkpoint chooses what is computed again"),
    "jax_cpu_collectives_implementation": Fixed("gloo", "CPUs of several processes talk by Gloo", (None,)),
    "jax_cpu_enable_async_dispatch": Alias("xla_cpu_asynchronous", {}, (True, False)),
    "jax_cpu_get_global_topology_timeout_minutes": Ignored(
        5, "distributed.initialize(initialization_timeout=) sets it"
    ),
    "jax_cpu_get_local_topology_timeout_minutes": Ignored(2, "distributed.initialize(initialization_timeout=) sets it"),
    "jax_cross_host_transfer_socket_address": Fixed("", _ELSEWHERE),
    "jax_cross_host_transfer_timeout_seconds": Fixed(None, _ELSEWHERE),
    "jax_cross_host_transfer_transfer_size": Fixed(None, _ELSEWHERE),
    "jax_cross_host_transport_addresses": Fixed("", _ELSEWHERE),
    "jax_cuda_visible_devices": Fixed("all", "TANGRAD_CUDA_VISIBLE_DEVICES in the environment sets it"),
    "jax_custom_jvp3": Ignored(False, _TRIALS),
    "jax_custom_vjp3": Fixed(False, _TRIALS),
    "jax_debug_infs": Alias("debug_infs"),
    "jax_debug_key_reuse": Alias("debug_key_reuse"),
    "jax_debug_leaked_clients_on_clear_backends": Fixed(False, "backends stay until the process ends"),
    "jax_debug_log_modules": Fixed("", _LOGGING),
    "jax_debug_nans": Alias("debug_nans"),
    "jax_default_device": Alias("default_device"),
    "jax_default_matmul_precision": Alias("default_matmul_precision"),
    "jax_default_prng_impl": Alias("default_prng_impl"),
    "jax_disable_bwd_checks": Fixed(False, "cotangents are always checked"),
    "jax_disable_jit": Alias("disable_jit"),
    "jax_disable_most_optimizations": Fixed(
        False, "jit(compiler_options={'xla_backend_optimization_level': 0}) sets it for one function"
    ),
    "jax_disable_vmap_shmap_error": Fixed(False, "vmap of shard_map needs no exception"),
    "jax_disallow_mesh_context_manager": Fixed(False, "`with mesh:` sets the mesh in use"),
    "jax_distributed_debug": Fixed(False, _LOGGING),
    "jax_distributed_verify_secure_credentials": Ignored(False, _ELSEWHERE),
    "jax_dump_ir_modes": Fixed("stablehlo", _DUMPS),
    "jax_dump_ir_to": Fixed("", _DUMPS, (None,)),
    "jax_embedded_constants_max_bytes": Ignored(32, _CONSTANTS),
    "jax_enable_checks": Alias("check_jaxprs"),
    "jax_enable_compilation_cache": Alias("enable_compilation_cache"),
    "jax_enable_custom_prng": Alias("enable_custom_prng"),
    "jax_enable_key_reuse_checks": Alias("debug_key_reuse"),  # as releases before 0.4.26 name it
    "jax_enable_pgle": Fixed(False, _PGLE),
    "jax_enable_preemption_service": Fixed(False, "no service announces that a process will be stopped", (True,)),
    "jax_enable_recoverability": Fixed(False, "when a process is lost the others end"),
    "jax_enable_x64": Alias("enable_x64"),
    "jax_error_checking_behavior_divide": Fixed("ignore", "divisions by zero give infinities; debug_infs finds them"),
    "jax_error_checking_behavior_nan": Fixed("ignore", "debug_nans finds the operation that makes a NaN"),
    "jax_error_checking_behavior_oob": Fixed("ignore", "indices out of range are clamped or dropped, by the mode"),
    "jax_exec_time_optimization_effort": Fixed(0.0, "jit(compiler_options=) hands options to XLA"),
    "jax_experimental_unsafe_xla_runtime_errors": Fixed(False, "tangrad.debug.callback may raise"),
    "jax_explain_cache_misses": Alias("explain_cache_misses"),
    "jax_explicit_x64_dtypes": Alias("explicit_x64_dtypes"),
    "jax_export_calling_convention_version": Fixed(10, "programs are called by it", (9,)),
    "jax_export_deserialize_expired_versions": Fixed(False, "a file of a version that is not supported is refused"),
    "jax_export_ignore_forward_compatibility": Fixed(False, "exported programs are for this release and later ones"),
    "jax_force_dcn_cross_host_transfers": Fixed(False, _ELSEWHERE),
    "jax_high_dynamic_range_gumbel": Fixed(False, "random.gumbel(mode='high') draws so"),
    "jax_hlo_source_file_canonicalization_regex": Fixed(None, _LOCATIONS),
    "jax_include_debug_info_in_dumps": Ignored(True, _DUMPS),
    "jax_include_full_tracebacks_in_locations": Ignored(True, _LOCATIONS),
    "jax_legacy_prng_key": Alias("legacy_prng_key"),
    "jax_log_checkpoint_residuals": Fixed(False, "make_jaxpr(grad(f)) shows what is kept"),
    "jax_log_compiles": Alias("log_compiles"),
    "jax_logging_level": Fixed("NOTSET", _LOGGING, (None,)),
    "jax_memory_fitting_effort": Fixed(0.0, "jit(compiler_options=) hands options to XLA"),
    "jax_memory_fitting_level": Fixed("O2", "jit(compiler_options=) hands options to XLA"),
    "jax_mock_gpu_topology": Fixed("", _ELSEWHERE),
    "jax_mosaic_allow_hlo": Ignored(False, _PALLAS),
    "jax_mosaic_unzip_debug_locations": Ignored(True, _PALLAS),
    "jax_mtls_ca_file": Ignored(None, _ELSEWHERE),
    "jax_mtls_cert_file": Ignored(None, _ELSEWHERE),
    "jax_mtls_key_file": Ignored(None, _ELSEWHERE),
    "jax_mtls_peer_uri_prefix": Ignored(None, _ELSEWHERE),
    "jax_mutable_array_checks": Ignored(True, "references are always checked"),
    "jax_no_execution": Fixed(False, "eval_shape and make_jaxpr compute nothing"),
    "jax_no_tracing": Alias("no_tracing"),
    "jax_num_cpu_devices": Alias("num_cpu_devices", {-1: None}),
    "jax_numpy_dtype_promotion": Alias("numpy_dtype_promotion"),
    "jax_numpy_rank_promotion": Alias("numpy_rank_promotion"),
    "jax_oneapi_visible_devices": Fixed("all", _ELSEWHERE),
    "jax_optimization_level": Fixed("UNKNOWN", "jit(compiler_options=) hands options to XLA"),
    "jax_pallas_auto_assign_collective_ids": Ignored("no", _PALLAS),
    "jax_pallas_auto_assign_collective_ids_limit": Ignored(25, _PALLAS),
    "jax_pallas_enable_debug_checks": Ignored(False, _PALLAS),
    "jax_pallas_poison_buffers": Ignored(False, _PALLAS),
    "jax_pallas_use_mosaic_gpu": Ignored(True, _PALLAS),
    "jax_pallas_verbose_errors": Ignored(False, _PALLAS),
    "jax_persistent_cache_enable_xla_caches": Ignored(
        "xla_gpu_per_fusion_autotune_cache_dir", "XLA's own caches keep nothing on disk"
    ),
    "jax_persistent_cache_min_compile_time_secs": Alias("xla_cache_min_compile_seconds"),
    "jax_persistent_cache_min_entry_size_bytes": Alias("xla_cache_min_entry_bytes", {-1: 0}),
    "jax_pgle_aggregation_percentile": Ignored(90, _PGLE),
    "jax_pgle_profiling_runs": Ignored(3, _PGLE),
    "jax_pjrt_client_create_options": Fixed(
        None, "XLA_PYTHON_CLIENT_… in the environment sets how much memory to take"
    ),
    "jax_platform_name": Alias("xla_platforms", _PLATFORMS, _CPU),
    "jax_platforms": Alias("xla_platforms", _PLATFORMS, _CPU),
    "jax_pprint_use_color": Ignored(True, "jaxprs are printed without colours"),
    "jax_ragged_dot_use_gpu_pallas_triton_lowering": Ignored(False, _PALLAS),
    "jax_ragged_dot_use_ragged_dot_instruction": Ignored(True, _ELSEWHERE),
    "jax_raise_on_ppermute_sort_diff": Fixed(False, "pairs count along the axes in the order in which they are named"),
    "jax_raise_persistent_cache_errors": Fixed(
        False, "what goes wrong with the cache is logged, and costs a compilation"
    ),
    "jax_random_seed_offset": Alias("random_seed_offset"),
    "jax_refs_to_pins": Ignored(False, "the compiler decides where references are kept"),
    "jax_remat3": Fixed(False, _TRIALS),
    "jax_remat_barrier_no_cotangents": Ignored(False, _TRIALS),
    "jax_remove_custom_partitioning_ptr_from_cache_key": Fixed(False, "no custom_partitioning is there"),
    "jax_remove_size_one_mesh_axis_from_type": Alias("types_without_axes_of_size_one", {}, (False,)),
    "jax_rocm_visible_devices": Fixed("all", _ELSEWHERE),
    "jax_scan3": Fixed(False, _TRIALS),
    "jax_send_traceback_to_runtime": Fixed("off", _LOCATIONS),
    "jax_serialization_version": Fixed(0, "tangrad.export writes one version of its files"),
    "jax_share_binary_between_hosts": Fixed(False, _RELAYED),
    "jax_share_binary_between_hosts_timeout_ms": Ignored(20 * 60 * 1000, _RELAYED),
    "jax_softmax_custom_jvp": Ignored(False, "softmax has one derivative, which is stable"),
    "jax_sort_devices_by_process_index": Fixed(True, "devices come process by process"),
    "jax_source_url_schema": Ignored(None, "jaxprs are not shown as pages"),
    "jax_thread_guard": Fixed(False, "threads that compute together with other processes are not watched"),
    "jax_threefry_gpu_kernel_lowering": Ignored(False, "the compiler makes the generator's kernel"),
    "jax_threefry_partitionable": Alias("threefry_partitionable"),
    "jax_traceback_filtering": Alias("traceback_filtering", _FILTERED),
    "jax_traceback_in_locations_limit": Ignored(100, _LOCATIONS),
    "jax_tracer_error_num_traceback_frames": Ignored(5, "errors of tracers name the line that made them"),
    "jax_transfer_guard": Alias("transfer_guard", {None: "allow"}),
    "jax_transfer_guard_device_to_device": Alias("transfer_guard_device_to_device"),
    "jax_transfer_guard_device_to_host": Alias("transfer_guard_device_to_host"),
    "jax_transfer_guard_host_to_device": Alias("transfer_guard_host_to_device"),
    "jax_use_cpp_shard_args": Ignored(False, "arguments are sharded by Python alone"),
    "jax_use_direct_linearize": Fixed(True, _DIRECT),
    "jax_use_emit_pipeline_primitive": Ignored(False, _PALLAS),
    "jax_use_hlo_logistic_lowering": Ignored(None, "it is about TPUs"),
    "jax_use_magma": Fixed("auto", "decompositions of general matrices are computed on the host", ("off",)),
    "jax_use_rgv3": Ignored(True, "groups of devices are written as lists"),
    "jax_use_shardy_partitioner": Fixed(True, "programs are partitioned by Shardy"),
    "jax_use_simplified_jaxpr_constants": Ignored(False, "it is how JAX writes constants into its programs"),
    "jax_xla_backend": Fixed("", "the setting backend names the backend", (None,)),
    "jax_xla_profile_version": Ignored(0, "nothing is compiled by a service"),
}

_kept: dict[str, object] = {}


def read(name: str, setting: Callable[[str], Setting]) -> Any:
    """The value of JAX's setting `name`. Raises AttributeError for a name that no release of JAX from 0.10 on has.

    `setting`: finds those of Tangrad.
    """
    known = _known(name)
    if isinstance(known, Alias):
        try:
            return setting(known.setting).value
        except MissingDistributionError:
            if known.optional:
                return known.optional[0]
            raise
    return known.value if isinstance(known, Fixed) else _kept.get(name, known.default)


def update(name: str, value: object, setting: Callable[[str], Setting]) -> None:
    """Set JAX's setting `name`. Raises AttributeError for an unknown name, ValueError for what cannot be had."""
    known = _known(name)
    if isinstance(known, Alias):
        try:
            found = setting(known.setting)
        except MissingDistributionError:
            if value in known.optional:
                return
            raise
        found.set(known.values.get(value, value) if isinstance(value, (str, int)) else value)
    elif isinstance(known, Ignored):
        _kept[name] = value
    elif value not in (known.value, *known.also):
        raise ValueError(f"the setting {name!r} is {known.value!r} here and cannot be {value!r}: {known.reason}")


def _known(name: str) -> Alias | Fixed | Ignored:
    known = NAMES.get(name)
    if known is None:
        raise AttributeError(f"there is no setting {name!r}, in Tangrad or in JAX")
    return known


names_of_jax = ForeignNames(read, update)


# --- The settings of jax: `jax.config`, its context managers, and the environment variables `JAX_...` ---
# What each of them is here is in the table of `tangrad.config`, which knows jax's names.


class Config:
    """`jax.config`: `tangrad.config` by jax's names, with what else `jax.config` has.

    >>> import tangrad.compat.jax
    >>> with tangrad.compat.jax.install():
    ...     import jax
    ...     jax.config.update("jax_debug_nans", False)
    >>> jax.config.jax_debug_nans
    False
    """

    __slots__ = ()

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit dtypes are in use."""
        return bool(tangrad.config.enable_x64)

    def update(self, name: str, value: object) -> None:
        """Set a setting. Raises AttributeError for one that there is not, ValueError for a value that is refused."""
        tangrad.config.update(name, value)

    def parse_flags_with_absl(self) -> None:
        """Give absl's flags their defaults, where the program uses them: tests ask them for folders without a `main`.

        Settings are not read from the command line.
        """
        flags: Any = sys.modules.get("absl.flags")
        if flags is not None and not flags.FLAGS.is_parsed():
            flags.FLAGS([*sys.argv[:1], ""][:1], known_only=True)

    def config_with_absl(self) -> None:
        """Do nothing, as `parse_flags_with_absl`: no flags of absl stand for settings."""

    def read(self, name: str) -> Any:
        """The value of a setting."""
        return getattr(self, name)

    @property
    def values(self) -> Mapping[str, object]:
        """The name in jax, and the value, of every setting whose distribution is installed."""
        found = {}
        for name in NAMES:
            try:
                found[name] = self.read(name)
            except MissingDistributionError:
                continue
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(tangrad.config, name)

    def __setattr__(self, name: str, value: object) -> None:
        self.update(name, value)


def override(name: str) -> Callable[..., AbstractContextManager[None]]:
    """The context manager of jax for a setting that Tangrad has none for: it takes the values that `update` takes."""

    @contextmanager
    def overridden(value: object = True) -> Iterator[None]:
        previous = config.read(name)
        config.update(name, value)
        try:
            yield
        finally:
            config.update(name, previous)

    return overridden


config = Config()


def read_environment() -> None:
    """Set what variables such as JAX_ENABLE_X64 hold, where Tangrad's own variable for it is not set.

    Warns where a variable holds what `config.update` would refuse.
    """
    for variable, text in os.environ.items():
        known = NAMES.get(variable.lower())
        if known is None:
            continue
        try:
            _read(variable.lower(), known, text)
        except (TypeError, ValueError, MissingDistributionError) as error:
            warnings.warn(
                f"the environment variable {variable}={text!r} is not used: {error}", UserWarning, stacklevel=3
            )


def _read(name: str, known: Alias | Fixed | Ignored, text: str) -> None:
    if isinstance(known, Alias):
        words = {str(theirs): theirs for theirs in (*known.values, *known.optional)}
        setting = usable_settings().get(known.setting)
        if setting is not None and setting.environment_variable in os.environ:
            return
        value = words.get(text, text) if setting is None or text in words else setting.parse(text)
    else:
        value = _parsed(text, known.value if isinstance(known, Fixed) else known.default)
    config.update(name, value)


def _parsed(text: str, like: object) -> object:
    """A text as a value of the type of another."""
    if isinstance(like, bool):
        return usable_settings()["enable_x64"].parse(text)
    return type(like)(text) if isinstance(like, (int, float)) else text
