"""How kernels become lowerings of the NumPy backend, which calls them through ctypes on the arrays' memory."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._kernels.jobs import ANGLES, FOLLOWING, NUMBERS, Describe, Job
from tangrad._kernels.library import kernel, replaced, replacing, threads
from tangrad.core import Primitive, RuleSet, ShapedArray
from tangrad.core.settings import is_checking_values
from tangrad.extend.backend_numpy import ELEMENTWISE, FRESH, Kernel, Method, Opaque, Program, Step, Stored, Ufunc
from tangrad.extend.lax import cos_p, exp_p, sin_p, tanh_p, transpose_p

if TYPE_CHECKING:
    from tangrad.extend.backend_numpy import Lowering


KIND = "lower.numpy"


def rule(primitive: Primitive, describe: Describe) -> Kernel:
    """The lowering of a primitive: the kernel where there is a job, else the rule that was replaced."""

    def emit(ctx: Lowering, *values: object, **params: object) -> Any:
        job = describe(*ctx.in_avals, **params)
        if job is None or not job.on_numpy:
            return replaced(KIND, primitive)(ctx, *values, **params)
        run = caller(job, ctx.out_avals)
        return ctx.call(run if primitive.multiple_results else lambda *xs: run(*xs)[0], *values, nature=FRESH)

    return Kernel(emit)


def in_double(primitive: Primitive, describe: Describe) -> Kernel:
    """As `rule`, with single precision computed in double precision, as NumPy's own functions do."""

    def emit(ctx: Lowering, *values: object, **params: object) -> Any:
        job = describe(*[_widened(aval) for aval in ctx.in_avals], **params)
        if job is None:
            return replaced(KIND, primitive)(ctx, *values, **params)
        run = caller(job, [_widened(aval) for aval in ctx.out_avals])
        types = [aval.dtype for aval in ctx.out_avals]

        def call(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
            made = run(*[array.astype(np.float64, copy=False) for array in arrays])
            return tuple([array.astype(dtype, copy=False) for array, dtype in zip(made, types)])

        return ctx.call(call, *values, nature=FRESH)

    return Kernel(emit)


def _widened(aval: ShapedArray) -> ShapedArray:
    return aval.update(dtype=np.dtype(np.float64)) if aval.dtype == np.float32 else aval


def caller(job: Job, out_avals: Sequence[ShapedArray]) -> Callable[..., tuple[np.ndarray, ...]]:
    """The function of arrays that does a job.

    Raises:
        MemoryError: when called, where the kernel found too little memory to work in.
    """
    function, plan = kernel(job.name), np.array(job.plan, np.int64)
    at_plan, types = plan.ctypes.data, [(aval.shape, aval.dtype) for aval in out_avals]
    addresses = ctypes.c_void_p * max(len(types), 1)

    def run(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        operands = [np.ascontiguousarray(array) for array in arrays]
        results = [np.empty(shape, dtype) for shape, dtype in types]
        inputs = (ctypes.c_void_p * len(operands))(*[operand.ctypes.data for operand in operands])
        outputs = addresses(*[result.ctypes.data for result in results])
        if function(at_plan, inputs, outputs):
            raise MemoryError(f"the kernel {job.name!r} found too little memory for {job.plan[1:]}")
        return tuple(results)

    vars(run)["plan"] = plan  # which lives as long as its address is used
    return run


def rule_set(jobs: Mapping[Primitive, Describe], more: Mapping[Primitive, Kernel] | None = None) -> RuleSet:
    """The rules of a family's equations."""
    made = {primitive: rule(primitive, describe) for primitive, describe in jobs.items()}
    return replacing(KIND, {**made, **(more or {})})


# --- functions of each element, one after another ---------------------------------------------------------------------
#
# In single precision NumPy has vectors of them, too, but one thread.

CHAINED = 1 << 17  # elements
OF_UFUNCS: dict[np.ufunc, int] = {
    np.sin: ANGLES[sin_p],
    np.cos: ANGLES[cos_p],
    np.exp: FOLLOWING[exp_p],
    np.tanh: FOLLOWING[tanh_p],
}
BEGINNING = tuple(ANGLES.values())


def _number(step: Step) -> int | None:
    """The number of the function that a step applies to each element of a large array."""
    if not isinstance(step.function, Ufunc) or step.effectful or len(step.inputs) != 1:
        return None
    (x,), (result,), number = step.inputs, step.outputs, OF_UFUNCS.get(step.function.ufunc)
    if result.size < CHAINED or (x.shape, x.dtype) != (result.shape, result.dtype):
        return None
    return number if result.dtype == np.float32 or (result.dtype == np.float64 and number in BEGINNING) else None


def fuse_functions(program: Program) -> None:
    """Make one call of the kernel of functions that follow a sine or a cosine."""
    if program.plan is not None or is_checking_values():
        return
    several = threads() > 1
    uses = Counter([stored for step in program.steps for stored in step.inputs] + program.outputs)
    begun: dict[Stored, tuple[Stored, tuple[int, ...]]] = {}  # what functions are applied to, and which
    for step in program.steps:
        number = _number(step)
        if number is None or not (several or step.inputs[0].dtype == np.float64):
            continue
        x, before = begun.get(step.inputs[0], (step.inputs[0], ()))
        if uses[step.inputs[0]] > 1:
            x, before = step.inputs[0], ()
        if before or number in BEGINNING:
            begun[step.outputs[0]] = x, (*before, number)
            job = Job("chain", (NUMBERS[x.dtype.name], x.size, len(before) + 1, *before, number))
            run = caller(job, [ShapedArray(x.shape, x.dtype)])
            step.function, step.inputs = Opaque(lambda x, run=run: run(x)[0], FRESH), (x,)
    program.drop_dead_steps()


def _asking(primitive: Primitive, rewrite: Callable[[Program], None]) -> Kernel:
    """The rule that there is, for programs that are rewritten then."""
    any_sizes = primitive is transpose_p

    def emit(ctx: Lowering, *values: object, **params: object) -> Any:
        ctx.program.rewrites[rewrite] = None
        return replaced(KIND, primitive)(ctx, *values, **params)

    return Kernel(emit, any_sizes)


FUNCTIONS = {primitive: _asking(primitive, fuse_functions) for primitive in ANGLES}

# --- operations of which one operand is transposed --------------------------------------------------------------------

TRANSPOSED = 1 << 15  # elements, from which on NumPy, in its tiles or not, takes longer
# As in native/rows.cc.
OF_TWO = dict(zip((np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum), range(6)))


def read_in_tiles(program: Program) -> None:
    """Make one call of a transpose of the last two dimensions, and the operation on its result and another array."""
    if program.plan is not None or is_checking_values():
        return
    turned: dict[Stored, Stored] = {}  # transposes, and what they are of
    so_in_memory: set[Stored] = set()  # they, and what NumPy makes of them alone, in their order
    for step in program.steps:
        function: Any = step.function
        if step.several:
            continue
        (result,) = step.outputs
        if isinstance(function, Method) and function.name == "transpose":
            rank = len(result.shape)
            if function.arguments == ((*range(rank - 2), rank - 1, rank - 2),):
                turned[result] = step.inputs[0]
                so_in_memory.add(result)
        elif function.nature is ELEMENTWISE:
            wide = {stored for stored in step.inputs if stored.shape == result.shape}
            if wide and wide <= so_in_memory:
                so_in_memory.add(result)
            elif len(wide & so_in_memory) == 1 and not wide.isdisjoint(turned):
                _turn_in_tiles(step, turned)
    program.drop_dead_steps()


def _turn_in_tiles(step: Step, turned: Mapping[Stored, Stored]) -> None:
    """Make a step the kernel's, if it is one of those: of one of the arrays that are turned, and another."""
    (result,), function = step.outputs, step.function
    if not isinstance(function, Ufunc) or function.ufunc not in OF_TWO or result.size < TRANSPOSED:
        return
    types = {(stored.shape, stored.dtype) for stored in (*step.inputs, result)}
    if len(types) > 1 or result.dtype not in (np.float32, np.float64):
        return
    place = 1 if step.inputs[0] in turned else 2
    sizes = prod(result.shape[:-2]), *result.shape[-2:]
    job = Job("tiles", (NUMBERS[result.dtype.name], OF_TWO[function.ufunc], *sizes, place))
    run = caller(job, [ShapedArray(result.shape, result.dtype)])

    def in_tiles(*arrays: np.ndarray) -> np.ndarray:
        return run(*arrays)[0]

    in_tiles.__name__ = f"{function.ufunc.__name__}_in_tiles"
    step.function = Opaque(in_tiles, FRESH)
    step.inputs = tuple([turned.get(stored, stored) for stored in step.inputs])


TRANSPOSES = {transpose_p: _asking(transpose_p, read_in_tiles)}
