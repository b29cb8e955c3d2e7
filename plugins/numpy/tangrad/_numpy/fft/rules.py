"""The rules of Fourier transforms, which are linear; those of padded arrays are in `mask`.

The matrix of a transform, w[jk] = exp(∓2πi jk/n), is symmetric. IRFFT of z is the real part of
Σ μ[k] z[k] exp(2πi jk/n) / N, where μ counts the elements that z[k] stands for: one at k = 0 and, for even n, at
k = n/2, two in between. RFFT is FFT of a real operand, of which the results beyond the middle are dropped. Back, the
real part of Σ c[k] exp(-2πi jk/n) is left: N times IRFFT of the conjugate of c / μ, half of the work of an FFT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._numpy.fft.primitives import FftType, fft_p, point_count
from tangrad.core import Array, RuleSet, ShapedArray, literal
from tangrad.extend.lax import broadcast_in_dim_p, conj_p, mul_p, pad_p
from tangrad.typing import Dimensions, Value, Values

if TYPE_CHECKING:
    from tangrad.batching import AxisInfo

jvp = RuleSet("jvp", api=1)
jvp.form("linear", fft_p)

# As the operands are, along the dimensions that are transformed, too.
sharding = RuleSet("sharding", api=1)
sharding.form("positionwise", fft_p)

batch = RuleSet("batch", api=1)


@batch.rule(fft_p)
def _(
    args: Values, dims: tuple[int, ...], *, axis_info: AxisInfo, fft_lengths: Dimensions, **params: object
) -> tuple[Value, int | None]:
    """A mapped axis is one of the dimensions in front of those that are transformed."""
    (x,), (dim,) = args, dims
    if dim >= x.aval.ndim - len(fft_lengths):
        x, dim = axis_info.place(x, dim, 0), 0
    return fft_p.bind(x, fft_lengths=fft_lengths, **params), dim


# --- cotangents ---

transpose = RuleSet("transpose", api=1)


def _fft(ct: Value, operand: ShapedArray, *, fft_type: FftType, fft_lengths: Dimensions) -> Array:
    if fft_type.takes_real:
        return _from_half(ct, fft_lengths)
    if fft_type.gives_real:
        return _to_half(ct, fft_lengths)
    return fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)


def _from_half(ct: Value, lengths: Dimensions) -> Array:
    half = mul_p.bind(conj_p.bind(ct), _weights(ct.aval, lengths, point_count(lengths), 0.5))
    return fft_p.bind(half, fft_type=FftType.IRFFT, fft_lengths=lengths)


def _to_half(ct: Value, lengths: Dimensions) -> Array:
    half = conj_p.bind(fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=lengths))
    return mul_p.bind(half, _weights(half.aval, lengths, 1 / max(point_count(lengths), 1), 2))


def _weights(aval: ShapedArray, lengths: Dimensions, scale: float, between: float) -> Array:
    """`scale` for each element of a half, `between` times as much for those that have a mirror image."""
    middle = 1 - lengths[-1] % 2  # whether there is an element at n / 2, which is its own mirror image
    inner = aval.shape[-1] - 1 - middle
    doubles = broadcast_in_dim_p.bind(literal(between * scale, aval.dtype), shape=(inner,), broadcast_dimensions=())
    weights = pad_p.bind(doubles, literal(scale, aval.dtype), padding_config=((1, middle, 0),))
    return broadcast_in_dim_p.bind(weights, shape=aval.shape, broadcast_dimensions=(aval.ndim - 1,))


transpose.form("linear", fft_p, using=[_fft])
