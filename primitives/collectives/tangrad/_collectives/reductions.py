"""Sums, means, maxima and minima along mapped axes: `psum`, `pmean`, `pmax`, `pmin`; and contractions: `pdot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, overload

import numpy as np

from tangrad._collectives.axes import (
    Axes,
    AxisNames,
    Groups,
    apply_checked,
    checked_axes,
    checked_groups,
    checked_leaves,
    group_size,
    group_sizes,
    have_one_size,
    names_among,
    on_leaves,
    positions_among,
    size_of_axes,
)
from tangrad._collectives.exchanges import all_gather
from tangrad._collectives.positions import axis_index, differing
from tangrad._collectives.primitives import pmax_p, pmin_p, psum_p
from tangrad.core import Array, Literal, Primitive, Tracer, as_array, as_operand, dtypes, thread
from tangrad.extend.lax import (
    canonical_axis,
    convert_element_type,
    div,
    dot_general,
    dynamic_index_in_dim,
    mul,
    reduce_sum_p,
)
from tangrad.lax import PrecisionLike
from tangrad.typing import ArrayLike, PyTree, Value

T = TypeVar("T")

_INT32 = np.dtype(np.int32)


@overload
def psum(x: ArrayLike, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Array: ...
@overload
def psum(x: T, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> T: ...
def psum(x: PyTree, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> PyTree:
    """The sum of `x` over all examples along mapped axes.

    Args:
        x: a tree of arrays; booleans count as int32.
        axis_name: the name of a mapped axis, or several in a tuple or list. Integers among them are dimensions of the
            arrays, which are summed as well.
        axis_index_groups: lists of indices along the axis, each index in exactly one: the sum is that of the example's
            own group. None: all examples are one group.

    Returns:
        a tree of arrays of the types of `x`, less the dimensions that were summed. Of values that are no tracers, and
        so the same for all examples, it is a product: `psum(1, "i")` is the size of the axis, a Python integer.

    Raises:
        NameError: for a name that no mapped axis in scope has; the message lists those in scope.
        ValueError: for an axis named twice, a dimension that is not there, groups that do not cover the axis, or groups
            beside dimensions. TypeError: for leaves that are no arrays.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    axes, groups = _arguments("psum", axis_name, axis_index_groups)
    if not axes:
        return x
    leaves, structure = checked_leaves("psum", x)
    if not any([isinstance(leaf, Tracer) for leaf in leaves]):
        count = _count(names_among(axes), groups)
        return structure.unflatten([_constant_sum(leaf, positions_among(axes), count) for leaf in leaves])
    return structure.unflatten([as_array(_reduced(psum_p, _number(leaf), axes, groups)) for leaf in leaves])


