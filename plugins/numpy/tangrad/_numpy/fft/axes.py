"""The transforms of `tangrad.numpy.fft`: `fft`, `rfft`, `hfft`, … along one axis, `fft2`, `fftn`, … along several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._numpy.fft.primitives import FftType
from tangrad._numpy.fft.transforms import conjugated, opposite, size_argument, transform_operand, transformed
from tangrad._numpy.fusing import as_one
from tangrad._numpy.operands import canonical_axes, canonical_axis
from tangrad.core import Array, transfers
from tangrad.typing import ArrayLike, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

# Of what transfer guards ask: what fills an axis up, or comes of conjugates, is made of numbers.
COPIES_FROM_HOST = {
    **dict.fromkeys(["hfft", "ihfft"], True),
    **dict.fromkeys(
        ["fft", "ifft", "irfft", "rfft"],
        lambda given: given.get("n") is not None or transfers.is_from_host(given["a"]),
    ),
}


def _along(name: str, fft_type: FftType, x: Value, n: int | None, axis: int, norm: object) -> Array:
    axes = (canonical_axis(name, axis, x.aval.ndim),)
    return transformed(name, fft_type, x, axes, None if n is None else (size_argument(name, n, "n"),), norm)


@as_one("n", "axis", "norm")
def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform along an axis: y[k] = Σ a[j] exp(-2πi jk/n).

    Args:
        a: an array with at least one dimension, real or complex; whole numbers and booleans become floats.
        n: how many points: the axis is cut, or filled up with zeros; None: as many as there are.
        axis: along which dimension; negative ones count from the end.
        norm: "backward" or None: 1; "ortho": n ** -0.5; "forward": 1 / n: what the sum is multiplied by.

    Returns:
        A complex array with n elements along `axis`: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array, or `n` or `axis` no integer.
        ValueError: `axis` is out of bounds, `n` less than 1, or `norm` unknown.

    >>> import tangrad.numpy as np
    >>> np.fft.fft(np.array([1.0, 2.0, 3.0, 4.0]))
    Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    name = "fft"
    return _along(name, FftType.FFT, transform_operand(name, a, FftType.FFT), n, axis, norm)


@as_one("n", "axis", "norm")
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `fft`: y[j] = Σ a[k] exp(2πi jk/n) / n.

    Args:
        a: an array with at least one dimension, real or complex; whole numbers and booleans become floats.
        n: how many points: the axis is cut, or filled up with zeros; None: as many as there are.
        axis: along which dimension; negative ones count from the end.
        norm: "backward" or None: 1 / n; "ortho": n ** -0.5; "forward": 1: what the sum is multiplied by.

    Returns:
        A complex array with n elements along `axis`: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array, or `n` or `axis` no integer.
        ValueError: `axis` is out of bounds, `n` less than 1, or `norm` unknown.

    >>> import tangrad.numpy as np
    >>> np.fft.ifft(np.array([4.0, 0.0, 0.0, 0.0]))
    Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    name = "ifft"
    return _along(name, FftType.IFFT, transform_operand(name, a, FftType.IFFT), n, axis, norm)


@as_one("n", "axis", "norm")
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The transform of a real array along an axis: the first n // 2 + 1 elements of `fft`.

    The others are their conjugates.

    Args:
        a: a real array with at least one dimension; whole numbers and booleans become floats.
        n: how many points: the axis is cut, or filled up with zeros; None: as many as there are.
        axis: along which dimension; negative ones count from the end.
        norm: "backward" or None: 1; "ortho": n ** -0.5; "forward": 1 / n: what the sum is multiplied by.

    Returns:
        A complex array with n // 2 + 1 elements along `axis`: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array or complex, or `n` or `axis` no integer.
        ValueError: `axis` is out of bounds, `n` less than 1, or `norm` unknown, or there are no points.

    >>> import tangrad.numpy as np
    >>> np.fft.rfft(np.array([1.0, 2.0, 3.0, 4.0]))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    name = "rfft"
    return _along(name, FftType.RFFT, transform_operand(name, a, FftType.RFFT), n, axis, norm)


@as_one("n", "axis", "norm")
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `rfft`: a real array from the first n // 2 + 1 elements of its transform.

    The imaginary parts of the first element, and of the last one for even n, are taken for 0.

    Args:
        a: an array with at least one dimension, real or complex; whole numbers and booleans become floats.
        n: how many points the result has: the axis is cut to n // 2 + 1 elements, or filled up with zeros; None:
            2 (m - 1) for an axis of m elements.
        axis: along which dimension; negative ones count from the end.
        norm: "backward" or None: 1 / n; "ortho": n ** -0.5; "forward": 1: what the sum is multiplied by.

    Returns:
        A real array with n elements along `axis`: float64 for 64-bit floats, else float32.

    Raises:
        TypeError: `a` is no array, or `n` or `axis` no integer.
        ValueError: `axis` is out of bounds, `n` less than 1, or `norm` unknown, or there are no points.

    >>> import tangrad.numpy as np
    >>> np.fft.irfft(np.array([10.0, -2.0 + 2.0j, -2.0]))
    Array([1., 2., 3., 4.], dtype=float32)
    """
    name = "irfft"
    return _along(name, FftType.IRFFT, transform_operand(name, a, FftType.IRFFT), n, axis, norm)


