"""Transforms along several axes: `tangrad.numpy.fft.fft2`, `fftn` and their inverse and real forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._fft.primitives import FftType
from tangrad._fft.transforms import size_argument, transform_operand, transformed
from tangrad.core import Array
from tangrad.extend.numpy import as_one, canonical_axes
from tangrad.typing import ArrayLike


def _along(name: str, fft_type: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    x = transform_operand(name, a, fft_type)
    sizes = None if s is None else [size_argument(name, size, "s") for size in _sequence(name, s, "s")]
    rank = x.aval.ndim
    if axes is None and sizes is not None:
        if len(sizes) > rank:
            raise ValueError(f"{name}: s {tuple(s)} has more sizes than the array has dimensions: shape {x.aval.shape}")
        axes = tuple(range(rank - len(sizes), rank))
    elif axes is not None:
        _sequence(name, axes, "axes")
    places = canonical_axes(name, axes, rank, "axes")
    if sizes is not None and len(sizes) != len(places):
        raise ValueError(f"{name}: s {tuple(s)} and axes {tuple(axes)} must have one length")
    return transformed(name, fft_type, x, places, sizes, norm)


def _along_two(name: str, fft_type: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Array:
    if len(_sequence(name, axes, "axes")) != 2:
        raise ValueError(f"{name}: there must be two axes, got {tuple(axes)}")
    return _along(name, fft_type, a, s, axes, norm)


def _sequence(name: str, value: Any, argument: str) -> Sequence[Any]:
    try:
        return tuple(value)
    except TypeError:
        kind = type(value).__name__
        message = f"{name}: {argument} must be a sequence of integers, got {value!r} of type {kind}"
        raise TypeError(message) from None


@as_one("s", "axes", "norm")
def fft2(
    a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The discrete Fourier transform along two axes.

    Args:
        a: an array, real or complex; whole numbers and booleans become floats.
        s: how many points along each axis, to which it is cut or filled up with zeros; None: as many as there are.
        axes: the two dimensions.
        norm: as for `fft`, with the product of all sizes for n.

    Returns:
        A complex array: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array, or `s` or `axes` no sequence of integers.
        ValueError: `axes` are out of bounds or repeated, or not two, `s` does not fit them or has a size less
            than 1, or `norm` is unknown.

    >>> import tangrad.numpy as np
    >>> np.fft.fft2(np.array([[1.0, 2.0], [3.0, 4.0]]))
    Array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]], dtype=complex64)
    """
    return _along_two("fft2", FftType.FFT, a, s, axes, norm)


