"""Differences, integrals, interpolation, convolution: `tangrad.numpy.diff`, `trapezoid`, `interp`, `convolve`, …"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad._numpy.fusing import as_one
from tangrad._numpy.indexing import getitem
from tangrad._numpy.joining import concatenate
from tangrad._numpy.logic import not_equal
from tangrad._numpy.operands import (
    array_operand,
    broadcast_to_shape,
    canonical_axes,
    canonical_axis,
    check_array_like,
    index_argument,
    inexact_operand,
    is_complex,
    is_inexact,
    literal_like,
    promote_inexact,
    shape_of,
    user_dtype,
)
from tangrad._numpy.operations import numerical as operations
from tangrad._numpy.products import dot, matmul
from tangrad._numpy.reductions import sum as total
from tangrad._numpy.rounding import conjugate
from tangrad._numpy.searching import searchsorted
from tangrad._numpy.selection import clip, where
from tangrad._numpy.shapes import expand_dims, ravel, reshaped, squeeze
from tangrad._numpy.sorting import argsort
from tangrad._numpy.tiling import flip
from tangrad.core import Array, dtypes, literal
from tangrad.extend.lax import sub_p
from tangrad.lax import PrecisionLike
from tangrad.typing import ArrayLike, Axis, DTypeLike, Value

if TYPE_CHECKING:
    from tangrad.typing import Params


def _part(x: Value, axis: int, start: int | None, stop: int | None) -> Value:
    return getitem(x, (slice(None),) * axis + (slice(start, stop),))


# --- differences ---


@as_one("n", "axis")
def diff(
    a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None
) -> Array:
    """Take the differences of neighbours along an axis.

    Args:
        a: an array of at least one dimension.
        n: how often.
        axis: the axis.
        prepend, append: what to put before and after the array first.

    Returns:
        An array, shorter along the axis by `n`.

    Raises:
        TypeError: for what is no array.
        ValueError: `n` is negative, the axis is out of bounds, or the array has no dimensions.

    >>> import tangrad
    >>> tangrad.numpy.diff(tangrad.numpy.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    x = array_operand("diff", a)
    times = index_argument("diff", n, "n")
    if times == 0:
        return x
    if times < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    if not x.ndim:
        raise ValueError("diff requires an array with dimensions")
    dimension = canonical_axis("diff", axis, x.ndim)
    parts = [_edge(value, x, dimension) for value in (prepend, append)]
    if parts[0] is not None or parts[1] is not None:
        x = concatenate([part for part in (parts[0], x, parts[1]) if part is not None], axis=dimension)
    for _ in range(times):
        later, earlier = _part(x, dimension, 1, None), _part(x, dimension, None, -1)
        x = not_equal(later, earlier) if x.dtype == np.bool_ else sub_p.bind(later, earlier)
    return x


def _edge(value: ArrayLike | None, x: Value, axis: int) -> Value | None:
    if value is None:
        return None
    made = asarray(value)
    if made.ndim:
        return made
    return broadcast_to_shape(made, tuple([1 if place == axis else size for place, size in enumerate(x.aval.shape)]))


@as_one()
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Array:
    """Take the differences of neighbours in an array as one dimension.

    Args:
        ary: an array.
        to_end, to_begin: what to put after and before the differences.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.ediff1d(tangrad.numpy.array([1, 4, 9]), to_begin=0)
    Array([0, 3, 5], dtype=int32)
    """
    x = ravel(array_operand("ediff1d", ary))
    parts = [diff(x)]
    if to_begin is not None:
        parts.insert(0, ravel(asarray(to_begin)).astype(x.dtype))
    if to_end is not None:
        parts.append(ravel(asarray(to_end)).astype(x.dtype))
    return concatenate(parts)


@overload
def gradient(f: ArrayLike, *varargs: ArrayLike, axis: SupportsIndex, edge_order: int | None = None) -> Array: ...
@overload
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: Axis = None, edge_order: int | None = None
) -> Array | list[Array]: ...
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: Axis = None, edge_order: int | None = None
) -> Array | list[Array]:
    """Estimate derivatives by central differences, one-sided at the edges.

    Args:
        f: an array.
        varargs: the distances along each axis: none (1), one for all, or one for each, a number or an array of
            coordinates.
        axis: an axis or a sequence of axes; None: all.
        edge_order: 1 or None: the order of accuracy at the edges.

    Returns:
        An array of the shape of `f`, or a list of them, one for each axis.

    Raises:
        TypeError: for what is no array.
        ValueError: for too few elements, distances that do not fit, or an axis out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.gradient(tangrad.numpy.array([1.0, 4.0, 9.0]))
    Array([3., 4., 5.], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient: edge_order must be 1, got {edge_order}")
    return _gradient(f, varargs, axis) if varargs or len(shape_of(f)) != 1 else _gradient_of_vector(f, axis)


@as_one("axis", name="gradient")
def _gradient_of_vector(f: object, axis: Axis) -> Array | list[Array]:
    return _gradient(f, (), axis)


def _gradient(f: object, varargs: tuple[ArrayLike, ...], axis: Axis) -> Array | list[Array]:
    x, *spacings = promote_inexact("gradient", f, *[asarray(given) for given in varargs])
    x = array_operand("gradient", x)
    axes = canonical_axes("gradient", axis, x.ndim)
    if len(spacings) == 0:
        distances: list[Value] = [literal_like(x, 1)] * len(axes)
    elif len(spacings) == 1 and spacings[0].aval.ndim == 0:
        distances = spacings * len(axes)
    elif len(spacings) == len(axes):
        distances = spacings
    else:
        raise ValueError(f"gradient: {len(spacings)} distances do not fit {len(axes)} axes")
    results = [_gradient_along(x, place, distance) for place, distance in zip(axes, distances)]
    return results[0] if len(axes) == 1 else results


@as_one("axis", name="gradient")
def _gradient_along(x: Value, axis: int, distance: Value) -> Array:
    size = x.aval.shape[axis]
    if size < 2:
        raise ValueError(f"gradient: axis {axis} of shape {x.aval.shape} has too few elements; two are needed")
    if distance.aval.ndim:
        return _gradient_uneven(x, axis, distance)
    inner = (_part(x, axis, 2, None) - _part(x, axis, None, -2)) * literal_like(x, 0.5)
    first = _part(x, axis, 1, 2) - _part(x, axis, 0, 1)
    last = _part(x, axis, size - 1, size) - _part(x, axis, size - 2, size - 1)
    return concatenate([first, inner, last], axis=axis) / distance


def _gradient_uneven(x: Value, axis: int, coordinates: Value) -> Array:
    size = x.aval.shape[axis]
    if coordinates.aval.shape != (size,):
        raise ValueError(
            f"gradient: coordinates of shape {coordinates.aval.shape} do not fit axis {axis} of size {size}"
        )
    sizes = tuple([-1 if place == axis else 1 for place in range(x.ndim)])
    steps = reshaped(diff(coordinates), sizes)
    before, after = _part(steps, axis, None, -1), _part(steps, axis, 1, None)
    differences = diff(x, axis=axis) / steps
    inner = (_part(differences, axis, None, -1) * after + _part(differences, axis, 1, None) * before) / (before + after)
    return concatenate([_part(differences, axis, 0, 1), inner, _part(differences, axis, size - 2, None)], axis=axis)


@as_one("axis")
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Integrate along an axis by the trapezoidal rule.

    Args:
        y: the values.
        x: where they are; None: `dx` apart.
        dx: the distance.
        axis: the axis.

    Returns:
        An array without the axis.

    Raises:
        TypeError: for what is no array.
        ValueError: for shapes that do not fit, or an axis out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.trapezoid(tangrad.numpy.array([1.0, 2.0, 3.0]))
    Array(4., dtype=float32)
    """
    if x is None:
        (values,) = promote_inexact("trapezoid", y)
        steps = asarray(dx)
    else:
        values, places = promote_inexact("trapezoid", y, x)
        places = array_operand("trapezoid", places)
        dimension = canonical_axis("trapezoid", axis, values.aval.ndim)
        sizes = tuple([-1 if place == dimension else 1 for place in range(values.aval.ndim)])
        steps = diff(reshaped(places, sizes), axis=dimension) if places.ndim == 1 else diff(places, axis=axis)
    values = array_operand("trapezoid", values)
    dimension = canonical_axis("trapezoid", axis, values.ndim)
    pairs = _part(values, dimension, 1, None) + _part(values, dimension, None, -1)
    return literal(0.5, values.aval.dtype) * total(steps * pairs, axis=dimension)


