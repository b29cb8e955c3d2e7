"""Kernels as lowerings of XLA's programs for CPUs, which call them as foreign functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import ffi
from tangrad._kernels.jobs import FACTORS, RUNNING, SORTING, WINDOWS, Describe, Job
from tangrad._kernels.library import handler, replaced, replacing
from tangrad.core import Primitive, RuleSet

if TYPE_CHECKING:
    from tangrad.typing import Params

KIND = "lower.xla.cpu"


def _rule(primitive: Primitive, describe: Describe) -> Any:
    def lower(ctx: Any, *operands: object, **params: Any) -> Any:
        # Partitioned over several devices, XLA would put every operand on each; a program that goes elsewhere may meet
        # no kernels there.
        is_here = ctx.module.meshes is None and not ctx.module.is_portable
        job = describe(*ctx.in_avals, **params) if is_here else None
        if job is None:
            return replaced(KIND, primitive)(ctx, *operands, **params)
        return ffi.ffi_lowering(target(job), lambda **_: _attributes(job))(ctx, *operands, **params)

    return lower


def _attributes(job: Job) -> Params:
    return {"plan": np.array(job.plan, np.int64)}


def target(job: Job) -> str:
    """The name by which programs call the kernel, which is registered."""
    name = f"tangrad_kernels.{job.name}"
    ffi.register_ffi_target(name, handler(job.name))
    return name


def rule_set(jobs: Mapping[Primitive, Describe]) -> RuleSet[Any]:
    """The rules of a family's equations."""
    return replacing(KIND, {primitive: _rule(primitive, describe) for primitive, describe in jobs.items()})


reductions = rule_set(RUNNING)
ordering = rule_set(SORTING)
decompositions = rule_set(FACTORS)
windows = rule_set(WINDOWS)
