"""Values between samples, and images on another grid."""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as tnp
from tangrad import tree_util
from tangrad._scipy.resampling import (
    Kernel,
    areas,
    cubic,
    in_phases,
    lanczos,
    triangle,
    weights_at,
    weights_with_repeated_edges,
)
from tangrad.core import Array, class_boundary, dtypes
from tangrad.errors import TracerArrayConversionError
from tangrad.extend.lax import Precision
from tangrad.extend.numpy import (
    as_one,
    asarray,
    broadcast_all,
    canonical_axes,
    canonical_shape,
    check_array_like,
    is_complex,
    promote_inexact,
    searchsorted,
)
from tangrad.typing import ArrayLike

if TYPE_CHECKING:
    from tangrad.lax import PrecisionLike
    from tangrad.typing import Value

# --- Values between samples: `scipy.ndimage.map_coordinates`, `scipy.interpolate.RegularGridInterpolator` -------------


def _reflected(index: Array, size: int) -> Array:
    """… 2 1 0 0 1 2 …"""
    around = index % (2 * size)
    return tnp.where(around < size, around, 2 * size - 1 - around)


def _mirrored(index: Array, size: int) -> Array:
    """… 2 1 0 1 2 …"""
    if size == 1:
        return tnp.zeros_like(index)
    around = index % (2 * (size - 1))
    return tnp.where(around < size, around, 2 * (size - 1) - around)


# Mode -> the element that stands at an index beyond the array.
_BEYOND: dict[str, Callable[[Array, int], Array]] = {
    "constant": lambda index, size: tnp.clip(index, 0, size - 1),
    "nearest": lambda index, size: tnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "reflect": _reflected,
    "mirror": _mirrored,
}


def map_coordinates(
    input: ArrayLike, coordinates: Sequence[object], order: int, mode: str = "constant", cval: ArrayLike = 0.0
) -> Array:
    """The values of an array at places between its elements.

    Args:
        input: an array of n dimensions.
        coordinates: n arrays or numbers, broadcast against each other: the index along each dimension, of any fraction.
        order: 0 for the nearest element, 1 for linear interpolation.
        mode: what is beyond the array: "constant" (`cval`), "nearest", "wrap", "reflect" or "mirror".
        cval: what is beyond the array in the mode "constant".

    Returns:
        An array of the shape of the coordinates and the dtype of `input`.

    Raises:
        NotImplementedError: for another mode or order.
        ValueError: for as many coordinates as there are not dimensions, and an array of no elements.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.ndimage
    >>> tangrad.scipy.ndimage.map_coordinates(np.array([0.0, 10.0]), [np.array([0.25, 1.0])], order=1)
    Array([ 2.5, 10. ], dtype=float32)
    """
    if mode not in _BEYOND:
        raise NotImplementedError(f"map_coordinates: mode must be one of {', '.join(_BEYOND)}, got {mode!r}")
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates: order must be 0 or 1, got {order!r}")
    check_array_like("map_coordinates", input, cval, *coordinates)
    array = asarray(input)
    if len(coordinates) != array.ndim:
        raise ValueError(
            f"map_coordinates: coordinates must have an array for each of the {array.ndim} dimensions, got "
            f"{len(coordinates)}"
        )
    if not array.ndim:
        return array
    if 0 in array.shape:
        raise ValueError(f"map_coordinates: input has no elements, got shape {array.shape}")
    given = [asarray(x) for x in broadcast_all("map_coordinates", [asarray(x) for x in coordinates])]
    ways = [_neighbours(x, order) for x in given]
    floating = promote_inexact("map_coordinates", array, *[weight for way in ways for _, weight in way])[0].aval.dtype
    outside = asarray(cval).astype(floating)
    total: Any = 0
    for corner in itertools.product(*ways):
        index = tuple([_BEYOND[mode](place, size) for (place, _), size in zip(corner, array.shape)])
        value = array[index].astype(floating)
        if mode == "constant":
            inside = math.prod([(place >= 0) & (place < size) for (place, _), size in zip(corner, array.shape)])
            value = tnp.where(inside, value, outside)
        total = total + value * math.prod([weight for _, weight in corner])
    if dtypes.issubdtype(array.dtype, np.integer):
        total = tnp.trunc(total + tnp.copysign(0.5, total))  # halves away from 0, as SciPy
    return total.astype(array.dtype)


def _neighbours(x: Array, order: int) -> list[tuple[Array, Any]]:
    """Indices along a dimension, and the weight of each."""
    if dtypes.issubdtype(x.dtype, np.integer):
        return [(x, 1)]
    index_dtype = np.int32
    if order == 0:
        return [(tnp.floor(x + 0.5).astype(index_dtype), 1)]
    below = tnp.floor(x)
    share = x - below
    index = below.astype(index_dtype)
    return [(index, 1 - share), (index + 1, share)]


