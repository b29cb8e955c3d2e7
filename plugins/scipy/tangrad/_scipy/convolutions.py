"""Convolutions and correlations of arrays: `tangrad.scipy.signal.convolve`, `correlate`, `fftconvolve`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tangrad.numpy as tnp
from tangrad.core import Array
from tangrad.extend.fft import fftn, ifftn, irfftn, rfftn
from tangrad.extend.lax import conv_general_dilated
from tangrad.extend.numpy import asarray, canonical_axes, check_array_like, is_complex, promote_inexact
from tangrad.lax import PrecisionLike
from tangrad.typing import ArrayLike

_MODES = ("full", "same", "valid")
_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def _pair(name: str, in1: object, in2: object, mode: str) -> tuple[Array, Array]:
    """Two arrays of one dtype and as many dimensions."""
    check_array_like(name, in1, in2)
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")
    first, second = [asarray(x) for x in promote_inexact(name, in1, in2)]
    if first.ndim != second.ndim:
        raise ValueError(
            f"{name}: in1 and in2 must have as many dimensions, got shapes {first.shape} and {second.shape}"
        )
    return first, second


def _ordered_for_valid(name: str, first: Array, second: Array, axes: Sequence[int]) -> tuple[Array, Array]:
    """The one within which the other moves first."""
    sizes = [(first.shape[axis], second.shape[axis]) for axis in axes]
    if all(one >= other for one, other in sizes):
        return first, second
    if all(one <= other for one, other in sizes):
        return second, first
    raise ValueError(
        f"{name}: for the mode 'valid' one array must be at least as large as the other in every dimension, got shapes "
        f"{first.shape} and {second.shape}"
    )


def _centred(x: Array, sizes: dict[int, int]) -> Array:
    """The middle of an array along some axes."""
    index: list[object] = [slice(None)] * x.ndim
    for axis, size in sizes.items():
        start = (x.shape[axis] - size) // 2
        index[axis] = slice(start, start + size)
    return x[tuple(index)]


def _direct(name: str, first: Array, second: Array, mode: str, precision: Any, late: bool = False) -> Array:
    """`late`: whether "same" leaves the greater half of an even number of overlaps to the end."""
    if not first.ndim:
        return first * second
    if not first.size or not second.size:
        raise ValueError(f"{name} requires arrays that are not empty, got shapes {first.shape} and {second.shape}")
    if mode == "valid":
        first, second = _ordered_for_valid(name, first, second, range(first.ndim))
    lengths = second.shape
    if mode == "full":
        padding = [(k - 1, k - 1) for k in lengths]
    elif mode == "same":
        halves = [(k // 2, (k - 1) // 2) for k in lengths]
        padding = [(after, before) if late else (before, after) for before, after in halves]
    else:
        padding = [(0, 0)] * len(lengths)
    kernel = tnp.flip(second)[None, None]
    return conv_general_dilated(first[None, None], kernel, (1,) * first.ndim, padding, precision=precision)[0, 0]


def _by_method(name: str, first: Array, second: Array, mode: str, method: str, precision: object) -> Array:
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name}: method must be 'auto', 'direct' or 'fft', got {method!r}")
    if method == "fft" and first.ndim:
        return fftconvolve(first, second, mode)
    return _direct(name, first, second, mode, precision)


def convolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
) -> Array:
    """The convolution of two arrays of any number of dimensions.

    Args:
        in1, in2: arrays of as many dimensions; integers become floats.
        mode: "full": all overlaps; "same": those in the middle, of the shape of `in1`; "valid": whole overlaps only.
        method: "direct" or "auto": sums of products; "fft": through Fourier's transform.
        precision: how exactly accelerators multiply.

    Returns:
        An array.

    Raises:
        ValueError: for shapes that do not fit, another mode or method.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal
    >>> tangrad.scipy.signal.convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    first, second = _pair("convolve", in1, in2, mode)
    return _by_method("convolve", first, second, mode, method, precision)


def correlate(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
) -> Array:
    """The correlation of two arrays: the convolution with the second one reversed and conjugated.

    Args:
        in1, in2: arrays of as many dimensions; integers become floats.
        mode: "full": all overlaps; "same": those in the middle, of the shape of `in1`; "valid": whole overlaps only.
        method: "direct" or "auto": sums of products; "fft": through Fourier's transform.
        precision: how exactly accelerators multiply.

    Returns:
        An array.

    Raises:
        ValueError: for shapes that do not fit, another mode or method.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal
    >>> tangrad.scipy.signal.correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0]), "valid")
    Array([2., 3.], dtype=float32)
    """
    first, second = _pair("correlate", in1, in2, mode)
    return _by_method("correlate", first, tnp.flip(tnp.conj(second)), mode, method, precision)


