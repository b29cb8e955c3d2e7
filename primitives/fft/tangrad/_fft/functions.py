"""The public function `tangrad.lax.fft`."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._fft.primitives import FftType, fft_p
from tangrad.core import Array, dtypes
from tangrad.extend.lax import check_int, operand
from tangrad.extend.numpy import convert
from tangrad.typing import ArrayLike, Value


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The discrete Fourier transform along the last dimensions.

    Args:
        x: an array of shape (..., *lengths), where the last length n is n // 2 + 1 for IRFFT. RFFT takes float32 and
            float64, the others complex64 and complex128; real arrays become complex, integers float first.
        fft_type: a FftType or its name: "FFT", "IFFT", "RFFT", "IRFFT". The inverse ones divide by the number of
            points.
        fft_lengths: the length of the result along each transformed dimension of IRFFT, of `x` for the others.

    Returns:
        An array of shape (..., *lengths), where the last length n is n // 2 + 1 for RFFT; of a real dtype for IRFFT,
        and complex otherwise.

    Raises:
        TypeError: for dtypes, lengths or types of transforms that are none of these.
        ValueError: for an unknown name, and lengths that do not fit the shape.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.fft(np.array([1.0, 2.0, 3.0, 4.0]), "RFFT", (4,))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    kind = FftType.from_any(fft_type)
    try:
        lengths = tuple(fft_lengths)
    except TypeError:
        found = type(fft_lengths).__name__
        message = f"fft: fft_lengths must be a sequence of integers, got {fft_lengths!r} of type {found}"
        raise TypeError(message) from None
    lengths = tuple([check_int("fft", length, "fft_lengths") for length in lengths])
    return fft_p.bind(_converted(operand("fft", x), kind), fft_type=kind, fft_lengths=lengths)


def _converted(x: Value, fft_type: FftType) -> Value:
    """Whole numbers as floats, and those as complex numbers where it takes these."""
    dtype = dtypes.to_inexact_dtype(x.aval.dtype)
    if not fft_type.takes_real and dtype.name in ("float32", "float64"):
        dtype = dtypes.to_complex_dtype(dtype)
    return convert(x, dtype)