@class_boundary
@tree_util.register_pytree_node_class
class RegularGridInterpolator:
    """A function known on a grid, as one of points between.

    Args:
        points: for each of n dimensions the places of the grid, an array (m,), ascending or descending.
        values: an array whose first n dimensions are those of the grid.
        method: "linear" or "nearest".
        bounds_error: must be False: places outside of the grid cannot be errors in programs that are compiled.
        fill_value: the value outside of the grid; None: what the formula gives there.

    Raises:
        ValueError: for another method, points that are not in order, shapes that do not fit.
        NotImplementedError: for `bounds_error=True`.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.interpolate import RegularGridInterpolator
    >>> RegularGridInterpolator((np.array([0.0, 2.0]),), np.array([1.0, 3.0]))(np.array([[0.5]]))
    Array([1.5], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: object = np.nan,
    ) -> None:
        if method not in ("linear", "nearest"):
            raise ValueError(f"RegularGridInterpolator: method must be 'linear' or 'nearest', got {method!r}")
        if bounds_error:
            raise NotImplementedError("RegularGridInterpolator: bounds_error=True is not supported; see fill_value")
        made = asarray(promote_inexact("RegularGridInterpolator", asarray(values))[0])
        if len(points) > made.ndim:
            raise ValueError(
                f"RegularGridInterpolator: there are {len(points)} arrays of points, but values of shape {made.shape}"
            )
        grid = []
        for axis, place in enumerate(points):
            line = asarray(promote_inexact("RegularGridInterpolator", asarray(place))[0])
            if line.shape != (made.shape[axis],):
                raise ValueError(
                    f"RegularGridInterpolator: points[{axis}] must have the shape {(made.shape[axis],)}, by the "
                    f"shape of values, got {line.shape}"
                )
            if line.shape == (0,):
                raise ValueError(f"RegularGridInterpolator: points[{axis}] must not be empty")
            line, made = _ascending(axis, place, line, made)
            grid.append(line)
        self.grid, self.values, self.method, self.bounds_error = tuple(grid), made, method, bounds_error
        self.fill_value = None if fill_value is None else asarray(fill_value)
        if self.fill_value is not None:
            if is_complex(self.fill_value) and not is_complex(made):
                raise ValueError(f"RegularGridInterpolator: fill_value must be real, as values are, got {fill_value!r}")
            self.fill_value = self.fill_value.astype(made.dtype)

    def tree_flatten(self) -> tuple[tuple[object, ...], object]:
        """The arrays, as `tangrad.tree` has them."""
        return (self.grid, self.values, self.fill_value), self.method

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> RegularGridInterpolator:
        """The function of its arrays."""
        made = cls.__new__(cls)
        made.method, made.bounds_error = aux_data, False
        made.grid, made.values, made.fill_value = children
        return made

    def __call__(self, xi: ArrayLike, method: str | None = None) -> Value:
        """The values at places: an array (..., n), a vector of places one after another, or a tuple of n arrays."""
        method = self.method if method is None else method
        if method not in ("linear", "nearest"):
            raise ValueError(f"RegularGridInterpolator: method must be 'linear' or 'nearest', got {method!r}")
        dimensions = len(self.grid)
        if isinstance(xi, tuple):
            columns = [asarray(x) for x in broadcast_all("RegularGridInterpolator", [asarray(x) for x in xi])]
            places = tnp.stack(columns, -1)
        else:
            places = tnp.asarray(xi)
            if places.ndim == 0:
                places = places.reshape((1,))
            elif places.ndim == 1 and places.shape[0] % dimensions == 0:  # places one after another, as in SciPy
                places = places.reshape((-1, dimensions))
        if places.shape[-1] != dimensions:
            raise ValueError(
                f"RegularGridInterpolator: places must have {dimensions} coordinates along the last axis, got shape "
                f"{places.shape}"
            )
        columns = [places[..., axis] for axis in range(dimensions)]
        ways = [self._bracket(line, x, method) for line, x in zip(self.grid, columns)]
        trailing = (1,) * (self.values.ndim - dimensions)
        total: Any = 0
        for corner in itertools.product(*ways):
            weight = math.prod([weight for _, weight in corner])
            factor = weight.reshape(weight.shape + trailing) if hasattr(weight, "reshape") else weight
            total = total + self.values[tuple([place for place, _ in corner])] * factor
        if self.fill_value is None:
            return total
        inside = math.prod([(x >= line[0]) & (x <= line[-1]) for line, x in zip(self.grid, columns)])
        return tnp.where(inside.reshape(inside.shape + trailing), total, self.fill_value)

    @staticmethod
    def _bracket(line: Array, x: Array, method: str) -> list[tuple[Array, Any]]:
        """The indices to the left and right of places, and their weights."""
        if line.shape[0] == 1:
            return [(tnp.zeros(x.shape, int), 1)]
        left = tnp.clip(searchsorted(line, x) - 1, 0, line.shape[0] - 2)
        share = (x - line[left]) / (line[left + 1] - line[left])
        if method == "nearest":
            return [(tnp.where(share <= 0.5, left, left + 1), 1)]
        return [(left, 1 - share), (left + 1, share)]


def _ascending(axis: int, given: object, line: Array, values: ArrayLike) -> tuple[Any, Any]:
    """Points and values in ascending order, where the points are known."""
    try:
        known = np.asarray(given)
    except TracerArrayConversionError:
        return line, values
    steps = np.diff(known)
    if (steps < 0).all() and len(steps):
        return line[::-1], tnp.flip(values, axis)
    if not (steps > 0).all():
        raise ValueError(f"RegularGridInterpolator: points[{axis}] must be in order, each place once")
    return line, values


# --- Images on another grid: `tangrad.image.resize`, `scale_and_translate` --------------------------------------------
# Each dimension is resampled by a matrix of weights, or as a sum of shifted images.


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


_KERNELS: dict[ResizeMethod, Kernel] = {
    ResizeMethod.LINEAR: triangle,
    ResizeMethod.LANCZOS3: lanczos(3),
    ResizeMethod.LANCZOS5: lanczos(5),
    ResizeMethod.CUBIC: cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: cubic(-0.5),
}


def _method(name: str, method: object) -> ResizeMethod:
    if isinstance(method, ResizeMethod):
        return method
    if not isinstance(method, str) or method not in _NAMES:
        raise ValueError(f"{name}: method must be one of {', '.join(_NAMES)}, got {method!r}")
    return _NAMES[method]


def _weights(
    module: ModuleType,
    method: ResizeMethod,
    size: int,
    count: int,
    scale: Any,
    translation: object,
    antialias: bool,
    dtype: np.dtype,
) -> Any:
    """How much of each old element, a row, goes into each new one, a column: arrays of a module, NumPy or ours."""
    scale, translation = module.asarray(scale, dtype), module.asarray(translation, dtype)
    places = (module.arange(count, dtype=dtype) + 0.5 - translation) / scale - 0.5
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return weights_with_repeated_edges(module, places, size)
    width = module.maximum(1 / scale, 1) if antialias else 1
    return weights_at(module, _KERNELS[method], places, size, width)


def _resampled(image: Array, weights: dict[int, Array], precision: PrecisionLike) -> Array:
    for axis, matrix in weights.items():
        moved = tnp.moveaxis(image, axis, -1)
        image = tnp.moveaxis(tnp.matmul(moved, matrix.astype(image.dtype), precision=precision), -1, axis)
    return image


def _image(name: str, image: object, shape: object) -> tuple[Array, tuple[int, ...]]:
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
    precision: PrecisionLike = Precision.HIGHEST,
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
    # What grows last goes through as few steps as possible; along the last axes these are dear on NumPy.
    for axis in sorted(axes, key=lambda axis: (sizes[axis] > made.shape[axis], -axis)):
        made = _resized(made, axis, sizes[axis], kind, antialias, precision)
    return made


def _resized(
    image: Array, axis: int, count: int, kind: ResizeMethod, antialias: bool, precision: PrecisionLike
) -> Array:
    size = image.shape[axis]
    if kind is not ResizeMethod.AREA and not (type(size) is int and type(count) is int and size and count):
        options = (size, count, count / max(size, 1), 0.0, antialias, image.real.dtype)
        return _resampled(image, {axis: _weights(tnp, kind, *options)}, precision)
    if kind is ResizeMethod.AREA:
        weights = areas(size, count)
    else:
        dtype = np.dtype("float64" if image.real.dtype == "float64" else "float32")
        weights = _weights(np, kind, size, count, count / size, 0.0, antialias, dtype)
    found = in_phases(image, axis, weights)
    return _resampled(image, {axis: tnp.asarray(weights)}, precision) if found is None else found


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
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
                f"scale_and_translate: {argument} must have the shape {(len(axes),)}, by spatial_dims, got "
                f"{values.shape}"
            )
    for axis, (old, new) in enumerate(zip(made.shape, sizes)):
        if axis not in axes and old != new:
            raise ValueError(f"scale_and_translate: dimension {axis} is not in spatial_dims, and {old} is not {new}")
    options = antialias, made.real.dtype
    weights = {
        axis: _weights(tnp, kind, made.shape[axis], sizes[axis], factors[place], shifts[place], *options)
        for place, axis in enumerate(axes)
    }
    return _resampled(made, weights, precision)
