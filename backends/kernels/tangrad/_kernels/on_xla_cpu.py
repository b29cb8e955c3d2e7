"""Kernels as lowerings of XLA's programs for CPUs, which call them as foreign functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import ffi
from tangrad._kernels.jobs import (
    ANGLES,
    FOLLOWING,
    FUNCTIONS,
    OF_FOLLOWING,
    ONE_BY_ONE,
    Describe,
    Job,
    count,
    counts,
    number_of,
)
from tangrad._kernels.library import handler, replaced, replacing
from tangrad._kernels.vendor_jobs import VECTORS, of_means, product, strides_of, transposed_product
from tangrad.core import Primitive, RuleSet, ShapedArray, trace_to_closed_jaxpr
from tangrad.extend.lax import (
    add_p,
    broadcast_in_dim_p,
    cholesky_p,
    convert_element_type_p,
    dot_general_p,
    eigh_p,
    mul_p,
    scatter_add_p,
    select_n_p,
    transpose_p,
)

if TYPE_CHECKING:
    from tangrad.typing import Params

KIND = "lower.xla.cpu"
NAMES = "tangrad_kernels.{}"  # by which programs call kernels


def is_here(ctx: Any) -> bool:
    """Whether kernels may be called: partitioned over several devices, XLA would put every operand on each; a program
    that goes elsewhere may meet none there."""
    return ctx.module.meshes is None and ctx.module.parts is None and not ctx.module.is_portable


def call(ctx: object, job: Job, *operands: object, **params: object) -> Any:
    return ffi.ffi_lowering(target(job), lambda **_: _attributes(job))(ctx, *operands, **params)


def _rule(primitive: Primitive, describe: Describe) -> Any:
    def lower(ctx: Any, *operands: object, **params: object) -> Any:
        job = describe(*ctx.in_avals, **params) if is_here(ctx) else None
        if job is None:
            return replaced(KIND, primitive)(ctx, *operands, **params)
        before = _before_mean(operands[0]) if primitive in (cholesky_p, eigh_p) else None
        if before is not None:
            return call(ctx, of_means(job), before, **params)
        return call(ctx, job, *operands, **params)

    return lower


def _one_by_one(primitive: Primitive, describe: Describe) -> Callable[..., object]:
    """As `_rule`; rows of truth values that the program computes are reduced as they are computed."""
    by_kernel = _rule(primitive, describe)

    def lower(ctx: Any, x: Any, *, axes: tuple[int, ...], **params: object) -> object:
        is_computed = hasattr(x.owner, "name")  # arguments are of blocks
        if is_computed and ctx.in_avals[0].dtype == bool and max(axes, default=0) == ctx.in_avals[0].ndim - 1:
            return replaced(KIND, primitive)(ctx, x, axes=axes, **params)
        return by_kernel(ctx, x, axes=axes, **params)

    return lower


def position_rules() -> RuleSet:
    """The rules of what XLA reduces one element after the other."""
    return replacing(KIND, {primitive: _one_by_one(primitive, describe) for primitive, describe in ONE_BY_ONE.items()})


def _attributes(job: Job) -> Params:
    return {"plan": np.array(job.plan, np.int64)}


def target(job: Job) -> str:
    """The name by which programs call the kernel, which is registered."""
    name = NAMES.format(job.name)
    ffi.register_ffi_target(name, handler(job.name))
    return name


def rule_set(jobs: Mapping[Primitive, Describe]) -> RuleSet:
    """The rules of a family's equations."""
    return replacing(KIND, {primitive: _rule(primitive, describe) for primitive, describe in jobs.items()})


# --- functions of each element, one after another ---------------------------------------------------------------------


def _function(primitive: Primitive, function: int, describe: Describe | None) -> Any:
    """As `_rule`; what is applied to the result of such a call becomes part of it, and XLA drops the other if nothing
    else needs it."""

    def lower(ctx: Any, x: object, **params: object) -> Any:
        begun = _chain(x) if is_here(ctx) else None
        if begun is not None and (describe is not None or number_of(ctx.out_aval, OF_FOLLOWING) is not None):
            (dtype, size, count, *functions), start = begun
            job = Job("chain", (dtype, size, count + 1, *functions, function))
            return call(ctx, job, start, **params)
        if describe is None:
            return replaced(KIND, primitive)(ctx, x, **params)
        return _rule(primitive, describe)(ctx, x, **params)

    return lower


def _chain(value: object) -> tuple[list[int], Any] | None:
    """The plan and the operand of the call of the kernel `chain` that gives the value, if one does."""
    found = _made_by("chain", value)
    return None if found is None else (found[0], found[1][0])


def _made_by(name: str, value: Any) -> tuple[list[int], list[Any]] | None:
    """The plan and the operands of the call of a kernel that gives the value, if one does."""
    made = value.owner
    if getattr(made, "name", None) != "stablehlo.custom_call":  # arguments are of blocks
        return None
    if made.attributes["call_target_name"].value != NAMES.format(name):
        return None
    return list(made.attributes["backend_config"]["plan"]), list(made.operands)


FUNCTION_RULES = {
    primitive: _function(primitive, number, FUNCTIONS.get(primitive))
    for primitive, number in {**ANGLES, **FOLLOWING}.items()
}


# --- products ---------------------------------------------------------------------------------------------------------
#
# A kernel gets and gives rows one after another, so XLA would copy what is transposed before and behind it. The product
# reads either order, and the transposed product is that of the transposed operands, so transposes become part of it.


