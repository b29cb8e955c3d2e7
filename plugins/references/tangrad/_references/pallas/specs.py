"""What users say of a kernel's operands: blocks, grids, memory; and names that the interpreted form does not have."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from tangrad.core import api_boundary, class_boundary, dtypes

if TYPE_CHECKING:
    from tangrad.typing import DTypeLike


# --- What users say of a kernel's operands: blocks, grids, memory -----------------------------------------------------


class MemorySpace(enum.Enum):
    """Where a kernel's references are. The interpreted form has one memory: all of them mean that.

    Called with a shape and a dtype, a space is a request for scratch memory.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.MemorySpace.ANY
    <MemorySpace.ANY: 'any'>
    >>> pl.ANY((8, 128), "float32").shape
    (8, 128)
    """

    ANY = "any"
    DEFAULT = "default"
    DEVICE = "device"
    HOST = "host"
    KEY = "key"
    VMEM = "vmem"
    VMEM_SHARED = "vmem_shared"
    SMEM = "smem"
    CMEM = "cmem"
    HBM = "hbm"

    @api_boundary
    def __call__(self, shape: Sequence[int], dtype: DTypeLike) -> MemoryRef:
        return MemoryRef(tuple(shape), dtype, self)


@class_boundary
class MemoryRef:
    """A request for memory: what `scratch_shapes` is made of, and what `run_scoped` makes references of.

    Args:
        shape: its shape.
        dtype: its dtype.
        memory_space: where it is to be; there is one memory.

    Raises TypeError for what is no dtype.

    >>> from tangrad.experimental.pallas import tpu
    >>> tpu.VMEM((2, 3), "float32")
    MemoryRef((2, 3), float32, vmem)
    """

    __slots__ = ("dtype", "memory_space", "shape")

    def __init__(self, shape: Sequence[int], dtype: object, memory_space: object = MemorySpace.ANY) -> None:
        self.shape, self.dtype, self.memory_space = tuple(shape), dtypes.as_dtype(dtype), memory_space

    def __repr__(self) -> str:
        space = self.memory_space.value if isinstance(self.memory_space, MemorySpace) else self.memory_space
        return f"MemoryRef({self.shape}, {dtypes.dtype_name(self.dtype)}, {space})"


ANY = MemorySpace.ANY
HOST = MemorySpace.HOST
VMEM, VMEM_SHARED = MemorySpace.VMEM, MemorySpace.VMEM_SHARED
SMEM, CMEM, HBM = MemorySpace.SMEM, MemorySpace.CMEM, MemorySpace.HBM


class _NoBlockSpec:
    def __repr__(self) -> str:
        return "no_block_spec"


no_block_spec = _NoBlockSpec()


@class_boundary
@dataclass(frozen=True)
class Buffered:
    """How many buffers a pipeline has for an operand. The interpreted form has no pipeline: it is accepted.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.Buffered(2).buffer_count
    2
    """

    buffer_count: int
    use_lookahead: bool = False


@class_boundary
@dataclass(init=False)  # frames of generated constructors would be among the user's
class BlockSpec:
    """Which part of an array each run of a kernel gets.

    Args:
        block_shape: the size of a block in each dimension of the array: an integer, `Blocked`, `Element`, or, for a
            dimension that the kernel does not see, None or `Squeezed`. None: the whole array.
        index_map: a function of the program ids (and of references to prefetched scalars) that returns, for each
            dimension, the number of the block, or for `Element` the position of its first element. None: zeros.
        pipeline_mode: accepted; there is no pipeline.
        memory_space: accepted; there is one memory.

    What of a block is beyond the array reads as NaN (the least integer, False), and is not written.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.BlockSpec((8, None), lambda i, j: (i, j)).block_shape
    (8, None)
    """

    block_shape: Sequence[Any] | None = None
    index_map: Callable[..., object] | None = None
    pipeline_mode: object = None
    memory_space: object = None

    def __init__(
        self,
        block_shape: Sequence[Any] | None = None,
        index_map: Callable[..., object] | None = None,
        pipeline_mode: object = None,
        *,
        memory_space: object = None,
    ) -> None:
        if block_shape is not None and not isinstance(block_shape, (tuple, list)):
            raise TypeError(f"BlockSpec: block_shape must be a tuple or None, got {block_shape!r}")
        if index_map is not None and not callable(index_map):
            raise TypeError(f"BlockSpec: index_map must be a function of the program ids, got {index_map!r}")
        self.block_shape, self.index_map = block_shape, index_map
        self.pipeline_mode, self.memory_space = pipeline_mode, memory_space

    def replace(self, **changes: Any) -> BlockSpec:
        """A copy with some fields replaced."""
        return replace(self, **changes)


@class_boundary
@dataclass
class GridSpec:
    """A grid, with the blocks of operands and results, and the scratch memory: what `pallas_call` takes one by one.

    Args:
        grid: how often the kernel runs, in each of its dimensions; an integer means one dimension. A size may be
            an integer scalar that the program computes.
        in_specs: a `BlockSpec` for each operand, in a tree like theirs.
        out_specs: likewise for the results.
        scratch_shapes: requests for scratch memory, such as `tpu.VMEM((8, 128), "float32")`; what one run of the kernel
            leaves there the next one finds.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.GridSpec(grid=4).grid
    (4,)
    """

    grid: Any = ()
    in_specs: object = no_block_spec
    out_specs: object = no_block_spec
    scratch_shapes: object = ()

    num_scalar_prefetch = 0

    def __post_init__(self) -> None:
        self.grid = tuple(self.grid) if isinstance(self.grid, (tuple, list)) else (self.grid,)


@class_boundary
class PrefetchScalarGridSpec(GridSpec):
    """A grid whose first operands are given to the index maps, too, as references.

    Args:
        num_scalar_prefetch: how many operands these are; the kernel gets all of each. They have no `in_specs`.
        grid, in_specs, out_specs, scratch_shapes: see `GridSpec`.

    >>> import tangrad.numpy as np
    >>> from tangrad import ShapeDtypeStruct
    >>> from tangrad.experimental import pallas as pl
    >>> from tangrad.experimental.pallas import tpu
    >>> def copy(order_ref, x_ref, o_ref):
    ...     o_ref[...] = x_ref[...]
    >>> spec = tpu.PrefetchScalarGridSpec(
    ...     1, grid=(3,),
    ...     in_specs=[pl.BlockSpec((1,), lambda i, order: (order[i],))],
    ...     out_specs=pl.BlockSpec((1,), lambda i, order: (i,)),
    ... )
    >>> pl.pallas_call(copy, ShapeDtypeStruct((3,), "float32"), grid_spec=spec)(np.array([2, 0, 1]), np.arange(3.0))
    Array([2., 0., 1.], dtype=float32)
    """

    def __init__(
        self,
        num_scalar_prefetch: int,
        grid: object = (),
        in_specs: object = no_block_spec,
        out_specs: object = no_block_spec,
        scratch_shapes: object = (),
    ) -> None:
        super().__init__(grid, in_specs, out_specs, scratch_shapes)
        self.num_scalar_prefetch = num_scalar_prefetch


@class_boundary
@dataclass(frozen=True)
class CostEstimate:
    """What a kernel costs, by its author's estimate; accepted.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.CostEstimate(flops=10, transcendentals=0, bytes_accessed=40).flops
    10
    """

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0


@class_boundary
class CompilerParams:
    """What a kernel asks of a compiler for TPUs or GPUs; accepted, any field, and without meaning here.

    >>> from tangrad.experimental.pallas import tpu
    >>> tpu.CompilerParams(dimension_semantics=("parallel",)).dimension_semantics
    ('parallel',)
    """

    def __init__(self, **fields: object) -> None:
        vars(self).update(fields)

    def __repr__(self) -> str:
        return f"CompilerParams({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class GridDimensionSemantics(enum.Enum):
    """In which order a TPU may run along a dimension of the grid; here it is always one after the other.

    >>> from tangrad.experimental.pallas import tpu
    >>> tpu.PARALLEL
    <GridDimensionSemantics.PARALLEL: 'parallel'>
    """

    PARALLEL = "parallel"
    CORE_PARALLEL = "core_parallel"
    SUBCORE_PARALLEL = "subcore_parallel"
    ARBITRARY = "arbitrary"


PARALLEL, ARBITRARY = GridDimensionSemantics.PARALLEL, GridDimensionSemantics.ARBITRARY
CORE_PARALLEL, SUBCORE_PARALLEL = GridDimensionSemantics.CORE_PARALLEL, GridDimensionSemantics.SUBCORE_PARALLEL


@class_boundary
class InterpretParams(CompilerParams):
    """How JAX is to interpret a kernel for TPUs; accepted as `interpret=`, any field.

    >>> from tangrad.experimental.pallas import tpu
    >>> tpu.InterpretParams(detect_races=True).detect_races
    True
    """


# ----------------------------------------------------------------------------------------------------------------------
# Names of Pallas that the interpreted form does not have: they import, and say so where a program uses them.


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

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        self.refuse()

    def __repr__(self) -> str:
        return f"<{self._name}, which is not supported>"


def unsupported(module: str) -> dict[str, Unsupported]:
    """What a module of Pallas has beside its names: those that are not supported."""
    inner = module.partition("pallas")[2].removeprefix(".")
    path = module.removeprefix("tangrad.experimental.")
    return {name: Unsupported(f"{path}.{name}", why) for name, why in UNSUPPORTED[inner].items()}
