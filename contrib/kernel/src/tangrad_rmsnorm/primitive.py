"""The primitive: what it computes, in terms of others, from which its derivatives follow."""

from tangrad import lax
from tangrad.batching import move_axis
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, api_boundary, as_operand

DTYPES = ("float32", "float64")
rmsnorm = PrimitiveSet("rmsnorm", api=1)
batch = RuleSet("batch", api=1)


def by_others(x, *, eps):
    """The same in terms of lax."""
    mean = lax.reduce_sum(lax.mul(x, x), axes=(x.ndim - 1,)) / x.shape[-1]
    return lax.mul(x, lax.broadcast_in_dim(lax.rsqrt(mean + eps), x.shape, tuple(range(x.ndim - 1))))


@rmsnorm.primitive(name="rms_norm", decompose=by_others)
def rms_norm_p(x, *, eps):
    """x / sqrt(mean(x^2) + eps) along the last dimension."""
    if x.ndim == 0 or x.dtype.name not in DTYPES:
        raise TypeError(f"rms_norm expects float32 or float64 with at least one dimension, got {x.str_short()}")
    return ShapedArray(x.shape, x.dtype)


@batch.rule(rms_norm_p)
def _(args, dims, *, axis_info, eps):
    return rms_norm_p.bind(move_axis(args[0], dims[0], 0), eps=eps), 0  # more rows


@api_boundary
def rms_norm(x, eps=1e-6):
    """Divide by the root of the mean square along the last dimension.

    Args:
        x: array (..., width) of a floating dtype; float32 and float64 are computed by the kernel.
        eps: is added to the mean of the squares.

    Returns:
        an array of the shape and dtype of `x`.

    Raises:
        TypeError: for a number without dimensions, and other dtypes.
    """
    x = as_operand(x)
    if x.aval.dtype.name in ("float16", "bfloat16") and x.aval.ndim:
        return by_others(x, eps=float(eps))
    return rms_norm_p.bind(x, eps=float(eps))