@as_one("n", "axis", "norm")
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The transform, which is real, of an array whose second half is the conjugate of its first, reversed.

    Args:
        a: the first half, an array with at least one dimension, real or complex; whole numbers and booleans become
            floats.
        n: how many points the result has: the axis is cut to n // 2 + 1 elements, or filled up with zeros; None:
            2 (m - 1) for an axis of m elements.
        axis: along which dimension; negative ones count from the end.
        norm: "backward" or None: 1; "ortho": n ** -0.5; "forward": 1 / n: what the sum is multiplied by.

    Returns:
        A real array with n elements along `axis`: float64 for 64-bit floats, else float32.

    Raises:
        TypeError: `a` is no array, or `n` or `axis` no integer.
        ValueError: `axis` is out of bounds, `n` less than 1, or `norm` unknown, or there are no points.

    >>> import tangrad.numpy as np
    >>> np.fft.hfft(np.array([1.0, 2.0, 1.0]))
    Array([ 6.,  0., -2.,  0.], dtype=float32)
    """
    name, inverse = "hfft", opposite("hfft", norm)
    x = conjugated(transform_operand(name, a, FftType.IRFFT))
    return _along(name, FftType.IRFFT, x, n, axis, inverse)


@as_one("n", "axis", "norm")
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `hfft`: the first n // 2 + 1 elements of the inverse transform of a real array.

    Args:
        a: a real array with at least one dimension; whole numbers and booleans become floats.
        n: how many points: the axis is cut, or filled up with zeros; None: as many as there are.
        axis: along which dimension; negative ones count from the end.
        norm: "backward" or None: 1 / n; "ortho": n ** -0.5; "forward": 1: what the sum is multiplied by.

    Returns:
        A complex array with n // 2 + 1 elements along `axis`: complex128 for 64-bit floats, else complex64.

    Raises:
        TypeError: `a` is no array or complex, or `n` or `axis` no integer.
        ValueError: `axis` is out of bounds, `n` less than 1, or `norm` unknown, or there are no points.

    >>> import tangrad.numpy as np
    >>> np.fft.ihfft(np.array([6.0, 0.0, -2.0, 0.0]))
    Array([1.-0.j, 2.-0.j, 1.-0.j], dtype=complex64)
    """
    name, forward = "ihfft", opposite("ihfft", norm)
    x = transform_operand(name, a, FftType.RFFT)
    return conjugated(_along(name, FftType.RFFT, x, n, axis, forward))


def _along_all(name: str, fft_type: FftType, a: ArrayLike, s: Any, axes: Any, norm: object) -> Array:
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


def _along_two(
    name: str,
    fft_type: FftType,
    a: ArrayLike,
    s: Sequence[int] | None,
    axes: tuple[int, ...] | Sequence[int],
    norm: object,
) -> Array:
    if len(_sequence(name, axes, "axes")) != 2:
        raise ValueError(f"{name}: there must be two axes, got {tuple(axes)}")
    return _along_all(name, fft_type, a, s, axes, norm)


def _sequence(name: str, value: Iterable[int], argument: str) -> tuple[int, ...]:
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
    return _along_all("fftn", FftType.FFT, a, s, axes, norm)


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
    return _along_all("ifftn", FftType.IFFT, a, s, axes, norm)


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
    return _along_all("rfftn", FftType.RFFT, a, s, axes, norm)


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
    return _along_all("irfftn", FftType.IRFFT, a, s, axes, norm)
