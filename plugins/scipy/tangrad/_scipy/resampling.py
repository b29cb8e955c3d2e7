"""Images on another grid: `tangrad.image.resize`, `scale_and_translate`.

Each dimension is resampled by a matrix of weights. Sources: Keys, Cubic convolution interpolation for digital image
processing, IEEE Trans. Acoust. 29 (1981); Duchon, Lanczos filtering in one and two dimensions, J. Appl. Meteorol. 18
(1979).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad.core import Array, class_boundary, dtypes
from tangrad.extend.lax import Precision
from tangrad.extend.numpy import as_one, asarray, canonical_axes, canonical_shape, check_array_like, promote_inexact
from tangrad.typing import ArrayLike


@class_boundary
class ResizeMethod(enum.Enum):
    """How values between the elements of an image are computed.

    Members:
        NEAREST: the element that is nearest.
        LINEAR: linear interpolation; "linear", "bilinear", "trilinear", "triangle".
        LANCZOS3, LANCZOS5: the window of Lanczos, of radius 3 or 5.
        CUBIC: the cubic convolution of Keys, with -1/2; "cubic", "bicubic", "tricubic".
        CUBIC_PYTORCH: that of PyTorch: the same with `antialias`; else with -3/4, and the elements at the edges go on
            beyond them; "cubic-pytorch", "bicubic-pytorch".
        AREA: the mean over the area that a new element covers.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name. Raises ValueError for an unknown one."""
        found = _NAMES.get(s)
        if found is None:
            raise ValueError(f"the method must be one of {', '.join(_NAMES)}, got {s!r}")
        return found


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def _triangle(x: Any) -> Any:
    return tnp.maximum(0, 1 - x)


def _cubic(a: float) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        inner = ((a + 2) * x - (a + 3)) * x * x + 1
        outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return tnp.where(x <= 1, inner, tnp.where(x < 2, outer, 0))

    return kernel


def _lanczos(radius: int) -> Callable[[Any], Any]:
    return lambda x: tnp.where(x < radius, tnp.sinc(x) * tnp.sinc(x / radius), 0)


_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.5),
}


def _method(name: str, method: Any) -> ResizeMethod:
    if isinstance(method, ResizeMethod):
        return method
    if not isinstance(method, str) or method not in _NAMES:
        raise ValueError(f"{name}: method must be one of {', '.join(_NAMES)}, got {method!r}")
    return _NAMES[method]


def _weights(
    method: ResizeMethod, size: int, count: int, scale: Any, translation: Any, antialias: bool, dtype: np.dtype
) -> Any:
    """How much of each old element, a row, goes into each new one, a column."""
    kernel = _KERNELS[method]
    scale, translation = asarray(scale, dtype), asarray(translation, dtype)
    places = (tnp.arange(count, dtype=dtype) + 0.5 - translation) / scale - 0.5
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _weights_with_repeated_edges(places, size)
    width = tnp.maximum(1 / scale, 1) if antialias else 1
    values = kernel(abs(places - tnp.arange(size, dtype=dtype)[:, None]) / width)
    total = values.sum(0)
    # Elements that nothing reaches stay 0; so do those whose centre is outside of the image.
    there = abs(total) > 1000 * float(dtypes.finfo(dtype).eps)
    values = tnp.where(there, values / tnp.where(there, total, 1), 0)
    return tnp.where((places >= -0.5) & (places <= size - 0.5), values, 0)


def _weights_with_repeated_edges(places: Any, size: int) -> Any:
    """The same for the cubic convolution of four elements, those beyond the image being the ones at its edges."""
    below = tnp.floor(places)
    rows = tnp.arange(size)[:, None]
    total: Any = 0
    for step in (-1, 0, 1, 2):
        element = tnp.clip(below + step, 0, size - 1).astype(rows.dtype)
        total = total + tnp.where(rows == element, _cubic(-0.75)(abs(places - below - step)), 0)
    return total


def _areas(size: int, count: int) -> Any:
    """The same for means over areas, whose ends may cut elements."""
    ends = np.arange(count + 1) * (size / max(count, 1))
    start, end = ends[:-1], ends[1:]
    places = np.arange(size)[:, None]
    overlap = np.clip(np.minimum(places + 1, end) - np.maximum(places, start), 0, None)
    return overlap / overlap.sum(0)


def _resampled(image: Any, weights: dict[int, Any], precision: Any) -> Any:
    for axis, matrix in weights.items():
        moved = tnp.moveaxis(image, axis, -1)
        image = tnp.moveaxis(tnp.matmul(moved, matrix.astype(image.dtype), precision=precision), -1, axis)
    return image


def _image(name: str, image: Any, shape: Any) -> tuple[Any, tuple[int, ...]]:
    check_array_like(name, image)
    made = asarray(image)
    sizes = canonical_shape(name, shape)
    if len(sizes) != made.ndim:
        raise ValueError(f"{name}: shape must have {made.ndim} sizes, as the image of shape {made.shape}, got {sizes}")
    for axis, (old, new) in enumerate(zip(made.shape, sizes)):
        if old == 0 != new:
            raise ValueError(f"{name}: dimension {axis} of the image has no elements to make {new} of")
    return made, sizes


@as_one("shape", "method", "antialias", "precision", name="resize_image")
def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Array:
    """An image of another shape.

    Args:
        image: an array of any number of dimensions; integers become floats, but for "nearest".
        shape: the new shape, of as many dimensions.
        method: a `ResizeMethod`, or a name of one.
        antialias: whether to blur images that are made smaller, lest fine patterns make coarse ones.
        precision: how exactly accelerators multiply.

    Returns:
        An array of that shape.

    Raises:
        ValueError: for another number of dimensions, an unknown method, more elements where there are none.

    >>> import tangrad.image
    >>> import tangrad.numpy as np
    >>> tangrad.image.resize(np.array([0.0, 2.0]), (4,), "linear")
    Array([0. , 0.5, 1.5, 2. ], dtype=float32)
    """
    made, sizes = _image("resize", image, shape)
    kind = _method("resize", method)
    axes = [axis for axis, (old, new) in enumerate(zip(made.shape, sizes)) if old != new]
    if kind is ResizeMethod.NEAREST:
        for axis in axes:
            size, count = made.shape[axis], sizes[axis]
            places = np.floor((np.arange(count) + 0.5) * (size / max(count, 1)))
            made = tnp.take(made, places.astype(np.int32), axis)
        return made
    made = asarray(promote_inexact("resize", made)[0])
    weights = {}
    for axis in axes:
        size, count = made.shape[axis], sizes[axis]
        if kind is ResizeMethod.AREA:
            weights[axis] = tnp.asarray(_areas(size, count), made.dtype)
        else:
            options = (size, count, count / max(size, 1), 0.0, antialias, made.real.dtype)
            weights[axis] = _weights(kind, *options)
    return _resampled(made, weights, precision)


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Array:
    """An image scaled, then moved, on a grid of another shape; what is outside of it is 0.

    Args:
        image: an array of any number of dimensions; integers become floats.
        shape: the new shape, of as many dimensions.
        spatial_dims: along which dimensions the image is scaled and moved; the sizes of the others stay.
        scale: by how much, an array of as many numbers.
        translation: how far, in new elements, an array of as many numbers.
        method: a `ResizeMethod`, or a name of one; not "nearest" nor "area".
        antialias: whether to blur images that are made smaller.
        precision: how exactly accelerators multiply.

    Returns:
        An array of that shape.

    Raises:
        NotImplementedError: for the methods "nearest" and "area".
        ValueError: for shapes that do not fit, an unknown method.

    >>> import tangrad.image
    >>> import tangrad.numpy as np
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> tangrad.image.scale_and_translate(x, (4,), (0,), np.array([1.0]), np.array([1.0]), "linear")
    Array([0., 1., 2., 3.], dtype=float32)
    """
    made, sizes = _image("scale_and_translate", image, shape)
    kind = _method("scale_and_translate", method)
    if kind not in _KERNELS:
        raise NotImplementedError(f"scale_and_translate: the method {kind.name.lower()!r} is not supported")
    axes = canonical_axes("scale_and_translate", spatial_dims, made.ndim, "spatial_dims")
    made = asarray(promote_inexact("scale_and_translate", made)[0])
    factors, shifts = [asarray(promote_inexact("scale_and_translate", x)[0]) for x in (scale, translation)]
    for argument, values in (("scale", factors), ("translation", shifts)):
        if values.shape != (len(axes),):
            raise ValueError(
                f"scale_and_translate: {argument} must have the shape {(len(axes),)}, as spatial_dims says, got "
                f"{values.shape}"
            )
    for axis, (old, new) in enumerate(zip(made.shape, sizes)):
        if axis not in axes and old != new:
            raise ValueError(f"scale_and_translate: dimension {axis} is not in spatial_dims, and {old} is not {new}")
    options = antialias, made.real.dtype
    weights = {
        axis: _weights(kind, made.shape[axis], sizes[axis], factors[place], shifts[place], *options)
        for place, axis in enumerate(axes)
    }
    return _resampled(made, weights, precision)