@as_one("s", "axes", "norm")
def ifft2(
    a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The inverse of `fft2`.

    Args:
        a: an array, real or complex; whole numbers and booleans become floats.
        s: how many points along each axis, to which it is cut or filled up with zeros; None: as many as there are.
        axes: the two dimensions.
        norm: as for `ifft`, with the product of all sizes for n.

    Returns:
        A complex array: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array, or `s` or `axes` no sequence of integers.
        ValueError: `axes` are out of bounds or repeated, or not two, `s` does not fit them or has a size less
            than 1, or `norm` is unknown.

    >>> import tangrad.numpy as np
    >>> np.fft.ifft2(np.array([[4.0, 0.0], [0.0, 0.0]]))
    Array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _along_two("ifft2", FftType.IFFT, a, s, axes, norm)


@as_one("s", "axes", "norm")
def rfft2(
    a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The transform of a real array along two axes: `rfft` along the last one, `fft` along the others.

    Args:
        a: a real array; whole numbers and booleans become floats.
        s: how many points along each axis, to which it is cut or filled up with zeros; None: as many as there are.
        axes: the two dimensions; the one that is named last is halved.
        norm: as for `rfft`, with the product of all sizes for n.

    Returns:
        A complex array, with s[-1] // 2 + 1 elements along the last axis: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array or complex, or `s` or `axes` no sequence of integers.
        ValueError: `axes` are out of bounds or repeated, or not two, `s` does not fit them or has a size less
            than 1, or `norm` is unknown, or there are no points.

    >>> import tangrad.numpy as np
    >>> np.fft.rfft2(np.ones((3, 4))).shape
    (3, 3)
    """
    return _along_two("rfft2", FftType.RFFT, a, s, axes, norm)


@as_one("s", "axes", "norm")
def irfft2(
    a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The inverse of `rfft2`: `ifft` along all axes but the last, then `irfft` along that.

    Args:
        a: an array, real or complex; whole numbers and booleans become floats.
        s: how many points the result has along each axis; the last of m elements has 2 (m - 1) where s is None.
        axes: the two dimensions; the one that is named last is halved.
        norm: as for `irfft`, with the product of all sizes for n.

    Returns:
        A real array: float64 for 64-bit floats, else float32.

    Raises:
        TypeError: `a` is no array, or `s` or `axes` no sequence of integers.
        ValueError: `axes` are out of bounds or repeated, or not two, `s` does not fit them or has a size less
            than 1, or `norm` is unknown, or there are no points.

    >>> import tangrad.numpy as np
    >>> np.fft.irfft2(np.ones((3, 3))).shape
    (3, 4)
    """
    return _along_two("irfft2", FftType.IRFFT, a, s, axes, norm)


@as_one("s", "axes", "norm")
def fftn(
    a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """The discrete Fourier transform along several axes.

    Args:
        a: an array, real or complex; whole numbers and booleans become floats.
        s: how many points along each axis, to which it is cut or filled up with zeros; None: as many as there are.
        axes: which dimensions; None: the last len(s) ones, or all.
        norm: as for `fft`, with the product of all sizes for n.

    Returns:
        A complex array: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array, or `s` or `axes` no sequence of integers.
        ValueError: `axes` are out of bounds or repeated, `s` does not fit them or has a size less than 1, or
            `norm` is unknown.

    >>> import tangrad.numpy as np
    >>> np.fft.fftn(np.array([[1.0, 2.0], [3.0, 4.0]]))
    Array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]], dtype=complex64)
    """
    return _along("fftn", FftType.FFT, a, s, axes, norm)


@as_one("s", "axes", "norm")
def ifftn(
    a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """The inverse of `fftn`.

    Args:
        a: an array, real or complex; whole numbers and booleans become floats.
        s: how many points along each axis, to which it is cut or filled up with zeros; None: as many as there are.
        axes: which dimensions; None: the last len(s) ones, or all.
        norm: as for `ifft`, with the product of all sizes for n.

    Returns:
        A complex array: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array, or `s` or `axes` no sequence of integers.
        ValueError: `axes` are out of bounds or repeated, `s` does not fit them or has a size less than 1, or
            `norm` is unknown.

    >>> import tangrad.numpy as np
    >>> np.fft.ifftn(np.array([[4.0, 0.0], [0.0, 0.0]]))
    Array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _along("ifftn", FftType.IFFT, a, s, axes, norm)


@as_one("s", "axes", "norm")
def rfftn(
    a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """The transform of a real array along several axes: `rfft` along the last one, `fft` along the others.

    Args:
        a: a real array; whole numbers and booleans become floats.
        s: how many points along each axis, to which it is cut or filled up with zeros; None: as many as there are.
        axes: which dimensions; None: the last len(s) ones, or all; the one that is named last is halved.
        norm: as for `rfft`, with the product of all sizes for n.

    Returns:
        A complex array, with s[-1] // 2 + 1 elements along the last axis: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array or complex, or `s` or `axes` no sequence of integers.
        ValueError: `axes` are out of bounds or repeated, `s` does not fit them or has a size less than 1, or
            `norm` is unknown, or there are no points.

    >>> import tangrad.numpy as np
    >>> np.fft.rfftn(np.ones((3, 4))).shape
    (3, 3)
    """
    return _along("rfftn", FftType.RFFT, a, s, axes, norm)


@as_one("s", "axes", "norm")
def irfftn(
    a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """The inverse of `rfftn`: `ifft` along all axes but the last, then `irfft` along that.

    Args:
        a: an array, real or complex; whole numbers and booleans become floats.
        s: how many points the result has along each axis; the last of m elements has 2 (m - 1) where s is None.
        axes: which dimensions; None: the last len(s) ones, or all; the one that is named last is halved.
        norm: as for `irfft`, with the product of all sizes for n.

    Returns:
        A real array: float64 for 64-bit floats, else float32.

    Raises:
        TypeError: `a` is no array, or `s` or `axes` no sequence of integers.
        ValueError: `axes` are out of bounds or repeated, `s` does not fit them or has a size less than 1, or
            `norm` is unknown, or there are no points.

    >>> import tangrad.numpy as np
    >>> np.fft.irfftn(np.ones((3, 3))).shape
    (3, 4)
    """
    return _along("irfftn", FftType.IRFFT, a, s, axes, norm)
