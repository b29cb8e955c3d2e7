"""Compiled programs: what `Backend.lower` and `Backend.compile` return."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import failures, gpus, jaxlib_api, runtime_tokens, settings
from tangrad._backend_xla.array import Placement, XlaArray, deleted_message
from tangrad._backend_xla.calls import in_turns, make_execute, run_gathered
from tangrad._backend_xla.compiler_options import explain, for_calls, warn_of_calls, with_effort, with_extra
from tangrad._backend_xla.even_loops import with_even_loops
from tangrad._backend_xla.jaxlib_api import bytecode, physical_aval
from tangrad._backend_xla.kept_draws import with_kept_draws
from tangrad._backend_xla.lowering import Module, lower_to_module
from tangrad._backend_xla.manual import AxisEnvironment
from tangrad._backend_xla.mesh_words import Layout
from tangrad._backend_xla.mlir import (
    copied_to_new_context,
    load_sharding_dialect,
    new_context,
    portable_artifact,
    read_portable_artifact,
)
from tangrad._backend_xla.module_contents import Contents, contents, instruction_count, operation_count
from tangrad._backend_xla.moving import common_placement, move, moved
from tangrad._backend_xla.partitioned import Plan, buffers_for, key_of, load, shardings_for, with_default
from tangrad._backend_xla.symbolic_entry import lower_with_entry
from tangrad.core import Array, ClosedJaxpr, Executable, Literal, NamedAxisEffect, ShapedArray, Sharding, Tracer, thread
from tangrad.core.backends import CompileOptions, processors, program_shardings, types_by_shardings
from tangrad.core.tools import from_signal_handler
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad._backend_xla.calls import Loaded
    from tangrad._backend_xla.clients import XlaDevice
    from tangrad._backend_xla.memories import Waiting
    from tangrad.typing import Params, Value

__all__ = ["Lowered", "Program", "Runner", "move", "with_default"]


class Lowered:
    """A program as StableHLO.

    Attributes:
        module: the module, with what belongs to it.
    """

    __slots__ = ("_backend", "_closed", "_waiting", "module", "options")

    def __init__(
        self, backend: Any, closed: ClosedJaxpr, options: CompileOptions, waiting: Waiting | None = None
    ) -> None:
        self._backend, self._closed, self._waiting = backend, closed, waiting
        self.options = options
        self.module = _lower(
            backend, closed, options, target_platform(backend, options), _plan(backend, closed, options)
        )

    def as_text(self, dialect: str = "stablehlo", *, debug_info: bool = False) -> str:
        """The program as "stablehlo" text (with `debug_info`, the location of each operation too) or as "hlo" text."""
        if dialect == "hlo":
            if debug_info:
                raise ValueError("the dialect 'hlo' does not say where operations come from; 'stablehlo' does")
            return jaxlib_api.computation_text(self.compiler_ir("hlo"))
        return str(self.compiler_ir(dialect).operation.get_asm(enable_debug_info=debug_info))

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The MLIR module of "stablehlo" (the default), or XLA's computation of "hlo"."""
        if dialect in (None, "stablehlo"):
            return self.module.module
        if dialect != "hlo":
            raise ValueError(f"programs for XLA are there as 'stablehlo' and 'hlo', not as {dialect!r}")
        return jaxlib_api.to_computation(bytecode(self.module.module))

    def computation(self, tuple_args: bool = False) -> Any:
        """XLA's computation, whose results are a tuple, and, if wished, its arguments."""
        return jaxlib_api.to_computation(bytecode(self.module.module), tuple_args, return_tuple=True)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates before optimisation: `flops`, `bytes accessed` and the like."""
        device: Any = self.options.device or device_for(self._backend)
        return jaxlib_api.computation_cost(device.client, jaxlib_api.to_computation(bytecode(self.module.module)))

    def portable_artifact(self) -> bytes:
        """The module in StableHLO's format for files, which later releases read, and those of the last weeks."""
        return portable_artifact(self.module.module, self.module.meshes is not None)

    def compile_facts(self) -> dict[str, object]:
        """How many operations the module has."""
        return {"instructions": operation_count(self.module.module)}

    def contents(self) -> Contents:
        """The names of the module's operations, and of what it calls that is none of StableHLO."""
        return contents(self.module.module)

    def compile(self, extra: dict[str, object] | None = None) -> Program:
        """Compile for the devices that the options say. `extra`: more options, such as `compiler_options`."""
        options = with_extra(self.options, extra) if extra else self.options
        return Program(self._backend, self._closed, options, self.module, self._waiting)


