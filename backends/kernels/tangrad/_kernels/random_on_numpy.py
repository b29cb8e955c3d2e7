"""Random bits on NumPy by the kernel `bits`, the floats that are made of bits, and normal ones by the kernel `normal`.

XLA's own loops are as fast.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tangrad._kernels.jobs import Job, is_known
from tangrad._kernels.library import replaced, replacing
from tangrad._kernels.on_numpy import KIND, rule
from tangrad.core import Primitive, RuleSet, ShapedArray, decomposition_jaxpr, dtypes
from tangrad.extend.backend_numpy import Kernel
from tangrad.extend.random import THREEFRY, random_bits_p, random_normal_p, random_uniform_p

if TYPE_CHECKING:
    from tangrad.extend.backend_numpy import Lowering, Value
    from tangrad.typing import DTypeLike

MANY = 1 << 12  # words
WORD = (1 << 32) - 1


def _bits(keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...], partitionable: bool) -> Job | None:
    """The words of one key, whose numbers have 32 bits or 64."""
    drawn = ShapedArray(shape, "uint32")
    if keys.dtype is not THREEFRY or keys.shape or bit_width < 32 or not (partitionable and is_known(drawn)):
        return None
    return Job("bits", (prod(shape), bit_width)) if MANY <= prod(shape) <= WORD else None


def _normal(keys: ShapedArray, *, dtype: DTypeLike, shape: tuple[int, ...], partitionable: bool) -> Job | None:
    """Numbers in single precision, of the bits that there would be."""
    job = _bits(keys, bit_width=32, shape=shape, partitionable=partitionable)
    return Job("normal", job.plan[:1]) if job is not None and dtypes.dtype_name(dtype) == "float32" else None


def _of_bits(primitive: Primitive) -> Kernel:
    """A rule for floats of 32 bits or 64: what they are defined by, which begins with bits."""

    def emit(ctx: Lowering, keys: Value, **params: Any) -> Value:
        width = dtypes.bit_width(params["dtype"])
        job = _bits(*ctx.in_avals, bit_width=width, shape=params["shape"], partitionable=params["partitionable"])
        if job is None:
            return replaced(KIND, primitive)(ctx, keys, **params)
        return ctx.inline(decomposition_jaxpr(primitive, ctx.in_avals, params), keys)

    return Kernel(emit)


def rule_set() -> RuleSet:
    """The rules of the family."""
    rules = {random_bits_p: rule(random_bits_p, _bits), random_normal_p: rule(random_normal_p, _normal)}
    return replacing(KIND, {**rules, random_uniform_p: _of_bits(random_uniform_p)})


random = rule_set()
