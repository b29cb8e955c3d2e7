"""How Fourier transforms become NumPy's, in the precision of the operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import kernel
from tangrad.core import RuleSet
from tangrad.extend.fft import FftType, fft_p, is_empty

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering


lower = RuleSet("lower.numpy", api=1)

# The function along one axis, and that along several.
_FUNCTIONS: dict[FftType, tuple[Callable[..., Any], Callable[..., Any]]] = {
    FftType.FFT: (np.fft.fft, np.fft.fftn),
    FftType.IFFT: (np.fft.ifft, np.fft.ifftn),
    FftType.RFFT: (np.fft.rfft, np.fft.rfftn),
    FftType.IRFFT: (np.fft.irfft, np.fft.irfftn),
}
_ALWAYS_DOUBLE = np.lib.NumpyVersion(np.__version__) < "2.0.0"


@kernel(lower, fft_p, nature=FRESH)
def _fft(ctx: Lowering, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Callable[[Any], Any]:
    out = ctx.out_aval
    if is_empty(fft_lengths, out.shape):
        return lambda x: np.zeros(out.shape, out.dtype)
    one, several = _FUNCTIONS[fft_type]
    run: Callable[[Any], Any]
    if not fft_lengths:
        return lambda x: x.copy()
    if len(fft_lengths) == 1:
        run = partial(one, n=fft_lengths[0])
    else:
        run = partial(several, s=fft_lengths, axes=tuple(range(-len(fft_lengths), 0)))
    if _ALWAYS_DOUBLE and out.dtype.itemsize < np.dtype(np.float64).itemsize * (1 + (out.dtype.kind == "c")):
        return lambda x: run(x).astype(out.dtype)
    return run
