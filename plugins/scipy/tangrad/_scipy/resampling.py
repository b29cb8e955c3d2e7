"""Images on another grid: the weights of old elements in new ones, and sums of shifted images.

The sources of the weights: Keys, Cubic convolution interpolation for digital image processing, IEEE Trans. Acoust. 29
(1981); Duchon, Lanczos filtering in one and two dimensions, J. Appl. Meteorol. 18 (1979).

Where the old and the new size are in a simple proportion, new elements repeat with a period, the *phases*: those of one
phase are as far apart as some number of old ones, and each is made of old ones at the same few distances. A matrix of
weights, of which almost all are 0, takes several times as long on CPUs: 9.4 to 0.8 ms for 8 images of 128 x 128 x 3 to
twice the size (XLA, one thread).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as tnp
from tangrad.core import Array, dtypes

Kernel = Callable[[ModuleType, Array], Array]  # the module: NumPy, for arrays of its own, or `tangrad.numpy`

if TYPE_CHECKING:
    from tangrad.typing import DTypeLike


# --- weights: of arrays of a module, NumPy or ours --------------------------------------------------------------------


def triangle(module: ModuleType, x: Array) -> Array:
    """Linear interpolation."""
    return module.maximum(0, 1 - x)


def cubic(a: float) -> Kernel:
    """The cubic convolution with that slope at 1."""

    def kernel(module: ModuleType, x: Array) -> Array:
        inner = ((a + 2) * x - (a + 3)) * x * x + 1
        outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return module.where(x <= 1, inner, module.where(x < 2, outer, 0))

    return kernel


def lanczos(radius: int) -> Kernel:
    """The window of that radius."""
    return lambda module, x: module.where(x < radius, module.sinc(x) * module.sinc(x / radius), 0)


def weights_at(module: ModuleType, kernel: Kernel, places: Array, size: int, width: object) -> Array:
    """How much of each old element, a row, goes into each new one, a column, which is at one of the places."""
    dtype = places.dtype
    values = kernel(module, abs(places - module.arange(size, dtype=dtype)[:, None]) / width)
    total = values.sum(0)
    # Elements that nothing reaches stay 0; so do those whose centre is outside of the image.
    there = abs(total) > 1000 * float(dtypes.finfo(dtype).eps)
    values = module.where(there, values / module.where(there, total, 1), 0)
    return module.where((places >= -0.5) & (places <= size - 0.5), values, 0)


def weights_with_repeated_edges(module: ModuleType, places: Array, size: int) -> Array:
    """The same for the cubic convolution of four elements, those beyond the image being the ones at its edges."""
    below = module.floor(places)
    rows = module.arange(size)[:, None]
    total: Any = 0
    for step in (-1, 0, 1, 2):
        element = module.clip(below + step, 0, size - 1).astype(rows.dtype)
        total = total + module.where(rows == element, cubic(-0.75)(module, abs(places - below - step)), 0)
    return total


def areas(size: int, count: int) -> np.ndarray:
    """The same for means over areas, whose ends may cut elements."""
    ends = np.arange(count + 1) * (size / max(count, 1))
    start, end = ends[:-1], ends[1:]
    places = np.arange(size)[:, None]
    overlap = np.clip(np.minimum(places + 1, end) - np.maximum(places, start), 0, None)
    return overlap / overlap.sum(0)


# --- sums of shifted images -------------------------------------------------------------------------------------------


MOST = 24  # products: there matrices are as fast
SHORT = 64  # elements behind the axis, for which weights are repeated: NumPy's loops would be as short


def in_phases(image: Array, axis: int, weights: np.ndarray) -> Array | None:
    """The image resampled along an axis; None where there are too many products.

    Args:
        image: an array of floats or complex numbers.
        axis: where it is resampled, from 0.
        weights: how much of each old element, a row, goes into each new one, a column.
    """
    size, count = weights.shape
    number = math.gcd(size, count)
    if not size or not count or number < 2:
        return None
    step, phases = size // number, count // number
    taps = [_taps(weights[:, phase::phases], step) for phase in range(phases)]
    if sum(map(len, taps)) > MOST or not all(taps):
        return None
    distances = [distance for found in taps for distance in found]
    before = max(0, -min(distances))
    after = max(0, max(distances) - step + 1)
    widths = [(0, 0)] * image.ndim
    widths[axis] = (before, after)
    narrow = dtypes.issubdtype(image.dtype, np.floating) and dtypes.bit_width(image.dtype) < 32
    padded = tnp.pad(image.astype("float32") if narrow else image, widths)
    parts = []
    for found in taps:
        total: Any = None
        for distance, factors in found.items():
            start = before + distance
            index = (*[slice(None)] * axis, slice(start, start + step * (number - 1) + 1, step))
            product = padded[index] * _repeated(factors, image.shape[axis + 1 :], padded.real.dtype)
            total = product if total is None else total + product
        parts.append(total)
    shape = (*image.shape[:axis], count, *image.shape[axis + 1 :])
    whole = parts[0] if phases == 1 else tnp.stack(parts, axis + 1).reshape(shape)
    return whole.astype(image.dtype)


def _taps(weights: np.ndarray, step: int) -> dict[int, np.ndarray]:
    """The weights of one phase by the distances of old elements: a number for each new one."""
    rows, columns = np.nonzero(weights)
    distances = rows - step * columns
    found = {}
    for distance in np.unique(distances).tolist():
        chosen = distances == distance
        factors = np.zeros(weights.shape[1], weights.dtype)
        factors[columns[chosen]] = weights[rows[chosen], columns[chosen]]
        found[distance] = factors
    return found


def _repeated(factors: np.ndarray, behind: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """The factors in the shape in which they meet an image."""
    column = factors.astype(dtype).reshape(-1, *[1] * len(behind))
    return (
        np.ascontiguousarray(np.broadcast_to(column, (len(factors), *behind))) if math.prod(behind) <= SHORT else column
    )