@overload
def pmean(x: ArrayLike, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Array: ...
@overload
def pmean(x: T, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> T: ...
def pmean(x: PyTree, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> PyTree:
    """The mean of `x` over all examples along mapped axes; arguments as for `psum`. The mean of integers is float.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([-1.,  1.], dtype=float32)
    """
    axes, groups = _arguments("pmean", axis_name, axis_index_groups)
    leaves, structure = checked_leaves("pmean", x)
    sums = structure.flatten_up_to(psum(x, axes, axis_index_groups=groups))
    count = _count(names_among(axes), groups)
    return structure.unflatten([_quotient(total, leaf, axes, count) for total, leaf in zip(sums, leaves)])


@overload
def pmax(x: ArrayLike, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Array: ...
@overload
def pmax(x: T, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> T: ...
def pmax(x: PyTree, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> PyTree:
    """The greatest value of `x` among all examples along mapped axes; arguments as for `psum`. NaN if there is one.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.pmax(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([3., 3.], dtype=float32)
    """
    return _extreme("pmax", pmax_p, x, axis_name, axis_index_groups)


@overload
def pmin(x: ArrayLike, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Array: ...
@overload
def pmin(x: T, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> T: ...
def pmin(x: PyTree, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> PyTree:
    """The least value of `x` among all examples along mapped axes; arguments as for `psum`. NaN if there is one.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.pmin(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([1., 1.], dtype=float32)
    """
    return _extreme("pmin", pmin_p, x, axis_name, axis_index_groups)


def _extreme(
    function: str,
    primitive: Primitive,
    x: PyTree,
    axis_name: AxisNames,
    axis_index_groups: Sequence[Sequence[int]] | None,
) -> Array:
    axes, groups = _arguments(function, axis_name, axis_index_groups)
    return on_leaves(function, x, lambda leaf: _reduced(primitive, leaf, axes, groups)) if axes else x


def _arguments(
    function: str, axis_name: AxisNames, axis_index_groups: Sequence[Sequence[int]] | None
) -> tuple[Axes, Groups]:
    axes = checked_axes(function, axis_name, positions=True)
    if axis_index_groups is not None and positions_among(axes):
        raise ValueError(f"{function}: axis_index_groups go with named axes only, but axis_name is {axis_name!r}")
    return axes, checked_groups(function, axis_index_groups, size_of_axes(function, names_among(axes)))


def _count(names: Axes, groups: Groups) -> int | Array:
    """How many examples are summed: a Python integer, unless groups of several sizes are."""
    if groups is None or have_one_size(groups):
        return group_size(groups, size_of_axes("psum", names))
    return dynamic_index_in_dim(group_sizes(groups), axis_index(names), keepdims=False)


def _reduced(primitive: Primitive, x: Value, axes: Axes, groups: Groups) -> Array:
    operand = x if groups is None else differing(x, names_among(axes))  # each group has a value of its own
    return apply_checked(primitive, operand, axes=_in_rank(primitive.name, axes, x), axis_index_groups=groups)


def _in_rank(function: str, axes: Axes, x: Value) -> Axes:
    """The axes with dimensions counted from the front."""
    if not positions_among(axes):
        return axes
    rank = len(x.aval.shape)
    return tuple([canonical_axis(function, a, rank, "axis_name") if isinstance(a, int) else a for a in axes])


def _number(leaf: Value) -> Value:
    """What can be summed: booleans count."""
    operand = as_operand(leaf)
    return convert_element_type(operand, _INT32) if operand.aval.dtype == np.bool_ else operand


def _constant_sum(leaf: Any, positions: tuple[int, ...], count: int | Array) -> Value:
    """The sum of a value that is the same everywhere; of a Python number or a NumPy array, again such a one."""
    kind = type(leaf)
    if kind in (int, float, complex) and not positions and type(count) is int:
        return leaf * kind(count)
    if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype != np.bool_ and not positions and type(count) is int:
        with np.errstate(all="ignore"):
            return np.multiply(leaf, np.asarray(count).astype(leaf.dtype))
    operand = _number(leaf)
    if positions:
        axes = tuple(sorted(positions_among(_in_rank("psum", positions, operand))))
        operand = reduce_sum_p.bind(operand, axes=axes)
    if type(count) is not int:
        count = convert_element_type(count, operand.aval.dtype)
    return as_array(mul(operand, count))


def _quotient(total: Array, leaf: object, axes: Axes, count: int | Array) -> Value:
    """A sum over some examples, and dimensions of the leaf, divided by how many there are."""
    for axis in positions_among(axes):
        count = count * as_operand(leaf).aval.shape[axis]
    if type(total) in (int, float, complex) and type(count) is int:
        return total / count
    operand = as_operand(total)
    dtype = operand.aval.dtype
    if not dtypes.issubdtype(dtype, np.inexact):
        wide = np.dtype(dtype).itemsize == 8
        operand = convert_element_type(operand, np.float64 if wide else np.float32)
    if type(count) is not int:
        count = convert_element_type(count, operand.aval.dtype)
    return as_array(div(operand, count))


Pair = Sequence[Sequence[int]]


def pdot(
    x: ArrayLike,
    y: ArrayLike,
    axis_name: AxisNames,
    pos_contract: Pair = ((), ()),
    pos_batch: Pair = ((), ()),
    precision: PrecisionLike = None,
) -> Array:
    """The product of two arrays, summed over mapped axes and over dimensions, as one contraction.

    Where `vmap` or `xmap` maps the axis it is a contracting dimension of one matrix product, so that no product of each
    example is made; within `shard_map` each device contracts its part, and the parts are summed.

    Args:
        x, y: arrays of one dtype, or of two of which one includes the other.
        axis_name: the name of a mapped axis, or several in a tuple or list. An operand that does not vary along an axis
            counts once for each example.
        pos_contract: two sequences of dimensions, of `x` and of `y`, that are summed over as well.
        pos_batch: two sequences of dimensions that are paired.
        precision: as of `lax.dot_general`.

    Returns:
        An array whose dimensions are the paired ones, the others of `x`, and the others of `y`.

    Raises:
        NameError: for a name that no mapped axis in scope has.
        TypeError: for dtypes that do not meet, or dimensions that are not two sequences.
        ValueError: for an axis named twice, dimensions that are not there, are repeated, or differ in size.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> x, w = np.ones((3, 2)), np.arange(12.0).reshape(3, 4)
    >>> tangrad.vmap(lambda a, b: lax.pdot(a, b, "i"), axis_name="i", out_axes=None)(x, w)
    Array([[12., 15., 18., 21.],
           [12., 15., 18., 21.]], dtype=float32)
    """
    names = checked_axes("pdot", axis_name)
    left, right = as_operand(x), as_operand(y)
    contracted = _dimensions("pos_contract", pos_contract, left, right)
    paired = _dimensions("pos_batch", pos_batch, left, right)
    typed = () if thread.typed_axes is None else thread.typed_axes.names
    over_devices = tuple([name for name in names if name in typed])
    gathered = tuple([name for name in names if name not in typed])
    added = tuple(range(len(gathered)))
    numbers = (
        tuple([(*added, *_behind(one, added)) for one in contracted]),
        tuple([_behind(one, added) for one in paired]),
    )
    found = dot_general(_with_axes(left, gathered), _with_axes(right, gathered), numbers, precision)
    return psum(found, over_devices) if over_devices else as_array(found)


def _dimensions(
    parameter: str, given: Sequence[Sequence[int]], left: Value, right: Value
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions of both operands, counted from the front."""
    try:
        ours, theirs = [tuple(one) for one in given]
    except (TypeError, ValueError):
        raise TypeError(
            f"pdot: {parameter} must be two sequences of dimensions, of x and of y, such as ((1,), (0,)), got {given!r}"
        ) from None
    return (
        tuple([canonical_axis("pdot", axis, len(left.aval.shape), f"{parameter}[0]") for axis in ours]),
        tuple([canonical_axis("pdot", axis, len(right.aval.shape), f"{parameter}[1]") for axis in theirs]),
    )


def _behind(dimensions: tuple[int, ...], added: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([dimension + len(added) for dimension in dimensions])


def _with_axes(value: Value, names: Axes) -> Array | Literal:
    """The operand with a dimension in front for each mapped axis."""
    for name in reversed(names):
        value = all_gather(value, name)
    return value
