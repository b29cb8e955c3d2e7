"""How kernels become lowerings of the NumPy backend, which calls them through ctypes on the arrays' memory."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad._kernels.jobs import ANGLES, FOLLOWING, MANY, NUMBERS, Describe, Job, around, is_known, number_of
from tangrad._kernels.library import kernel, replaced, replacing, threads
from tangrad.core import Primitive, RuleSet, ShapedArray
from tangrad.core.settings import is_checking_values
from tangrad.extend.backend_numpy import ELEMENTWISE, FRESH, Kernel, Method, Opaque, Program, Step, Stored, Ufunc, Value
from tangrad.extend.lax import concatenate_p, cos_p, dot_general_p, exp_p, sin_p, tanh_p, transpose_p

if TYPE_CHECKING:
    from tangrad.extend.backend_numpy import Lowering


KIND = "lower.numpy"


def rule(primitive: Primitive, describe: Describe) -> Kernel:
    """The lowering of a primitive: the kernel where there is a job, else the rule that was replaced."""

    def emit(ctx: Lowering, *values: object, **params: object) -> Any:
        job = describe(*ctx.in_avals, **params)
        if job is None or not job.on_numpy:
            return replaced(KIND, primitive)(ctx, *values, **params)
        if primitive.multiple_results:
            return ctx.call(caller(job, ctx.out_avals), *values, nature=FRESH)
        in_place = (0,) if job.name == "softmax" and job.plan[0] == NUMBERS["float32"] else ()
        return ctx.call(Call(job, ctx.out_aval, in_place), *values)

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

    def run(*arrays: np.ndarray, out: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        operands = [np.ascontiguousarray(array) for array in arrays]
        results = [np.empty(shape, dtype) for shape, dtype in types[out is not None :]]
        if out is not None:  # of one result
            results.append(out if out.flags.c_contiguous else np.empty(out.shape, out.dtype))
        inputs = (ctypes.c_void_p * len(operands))(*[operand.ctypes.data for operand in operands])
        outputs = addresses(*[result.ctypes.data for result in results])
        if function(at_plan, inputs, outputs):
            raise MemoryError(f"the kernel {job.name!r} found too little memory for {job.plan[1:]}")
        if out is not None and results[0] is not out:
            out[...] = results[0]
        return tuple(results)

    vars(run)["plan"] = plan  # which lives as long as its address is used
    return run


class Call(Opaque):
    """The function of arrays that does a job with one result, for which it may be given an array.

    Attributes:
        in_place: the operands, by position, that this array may be: what is read of them is read before it is written.
    """

    __slots__ = ("in_place",)
    writes_into = True

    def __init__(self, job: Job, aval: ShapedArray, in_place: tuple[int, ...] = (), name: str | None = None) -> None:
        run = caller(job, [aval])

        def call(*arrays: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
            return run(*arrays, out=out)[0]

        call.__name__ = name or job.name
        super().__init__(call, FRESH)
        self.in_place = in_place

    def text_into(self, out: str, operands: Sequence[str], bind: Callable[[object, str], str]) -> list[str]:
        return [self.text([*operands, f"out={out}"], bind, False)]

    def may_overwrite(self, position: int) -> bool:
        return position in self.in_place


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
            step.function, step.inputs = Call(job, ShapedArray(x.shape, x.dtype)), (x,)
    program.drop_dead_steps()


def _asking(primitive: Primitive, rewrite: Callable[[Program], None]) -> Kernel:
    """The rule that there is, for programs that are rewritten then."""
    any_sizes = primitive is transpose_p

    def emit(ctx: Lowering, *values: object, **params: object) -> Any:
        ctx.program.rewrites[rewrite] = None
        return replaced(KIND, primitive)(ctx, *values, **params)

    return Kernel(emit, any_sizes)


def _narrow(primitive: Primitive, number: int, otherwise: Kernel | None = None) -> Kernel:
    """The rule for `bfloat16`, of which NumPy computes one element at a time."""

    def emit(ctx: Lowering, x: Value, **params: object) -> Any:
        if number_of(ctx.out_aval, ("bfloat16",)) is None or not is_known(ctx.out_aval) or prod(x.shape) < MANY:
            return (otherwise.emit if otherwise else replaced(KIND, primitive))(ctx, x, **params)
        return ctx.call(Call(Job("chain", (NUMBERS["bfloat16"], prod(x.shape), 1, number)), ctx.out_aval), x)

    return Kernel(emit)


FUNCTIONS = {
    **{primitive: _narrow(primitive, ANGLES[primitive], _asking(primitive, fuse_functions)) for primitive in ANGLES},
    **{primitive: _narrow(primitive, number) for primitive, number in FOLLOWING.items()},
}

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
    name = f"{function.ufunc.__name__}_in_tiles"
    step.function = Call(job, ShapedArray(result.shape, result.dtype), name=name)
    step.inputs = tuple([turned.get(stored, stored) for stored in step.inputs])


TRANSPOSES = {transpose_p: _asking(transpose_p, read_in_tiles)}

# --- arrays on another grid -------------------------------------------------------------------------------------------
#
# Sums of products of weights and shifted arrays, several of them one beside the other along a new axis: NumPy reads and
# writes a whole array for each product and sum, and again to put them together.

RESAMPLED = 1 << 15  # elements


class Weighted(NamedTuple):
    """An array from a place along an axis on, at steps, times weights.

    Attributes:
        has_all: whether there is a weight for each element behind the axis, or one for each place.
    """

    x: Stored
    start: int
    step: int
    weights: Stored
    has_all: bool


def resample(program: Program) -> None:
    """Make one call of such sums that are put together."""
    if program.plan is not None or is_checking_values():
        return
    made = {stored: step for step in program.steps for stored in step.outputs if len(step.outputs) == 1}
    uses = Counter([stored for step in program.steps for stored in step.inputs] + program.outputs)
    inner = {stored: step for stored, step in made.items() if uses[stored] == 1}
    for step in program.steps:
        key = step.function.key
        if not (isinstance(key, tuple) and key[0] == "concatenate" and key[1] > 0) or step.outputs[0].size < RESAMPLED:
            continue
        phases = [_phase(stored, key[1], inner, made) for stored in step.inputs]
        terms = [term for phase in phases for term in phase]
        if not all(phases) or len({term.x for term in terms}) > 1 or len(terms) > MOST_TERMS:
            continue
        (result,), x, axis = step.outputs, terms[0].x, key[1] - 1
        sizes = *around(x.shape, axis)[::2], x.shape[axis]
        plan = NUMBERS[x.dtype.name], sizes[0], result.shape[axis], *sizes[1:], len(phases), *map(len, phases)
        each = [value for term in terms for value in (term.start, term.step, int(term.has_all))]
        job = Job("resample", (*plan, *each))
        step.function = Call(job, ShapedArray(result.shape, result.dtype), name="resampled")
        step.inputs = (x, *[term.weights for term in terms])
    program.drop_dead_steps()


MOST_TERMS = 60


def _phase(part: Stored, axis: int, inner: Mapping[Stored, Step], made: Mapping[Stored, Step]) -> list[Weighted]:
    """The terms of what is put beside others along an axis, in order; none where it is something else."""
    step = inner.get(part)
    if step is None or part.shape[axis] != 1 or part.dtype not in (np.float32, np.float64):
        return []
    (x,) = step.inputs if isinstance(step.function, Method) and step.function.name == "reshape" else (part,)
    if x.shape != (*part.shape[:axis], *part.shape[axis + 1 :]):
        return []
    terms: list[Weighted | None] = []
    while (step := inner.get(x)) is not None and step.function.key is np.add:
        x, last = step.inputs
        terms.append(_weighted(last, axis - 1, inner, made))
    terms.append(_weighted(x, axis - 1, inner, made))
    return [] if None in terms else [term for term in reversed(terms) if term is not None]


def _weighted(product: Stored, axis: int, inner: Mapping[Stored, Step], made: Mapping[Stored, Step]) -> Weighted | None:
    """What a product is of."""
    step = inner.get(product)
    if step is None or step.function.key is not np.multiply or {each.dtype for each in step.inputs} != {product.dtype}:
        return None
    shape = product.shape
    for x, weights in (step.inputs, step.inputs[::-1]):
        of = (1,) * (len(shape) - len(weights.shape)) + weights.shape
        if x.shape == shape and of[: axis + 1] == (*[1] * axis, shape[axis]):
            shown = _shown(x, axis, made)
            if shown is not None and of[axis + 1 :] in (shape[axis + 1 :], (1,) * len(shape[axis + 1 :])):
                return Weighted(*shown, weights, of[axis + 1 :] == shape[axis + 1 :])
    return None


def _shown(x: Stored, axis: int, made: Mapping[Stored, Step]) -> tuple[Stored, int, int] | None:
    """The array that a view shows from a place along an axis on, the place, and the step."""
    step = made.get(x)
    index = getattr(step.function, "index", None) if step is not None else None
    if step is None or index is None:
        return x, 0, 1
    (whole,) = step.inputs
    parts = [part for part in index if part is not Ellipsis] if isinstance(index, tuple) else []
    parts += [slice(None)] * (len(whole.shape) - len(parts))
    if not isinstance(index, tuple) or Ellipsis in index[:-1] or not all([type(part) is slice for part in parts]):
        return None
    ends = [part.indices(size) for part, size in zip(parts, whole.shape)]
    others = [end == (0, size, 1) for end, size in zip(ends, whole.shape)]
    start, _, stride = ends[axis]
    return (whole, start, stride) if all(others[:axis] + others[axis + 1 :]) and stride > 0 else None


JOINTS = {concatenate_p: _asking(concatenate_p, resample)}

# --- products of several matrices -------------------------------------------------------------------------------------
#
# NumPy multiplies one after another, each of them on all threads.

SEVERAL = 4
OF_EACH, OF_ALL = 1 << 17, 1 << 23  # multiplications: with fewer NumPy has done before threads are at it


def several_products(describe: Describe) -> Kernel:
    """The rule of products: the kernel's, where there are several and it reads the operands as they are in memory."""

    def emit(ctx: Lowering, x: Value, y: Value, **params: object) -> Any:
        if x.shape == x.stored.shape and y.shape == y.stored.shape:
            (left, x_apart), (right, y_apart) = _in_memory(ctx, x), _in_memory(ctx, y)
            job = describe(*ctx.in_avals, **params, x_strides=x_apart, y_strides=y_apart)
            if job is not None and _pays(prod(job.plan[11::4]), prod(job.plan[2:5])):
                return ctx.call(Call(job, ctx.out_aval, name="products"), left, right)
        return replaced(KIND, dot_general_p)(ctx, x, y, **params)

    return Kernel(emit)


def _pays(count: int, multiplications: int) -> bool:
    return count >= SEVERAL and multiplications >= OF_EACH and count * multiplications >= OF_ALL


def _in_memory(ctx: Lowering, x: Value) -> tuple[Value, tuple[int, ...] | None]:
    """What a value is the transpose of, and how far its elements are apart there; itself, where it is none."""
    step = ctx.program.producers.get(x.stored)
    if step is None or not isinstance(step.function, Method) or step.function.name != "transpose":
        return x, None
    permutation: Any = step.function.arguments[0]
    (whole,) = step.inputs
    apart = [prod(whole.shape[axis + 1 :]) for axis in permutation]
    return Value(whole, whole.shape), tuple(apart)
