"""How Fourier transforms become NumPy's, in the precision of the operands; large ones SciPy's, where it is installed.

SciPy transforms several numbers at a time, in several threads, and in single precision where NumPy computes in double
precision and rounds: a quarter of the time in one thread, and the errors that XLA's transforms have. Importing it takes
0.1 to 0.2 s, so that small transforms do not ask for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import prod
from os import cpu_count
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import kernel
from tangrad.core import RuleSet
from tangrad.extend.fft import FftType, fft_p, is_empty

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering


lower = RuleSet("lower.numpy", api=1)

_NAMES = {FftType.FFT: "fft", FftType.IFFT: "ifft", FftType.RFFT: "rfft", FftType.IRFFT: "irfft"}
_ALWAYS_DOUBLE = np.lib.NumpyVersion(np.__version__) < "2.0.0"

LARGE = 1 << 17  # elements from which on SciPy is asked for
MOST_WORKERS = 8


@cache
def _scipy() -> object:
    """SciPy's module; None where it is not installed."""
    try:
        import scipy.fft
    except ImportError:
        return None
    return scipy.fft


def _function(fft_type: FftType, size: int, several: bool) -> Callable[..., np.ndarray]:
    """The function along one axis, or along several, for arrays of a size."""
    name = _NAMES[fft_type] + "n" * several
    module = _scipy() if size >= LARGE else None
    if module is None:
        return getattr(np.fft, name)
    return partial(getattr(module, name), workers=min(MOST_WORKERS, cpu_count() or 1))


@kernel(lower, fft_p, nature=FRESH)
def _fft(ctx: Lowering, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    out = ctx.out_aval
    if is_empty(fft_lengths, out.shape):
        return lambda x: np.zeros(out.shape, out.dtype)
    function = _function(fft_type, max(prod(out.shape), prod(ctx.in_avals[0].shape)), len(fft_lengths) > 1)
    run: Callable[[np.ndarray], np.ndarray]
    if not fft_lengths:
        return lambda x: x.copy()
    if len(fft_lengths) == 1:
        run = partial(function, n=fft_lengths[0])
    else:
        run = partial(function, s=fft_lengths, axes=tuple(range(-len(fft_lengths), 0)))
    if _ALWAYS_DOUBLE and out.dtype.itemsize < np.dtype(np.float64).itemsize * (1 + (out.dtype.kind == "c")):
        return lambda x: run(x).astype(out.dtype)
    return run
