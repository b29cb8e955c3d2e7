"""Arrays made larger at their edges: `tangrad.numpy.pad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._numpy.conversion import asarray
from tangrad._numpy.operands import (
    array_operand,
    broadcast_to_shape,
    canonical_axis,
    convert,
    index_argument,
    literal,
    shape_of,
)
from tangrad._numpy.quantiles import median
from tangrad._numpy.reductions import max, min
from tangrad._numpy.sequences import linspace
from tangrad._numpy.statistics import mean
from tangrad._numpy.vectorization import apply_along_axis
from tangrad.core import Array, Literal
from tangrad.extend.lax import concatenate_p, pad_p, rev_p, slice_p
from tangrad.typing import ArrayLike, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["pad"], True)

Widths = list[tuple[int, int]]

_MODES = "constant, edge, linear_ramp, maximum, mean, median, minimum, reflect, symmetric, wrap, empty"


def pad(array: ArrayLike, pad_width: object, mode: str | Callable[..., object] = "constant", **kwargs: object) -> Array:
    """Add elements before and after those of an array, along each dimension.

    Args:
        array: an array or number.
        pad_width: how many: an integer, a pair (before, after), a sequence of such pairs, or a dict from axes to these.
        mode: what to add. "constant": `constant_values` (0); "edge": the outermost element; "reflect", "symmetric": the
            mirror image without or with the outermost element (`reflect_type` "even" or "odd"); "wrap": the other end;
            "linear_ramp": a slope to `end_values` (0); "maximum", "mean", "median", "minimum": of the outermost
            `stat_length` elements, or all; "empty": zeros; or a function (vector, widths, axis, kwargs) of vectors.

    Returns:
        An array of the dtype of `array`.

    Raises:
        TypeError: `array` is no array, `pad_width` no integers, or an argument does not belong to the mode.
        ValueError: for negative widths, and modes that are unknown.
        NotImplementedError: for an unknown mode.

    >>> import tangrad
    >>> tangrad.numpy.pad(tangrad.numpy.array([1, 2]), 1)
    Array([0, 1, 2, 0], dtype=int32)
    """
    x = array_operand("pad", array)
    widths = _widths("pad_width", pad_width, x.ndim)
    if any([before < 0 or after < 0 for before, after in widths]):
        raise ValueError(f"pad: pad_width must not be negative, got {pad_width}")
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    padder = _PADDERS.get(mode)
    if padder is None:
        raise NotImplementedError(f"pad: unknown mode {mode!r}; the modes are {_MODES}, or a function")
    function, allowed = padder
    unknown = set(kwargs) - set(allowed)
    if unknown:
        raise TypeError(f"pad: mode {mode!r} does not take {', '.join(sorted(unknown))}")
    return function(x, widths, **kwargs)


def _widths(name: str, given: object, rank: int) -> Widths:
    if isinstance(given, dict):
        table = {canonical_axis("pad", axis, rank, f"an axis of {name},"): value for axis, value in given.items()}
        return [_pair(name, table.get(axis, 0)) for axis in range(rank)]
    pairs = _pairs(name, given, rank)
    return [_pair(name, pair) for pair in pairs]


def _pair(name: str, value: tuple[int, ...]) -> tuple[int, int]:
    items = tuple(value) if isinstance(value, (tuple, list)) or len(shape_of(value)) else (value, value)
    if len(items) == 1:
        items = items * 2
    if len(items) != 2:
        raise ValueError(f"pad: {name} must hold pairs (before, after), got {value!r}")
    before, after = [index_argument("pad", item, name) for item in items]
    return before, after


def _pairs(name: str, given: Any, rank: int) -> list[tuple[int, int]]:
    """One entry for each dimension, from a number, a pair, one pair in a sequence, or a sequence of pairs."""
    if not isinstance(given, (tuple, list)) and not len(shape_of(given)):
        return [(given, given)] * rank
    items = list(given)
    nested = [isinstance(item, (tuple, list)) or len(shape_of(item)) > 0 for item in items]
    if not any(nested):
        if len(items) == 1:
            return [(items[0], items[0])] * rank
        if len(items) == 2:
            return [tuple(items)] * rank
    if all(nested) and len(items) in (1, rank):
        pairs = [tuple(item) * 2 if len(item) == 1 else tuple(item) for item in items]
        return pairs * rank if len(items) == 1 and rank != 1 else pairs
    raise ValueError(f"pad: {name} {given!r} does not fit an array of {rank} dimensions")


# --- what does not look at the array ---


def _constant(x: Value, widths: Widths, constant_values: int | tuple[int | tuple[int, ...], ...] = 0) -> Value:
    for axis, ((before, after), values) in enumerate(zip(widths, _pairs("constant_values", constant_values, x.ndim))):
        first, last = [_value(x, value) for value in values]
        x = _with_constants(x, axis, before, after, first, last)
    return x


def _value(x: Value, value: object) -> Value:
    weak = x.aval.weak_type  # the result is as weakly typed as the array, whatever is put around it
    kind = x.aval.dtype
    made = literal(value, kind, weak) if type(value) in (int, bool) else convert(asarray(value), kind, weak)
    if made.aval.ndim:
        raise ValueError(f"pad: values must be numbers, got shape {made.aval.shape}")
    return made


def _with_constants(x: Value, axis: int, before: int, after: int, first: Value, last: Value) -> Value:
    if first is last:
        return _padded(x, axis, before, after, first) if before or after else x
    x = _padded(x, axis, before, 0, first) if before else x
    return _padded(x, axis, 0, after, last) if after else x


def _padded(x: Value, axis: int, before: int, after: int, value: Value) -> Value:
    config = tuple([(before, after, 0) if position == axis else (0, 0, 0) for position in range(x.ndim)])
    return pad_p.bind(x, value, padding_config=config)


def _empty(x: Array, widths: Widths) -> Value:
    return _constant(x, widths)


# --- what continues the array ---


def _part(x: Value, axis: int, start: int, stop: int) -> Value:
    starts, limits = [0] * x.ndim, list(x.aval.shape)
    starts[axis], limits[axis] = start, stop
    return slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None)


def _repeated(x: Value, axis: int, count: int) -> Value:
    shape = tuple([count if position == axis else size for position, size in enumerate(x.aval.shape)])
    return broadcast_to_shape(x, shape)


def _joined(parts: Sequence[Value], axis: int) -> Value:
    return parts[0] if len(parts) == 1 else concatenate_p.bind(*parts, dimension=axis)


def _check_not_empty(x: Value, axis: int, mode: str) -> None:
    if not x.aval.shape[axis]:
        raise ValueError(f"pad: axis {axis} of shape {x.aval.shape} is empty: mode {mode!r} has nothing to continue")


def _along_axes(x: Value, widths: Widths, mode: str, step: Callable[[Value, int, int, int], Value]) -> Value:
    for axis, (before, after) in enumerate(widths):
        if before or after:
            _check_not_empty(x, axis, mode)
            x = step(x, axis, before, after)
    return x


def _edge(x: Value, widths: Widths) -> Value:
    def step(x: Value, axis: int, before: int, after: int) -> Value:
        size = x.aval.shape[axis]
        first = _repeated(_part(x, axis, 0, 1), axis, before)
        return _joined([first, x, _repeated(_part(x, axis, size - 1, size), axis, after)], axis)

    return _along_axes(x, widths, "edge", step)


def _wrap(x: Array, widths: Widths) -> Value:
    def step(x: Value, axis: int, before: int, after: int) -> Value:
        size = x.aval.shape[axis]
        whole, rest = divmod(before, size)
        parts = [_part(x, axis, size - rest, size)] if rest else []
        parts += [x] * (whole + 1)
        whole, rest = divmod(after, size)
        parts += [x] * whole
        parts += [_part(x, axis, 0, rest)] if rest else []
        return _joined(parts, axis)

    return _along_axes(x, widths, "wrap", step)


def _mirrored(mode: str, offset: int) -> Callable[..., Array | Literal]:
    def padder(x: Value, widths: Widths, reflect_type: str = "even") -> Value:
        if reflect_type not in ("even", "odd"):
            raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}")

        def step(x: Value, axis: int, before: int, after: int) -> Value:
            if offset and x.aval.shape[axis] == 1:
                return _edge(x, [(before, after) if position == axis else (0, 0) for position in range(x.ndim)])
            front = _mirror(x, axis, before, offset, reflect_type, at_start=True)
            back = _mirror(x, axis, after, offset, reflect_type, at_start=False)
            return _joined([*front, x, *back], axis)

        return _along_axes(x, widths, mode, step)

    return padder


def _mirror(x: Value, axis: int, count: int, offset: int, reflect_type: str, at_start: bool) -> list[Value]:
    """What continues an array at one end: mirror images, each of what is there by then, as long as the array."""
    period = x.aval.shape[axis] - offset
    parts: list[Value] = []
    while count > 0:
        size = x.aval.shape[axis]
        length = count if count < period else period
        start = offset if at_start else size - offset - length
        part = rev_p.bind(_part(x, axis, start, start + length), dimensions=(axis,))
        if reflect_type == "odd":
            edge = _part(x, axis, 0, 1) if at_start else _part(x, axis, size - 1, size)
            part = 2 * edge - part
        parts = [part, *parts] if at_start else [*parts, part]
        x = _joined([part, x] if at_start else [x, part], axis)
        count -= length
    return parts


def _linear_ramp(x: Value, widths: Widths, end_values: object = 0) -> Value:
    ends = _pairs("end_values", end_values, x.ndim)

    def step(x: Value, axis: int, before: int, after: int) -> Value:
        size = x.aval.shape[axis]
        first, last = _part(x, axis, 0, 1).squeeze(axis), _part(x, axis, size - 1, size).squeeze(axis)
        start, stop = [_value(x, value) for value in ends[axis]]
        rise = linspace(start, first, before, endpoint=False, dtype=x.dtype, axis=axis)
        fall = rev_p.bind(linspace(stop, last, after, endpoint=False, dtype=x.dtype, axis=axis), dimensions=(axis,))
        return _joined([convert(rise, x.dtype, x.aval.weak_type), x, convert(fall, x.dtype, x.aval.weak_type)], axis)

    return _along_axes(x, widths, "linear_ramp", step)


def _statistic(mode: str, function: Callable[..., Array]) -> Callable[..., Array | Literal]:
    def padder(x: Value, widths: Widths, stat_length: object = None) -> Value:
        lengths = None if stat_length is None else _pairs("stat_length", stat_length, x.ndim)

        def step(x: Value, axis: int, before: int, after: int) -> Value:
            size = x.aval.shape[axis]
            front, back = (size, size) if lengths is None else [min_of(length, size) for length in lengths[axis]]
            parts = []
            for start, stop, count in ((0, front, before), (size - back, size, after)):
                value = function(_part(x, axis, start, stop), axis=axis, keepdims=True)
                value = value.round() if x.dtype.kind in "iu" and value.dtype.kind == "f" else value
                parts.append(_repeated(convert(value, x.dtype, x.aval.weak_type), axis, count))
            return _joined([parts[0], x, parts[1]], axis)

        return _along_axes(x, widths, mode, step)

    return padder


def min_of(length: object, size: int) -> int:
    """How many elements a statistic is taken of. Raises ValueError for none."""
    count = index_argument("pad", length, "stat_length")
    if count < 1:
        raise ValueError(f"pad: stat_length must be at least 1, got {count}")
    return count if count < size else size


def _by_function(x: Value, widths: Widths, function: Callable[..., object], kwargs: dict[str, object]) -> Any:
    """NumPy's protocol: the function gets each padded vector, and returns it changed."""
    padded = _constant(x, widths)
    for axis, width in enumerate(widths):
        padded = apply_along_axis(function, axis, padded, width, axis, kwargs)
    return padded


_PADDERS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "constant": (_constant, ("constant_values",)),
    "empty": (_empty, ()),
    "edge": (_edge, ()),
    "wrap": (_wrap, ()),
    "reflect": (_mirrored("reflect", 1), ("reflect_type",)),
    "symmetric": (_mirrored("symmetric", 0), ("reflect_type",)),
    "linear_ramp": (_linear_ramp, ("end_values",)),
    "maximum": (_statistic("maximum", max), ("stat_length",)),
    "minimum": (_statistic("minimum", min), ("stat_length",)),
    "mean": (_statistic("mean", mean), ("stat_length",)),
    "median": (_statistic("median", median), ("stat_length",)),
}
