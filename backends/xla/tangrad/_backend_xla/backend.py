"""The XLA backend as the kernel sees it: devices, arrays in and out, eager application, lowering and compilation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import core as kernel
from tangrad._backend_xla import jaxlib_version

if TYPE_CHECKING:
    from types import ModuleType

    from tangrad._backend_xla.dispatch import Dispatcher
    from tangrad._backend_xla.executable import Lowered, Program
    from tangrad._backend_xla.jaxlib_coordination import Coordination
    from tangrad._backend_xla.jaxlib_profiler import XlaProfiler
    from tangrad._backend_xla.memories import Waiting
    from tangrad._backend_xla.stored_programs import RestoredProgram
    from tangrad.typing import Params, Values

with jaxlib_version.explained:  # first of all: names that jaxlib lacks come up here
    from tangrad._backend_xla import jaxlib_api
from tangrad._backend_xla.array import DLPACK_KINDS, Placement, XlaArray
from tangrad._backend_xla.clients import Platforms, XlaDevice
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad.core import Array, Backend, ClosedJaxpr, Device, Jaxpr, Primitive, ShapedArray, Sharding, Var, thread
from tangrad.core.backends import (
    CompileOptions,
    chosen_device,
    names_memories,
    program_shardings,
    with_shardings_of_types,
)
from tangrad.core.caches import register_cache

LARGE_ROW = 1 << 16  # bytes
ROW_TYPES = 1024

# Type of an array -> that of its rows, and how many are taken at once; 0: they are large.
_row_types: dict[ShapedArray, tuple[ShapedArray, int]] = {}
register_cache(_row_types.clear)


def _row_type(aval: ShapedArray) -> tuple[ShapedArray, int]:
    row = aval.update(shape=aval.shape[1:])
    size = row.size * max(row.dtype.itemsize, 1)
    if len(_row_types) >= ROW_TYPES:
        _row_types.clear()
    found = _row_types[aval] = row, 0 if size > LARGE_ROW else max(1, LARGE_ROW // max(size, 1))
    return found


class XlaBackend(Backend):
    """XLA on jaxlib: CPUs (several virtual ones, if asked for) and NVIDIA GPUs.

    Compiler and dispatcher are imported at the first use, not with the devices: a program that only moves data needs
    neither.
    """

    name = "xla"
    lowering_kind = "lower.xla"
    array_type = XlaArray
    priority = 20
    api = 1

    def __init__(self) -> None:
        self._platforms = Platforms(self)

    # --- devices ----------------------------------------------------------------------------------------------------

    @property
    def platform(self) -> str:  # type: ignore[override]
        """The platform of the default devices: "cuda" where there is a GPU, else "cpu"."""
        return self._platforms.home.platform

    def devices(self, platform: str | None = None) -> tuple[XlaDevice, ...]:
        """The devices of a platform, or of the default one. Raises RuntimeError where the platform did not start."""
        return self._platforms.devices(platform)

    @property
    def platform_version(self) -> str:
        """The version of the platform of the default devices, as text; that of GPUs has "cuda" or "rocm" in it."""
        return str(self.devices()[0].client.platform_version)

    @property
    def process_index(self) -> int:  # type: ignore[override]
        """The number of this process among those that compute together."""
        return self._platforms.coordination.process_index

    def coordination(self) -> Coordination:
        """What joins this process with others, before its devices are first used."""
        return self._platforms.coordination

    @property
    def profiler(self) -> XlaProfiler:
        """What records its programs: jaxlib's profiler."""
        return _profiler()(self)

    def home(self) -> XlaDevice:
        """The first device of the default platform that belongs to this process."""
        return self._platforms.home

    def device_count(self) -> int:
        """How many devices there are, of all platforms."""
        return sum([len(devices) for devices in self._platforms.all.values()])

    def default_device(self) -> XlaDevice:
        """Where new arrays are made: the device of the setting, if it is one of this backend's, or the first."""
        device = chosen_device()
        if type(device) is XlaDevice:
            return device
        return self._platforms.home

    def default_sharding(self) -> Sharding | None:
        """That of arrays which nothing has placed, while a mesh of its devices is in use: `set_mesh` sets it."""
        chosen = thread.default_device
        ours = isinstance(chosen, Sharding) and chosen.device_order[0].backend is self
        return chosen if ours else None

    # --- arrays -----------------------------------------------------------------------------------------------------

    def put(self, value: object, aval: ShapedArray, device: Any = None) -> XlaArray:
        """An array with the contents of a NumPy array, converted to the aval's dtype; committed, if a device is given.

        The contents are copied: the caller may write to `value` afterwards. Raises ValueError for a device of another
        backend.
        """
        physical = physical_aval(aval)
        contents = np.asarray(value)
        if contents.dtype != physical.dtype:
            contents = contents.astype(physical.dtype)
        if contents.shape != physical.shape:
            raise ValueError(f"expected contents of shape {physical.shape}, got {contents.shape}")
        if _names_memory(device):
            return _memories().stored(self.put(contents, aval, device.with_memory_kind(None)), device)
        over = self.default_sharding() if device is None else None
        placement = self._placement(device) if over is None else _sharded().whole(over, aval.ndim)
        aval = _type_at(aval, device)
        if placement.user_sharding is not None:
            if device is not None:
                _sharded().check_agreement(contents, placement)
            return _sharded().put(contents, aval, placement)
        return _stating(XlaArray(aval, jaxlib_api.put(contents, physical, placement.sharding), placement), device)

    def _placement(self, device: object) -> Placement:
        if device is None:
            device = self.default_sharding()
        if device is None or (device is chosen_device() and not isinstance(device, Sharding)):
            return self.default_device().uncommitted
        if isinstance(device, Sharding):
            return _sharded().placement_of(device)
        if type(device) is not XlaDevice:
            raise ValueError(f"expected a device of the XLA backend, such as {self.home()!r}, got {device!r}")
        if device.process_index != self.process_index:
            raise ValueError(
                f"{device!r} belongs to process {device.process_index}, and this is process {self.process_index}, "
                f"which can put arrays on its own devices only (tangrad.local_devices())"
            )
        return device.committed

    def get(self, array: Array) -> np.ndarray:
        """The contents of an array, not to be written to."""
        return array.to_numpy()

    def rows(self, array: Any) -> Iterator[XlaArray] | None:
        """The slices along the first axis, by way of the host where their memory is the host's: nothing is compiled.

        They are sent back when a computation needs them: most are read. Large ones are left to operations, which
        run meanwhile.
        """
        placement = array.placement
        if type(placement.sharding) is not jaxlib_api.OnDevice or placement.devices[0].platform != "cpu":
            return None
        aval, count = _row_types.get(array.aval) or _row_type(array.aval)
        return self._rows_from_host(array, aval, count) if count else None

    def _rows_from_host(self, array: XlaArray, aval: ShapedArray, count: int) -> Iterator[XlaArray]:
        placement, unsent = array.placement, XlaArray.unsent
        contents = array._contents()
        for start in range(0, len(contents), count):
            # A copy: the array may be donated while its rows are in use, and one row must not keep all the others.
            rows = contents[start : start + count].copy()
            rows.flags.writeable = False
            for row in rows:
                yield unsent(aval, row, placement)

    def move(self, array: XlaArray, device: Any) -> XlaArray:
        """The array on a device, or sharded by a sharding, committed to it; copied only if it is elsewhere."""
        if _names_memory(device):
            return _memories().stored(self.move(array, device.with_memory_kind(None)), device)
        placement = self._placement(device)
        array = array.in_usual_memory()
        if placement.user_sharding is not None and array.is_fully_addressable:
            _sharded().check_agreement(array, placement)
        moved = _compiler().move(array, placement)
        aval = _type_at(moved.aval, device)
        return _stating(moved if aval is moved.aval else XlaArray(aval, moved.value, moved.placement), device)

    def assemble(self, aval: ShapedArray, sharding: Sharding, parts: Any) -> XlaArray:
        """An array of its parts on devices of this process, in the order of the sharding's; nothing is copied."""
        placement = self._placement(sharding)
        aval = _type_at(aval, sharding)
        if placement.user_sharding is None:
            return _stating(XlaArray(aval, parts[0].value, placement), sharding)
        return _sharded().assemble(aval, placement, parts)

    def parts(self, array: XlaArray) -> list[XlaArray]:
        """The parts of an array on devices of this process, in the order of its sharding's."""
        return _sharded().parts_of(array)

    def places(self, arrays: Any) -> tuple[Placement, ...]:
        """The placement of each array; () where all are on the one device that there is."""
        if self.device_count() == 1:
            return ()
        return tuple([array.placement for array in arrays])

    def from_dlpack(self, external: object, device: XlaDevice | None = None, copy: bool | None = None) -> XlaArray:
        """An array over the memory of another library's array, or a copy of it.

        Raises TypeError for an object without `__dlpack__`, BufferError where the memory cannot be shared and `copy`
        is False.
        """
        if not hasattr(external, "__dlpack__"):
            raise TypeError(
                f"from_dlpack takes an object with __dlpack__, got {external!r} of type {type(external).__name__}"
            )
        # Where it is already, and not on the mesh in use.
        placement = self.default_device().uncommitted if device is None else self._placement(device)
        kind = kernel.dlpack.device_kind(external)
        if kind != DLPACK_KINDS[placement.devices[0].platform]:
            raise BufferError(
                f"the memory is on DLPack device type {kind}, not on {placement.devices[0]}; copy it there first"
            )
        if kind == DLPACK_KINDS["cpu"]:
            return self._from_host_dlpack(external, placement, copy)
        return self._from_capsule(kernel.dlpack.checked_capsule(external), placement, copy)

    def _from_host_dlpack(self, external: object, placement: Placement, copy: bool | None) -> XlaArray:
        # By way of NumPy: jaxlib's own way in would import jax, where that is installed, and trusts what it is given.
        contents = kernel.dlpack.from_dlpack(external)
        if copy is False and not contents.flags.c_contiguous:
            raise BufferError(f"copy=False, but XLA keeps rows in order, and strides of {contents.strides} need a copy")
        aval = ShapedArray(contents.shape, contents.dtype)
        return XlaArray(aval, jaxlib_api.put(contents, aval, placement.sharding, copy=bool(copy)), placement)

    def _from_capsule(self, capsule: object, placement: Placement, copy: bool | None) -> XlaArray:
        buffer = jaxlib_api.from_dlpack(capsule, placement.devices[0].raw, copy=copy)
        dtype, shape = jaxlib_api.dtype_and_shape(buffer)
        aval = ShapedArray(shape, dtype)
        return XlaArray(aval, jaxlib_api.with_aval(buffer, aval, placement.sharding), placement)

    def block_until_ready(self, array: Array) -> None:
        """Wait until the array is computed."""
        array.block_until_ready()

    def synchronize(self, effects: object = None) -> None:
        """Wait for the side effects of programs that this thread has started; only for some ordered ones, if given."""
        if "tangrad._backend_xla.runtime_tokens" not in sys.modules:  # nothing has run
            return
        if effects is None:
            _compiler().runtime_tokens.synchronize()
        else:
            _compiler().runtime_tokens.wait_for_ordered(effects)

    # --- computing --------------------------------------------------------------------------------------------------

    def apply(self, primitive: Primitive, args: Values, params: dict[str, object]) -> XlaArray | tuple[XlaArray, ...]:
        """Apply a primitive to arrays and literals. It may return before the result is computed."""
        return self._dispatcher.apply(primitive, args, params)

    def direct(self, primitive: Primitive, args: Values, params: Params) -> Callable[..., object] | None:
        """The compiled program of a primitive as a function of arrays."""
        return self._dispatcher.direct(primitive, args, params)

    @cached_property
    def _dispatcher(self) -> Dispatcher:
        """The tables of compiled primitives."""
        return _dispatcher_class()(self)

    def lower(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> Lowered:
        """The program as StableHLO."""
        compiler = _compiler()
        placed, waiting = _placed(closed_jaxpr, options)
        return compiler.Lowered(self, closed_jaxpr, _with_default(self, placed), waiting)

    def compile(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> Program:
        """Compile a program; it runs where its arguments are, or on the device that the options say."""
        compiler = _compiler()
        placed, waiting = _placed(closed_jaxpr, options)
        return compiler.Program(self, closed_jaxpr, _with_default(self, placed), waiting=waiting)

    def store_program(self, program: Program) -> tuple[dict[str, object], bytes]:
        """What a compiled program is for, and its bytes. NotImplementedError where it has none."""
        return _stored_programs().store(program)

    def restore_program(
        self, name: str, facts: object, data: bytes, in_avals: Sequence[ShapedArray], out_avals: tuple[ShapedArray, ...]
    ) -> RestoredProgram:
        """A compiled program from its bytes, which are machine code. ValueError where it is for another machine."""
        return _stored_programs().restore(self, name, facts, data, in_avals, out_avals)

    def hlo_sharding(self, sharding: Any, devices: Any, ndim: int) -> Any:
        """jaxlib's object for a sharding of arrays of `ndim` dimensions over numbered devices."""
        from tangrad._backend_xla.sharded import hlo_sharding

        return hlo_sharding(sharding, devices, ndim)

    def module_text(self, portable_artifact: bytes) -> str:
        """A module in StableHLO's format for files, as text."""
        return _compiler().module_text(portable_artifact)

    def clear_caches(self) -> None:
        """Forget compiled primitives."""
        if "_dispatcher" in vars(self):  # something was computed
            self._dispatcher.clear()


def _sharded() -> ModuleType:
    from tangrad._backend_xla import sharded

    return sharded


def _memories() -> ModuleType:
    from tangrad._backend_xla import memories

    return memories


def _stating(array: XlaArray, place: Device | Sharding | None) -> XlaArray:
    """An array that was put at a place, which it keeps where that is a sharding over a mesh of one device."""
    return array.stating(place) if isinstance(place, Sharding) and place.grid and place.num_devices == 1 else array


def _type_at(aval: ShapedArray, place: Device | Sharding | None) -> ShapedArray:
    """The type of an array that is put at a place, which may be a sharding that is part of types."""
    return place.type_of(aval) if isinstance(place, Sharding) else aval.plain


def _with_default(backend: XlaBackend, options: CompileOptions) -> CompileOptions:
    over = backend.default_sharding()
    changed: CompileOptions = options if over is None else _compiler().with_default(options, over)
    return changed


def _placed(closed: ClosedJaxpr, options: CompileOptions) -> tuple[CompileOptions, Waiting | None]:
    """The options for programs, which compute in the usual memory, and what is to wait in another; None: nothing.

    With the shardings in the types of results; with a device in place of shardings of one device.
    """
    waiting = None
    if names_memories(closed, options):
        options, waiting = _memories().in_usual_memory(closed, options)
    options = with_shardings_of_types(closed, options)
    shardings = [*options.shardings, *program_shardings(closed)]
    if shardings and shardings[0].num_devices == 1 and options.device is None:
        (device,) = shardings[0].device_order
        pairs = zip(closed.out_avals, options.out_shardings)  # types have those along Explicit axes
        stated = [aval.infer_types is None and sharding and sharding.grid and sharding for aval, sharding in pairs]
        if any(stated):
            options = options.changed(extra={**options.extra, "stated": stated})
        options = options.changed(device=device, in_shardings=(), out_shardings=(), places=())
    return options, waiting


def _names_memory(place: Device | Sharding | None) -> bool:
    """Whether a sharding is for another memory than the usual one."""
    return isinstance(place, Sharding) and place.other_memory is not None


def _compiler() -> ModuleType:
    from tangrad._backend_xla import executable

    return executable


def _stored_programs() -> ModuleType:
    from tangrad._backend_xla import stored_programs

    return stored_programs


def _dispatcher_class() -> type[Dispatcher]:
    from tangrad._backend_xla import dispatch

    return dispatch.Dispatcher


def _profiler() -> type[XlaProfiler]:
    from tangrad._backend_xla import jaxlib_profiler

    return jaxlib_profiler.XlaProfiler


def _run_a_program() -> None:
    """Data to a device, a program of no operations, and data back: on a client of its own, which goes away again."""
    trial = XlaBackend()
    trial._platforms.use({"cpu": jaxlib_api.make_cpu_client(1)})
    given = np.arange(3, dtype=np.float32)
    aval = ShapedArray(given.shape, given.dtype)
    variable = Var(aval)
    identity = ClosedJaxpr(Jaxpr((), (variable,), (variable,), ()), ())
    (result,) = trial.compile(identity, CompileOptions("trial")).execute([trial.put(given, aval)])
    if not np.array_equal(result.to_numpy(), given):
        raise RuntimeError(f"a program that returns its argument, {given}, returns {result.to_numpy()}")


xla = XlaBackend()
XlaArray.backend = xla
jaxlib_version.try_out(jaxlib_api.VERSION, _run_a_program)
register_cache(xla.clear_caches)
