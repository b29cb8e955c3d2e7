"""All contact with jaxlib's runtime: clients, devices, buffers, executables. No other module imports it (see also
mlir.py, jaxlib_calls.py, jaxlib_coordination.py and jaxlib_profiler.py).

jaxlib is used without jax, and beside it: both may live in one process, imported in either order. Hence three habits.
Nothing process-wide is set: every transfer states `enable_x64=True`, so that jax's flag (or its absence) does not
matter. The class of buffers, `ArrayImpl`, is shared with jax: it is wrapped, never patched, and its attribute `aval` is
always the one given here, since jaxlib would make a missing one by importing jax. And CUDA is loaded under a name of
its own.

What differs between releases is handled in this file; the supported ones are in jaxlib_version.py.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import io
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla import jaxlib_version
from tangrad._backend_xla.failures import uninterrupted
from tangrad.core import ShapedArray, dtypes
from tangrad.dtypes import ExtendedDType, float0

if TYPE_CHECKING:
    from tangrad.core import Device
    from tangrad.typing import DType


def _import_quietly() -> tuple[Any, Any, str]:
    """jaxlib's extension modules, with its start-up log lines off unless the user's environment asks for them."""
    variable = "TF_CPP_MIN_LOG_LEVEL"
    # The variable is read once, when the library is loaded. It is taken back, so that child processes do not inherit
    # it.
    ours = variable not in os.environ
    if ours:
        os.environ[variable] = "1"
    try:
        with jaxlib_version.explained:
            from jaxlib import __path__ as folders
            from jaxlib.version import __version__ as version

            jaxlib_version.refuse_older(version, list(folders))
            from jaxlib import _jax as runtime
            from jaxlib import cpu_feature_guard  # type: ignore[attr-defined]

            cpu_feature_guard.check_cpu_features()
    finally:
        if ours:
            del os.environ[variable]
    try:
        from jaxlib import _hlo as hlo  # type: ignore[attr-defined]
    except ImportError:  # up to 0.10.1 these classes were in the runtime's module
        hlo = runtime
    return runtime, hlo, version


_jax, _hlo, VERSION = _import_quietly()
_SingleDeviceSharding: Any = _jax.SingleDeviceSharding
_Sharding: Any = _jax.Sharding


# What only the release number shows: a program shows it, but none can be run where there is no GPU.
GPUS_REDUCE_PAIRS = jaxlib_version.release_of(VERSION) >= (0, 12)


def _collect_garbage(phase: str, _: object) -> None:
    if phase == "start":
        _jax.collect_garbage()


# XLA's own threads may drop the last reference to a Python object (a NumPy array that a buffer reads from). They
# cannot free it; they queue it, and it waits for this call.
gc.callbacks.append(_collect_garbage)
atexit.register(_jax.collect_garbage)

XlaRuntimeError = _jax.JaxRuntimeError
Client = _jax.Client
RawDevice = _jax.Device
RawArray = _jax.ArrayImpl
LoadedExecutable = _jax.LoadedExecutable
HloSharding = _hlo.HloSharding
CompileOptions = _jax.CompileOptions
DeviceList = _jax.DeviceList

_COPY_DURING_CALL = _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_ALIAS = _jax.HostBufferSemantics.ZERO_COPY


# --- clients ---------------------------------------------------------------------------------------------------------


def make_cpu_client(
    num_devices: int | None,
    *,
    asynchronous: bool = True,
    distributed_client: object = None,
    process_index: int = 0,
    process_count: int = 1,
    host: str | None = None,
    patience: int = 5,
) -> object:
    """A client for the host's processors, shown as `num_devices` devices.

    None takes the number from the environment's XLA_FLAGS (`--xla_force_host_platform_device_count`), else 1. With a
    client of the coordination service, collectives run between processes by Gloo, which reach this one at `host`;
    the others have `patience` minutes to say which devices they have.
    """
    collectives = None
    if distributed_client is not None:
        collectives = _jax.make_gloo_tcp_collectives(distributed_client=distributed_client, hostname=host)
    return _jax.get_tfrt_cpu_client(
        asynchronous=asynchronous,
        distributed_client=distributed_client,
        node_id=process_index,
        num_nodes=process_count,
        collectives=collectives,
        num_devices=num_devices,
        get_local_topology_timeout_minutes=patience,
        get_global_topology_timeout_minutes=patience,
    )


def load_plugin(name: str, library_path: str) -> object:
    """Load a PJRT plugin from a shared library and return its C API as a capsule."""
    capsule = _jax.load_pjrt_plugin(name, library_path, None)
    _jax.initialize_pjrt_plugin(name)
    return capsule


def make_plugin_client(name: str, options: dict[str, object], distributed_client: object = None) -> object:
    """A client of a loaded PJRT plugin. Raises XlaRuntimeError where it finds no device."""
    return _jax.get_c_api_client(name, options, distributed_client)


# --- shardings -------------------------------------------------------------------------------------------------------

# The device set of a buffer. jaxlib asks for a method and an attribute that each class below adds; one
# object is made for a device (or mesh) and shared by all its arrays. jax adds properties to the base classes: the
# slots here come before them.


class OnDevice(_SingleDeviceSharding):
    """A whole array on one device."""

    __slots__ = ("devices", "memory_kind")

    def __init__(self, device: Any, memory_kind: str | None = None) -> None:
        super().__init__(device, memory_kind=memory_kind)
        self.memory_kind = memory_kind
        self.devices = (device,)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> object:
        return _REPLICATED

    is_fully_addressable = True
    is_fully_replicated = True


def memory_kinds(device: Any) -> tuple[str, ...]:
    """The kinds of memory that a raw device reaches, the usual one first."""
    usual = device.default_memory().kind
    return usual, *[memory.kind for memory in device.addressable_memories() if memory.kind != usual]


class OverDevices(_Sharding):
    """An array sharded over, or replicated on, several devices.

    Args:
        devices: raw devices.
        hlo_of_rank: from the number of an array's dimensions to its HLO sharding, devices numbered in that order.
        replicated: whether every device holds the whole array.
    """

    __slots__ = ("_hlo_of_rank", "_internal_device_list", "devices", "is_fully_replicated", "memory_kind", "reachable")

    def __init__(self, devices: Sequence[object], hlo_of_rank: Callable[[int], object], replicated: bool) -> None:
        super().__init__()
        self.devices = tuple(devices)
        self._hlo_of_rank = hlo_of_rank
        self.is_fully_replicated = replicated
        self.memory_kind = None
        self._internal_device_list = _jax.DeviceList(self.devices)
        self.reachable = tuple(self._internal_device_list.addressable_device_list)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> object:
        return self._hlo_of_rank(num_dimensions)

    @property
    def is_fully_addressable(self) -> bool:
        return bool(self._internal_device_list.is_fully_addressable)


_REPLICATED = HloSharding.replicate()


def tiled_sharding(tiles: Sequence[int], order: Sequence[int]) -> object:
    """The HLO sharding that cuts dimension i into tiles[i] parts, held by the devices of these numbers, part by part.

    Each part is repeated on as many devices as there are for it.
    """
    copies = len(order) // math.prod(tiles)
    if copies == len(order):
        return _REPLICATED
    described = _hlo.OpSharding()
    described.type = _hlo.OpSharding.Type.OTHER
    described.tile_assignment_dimensions = [*tiles, copies] if copies > 1 else list(tiles)
    described.tile_assignment_devices = list(order)
    described.replicate_on_last_tile_dim = copies > 1
    return HloSharding.from_proto(described)


def output_shardings(executable: Any) -> list[object]:
    """The HLO sharding of each output of a partitioned program."""
    found = executable.get_output_shardings()
    return [HloSharding.from_proto(described) for described in found or ()]


def tiling_of(hlo: Any, ndim: int) -> tuple[tuple[int, ...], list[int]]:
    """What `tiled_sharding` would be given for an HLO sharding; no devices where every one holds the whole array."""
    if hlo is None or hlo.is_replicated() or hlo.is_maximal():
        return (), []
    tiles = [int(count) for count in hlo.tile_assignment_dimensions()]
    return tuple(tiles[:ndim]), [int(number) for number in hlo.tile_assignment_devices()]


# --- buffers ---------------------------------------------------------------------------------------------------------


def physical_aval(aval: Any) -> ShapedArray:
    """The aval of the buffer that holds a value: another than its own for typed keys and float0.

    An extended dtype gives it by a method `physical_aval(aval)`.
    """
    dtype = aval.dtype
    if isinstance(dtype, ExtendedDType):
        return dtype.physical_aval(aval)
    if dtype is float0:
        return aval.update(dtype=np.dtype(bool), weak_type=False)
    return aval


def put(contents: np.ndarray | np.generic, aval: ShapedArray, sharding: OnDevice, *, copy: bool = True) -> Any:
    """A buffer on one device with the contents of a NumPy array, whose dtype must be the aval's.

    With `copy` the array may be written to as soon as the call returns; without, the buffer may go on reading from it.
    """
    return _jax.batched_device_put(
        aval, sharding, (contents,), sharding.devices, True, False, _COPY_DURING_CALL if copy else _ALIAS, True
    )


def put_shards(contents: Sequence[np.ndarray], aval: ShapedArray, sharding: OverDevices) -> Any:
    """One array from a NumPy array for each device of the sharding in this process, in the order of its devices.

    The buffers may go on reading from the arrays, which must not be written to. (Copying them instead fails with "bad
    function call" where several are views of one array, up to jaxlib 0.10.2 at least.)
    """
    return _jax.batched_device_put(aval, sharding, list(contents), sharding.reachable, True, False, _ALIAS, True)


def copy_to(buffer: object, aval: object, sharding: OnDevice) -> Any:
    """A copy of a single-device buffer on another device."""
    return _jax.batched_device_put(aval, sharding, (buffer,), sharding.devices, True, False, _ALIAS, True)


def assemble(shards: Sequence[object], aval: ShapedArray, sharding: OverDevices) -> Any:
    """One array from single-device buffers, without copying."""
    return _jax.ArrayImpl(aval, sharding, list(shards), True, _skip_checks=True)


def shards_of(buffer: Any, avals: Sequence[ShapedArray], shardings: Sequence[OnDevice]) -> list[Any]:
    """The single-device buffers of an array, in the order of its devices, under the avals and shardings of parts."""
    return [
        with_aval(shard, aval, sharding) for shard, aval, sharding in zip(buffer._arrays, avals, shardings, strict=True)
    ]


def to_numpy(buffer: Any, dtype: np.dtype) -> np.ndarray:
    """The contents of a single-device buffer of a dtype, read-only; a view of its memory where that is the host's.

    The host's buffers have Python's buffer protocol. jaxlib's own conversion is slower, and imports jax where it is
    installed (to make an aval that is never read): it is left for other devices, and for dtypes narrower than a byte.
    """
    if dtype.isbuiltin == 1:  # others the protocol lacks
        try:
            return np.asarray(readable(buffer))
        except BufferError:  # another device, or no contents any more
            pass
    if buffer.is_deleted() or buffer.platform() != "cpu" or dtypes.bit_width(dtype) < 8:
        return _converted(buffer)
    buffer.block_until_ready()
    return np.asarray(_HostMemory(buffer, dtype)).view(dtype)


def readable(buffer: Any) -> memoryview:
    """The memory of a buffer on the host. What could not be computed raises here: later, XLA would end the process."""
    buffer.block_until_ready()
    return memoryview(buffer)


def _converted(buffer: Any) -> np.ndarray:
    array, copied = buffer._single_device_array_to_np_array_did_copy()
    if copied:
        array.flags.writeable = False
    return array


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class _HostMemory:
    """A buffer of the host as NumPy sees memory: unsigned integers of the element's width.

    It holds the buffer as a DLPack capsule: that keeps the memory as it is when the array is donated or deleted, as a
    memoryview does and a reference to the array does not. `unsafe_buffer_pointer` would import jax, too.
    """

    __slots__ = ("__array_interface__", "capsule")

    def __init__(self, buffer: Any, dtype: DType) -> None:
        self.capsule = to_dlpack(buffer)
        # The capsule's struct begins with the address of the data. jaxlib's byte offset is always zero.
        tensor = _capsule_pointer(self.capsule, b"dltensor")
        self.__array_interface__ = {
            "shape": buffer.aval.shape,
            "typestr": f"<u{dtype.itemsize}",
            "data": (ctypes.c_void_p.from_address(tensor).value, True),
            "version": 3,
        }


def copy_to_host_async(buffer: Any) -> None:
    """Start a copy of a buffer to the host."""
    for shard in buffer._arrays:
        shard._copy_single_device_array_to_host_async()


def to_dlpack(buffer: Any, stream: int | None = None) -> object:
    """A DLPack capsule that shares the buffer's memory, and keeps it when the buffer is deleted or donated.

    The capsule holds a second handle: deleting the very one that was exported makes XLA end the process.
    """
    buffer.block_until_ready()  # what could not be computed raises here, and not where the capsule is read
    return _jax.buffer_to_dlpack_managed_tensor(buffer.clone(), stream)


def from_dlpack(capsule: object, device: object, *, copy: bool | None = None) -> Any:
    """A buffer over the memory of a DLPack capsule; copied where `copy` or the device asks for it. It has no aval yet.

    jaxlib imports jax to make one, where jax is installed: where there is another way, take that.
    """
    return _jax.dlpack_managed_tensor_to_buffer(capsule, device, None, copy)


def dtype_and_shape(buffer: object) -> tuple[np.dtype, tuple[int, ...]]:
    """Those of a buffer that came by DLPack."""
    contents = _converted(buffer)
    return contents.dtype, contents.shape


def with_aval(buffer: Any, aval: ShapedArray, sharding: object) -> Any:
    """The same buffer under an aval and a sharding."""
    return buffer._rewrap_with_aval_and_sharding(aval, sharding)


# Up to jaxlib 0.10 handlers compare each result with its aval unless an option is set; later ones never do. The
# function's signature stands in its docstring.
_UNCHECKED = {"_skip_checks": True} if "_skip_checks" in (_jax.array_result_handler.__doc__ or "") else {}


def result_handler(aval: ShapedArray, sharding: object, committed: bool) -> Callable[..., object]:
    """What `ExecuteResults.consume_with_handlers` makes one output's buffers into an array with."""
    return _jax.array_result_handler(aval, sharding, committed, **_UNCHECKED)


# --- programs --------------------------------------------------------------------------------------------------------

# What is set apart from the debug options, and XLA's words for levels.
_OF_BUILD = ("optimization_level", "memory_fitting_level", "exec_time_optimization_effort", "memory_fitting_effort")
_LEVELS = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}