@as_one("discont", "axis", "period")
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: Array | float = 2 * math.pi
) -> Array:
    """Undo jumps of angles by whole turns along an axis.

    Args:
        p: the angles.
        discont: jumps smaller than this are left alone; default half a period.
        axis: the axis.
        period: a whole turn.

    Returns:
        An array of the shape of `p`.

    Raises:
        TypeError: for what is no array.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.unwrap(tangrad.numpy.array([0, 3, 1]), period=4)
    Array([ 0, -1, -3], dtype=int32)
    """
    x = array_operand("unwrap", p)
    dimension = canonical_axis("unwrap", axis, x.ndim)
    if isinstance(period, float) and not is_inexact(x):
        x = array_operand("unwrap", inexact_operand("unwrap", x))
    if x.aval.dtype.kind == "b":
        x = x.astype(int)
    steps = diff(x, axis=dimension)
    if is_inexact(x):
        half = period / 2
        wrapped = (steps + half) % period - half
        wrapped = where((wrapped == -half) & (steps > 0), half, wrapped)
    else:
        half = asarray(period // 2, dtype=steps.dtype)
        wrapped = (steps + half) % period - half
        if period % 2 == 0:
            wrapped = where((wrapped == -half) & (steps > 0), half, wrapped)
    correction = wrapped - steps
    limit = half if discont is None else discont
    correction = where(abs(steps) < limit, asarray(0, dtype=correction.dtype), correction)
    later = _part(x, dimension, 1, None) + correction.cumsum(axis=dimension)
    return concatenate([_part(x, dimension, 0, 1), later], axis=dimension)


# --- interpolation ---


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Interpolate linearly between points.

    Args:
        x: where to evaluate.
        xp, fp: the coordinates of the points, the first ones increasing (unless `period` is given).
        left, right: the values beyond the points; None: those of the outermost; "extrapolate".
        period: of the first coordinates; None: they have none.

    Returns:
        An array of the shape of `x`.

    Raises:
        TypeError: for what is no array.
        ValueError: for shapes that do not fit, a period of 0, or unknown strings.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.interp(np.array([0.5, 3.0]), np.array([0.0, 1.0]), np.array([0.0, 10.0]))
    Array([ 5., 10.], dtype=float32)
    """
    if isinstance(period, (int, float)) and period == 0:
        raise ValueError("interp: period must not be 0")
    return interpolation(x, xp, fp, left, right, period)


@as_one(name="interp", family=operations.name)
def interpolation(
    x: ArrayLike, xp: object, fp: object, left: ArrayLike | str | None, right: ArrayLike | str | None, period: object
) -> Array:
    """As `interp`: the operation."""
    check_array_like("interp", x, xp, fp)
    if len(shape_of(xp)) != 1 or shape_of(xp) != shape_of(fp) or shape_of(xp) == (0,):
        raise ValueError(
            f"interp: xp and fp must be vectors of one length, not empty, got shapes {shape_of(xp)} and {shape_of(fp)}"
        )
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(f"interp: the only string that {name} can be is 'extrapolate', got {value!r}")
    at, places = [array_operand("interp", value) for value in promote_inexact("interp", x, xp)]
    (values,) = promote_inexact("interp", fp)
    values = array_operand("interp", values)
    if is_complex(at):
        raise ValueError("interp: x and xp must be real, complex numbers have no order")
    if period is not None:
        at, places, values = _periodic(at, places, values, period)
        left = right = "extrapolate"
    return _interpolated(at, places, values, left, right)


def _periodic(at: Array, places: Array, values: Array, period: object) -> tuple[Array, Array, Array]:
    span = abs(asarray(period, dtype=at.aval.dtype))
    at, places = at % span, places % span
    order = argsort(places)
    places, values = places[order], values[order]
    places = concatenate([places[-1:] - span, places, places[:1] + span])
    return at, places, concatenate([values[-1:], values, values[:1]])


def _interpolated(
    at: Value, places: Value, values: Value, left: ArrayLike | str | None, right: ArrayLike | str | None
) -> Array:
    last = places.aval.shape[0] - 1
    upper = clip(searchsorted(places, at, side="right"), 1, last)
    lower = upper - 1
    start, begin = values[lower], places[lower]
    rise, run = values[upper] - start, places[upper] - begin
    no_run = abs(run) <= float(np.spacing(dtypes.finfo(places.aval.dtype).eps))
    slope_part = (at - begin) / where(no_run, 1, run) * rise
    result = where(no_run, start, start + slope_part)
    if not isinstance(left, str):
        result = where(at < places[0], values[0] if left is None else left, result)
    if not isinstance(right, str):
        result = where(at > places[-1], values[-1] if right is None else right, result)
    return result


# --- convolution ---


def _sliding_products(
    name: str, a: object, v: object, mode: str, precision: object, preferred: DTypeLike | None, ends_late: bool = False
) -> Array:
    """Sums of products of one vector, reversed, with each stretch of the other: a product with shifted copies.

    `ends_late`: whether "same" leaves the greater half of an even number of overlaps to the end.
    """
    first, second = [array_operand(name, value) for value in promote_inexact(name, a, v)]
    if first.ndim != 1 or second.ndim != 1:
        raise ValueError(f"{name} requires vectors, got shapes {first.aval.shape} and {second.aval.shape}")
    if not first.aval.size or not second.aval.size:
        raise ValueError(f"{name} requires vectors that are not empty")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")
    if first.aval.size < second.aval.size:
        first, second = second, first
    long, short = first.aval.size, second.aval.size
    if mode == "full":
        before = after = short - 1
    elif mode == "same":
        before, after = short // 2, short - 1 - short // 2
        before, after = (after, before) if ends_late else (before, after)
    else:
        before = after = 0
    count = long + before + after - short + 1
    positions = np.arange(count)[:, None] + np.arange(short)[None, :] - before
    options: dict[str, Any] = {
        "precision": precision,
        "preferred_element_type": None if preferred is None else user_dtype(name, preferred),
    }
    factors = flip(second)
    whole = dot(getitem(first, positions[before : count - after]), factors, **options)
    ends = [
        _partial_products(first, factors, rows, options) for rows in (positions[:before], positions[count - after :])
    ]
    return concatenate([ends[0], whole, ends[1]]) if before or after else whole


def _partial_products(x: Value, factors: Value, positions: np.ndarray, options: Params) -> Value:
    """For each row of positions the sum of products of `x` there with the factors; those beyond its ends count nothing.

    Neither do their factors: 0 times infinity would be NaN.
    """
    inside = (positions >= 0) & (positions < x.aval.size)
    zero = literal(0, x.aval.dtype)
    windows = where(inside, getitem(x, np.clip(positions, 0, x.aval.size - 1)), zero)
    rows = where(inside, factors, zero)
    return squeeze(matmul(expand_dims(windows, 1), expand_dims(rows, 2), **options), (1, 2))


@as_one("mode", "precision", "preferred_element_type", family=operations.name)
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolve two vectors.

    Args:
        a, v: arrays of one dimension.
        mode: "full": all overlaps; "same": as long as the longer one; "valid": whole overlaps only.
        precision: how exactly accelerators multiply.
        preferred_element_type: the dtype of the result.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: for what is no array.
        ValueError: for other numbers of dimensions, empty arrays, or an unknown mode.

    >>> import tangrad
    >>> tangrad.numpy.convolve(tangrad.numpy.array([1, 2, 3]), tangrad.numpy.array([1, 1]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    return _sliding_products("convolve", a, v, mode, precision, preferred_element_type)


@as_one("mode", "precision", "preferred_element_type", family=operations.name)
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Correlate two vectors: the sums of products of one with the other shifted, and conjugated.

    Args:
        a, v: arrays of one dimension.
        mode: "full": all overlaps; "same": as long as the longer one; "valid": whole overlaps only.
        precision: how exactly accelerators multiply.
        preferred_element_type: the dtype of the result.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: for what is no array.
        ValueError: for other numbers of dimensions, empty arrays, or an unknown mode.

    >>> import tangrad
    >>> tangrad.numpy.correlate(tangrad.numpy.array([1, 2, 3]), tangrad.numpy.array([0, 1]))
    Array([2., 3.], dtype=float32)
    """
    check_array_like("correlate", a, v)
    if len(shape_of(v)) != 1 or len(shape_of(a)) != 1:
        raise ValueError(f"correlate requires vectors, got shapes {shape_of(a)} and {shape_of(v)}")
    ends_late = shape_of(a)[0] < shape_of(v)[0]
    return _sliding_products("correlate", a, flip(conjugate(v)), mode, precision, preferred_element_type, ends_late)