def _product(ctx: Any, x: Any, y: Any, **params: Any) -> Any:
    if is_here(ctx):
        as_given, before = ((x, None), (y, None)), (_untransposed(x), _untransposed(y))
        is_transposed = any([strides is not None for _, strides in before])
        for (left, x_apart), (right, y_apart) in (before, as_given) if is_transposed else (as_given,):
            job = product(*ctx.in_avals, **params, x_strides=x_apart, y_strides=y_apart)
            if job is not None:
                return _product_call(ctx, job, left, right)
    return replaced(KIND, dot_general_p)(ctx, x, y, **params)


def _untransposed(x: Any) -> tuple[Any, tuple[int, ...] | None]:
    """What a value is the transpose of, and how far the value's elements are apart in it; itself and None of others."""
    made = x.owner
    if getattr(made, "name", None) != "stablehlo.transpose":
        return x, None
    (before,) = made.operands
    strides = strides_of(before.type.shape)
    return before, tuple([strides[axis] for axis in made.attributes["permutation"]])


def _transpose(ctx: Any, x: Any, *, permutation: tuple[int, ...]) -> Any:
    made = _made_by("product", x) if is_here(ctx) else None
    job = transposed_product(made[0], ctx.in_avals[0].shape, permutation) if made is not None else None
    if made is None or job is None:
        return replaced(KIND, transpose_p)(ctx, x, permutation=permutation)
    return _product_call(ctx, job, *made[1])


def _product_call(ctx: Any, job: Job, *operands: Any) -> Any:
    """A call whose operands are others than those of the equation."""
    out = ctx.out_aval
    avals = [ShapedArray(tuple(value.type.shape), out.dtype) for value in operands]
    call = ffi.ffi_call(target(job), out)
    return ctx.inline(trace_to_closed_jaxpr(lambda *xs: [call(*xs, **_attributes(job))], avals), operands)[0]


def product_rules() -> RuleSet:
    """The rule of products of matrices."""
    return replacing(KIND, {dot_general_p: _product})


def transpose_rules() -> RuleSet:
    """The rule of transposes, of products."""
    return replacing(KIND, {transpose_p: _transpose})


def function_rules() -> RuleSet:
    """The rules of functions of each element."""
    of_vectors = {primitive: _rule(primitive, describe) for primitive, describe in VECTORS["xla"].items()}
    return replacing(KIND, {**FUNCTION_RULES, **of_vectors})


# --- factors ----------------------------------------------------------------------------------------------------------


def _before_mean(value: Any) -> Any:
    """The matrices of which a value is the mean with their transposes; None of others.

    Factors are of such means unless a program asks for others, and XLA takes half as long for one as a kernel for the
    factor.
    """
    halves = _operands("stablehlo.divide", value)
    two = _repeated(halves[1]) if halves else None
    terms = _operands("stablehlo.add", halves[0]) if two is not None and _is_two(two) else ()
    turned = _operands("stablehlo.transpose", terms[1]) if terms else ()
    if not turned or turned[0] != terms[0]:
        return None
    *others, row, column = range(value.type.rank)
    return terms[0] if list(terms[1].owner.attributes["permutation"]) == [*others, column, row] else None


def _operands(name: str, value: Any) -> Sequence[Any]:
    """Those of the operation of that name that gives the value; none of others."""
    made = value.owner
    return list(made.operands) if getattr(made, "name", None) == name else ()


def _is_two(value: Any) -> bool:
    made = value.owner
    return getattr(made, "name", None) == "stablehlo.constant" and made.attributes["value"].get_splat_value().value == 2


# --- counts of places -------------------------------------------------------------------------------------------------


def _scatter_add(ctx: Any, x: object, indices: object, updates: Any, **params: Any) -> Any:
    """One number, added to elements of a vector as often as the places say."""
    operand, places, _ = ctx.in_avals
    number = _repeated(updates) if is_here(ctx) and counts(operand, places, params) else None
    if number is None:
        return replaced(KIND, scatter_add_p)(ctx, x, indices, updates, **params)
    job, one = count(places, operand.shape[0]), operand.update(shape=())
    call = ffi.ffi_call(target(job), ShapedArray(operand.shape, "int32"))

    def program(x: object, places: object, number: object) -> tuple[Any]:
        times = call(places, **_attributes(job))
        wide = np.dtype("float64") if operand.dtype.kind == "f" else operand.dtype
        x_wide, times_wide, number = [_converted(value, wide) for value in (x, times, number)]
        sums = add_p.bind(x_wide, mul_p.bind(times_wide, _spread(number, x)))
        return (select_n_p.bind(_converted(times, np.dtype(bool)), x, _converted(sums, operand.dtype)),)

    return ctx.inline(trace_to_closed_jaxpr(program, (operand, places, one)), (x, indices, number))[0]


def _converted(x: object, dtype: np.dtype) -> Any:
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _spread(x: Any, like: Any) -> Any:
    return broadcast_in_dim_p.bind(x, shape=like.aval.shape, broadcast_dimensions=())


def _repeated(value: Any) -> Any:
    """The number that all elements are, of a value that is one broadcast; else None."""
    made = value.owner
    if getattr(made, "name", None) != "stablehlo.broadcast_in_dim":  # arguments are of blocks
        return None
    (number,) = made.operands
    return None if number.type.rank else number


def indexing_rules() -> RuleSet:
    """The rules of what is at places."""
    return replacing(KIND, {scatter_add_p: _scatter_add})
