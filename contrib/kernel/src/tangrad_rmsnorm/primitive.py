"""The primitive: what it computes, in terms of others, from which its derivatives follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad import lax
from tangrad.batching import move_axis
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, api_boundary, as_operand

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.core.protocols import AxisInfo
    from tangrad.typing import ArrayLike, Value, Values

DTYPES = ("float32", "float64")
rmsnorm = PrimitiveSet("rmsnorm", api=1)
batch = RuleSet("batch", api=1)


def by_others(x: Value, *, eps: float) -> Array:
    """The same in terms of lax."""
    mean = lax.reduce_sum(lax.mul(x, x), axes=(x.ndim - 1,)) / x.shape[-1]
    return lax.mul(x, lax.broadcast_in_dim(lax.rsqrt(mean + eps), x.shape, tuple(range(x.ndim - 1))))


@rmsnorm.primitive(name="rms_norm", decompose=by_others)
def rms_norm_p(x: ShapedArray, *, eps: float) -> ShapedArray:
    """x / sqrt(mean(x^2) + eps) along the last dimension."""
    if x.ndim == 0 or x.dtype.name not in DTYPES:
        raise TypeError(f"rms_norm expects float32 or float64 with at least one dimension, got {x.str_short()}")
    return ShapedArray(x.shape, x.dtype)


@batch.rule(rms_norm_p)
def _(args: Values, dims: tuple[int], *, axis_info: AxisInfo, eps: float) -> tuple[Array, int]:
    return rms_norm_p.bind(move_axis(args[0], dims[0], 0), eps=eps), 0  # more rows


@api_boundary
def rms_norm(x: ArrayLike, eps: float = 1e-6) -> Array:
    """Divide by the root of the mean square along the last dimension.

    Args:
        x: array (..., width) of a floating dtype; float32 and float64 are computed by the kernel.
        eps: is added to the mean of the squares.

    Returns:
        an array of the shape and dtype of `x`.

    Raises:
        TypeError: for a number without dimensions, and other dtypes.
    """
    operand: Value = as_operand(x)
    if operand.aval.dtype.name in ("float16", "bfloat16") and operand.aval.ndim:
        return by_others(operand, eps=float(eps))
    return rms_norm_p.bind(operand, eps=float(eps))
