"""Values between samples: `scipy.ndimage.map_coordinates`, `scipy.interpolate.RegularGridInterpolator`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad import tree_util
from tangrad.core import Array, class_boundary, dtypes
from tangrad.errors import TracerArrayConversionError
from tangrad.extend.numpy import asarray, broadcast_all, check_array_like, is_complex, promote_inexact, searchsorted
from tangrad.typing import ArrayLike


def _reflected(index: Any, size: int) -> Any:
    """… 2 1 0 0 1 2 …"""
    around = index % (2 * size)
    return tnp.where(around < size, around, 2 * size - 1 - around)


def _mirrored(index: Any, size: int) -> Any:
    """… 2 1 0 1 2 …"""
    if size == 1:
        return tnp.zeros_like(index)
    around = index % (2 * (size - 1))
    return tnp.where(around < size, around, 2 * (size - 1) - around)


# Mode -> the element that stands at an index beyond the array.
_BEYOND: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: tnp.clip(index, 0, size - 1),
    "nearest": lambda index, size: tnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "reflect": _reflected,
    "mirror": _mirrored,
}


def map_coordinates(
    input: ArrayLike, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: ArrayLike = 0.0
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
        total = tnp.round(total)
    return total.astype(array.dtype)


def _neighbours(x: Any, order: int) -> list[tuple[Any, Any]]:
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
        self, points: Any, values: Any, method: str = "linear", bounds_error: bool = False, fill_value: Any = np.nan
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
                    f"RegularGridInterpolator: points[{axis}] must have the shape {(made.shape[axis],)}, as values "
                    f"says, got {line.shape}"
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

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The arrays, as `tangrad.tree` has them."""
        return (self.grid, self.values, self.fill_value), self.method

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> RegularGridInterpolator:
        """The function of its arrays."""
        made = cls.__new__(cls)
        made.method, made.bounds_error = aux_data, False
        made.grid, made.values, made.fill_value = children
        return made

    def __call__(self, xi: Any, method: str | None = None) -> Any:
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
    def _bracket(line: Any, x: Any, method: str) -> list[tuple[Any, Any]]:
        """The indices to the left and right of places, and their weights."""
        if line.shape[0] == 1:
            return [(tnp.zeros(x.shape, int), 1)]
        left = tnp.clip(searchsorted(line, x) - 1, 0, line.shape[0] - 2)
        share = (x - line[left]) / (line[left + 1] - line[left])
        if method == "nearest":
            return [(tnp.where(share <= 0.5, left, left + 1), 1)]
        return [(left, 1 - share), (left + 1, share)]


def _ascending(axis: int, given: Any, line: Any, values: Any) -> tuple[Any, Any]:
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