def module_text(data: bytes) -> str:
    """A portable artifact of StableHLO as text."""
    context = new_context()
    load_sharding_dialect(context)
    return str(read_portable_artifact(data, context))


def target_platform(backend: object, options: CompileOptions) -> str:
    """The platform that a program is for: that of its device, or the default one."""
    placement = options.extra.get("placement") or next(iter(options.places), None)
    device = options.device or (placement.devices[0] if placement is not None else device_for(backend))
    return str(device.platform)


def device_for(backend: Any) -> XlaDevice:
    """Where uncommitted programs run: the device of the setting, if it is one of this backend's, or the first."""
    return backend.home() if thread.default_device is None else backend.default_device()


def _plan(backend: object, closed: ClosedJaxpr, options: CompileOptions) -> Plan | None:
    """How a program is to run on several devices, None for one that runs on one."""
    places = options.places or (device_for(backend).uncommitted,) * len(closed.in_avals)
    found: Sequence[Sharding] = program_shardings(closed)
    if "over" in options.extra:
        found = shardings_for(found, options, places)
    is_sharded = found or options.shardings or any([place.user_sharding is not None for place in places])
    return Plan(options, found, closed.in_avals, places) if is_sharded and options.device is None else None


def _lower(
    backend: object,
    closed: ClosedJaxpr,
    options: CompileOptions,
    platform: str,
    plan: Plan | None = None,
    keeps_calls: bool = True,
) -> Module:
    platform = options.extra.get("platform", platform)
    wanted = options.extra.get("export")
    if wanted is not None:
        layout = None if plan is None else _layout(plan, options)
        return lower_with_entry(closed, options.name, wanted["platforms"], wanted["dimensions"], layout)
    donated = options.donated or (False,) * len(closed.in_avals)
    more: Params = {"parts": options.extra.get("parts"), "keeps_calls": keeps_calls}
    replica_axes = options.extra.get("replica_axes")
    if replica_axes:
        more["axes"] = AxisEnvironment([name for name, _ in replica_axes], [size for _, size in replica_axes])
    if plan is not None:
        more["layout"] = _layout(plan, options)
    elif platform == "cpu" and not (replica_axes or more["parts"]):
        closed = with_even_loops(with_kept_draws(closed), processors)
    return lower_to_module(closed, options.name, platform, donated, **more)


def _layout(plan: Plan, options: CompileOptions) -> Layout:
    inputs = [place.user_sharding for place in plan.inputs]
    return Layout(plan.devices, inputs, options.out_shardings, plan.model)


