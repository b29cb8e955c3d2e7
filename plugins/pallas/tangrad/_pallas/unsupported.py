"""Names of Pallas that the interpreted form does not have: they import, and say so where a program uses them."""

from __future__ import annotations

from typing import Any, NoReturn

_COPIES = "copies that run beside the kernel; read and write references, or give the array a BlockSpec"
_SEMAPHORES = "semaphores; places of the grid run one after the other, so nothing has to wait"
_PIPELINES = "pipelines within a kernel; make what they go over dimensions of the grid"
_MESHES = "kernels over the cores of a device; use pallas_call with a grid"
_BITS = "random bits of the hardware; draw them outside by tangrad.random, and pass them as an operand"
_REGISTERS = "operations on the registers of a TPU; use those of tangrad.numpy and tangrad.lax"
_INNER = "names of JAX's own parts; use pallas_call"
_MODES = "modes of interpretation; the interpreted form is what runs"
_LOWERING = "programs for compilers of GPUs and TPUs; the interpreted form runs on any backend"

# Module -> name -> what it is, and what to use.
UNSUPPORTED: dict[str, dict[str, str]] = {
    "": {
        **dict.fromkeys(["semaphore", "semaphore_read", "semaphore_signal", "semaphore_wait", "delay"], _SEMAPHORES),
        **dict.fromkeys(["DeviceIdType"], _SEMAPHORES),
        **dict.fromkeys(["core_map", "kernel", "get_global", "run_state", "with_scoped", "select_ref"], _MESHES),
        **dict.fromkeys(["lower_as_mlir", "pallas_export_experimental"], _LOWERING),
        **dict.fromkeys(["BoundedSlice", "Indirect"], "blocks whose size the index map returns; use Element"),
        **dict.fromkeys(["BlockDim", "RevisitMode", "empty_ref_like", "pallas_call_p"], _INNER),
        **dict.fromkeys(["empty", "empty_like"], "memory without values; use tangrad.numpy.empty"),
        **dict.fromkeys(["enable_debug_checks", "enable_poison_buffers"], "debugger; what is not written reads as NaN"),
        "estimate_cost": "estimates of costs; jit(f).lower(x).cost_analysis() has those of compilers",
        "debug_check": "checks within kernels; use tangrad.experimental.checkify on what the kernel returns",
    },
    "tpu": {
        **dict.fromkeys(
            ["async_copy", "async_remote_copy", "make_async_copy", "make_async_remote_copy", "sync_copy"], _COPIES
        ),
        **dict.fromkeys(
            ["SEMAPHORE", "SemaphoreType", "dma_semaphore", "core_barrier", "get_barrier_semaphore"], _SEMAPHORES
        ),
        **dict.fromkeys(
            ["BufferType", "BufferedRef", "BufferedRefBase", "emit_pipeline", "emit_pipeline_with_allocations"],
            _PIPELINES,
        ),
        **dict.fromkeys(["CoreType", "create_tensorcore_mesh", "run_on_first_core"], _MESHES),
        **dict.fromkeys(
            ["prng_random_bits", "prng_seed", "sample_block", "stateful_bernoulli", "stateful_bits"], _BITS
        ),
        **dict.fromkeys(["stateful_normal", "stateful_uniform", "stochastic_round", "to_pallas_key"], _BITS),
        **dict.fromkeys(
            ["bitcast", "einshape", "matmul_acc_lhs", "matmul_pop", "matmul_push_rhs", "pack_elementwise"], _REGISTERS
        ),
        **dict.fromkeys(["trace_value", "unpack_elementwise", "with_memory_space_constraint"], _REGISTERS),
        **dict.fromkeys(["ChipVersion", "SideEffectType", "Tiling", "core", "is_tpu_device", "touch"], _LOWERING),
        **dict.fromkeys(
            ["force_tpu_interpret_mode", "reset_tpu_interpret_mode_state", "set_tpu_interpret_mode"], _MODES
        ),
        **dict.fromkeys(["LoweringException", "TpuInfo", "get_tpu_info", "get_tpu_info_for_chip"], _LOWERING),
    },
    "triton": {
        **dict.fromkeys(["debug_barrier"], _SEMAPHORES),
        **dict.fromkeys(["elementwise_inline_asm"], _LOWERING),
    },
}


class Unsupported:
    """A name that programs may mention, and not use. Its attributes are likewise."""

    __slots__ = ("_name", "_why")

    def __init__(self, name: str, why: str) -> None:
        self._name, self._why = name, why

    def __getattr__(self, name: str) -> Unsupported:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unsupported(f"{self._name}.{name}", self._why)

    def refuse(self) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError(f"{self._name}: the interpreted form of Pallas has no {self._why}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.refuse()

    def __repr__(self) -> str:
        return f"<{self._name}, which is not supported>"


def unsupported(module: str) -> dict[str, Unsupported]:
    """What a module of Pallas has beside its names: those that are not supported."""
    inner = module.partition("pallas")[2].removeprefix(".")
    path = module.removeprefix("tangrad.experimental.")
    return {name: Unsupported(f"{path}.{name}", why) for name, why in UNSUPPORTED[inner].items()}
