"""How kernels become lowerings of the NumPy backend, which calls them through ctypes on the arrays' memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._kernels.jobs import Describe, Job
from tangrad._kernels.library import kernel, replaced, replacing
from tangrad.core import Primitive, RuleSet, ShapedArray
from tangrad.extend.backend_numpy import FRESH, Kernel

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