class Runner:
    """What runs one program: its loaded executables, and the slow path of running it.

    Apart from `Program`, so that the function made by `make_execute` holds this and nothing holds itself.

    Attributes:
        loaded: the placement that all arguments share -> (jaxlib's method that starts the program, a handler for each
            output, the placement of the outputs).
        effects: those that take place at run time.
        calls_host: whether it calls Python functions while it runs on the host's processors.
        from_disk: whether it was read from the persistent cache when it was loaded last.
    """

    __slots__ = (
        "__weakref__",
        "_closed",
        "_keep_alive",
        "_lock",
        "_program_shardings",
        "_stated",
        "backend",
        "calls_host",
        "effects",
        "executables",
        "from_disk",
        "in_avals",
        "loaded",
        "options",
        "out_avals",
    )

    def __init__(self, backend: Any, closed: ClosedJaxpr, options: CompileOptions) -> None:
        self.backend = backend
        self._closed: ClosedJaxpr | None = closed
        self.options = options
        self.in_avals = list(closed.in_avals)
        self.out_avals = types_by_shardings(closed.out_avals, options.out_shardings)
        # Those that take place when the program runs.
        self.effects = tuple([effect for effect in closed.effects if not isinstance(effect, NamedAxisEffect)])
        self.calls_host = self.from_disk = False
        self.loaded: dict[object, Loaded] = {}
        self.executables: dict[Any, Any] = {}
        self._program_shardings = program_shardings(closed)
        self._stated = bool(self._program_shardings or options.shardings)
        self._keep_alive: list[object] = []
        self._lock = threading.Lock()

    # --- the slow path ----------------------------------------------------------------------------------------------

    def recover(self, error: Exception, arrays: Sequence[Value]) -> list[XlaArray]:
        """Run what the fast path could not, because arguments are elsewhere or are not arrays of this backend.

        Raises a clear error where they cannot be used together, and `error` itself where nothing is wrong with them.
        """
        if from_signal_handler(error):  # the program may have run, and have its arguments: it does not run twice
            raise error
        self._check_count(arrays)
        for array in arrays:
            if isinstance(array, XlaArray) and array.is_deleted():
                raise RuntimeError(deleted_message(array)) from error
        if isinstance(error, jaxlib_api.XlaRuntimeError) and not self._misplaced(arrays):
            failures.raise_original(error)
            raise error
        return run_gathered(self.out_avals, *self.gather(arrays))

    def _misplaced(self, arrays: Sequence[object]) -> bool:
        return len({array.placement if isinstance(array, XlaArray) else None for array in arrays}) > 1

    def execute_with_effects(self, arrays: Sequence[Value]) -> list[XlaArray]:
        """Run a program with side effects, after earlier ones with the same ordered effects."""
        loaded, values = self.gather(arrays)
        return runtime_tokens.execute_in_order(self.effects, self.out_avals, loaded, values)

    def gather(self, arrays: Sequence[Value]) -> tuple[Loaded, list[object]]:
        """Bring the arguments to one device. Raises ValueError where they must not move, TypeError if too many."""
        self._check_count(arrays)
        own = [self._own(array, aval) for array, aval in zip(arrays, self.in_avals, strict=True)]
        if self._is_partitioned([array.placement for array in own]):
            return self._gather_parts(own)
        pinned: Any = self.options.device
        if pinned is not None:
            placement = pinned.committed
        else:
            placement = common_placement(own, self.options.name) or device_for(self.backend).uncommitted
        loaded = self.loaded.get(placement) or self.load(placement)
        sharding = placement.sharding
        values = []
        for array in own:
            values.append((array if array.placement.sharding is sharding else moved(array, placement)).value)
        return loaded, values

    def _is_partitioned(self, places: Sequence[Placement]) -> bool:
        stated = self._stated or ("over" in self.options.extra and shardings_for((), self.options, places))
        return bool(stated) or any([place.user_sharding is not None for place in places])

    def _gather_parts(self, own: Sequence[XlaArray]) -> tuple[Loaded, list[object]]:
        """The same for a program over several devices."""
        pinned: Any = self.options.device
        if pinned is not None:
            placement: Placement = pinned.committed
            loaded = self.loaded.get(placement) or self.load(placement)
            return loaded, [moved(array, placement).value for array in own]
        plan = self.plan([array.placement for array in own])
        return self.load_parts(plan), buffers_for(own, plan)

    def plan(self, places: Sequence[Placement]) -> Plan:
        """How the program runs for arguments with these placements."""
        stated = shardings_for(self._program_shardings, self.options, places)
        return Plan(self.options, stated, self.in_avals, places)

    def load_parts(self, plan: Plan, module: Module | None = None) -> Loaded:
        """Load the program for a plan, compiling it if it is new."""
        key = key_of(plan.inputs) or plan.devices
        loaded = self.loaded.get(key)
        if loaded is None:
            with self._lock:
                loaded = self.loaded.get(key)
                if loaded is None:
                    loaded = load(self, plan, lambda plan: self._compile_parts(plan, key, module))
                    self.loaded[key] = loaded
        return loaded

    def _compile_parts(self, plan: Plan, key: object, module: Module | None) -> Any:
        platform = plan.devices[0].platform
        if module is None:
            if self._closed is None:
                raise RuntimeError(f"{self.options.name} was compiled for one placement, and cannot run at another")
            module = _lower(self.backend, self._closed, self.options, platform, plan)
        stated = self.options.out_shardings or (None,) * len(self.out_avals)
        options = jaxlib_api.make_compile_options(
            [[device.raw for device in plan.devices]],
            len(self.in_avals),
            len(self.out_avals),
            propagate_to_inputs=[False] * len(self.in_avals),
            propagate_to_outputs=[sharding is None for sharding in stated],
            overrides=self.overrides(platform),
            cuda_data_folder=gpus.cuda_data_folder() if platform == "cuda" else None,
        )
        self._keep_alive.extend(module.keep_alive)
        self.executables[key], self.from_disk = compile_module(module, plan.devices, options, self.options)
        return self.executables[key]

    def overrides(self, platform: str) -> dict[str, object] | None:
        """XLA's options for the program: those that the user gave, and those of less effort, if that is asked for."""
        extra = self.options.extra
        return with_effort(extra, platform) if "compile_effort" in extra else extra.get("compiler_options")

    def _check_count(self, arrays: Sequence[Value]) -> None:
        if len(arrays) != len(self.in_avals):
            expected = len(self.in_avals)
            raise TypeError(f"program {self.options.name!r} takes {expected} arguments, got {len(arrays)}")

    def _own(self, array: object, aval: ShapedArray) -> XlaArray:
        if isinstance(array, XlaArray):
            return array
        if isinstance(array, Tracer):
            raise UnexpectedTracerError(array)
        if isinstance(array, (Array, Literal)):
            array = array.to_numpy()
        return self.backend.put(array, aval)

    # --- loading ----------------------------------------------------------------------------------------------------

    def load(self, placement: Placement, module: Module | None = None) -> Loaded:
        """Load the program for arguments of a placement, compiling it for a device that is new."""
        with self._lock:
            loaded = self.loaded.get(placement)
            if loaded is None:
                (device,) = placement.devices
                executable = self.executables.get(device)
                if executable is None:
                    executable, self.from_disk = self.compile_for(device, module)
                    self.executables[device] = executable
                pinned = self.options.device is not None
                outputs = device.committed if pinned else placement
                loaded = self.loaded[placement] = (executable.execute_sharded, self._handlers(outputs), outputs)
                if pinned:
                    self.loaded[device.uncommitted] = loaded
            return loaded

    def forget_program(self) -> None:
        """Let the jaxpr go: the program stays where it is loaded, and cannot be compiled for another device."""
        self._closed = None

    def _handlers(self, placement: Placement) -> list[Callable[..., object]]:
        return [
            jaxlib_api.result_handler(physical_aval(aval), placement.sharding, placement.committed)
            for aval in self.out_avals
        ]

    def compile_for(self, device: XlaDevice, module: Module | None = None) -> tuple[Any, bool]:
        """As `compile_module`, for one device, of a module that is for its platform, or lowered anew."""
        if module is None or module.platform != device.platform:
            if self._closed is None:
                raise RuntimeError(f"{self.options.name} was compiled for one device, and cannot run on {device}")
            module = _lower(self.backend, self._closed, self.options, device.platform)
        closed, given = self._closed, self.overrides(device.platform)
        options = jaxlib_api.make_compile_options(
            [[device.raw]],
            len(self.in_avals),
            len(self.out_avals),
            overrides=for_calls(module, given) if module.kept_calls else given,
            cuda_data_folder=gpus.cuda_data_folder() if device.platform == "cuda" else None,
        )
        self._keep_alive.extend(module.keep_alive)
        self.calls_host = device.platform == "cpu" and bool(module.host_callbacks)
        try:
            return compile_module(module, [device], options, self.options)
        except jaxlib_api.XlaRuntimeError as error:
            if not (module.kept_calls or module.looping_calls) or closed is None:
                raise
            warn_of_calls(self.options.name, error)
        module = _lower(self.backend, closed, self.options, device.platform, keeps_calls=False)
        return compile_module(module, [device], options, self.options)


