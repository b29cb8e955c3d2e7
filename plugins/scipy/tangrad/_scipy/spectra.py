"""Spectra of signals in time: `tangrad.scipy.signal.stft`, `istft`, `csd`, `welch`, and `detrend`.

Source: Welch, The use of fast Fourier transform for the estimation of power spectra, IEEE Trans. Audio Electroacoust.
15 (1967); Griffin and Lim, Signal estimation from modified short-time Fourier transform, IEEE Trans. Acoust. 32 (1984).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import tangrad.numpy as tnp
from tangrad._scipy.tapers import taper
from tangrad.core import Array
from tangrad.extend.fft import fft, fftfreq, ifft, irfft, rfft, rfftfreq
from tangrad.extend.numpy import (
    asarray,
    broadcast_shape,
    canonical_axis,
    check_array_like,
    check_dtypes,
    index_argument,
    is_complex,
    promote_inexact,
)
from tangrad.typing import ArrayLike, Value

_EDGES = {"even": "reflect", "constant": "edge", "zeros": "constant"}


class _Segments(NamedTuple):
    """Into which pieces a signal is cut."""

    window: Any
    size: int
    step: int
    length: int  # of the transform


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | ArrayLike = 0,
    overwrite_data: None = None,
) -> Array:
    """The data less its mean, or less the line that fits it best.

    Args:
        data: an array; integers become floats.
        axis: the axis.
        type: "constant" for the mean, "linear" for the line of least squares.
        bp: for lines, where along the axis another line begins.
        overwrite_data: must be None: arrays are not written to.

    Returns:
        An array of the shape of `data`.

    Raises:
        NotImplementedError: `overwrite_data` is given.
        TypeError: for breaks that are no integers.
        ValueError: for another type, breaks that are not along the axis.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal
    >>> tangrad.scipy.signal.detrend(np.array([1.0, 2.0, 6.0]), type="constant")
    Array([-2., -1.,  3.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError("detrend: overwrite_data is not supported, since arrays are immutable")
    kinds = {"constant": False, "c": False, "linear": True, "l": True}
    if type not in kinds:
        raise ValueError(f"detrend: type must be 'constant' or 'linear', got {type!r}")
    check_array_like("detrend", data)
    x = asarray(promote_inexact("detrend", data)[0])
    axis = canonical_axis("detrend", axis, x.ndim)
    if not kinds[type]:
        return x - x.mean(axis, keepdims=True)
    moved = tnp.moveaxis(x, axis, -1)
    size = moved.shape[-1]
    given = np.asarray(bp).ravel()
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(f"detrend: bp must be integers, got {bp!r}")
    breaks = sorted({0, size, *given.tolist()})
    if breaks[0] < 0 or breaks[-1] > size:
        raise ValueError(f"detrend: bp must be places along the axis, from 0 to {size}, got {bp!r}")
    parts = [_without_line(moved[..., start:end]) for start, end in itertools.pairwise(breaks)]
    return tnp.moveaxis(tnp.concatenate(parts, -1), -1, axis) if parts else x


def _without_line(x: Any) -> Any:
    """Along the last axis. About their means, slope and height of the line do not depend on each other."""
    place = np.arange(x.shape[-1]) - 0.5 * (x.shape[-1] - 1)
    squares = float((place**2).sum()) or 1.0  # 0 of one element, 0.5 of two
    place = tnp.asarray(place, x.real.dtype)
    slope = (x * place).sum(-1, keepdims=True) / squares
    return x - x.mean(-1, keepdims=True) - slope * place


# --- segments ------------------------------------------------------------------------------------------------------


def _segments(name: str, window: object, nperseg: object, noverlap: object, nfft: object, available: int) -> _Segments:
    given = not isinstance(window, (str, tuple, float))
    if nperseg is None:
        size = window.shape[0] if given and hasattr(window, "shape") else 256
    else:
        size = index_argument(name, nperseg, "nperseg")
    if size < 1:
        raise ValueError(f"{name}: nperseg must be positive, got {nperseg!r}")
    if size > available and not given:
        size = available
    weights = taper(name, window, size)
    if weights.shape[0] != size or size > available:
        raise ValueError(
            f"{name}: the window has {weights.shape[0]} elements, a segment {size}, and the signal {available}"
        )
    overlap = size // 2 if noverlap is None else index_argument(name, noverlap, "noverlap")
    length = size if nfft is None else index_argument(name, nfft, "nfft")
    if not 0 <= overlap < size:
        raise ValueError(f"{name}: noverlap must be less than nperseg, {size}, got {noverlap!r}")
    if length < size:
        raise ValueError(f"{name}: nfft must not be less than nperseg, {size}, got {length!r}")
    return _Segments(weights, size, size - overlap, length)


def _check_rate(name: str, fs: object) -> None:
    if isinstance(fs, (int, float)) and fs == 0:
        raise ValueError(f"{name}: fs must not be 0")


def _extended(name: str, x: Value, boundary: object, count: int) -> Value:
    if boundary is None:
        return x
    margins = [(0, 0)] * (x.ndim - 1) + [(count, count)]
    if boundary == "odd":
        mirrored = tnp.pad(x, margins, "reflect")
        left = 2 * x[..., :1] - mirrored[..., :count]
        right = 2 * x[..., -1:] - mirrored[..., mirrored.shape[-1] - count :]
        return tnp.concatenate([left, x, right], -1)
    if boundary not in _EDGES:
        raise ValueError(f"{name}: boundary must be None, 'even', 'odd', 'constant' or 'zeros', got {boundary!r}")
    return tnp.pad(x, margins, _EDGES[boundary])


def _without_trend(name: str, frames: Value, kind: Any) -> Value:
    if kind is False or kind is None:
        return frames
    return kind(frames) if callable(kind) else detrend(frames, -1, kind)


def _transforms(name: str, x: Value, parts: _Segments, trend: object, onesided: bool) -> Value:
    """Fourier's transform of each segment: (..., segments, frequencies)."""
    starts = np.arange(0, x.shape[-1] - parts.size + 1, parts.step)
    frames = _without_trend(name, x[..., starts[:, None] + np.arange(parts.size)], trend)
    weighted = frames * tnp.asarray(parts.window).astype(x.real.dtype)
    return (rfft if onesided else fft)(weighted, parts.length)


def _spectrum(
    name: str,
    signals: Sequence[Value],
    fs: Any,
    parts: _Segments,
    trend: object,
    onesided: bool,
    scaling: str,
    axis: int,
    boundary: object,
    padded: bool,
) -> tuple[Array, Array, Array]:
    """Frequencies, times, and the product of the spectra of two signals, or the spectrum of one."""
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"{name}: scaling must be 'density' or 'spectrum', got {scaling!r}")
    _check_rate(name, fs)
    onesided = onesided and not any(is_complex(x) for x in signals)
    spectra = []
    for x in signals:
        made = _extended(name, tnp.moveaxis(x, axis, -1), boundary, parts.size // 2)
        if padded:
            rest = -(made.shape[-1] - parts.size) % parts.step % parts.size
            made = tnp.pad(made, [(0, 0)] * (made.ndim - 1) + [(0, rest)])
        length = made.shape[-1]
        spectra.append(_transforms(name, made, parts, trend, onesided))
    window = tnp.asarray(parts.window).astype(signals[0].real.dtype)
    scale = 1 / (fs * (window**2).sum()) if scaling == "density" else 1 / window.sum() ** 2
    if len(spectra) == 1:
        result = spectra[0] * tnp.sqrt(scale)
    else:
        result = tnp.conj(spectra[0]) * spectra[1] * scale
        if onesided:  # each frequency but the first, and the one that is its own mirror image, stands for two
            double = np.full(result.shape[-1], 2.0)
            double[0] = 1
            if parts.length % 2 == 0:
                double[-1] = 1
            result = result * tnp.asarray(double, signals[0].real.dtype)
    middles = np.arange(0, length - parts.size + 1, parts.step) + (0.0 if boundary is not None else parts.size / 2)
    times = asarray(middles) / fs
    frequencies = (rfftfreq if onesided else fftfreq)(parts.length, 1 / fs)
    real = result.real.dtype
    return frequencies.astype(real), times.astype(real), tnp.moveaxis(result, -1, axis - signals[0].ndim - 1)


def _signal(name: str, x: ArrayLike) -> Value:
    check_array_like(name, x)
    return asarray(promote_inexact(name, x)[0])


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: object = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: object = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """The short-time Fourier transform: the spectrum of each of many segments.

    Args:
        x: the signal, an array.
        fs: samples in a unit of time.
        window: the name of a window, a tuple of name and parameters, or an array of `nperseg` weights.
        nperseg: samples in a segment; where the signal is shorter, all of it.
        noverlap: samples that neighbours share; None: half of them.
        nfft: the length of the transform, at least `nperseg`; None: that.
        detrend: False, or what is taken from each segment: "constant", "linear", or a function of segments.
        return_onesided: whether to leave out negative frequencies, of real signals.
        boundary: how the signal goes on for half a segment: "zeros", "even", "odd", "constant", or None: not.
        padded: whether zeros are added at the end, to fill the last segment.
        axis: along which time goes.

    Returns:
        The frequencies, the times, and the spectra: the shape of `x` with frequencies for `axis`, times last.

    Raises:
        ValueError: for sizes that do not fit, names that are not known.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal
    >>> f, t, spectra = tangrad.scipy.signal.stft(np.ones(16), nperseg=8)
    >>> spectra.shape, f"{abs(spectra[0, 2]):.4f}"
    ((5, 5), '1.0000')
    """
    made = _signal("stft", x)
    axis = canonical_axis("stft", axis, made.ndim)
    if not made.size:  # as SciPy
        return tnp.zeros(made.shape), tnp.zeros(made.shape), made + 0j
    parts = _segments("stft", window, nperseg, noverlap, nfft, made.shape[axis])
    return _spectrum("stft", [made], fs, parts, detrend, return_onesided, "spectrum", axis, boundary, padded)


def csd(
    x: ArrayLike,
    y: ArrayLike,
    fs: ArrayLike = 1.0,
    window: object = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: object = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The cross spectral density of two signals, averaged over segments.

    Args:
        x, y: the signals, arrays broadcast against each other; the shorter one is filled with zeros. None for `y`: `x`.
        fs: samples in a unit of time.
        window: the name of a window, a tuple of name and parameters, or an array of `nperseg` weights.
        nperseg: samples in a segment; None: 256, or the length of the window; where signals are shorter, all.
        noverlap: samples that neighbours share; None: half of them.
        nfft: the length of the transform, at least `nperseg`; None: that.
        detrend: what is taken from each segment: "constant", "linear", a function of segments, or False.
        return_onesided: whether to leave out negative frequencies, of real signals.
        scaling: "density", by frequency, or "spectrum".
        axis: along which time goes.
        average: "mean" or "median" over segments.

    Returns:
        The frequencies and the densities: the shape of `x` with frequencies for `axis`; complex, but for `y=None` real.

    Raises:
        ValueError: for sizes that do not fit, names that are not known.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal
    >>> f, density = tangrad.scipy.signal.csd(np.arange(16.0), np.ones(16), nperseg=8)
    >>> density.shape
    (5,)
    """
    if y is not None:
        check_dtypes("csd", x, y)
    return _cross("csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


def _cross(
    name: str, x: ArrayLike, y: Any, fs: object, window: object, nperseg: object, noverlap: object, nfft: object,
    trend: object, onesided: bool, scaling: str, axis: int, average: str,
) -> tuple[Array, Array]:  # fmt: skip
    if average not in ("mean", "median"):
        raise ValueError(f"{name}: average must be 'mean' or 'median', got {average!r}")
    first = _signal(name, x)
    second = first if y is None or y is x else _signal(name, y)
    if second.dtype != first.dtype:
        first, second = [asarray(z) for z in promote_inexact(name, first, second)]
    first, second = [tnp.moveaxis(z, canonical_axis(name, axis, z.ndim), -1) for z in (first, second)]
    if not first.size or not second.size:  # as SciPy
        lead = broadcast_shape(name, [first.shape[:-1], second.shape[:-1]])
        nothing = tnp.moveaxis(tnp.zeros((*lead, min(first.shape[-1], second.shape[-1])), first.dtype), -1, axis)
        return nothing.real, nothing if y is None else nothing + 0j
    size = max(first.shape[-1], second.shape[-1])
    first, second = [
        tnp.pad(z, [(0, 0)] * (z.ndim - 1) + [(0, size - z.shape[-1])]) if z.shape[-1] < size else z
        for z in (first, second)
    ]
    parts = _segments(name, window, nperseg, noverlap, nfft, size)
    last = max(first.ndim, second.ndim) - 1
    first, second = [z.reshape((1,) * (last + 1 - z.ndim) + z.shape) for z in (first, second)]
    frequencies, _, density = _spectrum(name, [first, second], fs, parts, trend, onesided, scaling, last, None, False)
    if average == "mean":
        density = density.mean(-1)
    else:
        # The median of exponential variables is below their mean: by 1 - 1/2 + 1/3 - … for an odd number of them.
        count = (density.shape[-1] - 1) // 2
        bias = 1 + sum([1 / (2 * k + 1) - 1 / (2 * k) for k in range(1, count + 1)])
        middle = tnp.median(density.real, -1) + (1j * tnp.median(density.imag, -1) if is_complex(density) else 0)
        density = middle / bias
    density = tnp.moveaxis(density, -1, axis)
    return frequencies, density.real if y is None else density


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: object = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: object = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The power spectral density of a signal by the method of Welch: averaged over segments.

    Args:
        x: the signal, an array.
        fs: samples in a unit of time.
        window: the name of a window, a tuple of name and parameters, or an array of `nperseg` weights.
        nperseg: samples in a segment; None: 256, or the length of the window; where the signal is shorter, all.
        noverlap: samples that neighbours share; None: half of them.
        nfft: the length of the transform, at least `nperseg`; None: that.
        detrend: what is taken from each segment: "constant", "linear", a function of segments, or False.
        return_onesided: whether to leave out negative frequencies, of real signals.
        scaling: "density", by frequency, or "spectrum".
        axis: along which time goes.
        average: "mean" or "median" over segments.

    Returns:
        The frequencies and the densities: the shape of `x` with frequencies for `axis`.

    Raises:
        ValueError: for sizes that do not fit, names that are not known.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal
    >>> f, density = tangrad.scipy.signal.welch(np.arange(16.0), nperseg=8)
    >>> density.shape
    (5,)
    """
    arguments = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return _cross("welch", x, None, *arguments)


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: object = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """The signal of a short-time Fourier transform, by weighted overlap and addition.

    Args:
        Zxx: the spectra, as `stft` returns them.
        fs: samples in a unit of time.
        window: the name of a window, a tuple of name and parameters, or an array of `nperseg` weights.
        nperseg: samples in a segment; None: by the number of frequencies.
        noverlap: samples that neighbours share; None: half of them.
        nfft: the length of the transform; None: `nperseg`.
        input_onesided: whether negative frequencies are left out.
        boundary: whether the signal was extended by half a segment, which is to be cut off.
        time_axis, freq_axis: which axes are times and frequencies.

    Returns:
        The times, and the signal, with time for the two axes.

    Raises:
        ValueError: for sizes that do not fit, names that are not known, axes that are one.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal as signal
    >>> t, x = signal.istft(signal.stft(np.arange(16.0), nperseg=8)[2])
    >>> f"{x[5]:.3f}"
    '5.000'
    """
    spectra = _signal("istft", Zxx)
    if spectra.ndim < 2:
        raise ValueError(f"istft: Zxx must have two dimensions or more, got shape {spectra.shape}")
    times, frequencies = [
        canonical_axis("istft", axis, spectra.ndim, argument)
        for axis, argument in ((time_axis, "time_axis"), (freq_axis, "freq_axis"))
    ]
    if times == frequencies:
        raise ValueError(f"istft: time_axis and freq_axis must differ, got {time_axis} and {freq_axis}")
    moved = tnp.moveaxis(spectra, (times, frequencies), (-2, -1))
    count, bins = moved.shape[-2:]
    natural = 2 * (bins - 1) if input_onesided else bins
    size = natural if nperseg is None else index_argument("istft", nperseg, "nperseg")
    if nfft is None:
        nfft = natural + 1 if input_onesided and size == natural + 1 else natural
    parts = _segments("istft", window, size, noverlap, nfft, max(size, 1))
    _check_rate("istft", fs)
    frames = (irfft if input_onesided else ifft)(moved, parts.length)[..., : parts.size]
    weights = tnp.asarray(parts.window).astype(frames.real.dtype)
    length = parts.size + (count - 1) * parts.step
    places = np.arange(count)[:, None] * parts.step + np.arange(parts.size)
    total = tnp.zeros((*frames.shape[:-2], length), frames.dtype).at[..., places].add(frames * weights * weights.sum())
    norm = tnp.zeros(length, weights.dtype).at[places].add(tnp.broadcast_to(weights**2, places.shape))
    if boundary:
        cut = slice(parts.size // 2, length - parts.size // 2)
        total, norm = total[..., cut], norm[cut]
    signal = total / tnp.where(norm > 1e-10, norm, 1.0)
    place = times - 1 if frequencies < times else times
    moments = asarray(np.arange(float(signal.shape[-1]))) / fs
    return moments.astype(signal.real.dtype), tnp.moveaxis(signal, -1, place)
