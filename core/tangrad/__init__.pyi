# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad import (
    dtypes as dtypes,
    errors as errors,
    typing as typing,
)
from tangrad import _autodiff as _autodiff
from tangrad import _backend_numpy as _backend_numpy
from tangrad import _backend_xla as _backend_xla
from tangrad import _batching as _batching
from tangrad import _checkify as _checkify
from tangrad import _collectives as _collectives
from tangrad import _compat as _compat
from tangrad import _conformance as _conformance
from tangrad import _console as _console
from tangrad import _core as _core
from tangrad import _custom_rules as _custom_rules
from tangrad import _debug as _debug
from tangrad import _distributed as _distributed
from tangrad import _export as _export
from tangrad import _ffi as _ffi
from tangrad import _fft as _fft
from tangrad import _jit as _jit
from tangrad import _lax as _lax
from tangrad import _masking as _masking
from tangrad import _nn as _nn
from tangrad import _numpy as _numpy
from tangrad import _profiler as _profiler
from tangrad import _random as _random
from tangrad import _runtime as _runtime
from tangrad import _scipy as _scipy
from tangrad import _sharding as _sharding
from tangrad import _sparse as _sparse
from tangrad import _symbolic as _symbolic
from tangrad import _xmap as _xmap
from tangrad import ad_checkpoint as ad_checkpoint
from tangrad import autodiff as autodiff
from tangrad import batching as batching
from tangrad import cache as cache
from tangrad import compat as compat
from tangrad import conformance as conformance
from tangrad import core as core
from tangrad import custom_batching as custom_batching
from tangrad import custom_derivatives as custom_derivatives
from tangrad import debug as debug
from tangrad import distributed as distributed
from tangrad import dlpack as dlpack
from tangrad import example_libraries as example_libraries
from tangrad import experimental as experimental
from tangrad import export as export
from tangrad import extend as extend
from tangrad import ffi as ffi
from tangrad import flatten_util as flatten_util
from tangrad import image as image
from tangrad import lax as lax
from tangrad import monitoring as monitoring
from tangrad import nn as nn
from tangrad import numpy as numpy
from tangrad import ops as ops
from tangrad import profiler as profiler
from tangrad import random as random
from tangrad import runtime as runtime
from tangrad import scipy as scipy
from tangrad import sharding as sharding
from tangrad import stages as stages
from tangrad import test_util as test_util
from tangrad import tree as tree
from tangrad import tree_util as tree_util
from tangrad._autodiff.directional import (
    jvp as jvp,
    linear_transpose as linear_transpose,
    linearize as linearize,
    vjp as vjp,
)
from tangrad._autodiff.reverse import (
    grad as grad,
    value_and_grad as value_and_grad,
)
from tangrad._batching.vmap_api import vmap as vmap
from tangrad._console.report.environment import print_environment_info as print_environment_info
from tangrad._core.diagnostics.source_info import (
    named_call as named_call,
    named_scope as named_scope,
)
from tangrad._core.dtypes.promotion import numpy_dtype_promotion as numpy_dtype_promotion
from tangrad._core.kernel.all_settings import config as config
from tangrad._core.kernel.array import Array as Array
from tangrad._core.kernel.aval import typeof as typeof
from tangrad._core.kernel.backend import Device as Device
from tangrad._core.kernel.compile_time import ensure_compile_time_eval as ensure_compile_time_eval
from tangrad._core.kernel.devices import (
    block_until_ready as block_until_ready,
    copy_to_host_async as copy_to_host_async,
    default_backend as default_backend,
    device_count as device_count,
    device_get as device_get,
    devices as devices,
    effects_barrier as effects_barrier,
    local_device_count as local_device_count,
    local_devices as local_devices,
    process_count as process_count,
    process_index_of_this_process as process_index,
    process_indices as process_indices,
)
from tangrad._core.kernel.transfers import (
    transfer_guard as transfer_guard,
    transfer_guard_device_to_device as transfer_guard_device_to_device,
    transfer_guard_device_to_host as transfer_guard_device_to_host,
    transfer_guard_host_to_device as transfer_guard_host_to_device,
)
from tangrad._core.settings.caches import clear_caches as clear_caches
from tangrad._core.settings.config import (
    check_tracer_leaks as check_tracer_leaks,
    check_tracer_leaks as checking_leaks,
    debug_infs as debug_infs,
    debug_nans as debug_nans,
    default_device as default_device,
    check_jaxprs as enable_checks,
    enable_x64 as enable_x64,
    log_compiles as log_compiles,
    backend as use_backend,
)
from tangrad._custom_rules.checkpoint.functions import (
    checkpoint as checkpoint,
    remat as remat,
)
from tangrad._custom_rules.checkpoint.policies import checkpoint_policies as checkpoint_policies
from tangrad._custom_rules.forward import custom_jvp as custom_jvp
from tangrad._custom_rules.gradients import (
    closure_convert as closure_convert,
    custom_gradient as custom_gradient,
)
from tangrad._custom_rules.jacobians.functions import (
    hessian as hessian,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
)
from tangrad._custom_rules.linear import (
    custom_transpose as custom_transpose,
    linear_call as linear_call,
)
from tangrad._custom_rules.mapped import custom_vmap as custom_vmap
from tangrad._custom_rules.reverse import custom_vjp as custom_vjp
from tangrad._debug.arrays import live_arrays as live_arrays
from tangrad._debug.functions import pure_callback as pure_callback
from tangrad._export.compiled.reading import load_compiled as load_compiled
from tangrad._export.hlo_computations.functions import xla_computation as xla_computation
from tangrad._jit.abstract import (
    ShapeDtypeStruct as ShapeDtypeStruct,
    eval_shape as eval_shape,
    make_jaxpr as make_jaxpr,
)
from tangrad._jit.function import jit as jit
from tangrad._jit.settings import (
    without_jit as disable_jit,
    explain_cache_misses as explain_cache_misses,
    no_tracing as no_tracing,
)
from tangrad._lax.placement.functions import device_put as device_put
from tangrad._lax.settings import default_matmul_precision as default_matmul_precision
from tangrad._masking.checking import shapecheck as shapecheck
from tangrad._masking.functions import mask as mask
from tangrad._numpy.settings import numpy_rank_promotion as numpy_rank_promotion
from tangrad._random.settings import (
    default_prng_impl as default_prng_impl,
    enable_custom_prng as enable_custom_prng,
    legacy_prng_key as legacy_prng_key,
    threefry_partitionable as threefry_partitionable,
)
from tangrad._sharding.arrays import Shard as Shard
from tangrad._sharding.context import set_mesh as set_mesh
from tangrad._sharding.explicit import reshard as reshard
from tangrad._sharding.making import (
    make_array_from_callback as make_array_from_callback,
    make_array_from_process_local_data as make_array_from_process_local_data,
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from tangrad._sharding.mesh_making import make_mesh as make_mesh
from tangrad._sharding.named import (
    NamedSharding as NamedSharding,
    PartitionSpec as P,
)
from tangrad._sharding.pmap.functions import pmap as pmap
from tangrad._sharding.pmap.soft import soft_pmap as soft_pmap
from tangrad._sharding.shard_map.functions import shard_map as shard_map
from tangrad._sharding.stacked import (
    device_put_replicated as device_put_replicated,
    device_put_sharded as device_put_sharded,
)
from tangrad._xmap.functions import xmap as xmap
from tangrad.dtypes import float0 as float0

__version__: str

__all__ = [
    "Array",
    "Device",
    "NamedSharding",
    "P",
    "ShapeDtypeStruct",
    "Shard",
    "_autodiff",
    "_backend_numpy",
    "_backend_xla",
    "_batching",
    "_checkify",
    "_collectives",
    "_compat",
    "_conformance",
    "_console",
    "_core",
    "_custom_rules",
    "_debug",
    "_distributed",
    "_export",
    "_ffi",
    "_fft",
    "_jit",
    "_lax",
    "_masking",
    "_nn",
    "_numpy",
    "_profiler",
    "_random",
    "_runtime",
    "_scipy",
    "_sharding",
    "_sparse",
    "_symbolic",
    "_xmap",
    "ad_checkpoint",
    "autodiff",
    "batching",
    "block_until_ready",
    "cache",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "compat",
    "config",
    "conformance",
    "copy_to_host_async",
    "core",
    "custom_batching",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_transpose",
    "custom_vjp",
    "custom_vmap",
    "debug",
    "debug_infs",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "device_put_replicated",
    "device_put_sharded",
    "devices",
    "disable_jit",
    "distributed",
    "dlpack",
    "dtypes",
    "effects_barrier",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "example_libraries",
    "experimental",
    "explain_cache_misses",
    "export",
    "extend",
    "ffi",
    "flatten_util",
    "float0",
    "grad",
    "hessian",
    "image",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "legacy_prng_key",
    "linear_call",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "load_compiled",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "mask",
    "monitoring",
    "named_call",
    "named_scope",
    "nn",
    "no_tracing",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "ops",
    "pmap",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "profiler",
    "pure_callback",
    "random",
    "remat",
    "reshard",
    "runtime",
    "scipy",
    "set_mesh",
    "shapecheck",
    "shard_map",
    "sharding",
    "soft_pmap",
    "stages",
    "test_util",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "tree",
    "tree_util",
    "typeof",
    "typing",
    "use_backend",
    "value_and_grad",
    "vjp",
    "vmap",
    "xla_computation",
    "xmap",
]
