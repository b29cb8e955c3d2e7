"""Running totals by a parallel scan: how the cumulative primitives are said with other primitives.

Neighbours are combined in pairs, the array of half the length is scanned likewise, and what is between is filled in:
some 2n combinations in 2 log n steps (Blelloch, Prefix Sums and Their Applications, 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad._lax.checks import COMPLEX, FLOATING, is_kind
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.structure.primitives import concatenate_p, pad_p, rev_p, slice_p
from tangrad.core import Array, literal
from tangrad.typing import DType, Value

PI = 3.141592653589793

Arrays = tuple[Any, ...]
Combine = Callable[[Arrays, Arrays], Arrays]


def associative_scan(combine: Combine, arrays: Arrays, axis: int, reverse: bool) -> Arrays:
    """All prefixes of an axis, combined: `combine` takes two tuples of arrays of one shape, element by element.

    With `reverse` prefixes are counted from the end. The arrays need a static size along the axis.
    """
    if reverse:
        arrays = tuple([rev_p.bind(x, dimensions=(axis,)) for x in arrays])
    arrays = _scan(combine, arrays, axis)
    if reverse:
        arrays = tuple([rev_p.bind(x, dimensions=(axis,)) for x in arrays])
    return arrays


def _scan(combine: Combine, arrays: Arrays, axis: int) -> Arrays:
    size = arrays[0].aval.shape[axis]
    if size < 2:
        return arrays
    pairs = combine(_part(arrays, axis, 0, size - 1, 2), _part(arrays, axis, 1, size, 2))
    odd = _scan(combine, pairs, axis)
    if size == 2:
        even = _part(arrays, axis, 0, 1)
    else:
        before = odd if size % 2 else _part(odd, axis, 0, size // 2 - 1)
        rest = combine(before, _part(arrays, axis, 2, size, 2))
        first = _part(arrays, axis, 0, 1)
        even = tuple([concatenate_p.bind(x, y, dimension=axis) for x, y in zip(first, rest)])
    return tuple([_interleave(x, y, axis) for x, y in zip(even, odd)])


def _part(arrays: Arrays, axis: int, start: int, limit: int, step: int = 1) -> Arrays:
    """The same elements of each array: from `start` to `limit` along the axis, in steps."""
    shape = arrays[0].aval.shape
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, step
    params = {
        "start_indices": tuple(starts),
        "limit_indices": tuple(limits),
        "strides": None if step == 1 else tuple(strides),
    }
    return tuple([slice_p.bind(x, **params) for x in arrays])


def _interleave(even: Value, odd: Value, axis: int) -> Array:
    """Elements of two arrays in turn, which is two padded arrays added: what is padded changes no number."""
    shape, zero = even.aval.shape, nothing_added(even.aval.dtype)
    uneven = shape[axis] - odd.aval.shape[axis]
    around_even, around_odd = [(0, 0, 0)] * len(shape), [(0, 0, 0)] * len(shape)
    around_even[axis], around_odd[axis] = (0, 1 - uneven, 1), (1, uneven, 1)
    return p.add_p.bind(
        pad_p.bind(even, zero, padding_config=tuple(around_even)),
        pad_p.bind(odd, zero, padding_config=tuple(around_odd)),
    )


def nothing_added(dtype: DType) -> Value:
    """The number that added to any other gives that: -0.0, to which 0.0 would not leave its sign; of integers 0."""
    if is_kind(dtype, (COMPLEX,)):
        return literal(complex(-0.0, -0.0), dtype, True)
    return literal(-0.0 if is_kind(dtype, (FLOATING,)) else 0, dtype, True)


# --- the primitives' decompositions --------------------------------------------------------------------------------


def _running(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def decompose(operand: Any, *, axis: int, reverse: bool) -> Any:
        return associative_scan(lambda xs, ys: (operation(xs[0], ys[0]),), (operand,), axis, reverse)[0]

    return decompose


def log_add_exp(x: Value, y: Value) -> Array:
    """log(exp x + exp y) without overflow, element by element."""
    greater = p.max_p.bind(x, y)
    if is_kind(x.aval.dtype, (COMPLEX,)):
        return _complex_log_add_exp(x, y, greater)
    difference = p.sub_p.bind(x, y)
    total = p.add_p.bind(greater, p.log1p_p.bind(p.exp_p.bind(p.neg_p.bind(p.abs_p.bind(difference)))))
    # The difference of infinities of one sign is NaN, and so is the total; their sum is right.
    return p.select_n_p.bind(p.ne_p.bind(difference, difference), total, p.add_p.bind(x, y))


def _complex_log_add_exp(x: Value, y: Value, greater: Value) -> Array:
    """The imaginary part is brought into [-π, π]."""
    less = p.sub_p.bind(p.add_p.bind(x, y), greater)
    total = p.add_p.bind(greater, p.log1p_p.bind(p.exp_p.bind(p.sub_p.bind(less, greater))))
    angle = p.imag_p.bind(total)
    pi, turn = literal(PI, angle.aval.dtype, True), literal(2 * PI, angle.aval.dtype, True)
    wrapped = p.rem_p.bind(p.add_p.bind(angle, pi), turn)
    return p.complex_p.bind(p.real_p.bind(total), p.sub_p.bind(_positive_remainder(wrapped, turn), pi))


def _positive_remainder(remainder: Value, divisor: Value) -> Array:
    """A remainder with the sign of the dividend, moved into [0, divisor)."""
    shifted = p.add_p.bind(remainder, divisor)
    return p.rem_p.bind(shifted, divisor)


running_sum = _running(p.add_p.bind)
running_prod = _running(p.mul_p.bind)
running_max = _running(p.max_p.bind)
running_min = _running(p.min_p.bind)
running_log_sum_exp = _running(log_add_exp)