class Program(Executable):
    """A compiled program. It runs where its arguments are; for each device it is compiled when first used there.

    Attributes:
        execute: runs it on a list of arrays, and returns the list of outputs, maybe before they are computed.
        in_avals, out_avals: its type.
    """

    __slots__ = ("_places", "_waiting", "execute", "in_avals", "out_avals", "runner")

    def __init__(
        self,
        backend: Any,
        closed: ClosedJaxpr,
        options: CompileOptions,
        module: Module | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        self._waiting = waiting
        runner = self.runner = Runner(backend, closed, options)
        self.in_avals, self.out_avals = runner.in_avals, runner.out_avals
        placement: Placement | None = options.extra.get("placement")  # where a program of one equation is to run
        if placement is None:
            device: Any = options.device or device_for(backend)
            placement = device.uncommitted if options.device is None else device.committed
        places = options.places or (placement,) * len(runner.in_avals)
        if runner._is_partitioned(places) and options.device is None:
            plan = runner.plan(places)
            inputs, outputs = plan.inputs, runner.load_parts(plan, module)[2]
        else:
            inputs, outputs = (placement,) * len(runner.in_avals), runner.load(placement, module)[2]
        self._places = inputs, outputs
        self.execute: Any = make_execute(runner, backend.device_count() > 1)
        if runner.calls_host:
            self.execute = in_turns(self.execute)
        if waiting is not None:
            self.execute = waiting.around(self.execute, options.name)

    @property
    def has_memories(self) -> bool:
        """Whether arguments or results are in another kind of memory than the device's own."""
        return self._waiting is not None

    @property
    def raw(self) -> Any:
        """jaxlib's executable, on the device it was first compiled for."""
        return next(iter(self.runner.executables.values()))

    def places(self) -> tuple[list[object], list[object]]:
        inputs, outputs = self._places
        if not isinstance(outputs, tuple):
            outputs = (outputs,) * len(self.out_avals)
        found = _where(inputs), _where(outputs)
        return found if self._waiting is None else self._waiting.in_memories(*found)

    def as_text(self) -> str:
        """The optimised HLO."""
        return jaxlib_api.executable_text(self.raw)

    def compile_facts(self) -> dict[str, object]:
        """How many instructions the optimised HLO has, and whether it was compiled or read from the cache on disk."""
        origin = "disk" if self.runner.from_disk else "made"
        return {"instructions": instruction_count(self.as_text()), "origin": origin}

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates: `flops`, `bytes accessed` and the like."""
        return jaxlib_api.cost_analysis(self.raw)

    def memory_analysis(self) -> object:
        """Sizes in bytes of arguments, outputs, temporaries and code."""
        return jaxlib_api.memory_analysis(self.raw)


def _where(placements: Sequence[Placement]) -> list[object]:
    """For each placement the sharding, or the one device."""
    return [place.devices[0] if place.user_sharding is None else place.user_sharding for place in placements]


def compile_module(
    module: Module, devices: Sequence[XlaDevice], compiler_options: object, options: CompileOptions
) -> tuple[Any, bool]:
    """jaxlib's executable of a module on devices, and whether it was read from the persistent cache.

    Raises ValueError, naming the options, where XLA refuses one that the user gave.
    """
    try:
        compiled = _compile_module(module, devices, compiler_options, options.name)
    except jaxlib_api.XlaRuntimeError as error:
        failures.raise_original(error)
        explain(error, options)
        raise
    for notify in module.when_compiled:
        notify(devices)
    return compiled


def _compile_module(module: Module, devices: Sequence[XlaDevice], options: object, name: str) -> tuple[Any, bool]:
    if module.has_unknown_sizes:
        module.fill_in_sizes()
    # Numbers of callbacks hold in this process alone; a program of several processes is no process's to keep.
    alone = (
        module.host_callbacks
        or module.when_compiled
        or module.keep_alive
        or any([device.process_index != devices[0].process_index for device in devices])
    )
    if thread.compilation_cache_dir is None or alone or not settings.enable_compilation_cache.value:
        program = (
            copied_to_new_context(module.module, module.meshes is not None)
            if module.host_callbacks
            else bytecode(module.module)
        )
        raw_devices = [device.raw for device in devices]
        executable = jaxlib_api.compile_and_load(
            devices[0].client, program, raw_devices, options, module.host_callbacks
        )
        return executable, False
    from tangrad._backend_xla import compilation_cache

    return compilation_cache.get_or_compile(module, devices, options, name)
