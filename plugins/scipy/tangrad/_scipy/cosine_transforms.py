"""Discrete cosine transforms through Fourier's: `tangrad.scipy.fft.dct`, `idct`, `dctn`, `idctn`.

Source: Makhoul, A fast cosine transform in one and two dimensions, IEEE Trans. Acoust. 28 (1980).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as tnp
from tangrad.core import Array, dtypes
from tangrad.extend.fft import fft, irfft, rfft
from tangrad.extend.lax import complex as complex_of
from tangrad.extend.numpy import (
    asarray,
    canonical_axes,
    canonical_axis,
    check_array_like,
    index_argument,
    is_complex,
    promote_inexact,
)
from tangrad.typing import ArrayLike

if TYPE_CHECKING:
    from tangrad.typing import Value

_NORMS = (None, "backward", "ortho", "forward")
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _sized(x: Array, size: int, axis: int) -> Array:
    """Cut, or filled with zeros, at the end of an axis."""
    own = x.shape[axis]
    if size <= own:
        return x[(slice(None),) * axis + (slice(size),)]
    return tnp.pad(x, [(0, size - own) if place == axis else (0, 0) for place in range(x.ndim)])


def _phases(angles: np.ndarray, like: Array) -> Array:
    """exp(i angles), of the width of an array."""
    return complex_of(*[tnp.asarray(part(angles), like.dtype) for part in (np.cos, np.sin)])


# Each works along the last axis, without scaling.


def _first(x: Array) -> Value:
    return rfft(tnp.concatenate([x, x[..., -2:0:-1]], -1)).real


def _second(x: Array) -> Array:
    size = x.shape[-1]
    spectrum = rfft(tnp.concatenate([x, x[..., ::-1]], -1))[..., :size]
    return (spectrum * _phases(-0.5 * math.pi / size * np.arange(size), x)).real


def _third(x: Array) -> object:
    size = x.shape[-1]
    spectrum = x * _phases(0.5 * math.pi / size * np.arange(size), x)
    whole = tnp.concatenate([spectrum, tnp.zeros_like(spectrum[..., :1])], -1)
    return 2 * size * irfft(whole, 2 * size)[..., :size]


def _fourth(x: Array) -> Array:
    size = x.shape[-1]
    turned = x * _phases(-0.5 * math.pi / size * np.arange(size), x)
    spectrum = fft(turned, 2 * size)[..., :size]
    return 2 * (spectrum * _phases(-0.25 * math.pi / size * (2 * np.arange(size) + 1), x)).real


_TRANSFORMS: dict[int, Callable[..., Any]] = {1: _first, 2: _second, 3: _third, 4: _fourth}


def _transformed(x: Value, kind: int, norm: str | None, inverse: bool) -> Array:
    """Along the last axis. Orthogonal transforms weigh the elements at the ends by √2 or its inverse."""
    if is_complex(x):
        return complex_of(*[_transformed(part, kind, norm, inverse) for part in (x.real, x.imag)])
    kind = _INVERSE[kind] if inverse else kind
    size = x.shape[-1]
    length = 2 * (size - 1) if kind == 1 else 2 * size
    if norm != "ortho":
        result = _TRANSFORMS[kind](x)
        return result / length if (norm == "forward") is not inverse else result
    ends = np.ones(size)
    ends[0] = math.sqrt(2)
    if kind == 1:
        ends[-1] = math.sqrt(2)
    weights = tnp.asarray(ends, x.dtype)
    result = _TRANSFORMS[kind](x * weights if kind in (1, 3) else x) * math.sqrt(1 / length)
    return result / weights if kind in (1, 2) else result


def _checked(name: str, x: object, type: object, norm: object) -> Array:
    if type not in _TRANSFORMS:
        raise ValueError(f"{name}: type must be 1, 2, 3 or 4, got {type!r}")
    if norm not in _NORMS:
        raise ValueError(f"{name}: norm must be None, 'backward', 'ortho' or 'forward', got {norm!r}")
    check_array_like(name, x)
    made = asarray(promote_inexact(name, x)[0])
    narrow = made.dtype if made.dtype.itemsize > 2 else None
    return made if narrow else made.astype(dtypes.as_dtype("float32"))


def _along(name: str, x: Array, kind: int, size: object, axis: int, norm: Any, inverse: bool) -> Array:
    if size is not None:
        size = index_argument(name, size, "n")
        if size < 1:
            raise ValueError(f"{name}: n must be positive, got {size}")
        x = _sized(x, size, axis)
    if x.shape[axis] < (2 if kind == 1 else 1):
        raise ValueError(f"{name}: the transform of type {kind} needs more elements along axis {axis}: {x.shape}")
    moved = tnp.moveaxis(x, axis, -1)
    return tnp.moveaxis(_transformed(moved, kind, norm, inverse), -1, axis)


def _one(name: str, x: object, type: int, n: object, axis: int, norm: object, inverse: bool) -> Array:
    made = _checked(name, x, type, norm)
    return _along(name, made, type, n, canonical_axis(name, axis, made.ndim), norm, inverse)


def _many(
    name: str,
    x: object,
    type: int,
    s: Sequence[int] | None,
    axes: int | Sequence[int] | None,
    norm: object,
    inverse: bool,
) -> Array:
    made = _checked(name, x, type, norm)
    if axes is None and s is not None:
        axes = tuple(range(-len(s), 0))
    places = canonical_axes(name, axes, made.ndim, "axes")
    sizes = [None] * len(places) if s is None else list(s)
    if len(sizes) != len(places):
        raise ValueError(f"{name}: s must have a size for each of the axes {places}, got {tuple(sizes)}")
    for place, size in zip(places, sizes):
        made = _along(name, made, type, size, place, norm, inverse)
    return made


def dct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete cosine transform along an axis.

    Args:
        x: an array; integers become floats; of complex numbers both parts are transformed.
        type: which of the four definitions of SciPy.
        n: to how many elements the axis is cut, or filled with zeros; None: as many as there are.
        axis: the axis.
        norm: None or "backward": without a factor; "forward": divided by 2n, for type 1 by 2(n - 1); "ortho":
            orthogonal.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: for another type or norm, a size that is not positive, an axis that is not there.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.fft
    >>> tangrad.scipy.fft.dct(np.array([1.0, 1.0]))
    Array([4., 0.], dtype=float32)
    """
    return _one("dct", x, type, n, axis, norm, False)


