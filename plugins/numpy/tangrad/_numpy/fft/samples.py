"""Samples of the Fourier transform, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad._numpy.fft.primitives import FftType, fft_p
from tangrad.conformance import Sample, draw

NOT_FINITE = {"special": "which results one NaN or infinity reaches, algorithms differ in"}


def samples() -> list[Sample]:
    """All of them: lengths that are even, odd, prime and one, in one to four dimensions, and none."""
    found = []
    for kind in FftType:
        for lengths in ((4,), (5,), (1,), (2,), (11,), (3, 4), (2, 3), (2, 3, 2), (2, 1, 3, 2)):
            found.append(_sample(kind, lengths))
        found.append(_sample(kind, (4,), (2, 3)))
        found.append(_sample(kind, (3, 2), (2,)))
        found.append(_sample(kind, (6,), (0,)))
        found.append(_sample(kind, (6,), (2,), wide=True))
    found += [_sample(FftType.FFT, (), (3,)), _sample(FftType.IFFT, (0,)), _sample(FftType.RFFT, (0, 3))]
    return [*found, *_refused()]


def _sample(kind: FftType, lengths: tuple[int, ...], batch: tuple[int, ...] = (), wide: bool = False) -> Sample:
    dtype = ("float64" if wide else "float32") if kind.takes_real else ("complex128" if wide else "complex64")
    x = draw(*batch, *kind.sizes(lengths)[0], dtype=dtype)
    return Sample(fft_p, (x,), {"fft_type": kind, "fft_lengths": lengths}, without=NOT_FINITE)


def _refused() -> list[Sample]:
    """Dtypes that are no such transform's, lengths that do not fit, and those that cannot be."""
    cases: list[tuple[str, object, FftType, tuple[int, ...], type[Exception]]] = [
        ("float32", (4,), FftType.FFT, (4,), TypeError),
        ("int32", (4,), FftType.RFFT, (4,), TypeError),
        ("complex64", (4,), FftType.RFFT, (4,), TypeError),
        ("float32", (3,), FftType.IRFFT, (4,), TypeError),
        ("complex64", (4,), FftType.FFT, (5,), ValueError),
        ("complex64", (4,), FftType.FFT, (1, 4), ValueError),
        ("complex64", (3,), FftType.IRFFT, (6,), ValueError),
        ("complex64", (3,), FftType.IRFFT, (), ValueError),
        ("float32", (0,), FftType.RFFT, (0,), ValueError),
        ("complex64", (0,), FftType.FFT, (-1,), ValueError),
    ]
    return [
        Sample(fft_p, (np.ones(shape, dtype),), {"fft_type": kind, "fft_lengths": lengths}, raises=error)
        for dtype, shape, kind, lengths, error in cases
    ]
