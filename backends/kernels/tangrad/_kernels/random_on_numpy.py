"""Random bits on NumPy by the kernel `bits`, and the floats that are made of bits. XLA's own loop is as fast."""

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

MANY = 1 << 12  # words
WORD = (1 << 32) - 1


def _bits(keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...], partitionable: bool) -> Job | None:
    """The words of one key, whose numbers have 32 bits."""
    drawn = ShapedArray(shape, "uint32")
    if keys.dtype is not THREEFRY or keys.shape or bit_width != 32 or not (partitionable and is_known(drawn)):
        return None
    return Job("bits", (prod(shape),)) if MANY <= prod(shape) <= WORD else None


def _of_bits(primitive: Primitive) -> Kernel:
    """A rule for floats of single precision: what they are defined by, which begins with bits."""

    def emit(ctx: Lowering, keys: Value, **params: Any) -> Value:
        job = _bits(*ctx.in_avals, bit_width=32, shape=params["shape"], partitionable=params["partitionable"])
        if job is None or dtypes.dtype_name(params["dtype"]) != "float32":
            return replaced(KIND, primitive)(ctx, keys, **params)
        return ctx.inline(decomposition_jaxpr(primitive, ctx.in_avals, params), keys)

    return Kernel(emit)


def rule_set() -> RuleSet:
    """The rules of the family."""
    of_bits = {primitive: _of_bits(primitive) for primitive in (random_normal_p, random_uniform_p)}
    return replacing(KIND, {random_bits_p: rule(random_bits_p, _bits), **of_bits})


random = rule_set()