def make_compile_options(
    devices: Sequence[Sequence[Any]],
    num_inputs: int,
    num_outputs: int,
    *,
    propagate_to_inputs: Sequence[bool] | None = None,
    propagate_to_outputs: Sequence[bool] | None = None,
    use_shardy: bool = True,
    overrides: dict[str, object] | None = None,
    cuda_data_folder: str | None = None,
) -> Any:
    """Compile options for a program on `devices[replica][partition]`.

    Args:
        devices: raw devices; one row per replica, each as long as there are partitions.
        num_inputs, num_outputs: of the program, tokens included.
        propagate_to_inputs, propagate_to_outputs: whether the partitioner chooses each one's sharding (default: yes).
        cuda_data_folder: the folder of ptxas and libdevice.
        overrides: XLA's options by name, such as {"xla_cpu_enable_fast_math": True, "optimization_level": "O1"}.
    """
    options = _jax.CompileOptions()
    options.num_replicas = len(devices)
    options.num_partitions = len(devices[0])
    ids = np.array([[device.id for device in row] for row in devices])
    options.device_assignment = _jax.DeviceAssignment.create(ids)
    options.profile_version = -1  # none
    build = options.executable_build_options
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = use_shardy
    build.memory_fitting_level = _LEVELS["O2"]  # jax's default, so that both make the same optimised programs
    build.allow_spmd_sharding_propagation_to_parameters = list(propagate_to_inputs or [True] * num_inputs)
    build.allow_spmd_sharding_propagation_to_output = list(propagate_to_outputs or [True] * num_outputs)
    build.debug_options.xla_detailed_logging = False
    if cuda_data_folder is not None:
        build.debug_options.xla_gpu_cuda_data_dir = cuda_data_folder
    given = dict(overrides or {})
    for name in _OF_BUILD:
        level: Any = _LEVELS.get(str(given.get(name)), given.get(name))
        if isinstance(level, (int, float)):  # others XLA refuses, by name
            setattr(build, name, level)
            del given[name]
    options.env_option_overrides = list(given.items())
    return options