def _plane(
    name: str, in1: object, in2: object, mode: str, boundary: str, fillvalue: object, precision: object, turn: bool
) -> Array:
    first, second = _pair(name, in1, in2, mode)
    if first.ndim != 2:
        raise ValueError(f"{name}: in1 and in2 must have two dimensions, got shapes {first.shape} and {second.shape}")
    if boundary not in _BOUNDARIES:
        raise ValueError(f"{name}: boundary must be 'fill', 'wrap' or 'symm', got {boundary!r}")
    if turn:
        second = tnp.flip(tnp.conj(second))
    fills_nothing = boundary == "fill" and isinstance(fillvalue, (int, float, complex)) and fillvalue == 0
    if mode == "valid" or fills_nothing or not first.size or not second.size:
        return _direct(name, first, second, mode, precision, late=turn)
    margins = [(k - 1, k - 1) for k in second.shape]
    options = {"constant_values": fillvalue} if boundary == "fill" else {}
    padded = tnp.pad(first, margins, _BOUNDARIES[boundary], **options)
    result = _direct(name, padded, second, "valid", precision)
    if mode == "full":
        return result
    starts = [k // 2 if turn else (k - 1) // 2 for k in second.shape]
    return result[tuple([slice(start, start + size) for start, size in zip(starts, first.shape)])]


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The convolution of two arrays of two dimensions.

    Args:
        in1, in2: arrays of two dimensions; integers become floats.
        mode: "full": all overlaps; "same": those in the middle, of the shape of `in1`; "valid": whole overlaps only.
        boundary: what is beyond `in1`: "fill" (`fillvalue`), "wrap" (`in1` again), "symm" (its mirror image).
        fillvalue: what is beyond `in1` for "fill".
        precision: how exactly accelerators multiply.

    Returns:
        An array of two dimensions.

    Raises:
        ValueError: for shapes that do not fit, another mode or boundary.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal
    >>> tangrad.scipy.signal.convolve2d(np.ones((1, 2)), np.ones((1, 2)))
    Array([[1., 2., 1.]], dtype=float32)
    """
    return _plane("convolve2d", in1, in2, mode, boundary, fillvalue, precision, False)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The correlation of two arrays of two dimensions.

    Args:
        in1, in2: arrays of two dimensions; integers become floats.
        mode: "full": all overlaps; "same": those in the middle, of the shape of `in1`; "valid": whole overlaps only.
        boundary: what is beyond `in1`: "fill" (`fillvalue`), "wrap" (`in1` again), "symm" (its mirror image).
        fillvalue: what is beyond `in1` for "fill".
        precision: how exactly accelerators multiply.

    Returns:
        An array of two dimensions.

    Raises:
        ValueError: for shapes that do not fit, another mode or boundary.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal
    >>> tangrad.scipy.signal.correlate2d(np.array([[1.0, 2.0]]), np.array([[0.0, 1.0]]), "valid")
    Array([[2.]], dtype=float32)
    """
    return _plane("correlate2d", in1, in2, mode, boundary, fillvalue, precision, True)


def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: int | Sequence[int] | None = None) -> Array:
    """The convolution through Fourier's transform, along some axes.

    Args:
        in1, in2: arrays of as many dimensions; integers become floats. The other axes are broadcast.
        mode: "full": all overlaps; "same": those in the middle, of the shape of `in1`; "valid": whole overlaps only.
        axes: along which to convolve; None: all.

    Returns:
        An array.

    Raises:
        ValueError: for shapes that do not fit, another mode, axes that are not there.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.signal
    >>> np.round(tangrad.scipy.signal.fftconvolve(np.array([1.0, 2.0]), np.array([1.0, 1.0])), 3)
    Array([1., 3., 2.], dtype=float32)
    """
    first, second = _pair("fftconvolve", in1, in2, mode)
    if not first.ndim:
        return first * second
    places = canonical_axes("fftconvolve", axes, first.ndim, "axes")
    if mode == "valid":
        first, second = _ordered_for_valid("fftconvolve", first, second, places)
    for axis, (one, other) in enumerate(zip(first.shape, second.shape)):
        if axis not in places and one != other and 1 not in (one, other):
            raise ValueError(f"fftconvolve: shapes {first.shape} and {second.shape} do not broadcast along axis {axis}")
    if not places:
        return first * second
    sizes = [first.shape[axis] + second.shape[axis] - 1 for axis in places]
    ahead, back = (fftn, ifftn) if is_complex(first) else (rfftn, irfftn)
    result = back(ahead(first, sizes, places) * ahead(second, sizes, places), sizes, places)
    if mode == "full":
        return result
    if mode == "same":
        return _centred(result, {axis: first.shape[axis] for axis in places})
    return _centred(result, {axis: first.shape[axis] - second.shape[axis] + 1 for axis in places})
