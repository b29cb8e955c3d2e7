"""Windows of spectra, by their names in SciPy: "hann", ("kaiser", 8.0), …

They are made for Fourier's transform: as if they went on periodically.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tangrad.core import Array

# The coefficients of Σ (-1)ᵏ aₖ cos(2πkn/N): Harris, On the use of windows for harmonic analysis with the discrete
# Fourier transform, Proc. IEEE 66 (1978); Nuttall, Some windows with very good sidelobe behavior, IEEE Trans. Acoust.
# 29 (1981); D'Antona and Ferrero, Digital Signal Processing for Measurement Systems, Springer 2006 (flattop).
_COSINE_SUMS = {
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}


def _cosine_sum(coefficients: tuple[float, ...], size: int) -> np.ndarray:
    angle = 2 * np.pi * np.arange(size) / size
    return sum((-1) ** k * a * np.cos(k * angle) for k, a in enumerate(coefficients))


def _distance(size: int) -> np.ndarray:
    """From the centre, in units of half the width: from -1 up."""
    return np.arange(size) / (0.5 * size) - 1


def _tukey(size: int, taper: float = 0.5) -> np.ndarray:
    if taper <= 0:
        return np.ones(size)
    edge = np.minimum(np.arange(size), size - np.arange(size)) / (0.5 * min(taper, 1) * size)
    return 0.5 * (1 - np.cos(np.pi * np.minimum(edge, 1)))


def _triangle(size: int) -> object:
    # Symmetric over size + 1 places, of which the last is left out.
    middle = 0.5 * size
    width = 0.5 * (size + 1) if size % 2 else 0.5 * (size + 2)
    return 1 - np.abs(np.arange(size) - middle) / width


_OTHERS: dict[str, Callable[..., Any]] = {
    "boxcar": np.ones,
    "bartlett": lambda size: 1 - np.abs(_distance(size)),
    "triang": _triangle,
    "cosine": lambda size: np.sin(np.pi * (np.arange(size) + 0.5) / (size + 1)),
    "kaiser": lambda size, beta: np.i0(beta * np.sqrt(1 - _distance(size) ** 2)) / np.i0(beta),
    "gaussian": lambda size, deviation: np.exp(-0.5 * ((np.arange(size) - 0.5 * size) / deviation) ** 2),
    "tukey": _tukey,
}
_ALIASES = {"hanning": "hann", "rect": "boxcar", "rectangular": "boxcar", "ones": "boxcar", "triangle": "triang"}


def taper(name: str, window: Any, size: int) -> np.ndarray | Array:
    """A window as a NumPy array of 64-bit floats, or an array that was given as it is.

    Raises ValueError for an unknown name, TypeError for what is neither.
    """
    if isinstance(window, float):
        window = ("kaiser", window)
    if isinstance(window, str):
        window = (window,)
    if not isinstance(window, tuple) or not window or not isinstance(window[0], str):
        if not hasattr(window, "ndim"):
            raise TypeError(f"{name}: window must be the name of one, a tuple of it and its parameters, or an array")
        if window.ndim != 1:
            raise ValueError(f"{name}: window must have one dimension, got shape {window.shape}")
        return window
    kind, *parameters = window
    kind = _ALIASES.get(kind, kind)
    if kind in _COSINE_SUMS:
        return _cosine_sum(_COSINE_SUMS[kind], size) if size > 1 else np.ones(size)
    if kind not in _OTHERS:
        raise ValueError(f"{name}: window must be one of {', '.join(sorted({*_COSINE_SUMS, *_OTHERS}))}, got {kind!r}")
    return _OTHERS[kind](size, *parameters) if size > 1 else np.ones(size)
