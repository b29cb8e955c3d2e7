"""How Fourier transforms become StableHLO, whose transforms have at most three dimensions: more are done in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_xla.dimension_values import has_symbolic
from tangrad._backend_xla.helpers import full, transpose
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.fft import FftType, fft_p, is_empty

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)

MOST = 3


@lower.rule(fft_p)
def _fft(ctx: FunctionContext, x: IrValue, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> IrValue:
    (aval,), out = ctx.in_avals, ctx.out_aval
    if is_empty(fft_lengths, out.shape):
        return full(ctx, 0, out)
    if len(fft_lengths) <= MOST:
        return _transform(ctx, x, out, fft_type, fft_lengths)
    first, last = fft_lengths[:-MOST], fft_lengths[-MOST:]
    if fft_type is FftType.IRFFT:  # the halved axis is the last one that becomes whole
        x = _along_first(ctx, x, aval, FftType.IFFT, first)
        return _transform(ctx, x, out, fft_type, last)
    x = _transform(ctx, x, out, fft_type, last)
    return _along_first(ctx, x, out, FftType.IFFT if fft_type is FftType.IFFT else FftType.FFT, first)


def _along_first(
    ctx: FunctionContext, x: IrValue, aval: ShapedArray, fft_type: FftType, lengths: tuple[int, ...]
) -> IrValue:
    """A complex transform along the dimensions before the last three, as many at a time as there can be."""
    stop = aval.ndim - MOST
    while lengths:
        here, lengths = lengths[-MOST:], lengths[:-MOST]
        start = stop - len(here)
        order = (*range(start), *range(stop, aval.ndim), *range(start, stop))
        moved = aval.update(shape=tuple([aval.shape[d] for d in order]))
        there = _transform(ctx, transpose(ctx, x, moved, order), moved, fft_type, here)
        x = transpose(ctx, there, aval, [order.index(d) for d in range(aval.ndim)])
        stop = start
    return x


def _transform(
    ctx: FunctionContext, x: IrValue, out: ShapedArray, fft_type: FftType, lengths: tuple[int, ...]
) -> IrValue:
    if not lengths:
        return x
    if has_symbolic(lengths):
        raise NotImplementedError(
            f"StableHLO's fft has lengths that are numbers, got {', '.join(map(str, lengths))}: pad to a known size"
        )
    words = ctx.vocabulary
    attributes = {
        "fft_type": words.parsed(f"#stablehlo<fft_type {fft_type.name}>"),
        "fft_length": words.integers(lengths),
    }
    return ctx.op("stablehlo.fft", ctx.types[out], (x,), attributes)
