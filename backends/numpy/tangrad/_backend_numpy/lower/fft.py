"""How Fourier transforms become NumPy's, in the precision of the operands; large ones SciPy's, where it is installed.

SciPy's are several times as fast; importing it takes 0.1 to 0.2 s, so that small transforms do not ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy import threads
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
PART = 1 << 16  # elements of a part, of which each thread takes one after another


@cache
def _scipy() -> object:
    """SciPy's module; None where it is not installed."""
    try:
        import scipy.fft
    except ImportError:
        return None
    return scipy.fft


def _function(fft_type: FftType, size: int, lengths: tuple[int, ...]) -> Callable[..., np.ndarray]:
    """The function along the last axes, which have those lengths, for arrays of a size."""
    several = len(lengths) > 1
    name = _NAMES[fft_type] + "n" * several
    module = _scipy() if size >= LARGE else None
    keywords: dict[str, object] = (
        {"s": lengths, "axes": tuple(range(-len(lengths), 0))} if several else {"n": lengths[0]}
    )
    if module is not None:
        transform = partial(getattr(module, name), **keywords)
        return lambda x: transform(x, workers=threads.count())
    alone = partial(getattr(np.fft, name), **keywords)
    if size < LARGE or _ALWAYS_DOUBLE:
        return alone
    steps = _steps(fft_type, lengths)
    return lambda x: alone(x) if threads.count() == 1 else _in_threads(x, steps)


# --- in several threads ---

Transform = Callable[..., np.ndarray]


def _steps(fft_type: FftType, lengths: tuple[int, ...]) -> list[tuple[Transform, int, int, int]]:
    """A transform as those along single axes, in NumPy's order: function, length, axis, size of the result."""
    name, last = _NAMES[fft_type], len(lengths) - 1
    complex_name = name.replace("r", "")
    order = range(last + 1) if fft_type is FftType.IRFFT else reversed(range(last + 1))
    steps = []
    for place in order:
        length = lengths[place]
        function = getattr(np.fft, name if place == last else complex_name)
        size = length // 2 + 1 if fft_type is FftType.RFFT and place == last else length
        steps.append((function, length, place - last - 1, size))
    return steps


def _in_threads(x: np.ndarray, steps: list[tuple[Transform, int, int, int]]) -> np.ndarray:
    for function, length, axis, size in steps:
        x = _along(x, function, length, x.ndim + axis, size)
    return x


def _along(x: np.ndarray, function: Transform, length: int, axis: int, size: int) -> np.ndarray:
    """A transform along one axis: each row by itself, so that parts of the rows can be anyone's."""
    shape = x.shape
    before, after = prod(shape[:axis]), prod(shape[axis + 1 :])
    rows = x.reshape(before, shape[axis], after)
    real = function is np.fft.irfft
    out = np.empty((before, size, after), np.result_type(x.dtype, np.complex64))
    out = np.empty_like(out, out.real.dtype) if real else out
    by_rows = before >= after
    count = before if by_rows else after
    height = max(PART // max(size * (after if by_rows else before), 1), 1)

    def transform(starts: Iterable[int]) -> None:
        for start in starts:
            part = (slice(start, start + height),) if by_rows else (..., slice(start, start + height))
            function(rows[part], length, 1, out=out[part])

    threads.share(transform, range(0, count, height))
    return out.reshape(*shape[:axis], size, *shape[axis + 1 :])


@kernel(lower, fft_p, nature=FRESH)
def _fft(ctx: Lowering, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    out = ctx.out_aval
    if is_empty(fft_lengths, out.shape):
        return lambda x: np.zeros(out.shape, out.dtype)
    if not fft_lengths:
        return lambda x: x.copy()
    run = _function(fft_type, max(prod(out.shape), prod(ctx.in_avals[0].shape)), fft_lengths)
    if _ALWAYS_DOUBLE and out.dtype.itemsize < np.dtype(np.float64).itemsize * (1 + (out.dtype.kind == "c")):
        return lambda x: run(x).astype(out.dtype)
    return run