def idct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `dct`.

    Args:
        x: an array; integers become floats; of complex numbers both parts are transformed.
        type: which of the four definitions of SciPy.
        n: to how many elements the axis is cut, or filled with zeros; None: as many as there are.
        axis: the axis.
        norm: that of the transform.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: for another type or norm, a size that is not positive, an axis that is not there.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.fft
    >>> tangrad.scipy.fft.idct(np.array([4.0, 0.0]))
    Array([1., 1.], dtype=float32)
    """
    return _one("idct", x, type, n, axis, norm, True)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The discrete cosine transform along several axes.

    Args:
        x: an array; integers become floats; of complex numbers both parts are transformed.
        type: which of the four definitions of SciPy.
        s: to how many elements each axis is cut, or filled with zeros; None: as many as there are.
        axes: the axes; None: all, or the last ones for which `s` has sizes.
        norm: as for `dct`.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: for another type or norm, sizes that do not fit, an axis that is not there.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.fft
    >>> tangrad.scipy.fft.dctn(np.ones((1, 2)))
    Array([[8., 0.]], dtype=float32)
    """
    return _many("dctn", x, type, s, axes, norm, False)


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of `dctn`.

    Args:
        x: an array; integers become floats; of complex numbers both parts are transformed.
        type: which of the four definitions of SciPy.
        s: to how many elements each axis is cut, or filled with zeros; None: as many as there are.
        axes: the axes; None: all, or the last ones for which `s` has sizes.
        norm: that of the transform.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: for another type or norm, sizes that do not fit, an axis that is not there.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.fft
    >>> tangrad.scipy.fft.idctn(np.array([[8.0, 0.0]]))
    Array([[1., 1.]], dtype=float32)
    """
    return _many("idctn", x, type, s, axes, norm, True)
