"""Running totals and `reduce` by other primitives: by a parallel scan, and by a tree."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import tangrad
from tangrad._lax.checks import COMPLEX, FLOATING, is_kind
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.structure.primitives import (
    broadcast_in_dim_p,
    concatenate_p,
    pad_p,
    reshape_p,
    rev_p,
    slice_p,
    transpose_p,
)
from tangrad.core import Array, ClosedJaxpr, Literal, eval_jaxpr, literal
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.typing import Dimensions, DType, Value

PI = 3.141592653589793

Arrays = tuple[Value, ...]
Combine = Callable[[Arrays, Arrays], Arrays]


# --- running totals by a parallel scan ---
# Neighbours are combined in pairs, the array of half the length is scanned likewise, and what is between is filled in:
# some 2n combinations in 2 log n steps (Blelloch, Prefix Sums and Their Applications, 1990).


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


# --- the primitives' decompositions ---


def _running(operation: Callable[[Value, Value], Array]) -> Callable[..., Value]:
    def decompose(operand: Value, *, axis: int, reverse: bool) -> Value:
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


# Families whose primitives treat each element alike, so that a program of scalars made of them runs on arrays as it is.
ELEMENTWISE_FAMILIES = frozenset(("elementwise", "special"))

# Looked up when it is needed: lax does without tangrad-batching but for this; the error where it is missing names it.
_public_vmap = operator.attrgetter("vmap")

_answers = JaxprCache()
register_cache(_answers.clear)


# --- reductions by a tree ---


def reduce_by_tree(*args: Value, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]) -> Arrays:
    """The decomposition of `reduce`: neighbours are combined in pairs, in order, until one element is left."""
    count = len(args) // 2
    operands, initial = args[:count], args[count:]
    arrays = tuple([fold_axes(x, dimensions) for x in operands])
    size = arrays[0].aval.shape[0]

    def combine(xs: Arrays, ys: Arrays) -> Arrays:
        return apply_to_arrays(jaxpr, (*xs, *ys))

    kept = arrays[0].aval.shape[1:]
    starts = tuple([broadcast_in_dim_p.bind(x, shape=kept, broadcast_dimensions=()) for x in initial])
    if size == 0:
        return starts
    while size > 1:
        arrays = combine_pairs(combine, arrays, size)
        size = arrays[0].aval.shape[0]
    rest = tuple([reshape_p.bind(x, new_sizes=kept, dimensions=None) for x in arrays])
    return combine(starts, rest)


def fold_axes(operand: Value, axes: Sequence[int]) -> Value:
    """The array with some axes made into one, in front."""
    shape = operand.aval.shape
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    order = (*axes, *kept)
    if order != tuple(range(len(shape))):
        operand = transpose_p.bind(operand, permutation=order)
    if len(axes) == 1:
        return operand
    size: Any = 1
    for axis in axes:
        size = size * shape[axis]
    return reshape_p.bind(operand, new_sizes=(size, *[shape[axis] for axis in kept]), dimensions=None)


def combine_pairs(combine: Callable[[Arrays, Arrays], Arrays], arrays: Arrays, size: int) -> Arrays:
    """Neighbours along axis 0 combined; the last of an odd number stays. The order is kept: some operations mind."""
    paired = size - size % 2
    combined = combine(rows(arrays, 0, paired, 2), rows(arrays, 1, paired, 2))
    if paired == size:
        return combined
    return tuple([concatenate_p.bind(x, y, dimension=0) for x, y in zip(combined, rows(arrays, paired, size))])


def rows(arrays: Arrays, start: int, limit: int, step: int = 1) -> Arrays:
    """The same rows of each array."""
    outs = []
    for x in arrays:
        shape = x.aval.shape
        others = (0,) * (len(shape) - 1)
        strides = None if step == 1 else (step, *[1 for _ in others])
        params = {"start_indices": (start, *others), "limit_indices": (limit, *shape[1:]), "strides": strides}
        outs.append(slice_p.bind(x, **params))
    return tuple(outs)


# --- programs of scalars on arrays ---


def apply_to_arrays(closed: ClosedJaxpr, arrays: Arrays) -> Arrays:
    """A program of scalars applied to the elements of arrays of one shape.

    A program of elementwise primitives runs on the arrays as it is; any other is mapped by `tangrad.vmap`, so that it
    needs the distribution tangrad-batching.
    """
    shape = arrays[0].aval.shape
    if not shape:
        return tuple(eval_jaxpr(closed.jaxpr, closed.consts, *arrays))
    if _answers.get(closed, "elementwise", lambda: "yes" if _is_elementwise(closed) else "no") == "yes":
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *arrays)
        return tuple([_at_shape(out, shape) for out in outs])
    flat = [reshape_p.bind(x, new_sizes=(x.aval.size,), dimensions=None) for x in arrays]
    vmap = _public_vmap(tangrad)
    outs = vmap(lambda *scalars: tuple(eval_jaxpr(closed.jaxpr, closed.consts, *scalars)))(*flat)
    return tuple([reshape_p.bind(out, new_sizes=shape, dimensions=None) for out in outs])


def _is_elementwise(closed: ClosedJaxpr) -> bool:
    for const in closed.consts:
        if const.aval.shape:
            return False
    for eqn in closed.eqns:
        if eqn.primitive.family not in ELEMENTWISE_FAMILIES:
            return False
        for atom in (*eqn.invars, *eqn.outvars):
            if atom.aval.shape:
                return False
    return True


def _at_shape(out: Value, shape: Dimensions) -> Value:
    """A result that does not depend on the arrays is a scalar still."""
    if type(out) is Literal or not out.aval.shape:
        return broadcast_in_dim_p.bind(out, shape=shape, broadcast_dimensions=())
    return out
