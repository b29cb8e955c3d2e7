"""The contraction, the ragged contraction, and the types of their results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tangrad._lax.checks import ANY, NUMERIC, check_dtype, check_int
from tangrad._lax.contractions.precision import is_algorithm
from tangrad._lax.elementwise.primitives import and_p, convert_element_type_p, ge_p, lt_p, select_n_p, sub_p
from tangrad._lax.reductions.primitives import cumsum_p, reduce_sum_p
from tangrad._lax.structure.functions.creation import full_like
from tangrad._lax.structure.primitives import broadcast_in_dim_p, iota_p, transpose_p
from tangrad.core import Array, PrimitiveSet, ShapedArray, class_boundary, dtypes
from tangrad.core.caches import exact_equality
from tangrad.errors import ArgumentError
from tangrad.typing import DType, Value

contractions = PrimitiveSet("contractions", api=1)


@class_boundary
@exact_equality
class DotDimensionNumbers(tuple[Any, ...]):
    """The dimensions of a contraction: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`.

    A tuple of tuples of integers and nothing else, which caches may therefore compare as it is.

    >>> import tangrad
    >>> tangrad.lax.DotDimensionNumbers((([1], [0]), ([], [])))
    (((1,), (0,)), ((), ()))
    """

    __slots__ = ()

    def __new__(cls, dimension_numbers: Any) -> DotDimensionNumbers:
        if type(dimension_numbers) is cls:
            return dimension_numbers
        try:
            (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
        except (TypeError, ValueError):
            raise TypeError(
                "dot_general: dimension_numbers must be ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), "
                f"four sequences of dimensions, got {dimension_numbers!r}"
            ) from None
        contracting = _dimensions(lhs_contract), _dimensions(rhs_contract)
        return super().__new__(cls, (contracting, (_dimensions(lhs_batch), _dimensions(rhs_batch))))

    def __getnewargs__(self) -> tuple[object, ...]:
        return (tuple(self),)


def _dimensions(value: object) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"dot_general: dimension_numbers must hold sequences of integers, got {value!r}")
    items = value if hasattr(value, "__iter__") else (value,)
    return tuple([check_int("dot_general", item, "a dimension in dimension_numbers") for item in items])


@contractions.primitive(name="dot_general")
def dot_general_p(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: object,
    preferred_element_type: DType | None,
) -> ShapedArray:
    """The products of two arrays, summed over contracting dimensions and paired along batch dimensions.

    The dimensions of the result are the batch dimensions, then what is left of `lhs`, then what is left of `rhs`.
    """
    numbers = DotDimensionNumbers(dimension_numbers)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    _check_side("lhs", lhs, lhs_contract, lhs_batch)
    _check_side("rhs", rhs, rhs_contract, rhs_batch)
    _check_sizes("contracting", lhs, lhs_contract, rhs, rhs_contract)
    _check_sizes("batch", lhs, lhs_batch, rhs, rhs_batch)
    dtype = _result_dtype(lhs, rhs, precision, preferred_element_type)
    return ShapedArray(result_shape(lhs.shape, rhs.shape, numbers), dtype)


def result_shape(lhs: Sequence[int], rhs: Sequence[int], numbers: DotDimensionNumbers) -> tuple[int, ...]:
    """The shape of the contraction of two shapes."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    return (
        *[lhs[axis] for axis in lhs_batch],
        *[size for axis, size in enumerate(lhs) if axis not in lhs_contract and axis not in lhs_batch],
        *[size for axis, size in enumerate(rhs) if axis not in rhs_contract and axis not in rhs_batch],
    )


def free_axes(rank: int, contracting: Sequence[int], batch: Sequence[int]) -> tuple[int, ...]:
    """The dimensions of one side that are neither contracted nor batch dimensions."""
    return tuple([axis for axis in range(rank) if axis not in contracting and axis not in batch])


# --- checks ---


def _check_side(side: str, operand: ShapedArray, contracting: Sequence[int], batch: Sequence[int]) -> None:
    check_dtype("dot_general", operand, ANY, side)
    for axis in (*contracting, *batch):
        if not 0 <= axis < operand.ndim:
            raise ArgumentError(
                f"dot_general: dimension {axis} of {side} in dimension_numbers is out of bounds: "
                f"{side} has shape {operand.shape}, its dimensions are in [0, {operand.ndim})"
            )
    if len({*contracting, *batch}) != len(contracting) + len(batch):
        raise ArgumentError(
            f"dot_general: the contracting dimensions {tuple(contracting)} and batch dimensions {tuple(batch)} "
            f"of {side} must not repeat a dimension"
        )


def _check_sizes(
    kind: str, lhs: ShapedArray, lhs_axes: Sequence[int], rhs: ShapedArray, rhs_axes: Sequence[int]
) -> None:
    left = tuple([lhs.shape[axis] for axis in lhs_axes])
    right = tuple([rhs.shape[axis] for axis in rhs_axes])
    if left != right:
        raise ArgumentError(
            f"dot_general: the {kind} dimensions {tuple(lhs_axes)} of lhs and {tuple(rhs_axes)} of rhs must have "
            f"the same sizes, got {left} and {right} of shapes {lhs.shape} and {rhs.shape}"
        )


def _result_dtype(lhs: ShapedArray, rhs: ShapedArray, precision: object, preferred: DType | None) -> DType:
    """The greater dtype of the two, by what it can hold, unless another one is preferred."""
    if lhs.dtype is rhs.dtype:
        dtype = lhs.dtype
    else:
        left, right = _rank_of_dtype(lhs.dtype), _rank_of_dtype(rhs.dtype)
        if left == right:
            found = f"{dtypes.dtype_name(lhs.dtype)} and {dtypes.dtype_name(rhs.dtype)}"
            raise TypeError(f"dot_general: neither of the operands' dtypes, {found}, includes the other; convert one")
        dtype = lhs.dtype if left > right else rhs.dtype
    if preferred is None or preferred is dtype or preferred == dtype:
        return dtype
    if not is_algorithm(precision) and not dtypes.issubdtype(dtype, np.floating) and _bits(preferred) < _bits(dtype):
        raise TypeError(
            f"dot_general: preferred_element_type must not be narrower than {dtypes.dtype_name(dtype)}, the dtype of "
            f"the operands, got {dtypes.dtype_name(preferred)}"
        )
    if dtypes.issubdtype(dtype, np.complexfloating) and not dtypes.issubdtype(preferred, np.complexfloating):
        found = dtypes.dtype_name(preferred)
        raise TypeError(f"dot_general: preferred_element_type of complex operands must be complex, got {found}")
    return preferred


def _rank_of_dtype(dtype: DType) -> tuple[bool, int, int, int, bool]:
    """What orders dtypes: complex above real, then the range and precision of floats, bits, signed above unsigned."""
    part = dtypes.to_floating_dtype(dtype) if dtypes.issubdtype(dtype, np.complexfloating) else dtype
    limits = dtypes.finfo(part) if dtypes.issubdtype(part, np.floating) else None
    return (
        part is not dtype,
        -1 if limits is None else int(limits.maxexp),
        -1 if limits is None else int(limits.nmant),
        _bits(part),
        not dtypes.issubdtype(part, np.unsignedinteger),
    )


def _bits(dtype: DType) -> int:
    return 1 if dtype == np.bool_ else dtypes.bit_width(dtype)


FREE, CONTRACTING, BATCH = "free", "contracting", "batch"
INT32 = np.dtype("int32")


# --- the ragged contraction ---
# The rows of one operand are in groups of varying size, and for each group there is a matrix of its own.


class RaggedDotDimensionNumbers(NamedTuple):
    """The dimensions of a ragged contraction.

    Attributes:
        dot_dimension_numbers: as for `lax.dot_general`, `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`.
        lhs_ragged_dimensions: the one dimension of `lhs` that is divided into groups.
        rhs_group_dimensions: the dimension of `rhs` that counts the groups, where the ragged dimension is neither
            contracted nor a batch dimension; else none.

    >>> import tangrad
    >>> numbers = tangrad.lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    >>> numbers.lhs_ragged_dimensions
    (0,)
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


def ragged_numbers(value: Any) -> RaggedDotDimensionNumbers:
    """Dimension numbers as the primitive takes them. Raises TypeError for what are none."""
    try:
        dot, ragged, group = value
        ragged, group = tuple(ragged), tuple(group)
    except (TypeError, ValueError):
        raise TypeError(
            "ragged_dot_general: ragged_dot_dimension_numbers must be a lax.RaggedDotDimensionNumbers, "
            f"got {value!r} of type {type(value).__name__}"
        ) from None
    found = [
        tuple([check_int("ragged_dot_general", axis, f"a dimension in {name}") for axis in axes])
        for name, axes in (("lhs_ragged_dimensions", ragged), ("rhs_group_dimensions", group))
    ]
    return RaggedDotDimensionNumbers(DotDimensionNumbers(dot), *found)


class Layout(NamedTuple):
    """What the dimensions of the operands are for, of one choice of dimension numbers.

    Attributes:
        mode: whether the ragged dimension is FREE, CONTRACTING or BATCH.
        lhs_batch, lhs_free, lhs_contracting, rhs_batch, rhs_contracting, rhs_free: dimensions, contracting and batch
            ones as they are paired.
        group: the dimensions of `rhs` that count groups: one, or none.
        place: which of the dimensions of its sort the ragged one is.
    """

    mode: str
    lhs_batch: tuple[int, ...]
    lhs_free: tuple[int, ...]
    lhs_contracting: tuple[int, ...]
    rhs_batch: tuple[int, ...]
    rhs_contracting: tuple[int, ...]
    rhs_free: tuple[int, ...]
    group: tuple[int, ...]
    place: int

    @property
    def ragged_sort(self) -> tuple[int, ...]:
        """The dimensions of `lhs` that are of one sort with the ragged one, in order."""
        sorts = {FREE: self.lhs_free, CONTRACTING: self.lhs_contracting, BATCH: self.lhs_batch}
        return sorts[self.mode]

    @property
    def prefix(self) -> tuple[int, ...]:
        """The dimensions of `lhs` for each element of which groups may have sizes of their own."""
        outer = self.ragged_sort[: self.place]
        return outer if self.mode is BATCH else (*self.lhs_batch, *outer)

    @property
    def ragged(self) -> int:
        """The ragged dimension of `lhs`."""
        return self.ragged_sort[self.place]


@lru_cache(1024)
def layout(numbers: RaggedDotDimensionNumbers, lhs_rank: int, rhs_rank: int) -> Layout:
    """What the dimensions of operands of these ranks are for."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    (ragged,), group = numbers.lhs_ragged_dimensions, tuple(numbers.rhs_group_dimensions)
    lhs_free = free_axes(lhs_rank, lhs_contract, lhs_batch)
    rhs_free = tuple([axis for axis in free_axes(rhs_rank, rhs_contract, rhs_batch) if axis not in group])
    sorts = {FREE: lhs_free, CONTRACTING: lhs_contract, BATCH: lhs_batch}
    (mode,) = [mode for mode, axes in sorts.items() if ragged in axes]
    place = sorts[mode].index(ragged)
    return Layout(mode, lhs_batch, lhs_free, lhs_contract, rhs_batch, rhs_contract, rhs_free, group, place)


def ragged_result_shape(
    lhs: Sequence[int], rhs: Sequence[int], group_sizes: Sequence[int], numbers: RaggedDotDimensionNumbers
) -> tuple[int, ...]:
    """The shape of the ragged contraction of arrays of these shapes."""
    form = layout(numbers, len(lhs), len(rhs))
    sizes = result_shape(lhs, rhs, numbers.dot_dimension_numbers)
    if form.mode is CONTRACTING:
        return (group_sizes[-1], *sizes)
    start = len(form.lhs_batch) + len(form.lhs_free)
    return (*sizes[:start], *[rhs[axis] for axis in form.rhs_free])


# --- the definition ---


def _membership(group_sizes: Value, size: object) -> Array:
    """Which of `size` positions are in which group: booleans (..., size, groups)."""
    dtype = group_sizes.aval.dtype
    if dtypes.bit_width(dtype) < 32:  # where they end may be beyond
        dtype = INT32
        group_sizes = convert_element_type_p.bind(group_sizes, new_dtype=dtype, weak_type=False)
    shape = group_sizes.aval.shape
    last = len(shape) - 1
    ends = cumsum_p.bind(group_sizes, axis=last, reverse=False)
    starts = sub_p.bind(ends, group_sizes)
    whole = (*shape[:last], size, shape[last])
    kept = (*range(last), last + 1)
    positions = iota_p.bind(dtype=dtype, shape=whole, dimension=last)
    starts, ends = [broadcast_in_dim_p.bind(x, shape=whole, broadcast_dimensions=kept) for x in (starts, ends)]
    return and_p.bind(ge_p.bind(positions, starts), lt_p.bind(positions, ends))


def _where(member: Value, x: Value, dimensions: Sequence[int]) -> Array:
    """`x` where `member` holds, whose dimensions are those of `x` in `dimensions`, in this order; elsewhere 0."""
    order = sorted(range(len(dimensions)), key=dimensions.__getitem__)
    member = transposed_to(member, order)
    shape = x.aval.shape
    member = broadcast_in_dim_p.bind(member, shape=shape, broadcast_dimensions=tuple(sorted(dimensions)))
    return select_n_p.bind(member, full_like(x, 0), x)


def transposed_to(x: Any, order: Sequence[int]) -> Value:
    """The dimensions in another order."""
    order = tuple(order)
    return x if order == tuple(range(len(order))) else transpose_p.bind(x, permutation=order)


def by_dense_products(
    lhs: Value,
    rhs: Value,
    group_sizes: Value,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    **params: object,
) -> Array:
    """The product for every group, of which each row keeps its own: as many times the work as there are groups.

    Selecting what a row keeps, rather than multiplying what it does not by 0, keeps the infinities of one group from
    the rows of the others.
    """
    numbers = ragged_dot_dimension_numbers
    form = layout(numbers, lhs.aval.ndim, rhs.aval.ndim)
    dot = numbers.dot_dimension_numbers
    if form.mode is BATCH:  # pairs of matrices as they stand; who is in which group makes no difference
        return dot_general_p.bind(lhs, rhs, dimension_numbers=dot, **params)
    member = _membership(group_sizes, lhs.aval.shape[form.ragged])
    one_for_all = len(group_sizes.aval.shape) == 1
    if form.mode is FREE:
        product = dot_general_p.bind(lhs, rhs, dimension_numbers=dot, **params)
        count = len(form.lhs_batch)
        rest = free_axes(rhs.aval.ndim, form.rhs_contracting, form.rhs_batch)
        group = count + len(form.lhs_free) + rest.index(form.group[0])
        prefix = () if one_for_all else (*range(count), *range(count, count + form.place))
        kept = _where(member, product, (*prefix, count + form.place, group))
        return reduce_sum_p.bind(kept, axes=(group,))
    groups = group_sizes.aval.shape[-1]
    pairs = {**dict(zip(form.lhs_batch, form.rhs_batch)), **dict(zip(form.lhs_contracting, form.rhs_contracting))}
    operands = []
    for x, other in ((lhs, {axis: axis for axis in pairs}), (rhs, pairs)):
        shape = x.aval.shape
        spread = broadcast_in_dim_p.bind(
            x, shape=(groups, *shape), broadcast_dimensions=tuple(range(1, len(shape) + 1))
        )
        prefix = () if one_for_all else tuple([other[axis] + 1 for axis in form.prefix])
        operands.append(_where(member, spread, (*prefix, other[form.ragged] + 1, 0)))
    contracting, batch = [[tuple([axis + 1 for axis in axes]) for axes in pair] for pair in dot]
    dense = DotDimensionNumbers((contracting, [(0, *axes) for axes in batch]))
    return dot_general_p.bind(*operands, dimension_numbers=dense, **params)


@contractions.primitive(name="ragged_dot_general", weak_type="never", decompose=by_dense_products)
def ragged_dot_general_p(
    lhs: ShapedArray,
    rhs: ShapedArray,
    group_sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: object,
    preferred_element_type: object,
) -> ShapedArray:
    """A contraction in which one dimension of `lhs` is divided into groups, `group_sizes` elements each.

    What the groups are for depends on the ragged dimension. Where it is left over, each group of rows meets its own
    part of `rhs`, along the group dimension; rows beyond the last group give 0. Where it is contracted, the sums of
    each group stand by themselves, along a new first dimension. Where it is a batch dimension, this is `dot_general`.
    """
    numbers = ragged_dot_dimension_numbers
    name = "ragged_dot_general"
    for argument, aval in (("lhs", lhs), ("rhs", rhs)):
        check_dtype(name, aval, NUMERIC, argument)
    if not dtypes.issubdtype(group_sizes.dtype, np.integer):
        raise TypeError(f"{name}: group_sizes must be integers, got {group_sizes.str_short()}")
    (ragged, *others), group = numbers.lhs_ragged_dimensions or (None,), numbers.rhs_group_dimensions
    if ragged is None or others:
        raise ValueError(f"{name}: lhs must have one ragged dimension, got {tuple(numbers.lhs_ragged_dimensions)}")
    for argument, axes, aval in (("lhs_ragged_dimensions", (ragged,), lhs), ("rhs_group_dimensions", group, rhs)):
        if any([not 0 <= axis < aval.ndim for axis in axes]):
            raise ValueError(f"{name}: {argument} must be in [0, {aval.ndim}), got {tuple(axes)}")
    out = dot_general_p.infer(
        (lhs, rhs),
        {
            "dimension_numbers": numbers.dot_dimension_numbers,
            "precision": precision,
            "preferred_element_type": preferred_element_type,
        },
    )
    form = layout(numbers, lhs.ndim, rhs.ndim)
    _check_groups(lhs, rhs, group_sizes, form)
    return ShapedArray(ragged_result_shape(lhs.shape, rhs.shape, group_sizes.shape, numbers), out.dtype)


def _check_groups(lhs: ShapedArray, rhs: ShapedArray, group_sizes: ShapedArray, form: Layout) -> None:
    name = "ragged_dot_general"
    wanted = 1 if form.mode is FREE else 0
    if len(form.group) != wanted:
        what = {FREE: "is left over", CONTRACTING: "is contracted", BATCH: "is a batch dimension"}[form.mode]
        raise ValueError(
            f"{name}: where the ragged dimension {what}, rhs_group_dimensions must have {wanted} dimensions, "
            f"got {form.group}"
        )
    if set(form.group) & {*form.rhs_contracting, *form.rhs_batch}:
        raise ValueError(f"{name}: the group dimension {form.group[0]} of rhs must be neither contracted nor batched")
    if not group_sizes.shape:
        raise ValueError(f"{name}: group_sizes must have a dimension, the groups; got {group_sizes.str_short()}")
    prefix = tuple([lhs.shape[axis] for axis in form.prefix])
    if len(group_sizes.shape) > 1 and group_sizes.shape[:-1] != prefix:
        raise ValueError(
            f"{name}: group_sizes must have shape (groups,) or {(*prefix, 'groups')}, whose first sizes are those of "
            f"dimensions {form.prefix} of lhs; got {group_sizes.shape}"
        )
    if form.group and rhs.shape[form.group[0]] != group_sizes.shape[-1]:
        raise ValueError(
            f"{name}: dimension {form.group[0]} of rhs must have a part for each group, {group_sizes.shape[-1]}; "
            f"rhs has shape {rhs.shape}"
        )