def bytecode(module: Any) -> bytes:
    """An MLIR module as bytes, locations included: what the compiler takes."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def compile_and_load(
    client: Any, module: bytes, devices: Sequence[Device], options: object, host_callbacks: Sequence[object] = ()
) -> Any:
    """Compile a StableHLO program for addressable devices. Raises XlaRuntimeError.

    Args:
        module: MLIR bytecode; with `host_callbacks`, an MLIR module in a context that nothing else uses.
        host_callbacks: Python functions that the program calls by their numbers.
    """
    if host_callbacks:
        placed = _jax.DeviceList(tuple(devices))
        return uninterrupted(client.compile_and_load, module, placed, options, list(host_callbacks))
    return uninterrupted(client.compile_and_load, module, tuple(devices), options)


def serialize_executable(executable: Any) -> bytes:
    """A compiled program as bytes. Raises XlaRuntimeError where the platform cannot."""
    return bytes(executable.serialize())


def deserialize_executable(client: Any, data: bytes, devices: Sequence[object], options: object) -> object:
    """A compiled program from its bytes. They hold machine code: only bytes that this user wrote may come here."""
    return uninterrupted(client.deserialize_executable, data, _jax.DeviceList(tuple(devices)), options)


def executable_text(executable: Any) -> str:
    """The optimised HLO of a compiled program."""
    return "\n\n".join([module.to_string() for module in executable.hlo_modules()])


def to_computation(module: object, tuple_args: bool = False, return_tuple: bool = False) -> Any:
    """A StableHLO program, as bytecode, as XLA's own computation, not yet optimised.

    Args:
        tuple_args: whether it takes its arguments as one tuple. return_tuple: whether one result is a tuple too.
    """
    return _jax.mlir.mlir_module_to_xla_computation(module, use_tuple_args=tuple_args, return_tuple=return_tuple)


def computation_text(computation: Any) -> str:
    """The HLO text of a computation."""
    return str(computation.as_hlo_text())


def computation_cost(client: object, computation: Any) -> dict[str, float]:
    """XLA's estimates for a computation that is not compiled."""
    return dict(_jax.hlo_module_cost_analysis(client, computation.as_hlo_module()))


def cost_analysis(executable: Any) -> dict[str, float]:
    """XLA's estimates: flops, bytes accessed, and the like."""
    return dict(executable.cost_analysis())


def memory_analysis(executable: Any) -> object:
    """Sizes in bytes of arguments, outputs, temporaries and code; None where the platform does not report them."""
    return executable.get_compiled_memory_stats()
