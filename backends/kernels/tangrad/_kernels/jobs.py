"""Jobs: what a kernel is called with for one equation, whichever backend calls it; and which equations each takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad.core import Primitive, ShapedArray, dtypes
from tangrad.extend.lax import (
    GatherScatterMode,
    argmax_p,
    argmin_p,
    conv_general_dilated_p,
    cos_p,
    cummax_p,
    cummin_p,
    cumsum_p,
    exp_p,
    lu_p,
    reduce_and_p,
    reduce_or_p,
    search_sorted_p,
    sin_p,
    sort_p,
    tanh_p,
    top_k_p,
)

if TYPE_CHECKING:
    from tangrad.lax import ConvDimensionNumbers
    from tangrad.typing import DTypeLike


# As in native/kernel.h.
NAMES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = {name: number for number, name in enumerate((*NAMES, "float16", "bfloat16"))}


class Job(NamedTuple):
    """A call of the kernel `name`.

    Attributes:
        plan: integers, whose meaning the kernel states.
        on_numpy: whether it is faster than what NumPy has for it.
    """

    name: str
    plan: tuple[int, ...]
    on_numpy: bool = True


# From the types of an equation's operands, and its parameters, to the job; None for what the kernel does not take.
Describe = Callable[..., Job | None]


def number_of(aval: ShapedArray, among: Container[str]) -> int | None:
    """The number of the dtype, if it is one of those."""
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return None
    name = "uint8" if aval.dtype == bool else dtypes.dtype_name(aval.dtype)
    return NUMBERS[name] if name in among else None


def is_known(aval: ShapedArray) -> bool:
    """Whether all sizes are numbers."""
    return all([type(size) is int for size in aval.shape])


def around(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """How many elements are before an axis, along it, and behind it."""
    outer = inner = 1
    for size in shape[:axis]:
        outer *= size
    for size in shape[axis + 1 :]:
        inner *= size
    return outer, shape[axis], inner


Params = dict[str, Any]


DTYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64")
MANY = 1 << 12  # elements in all: below, a call takes longer than what it saves


def _describe(operation: int, x: ShapedArray, *, axis: int, reverse: bool) -> Job | None:
    number = number_of(x, DTYPES)
    if number is None or not is_known(x) or prod(x.shape) < MANY or x.shape[axis] < 2:
        return None
    return Job("running", (number, operation, *around(x.shape, axis), int(reverse)))


RUNNING: dict[Primitive, Describe] = {
    primitive: partial(_describe, operation) for operation, primitive in enumerate((cumsum_p, cummax_p, cummin_p))
}


LONG = 1 << 16  # elements of a row: below, NumPy sorts a single array as fast
WIDTHS = (8, 16, 32, 64, 128)
FEW = 256  # elements that are looked for among at least so many times as many
SHARE = 8
PLACES = (NUMBERS["int32"], NUMBERS["int64"])  # what numbers of elements are given as
SOME = 1 << 8  # elements of what XLA sorts or searches: below, its own way is as fast


def _sort(*operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> Job | None:
    key = operands[0]
    number = number_of(key, NUMBERS)
    if number is None or num_keys != 1 or not is_known(key) or prod(key.shape) < SOME:
        return None
    if any([isinstance(aval.dtype, dtypes.ExtendedDType) for aval in operands]):
        return None
    widths = [dtypes.bit_width(aval.dtype) for aval in operands]
    places = around(key.shape, dimension)
    if len(operands) > 60 or not set(widths) <= set(WIDTHS) or not 1 < places[1] < 1 << 31:
        return None
    on_numpy = prod(key.shape) >= MANY and (len(operands) > 1 or places[1] >= LONG)
    return Job("sort", (number, *places, len(operands), *[width // 8 for width in widths]), on_numpy)


def _top_k(x: ShapedArray, *, k: int, axis: int) -> Job | None:
    number = number_of(x, NUMBERS)
    if number is None or not is_known(x) or type(k) is not int or axis != x.ndim - 1 or prod(x.shape) < MANY:
        return None
    rows, size, _ = around(x.shape, axis)
    return Job("top", (number, rows, size, k)) if 0 < k <= FEW and k * SHARE <= size < 1 << 31 else None


def _search(keys: ShapedArray, values: ShapedArray, *, side: str, dtype: DTypeLike) -> Job | None:
    number, of_places = number_of(keys, DTYPES), NUMBERS.get(dtypes.dtype_name(dtype))
    if number is None or of_places not in PLACES or not (is_known(keys) and is_known(values)):
        return None
    size = prod(values.shape)
    if size < SOME or not 0 < keys.shape[0] < 1 << 30:
        return None
    return Job("search", (number, of_places, keys.shape[0], size, int(side == "right")), size >= MANY)


SORTING: dict[Primitive, Describe] = {sort_p: _sort, top_k_p: _top_k, search_sorted_p: _search}


STRETCH = 64  # elements one after the other: in fewer XLA finds the best as fast


def _best(is_least: bool, x: ShapedArray, *, axes: tuple[int, ...], index_dtype: DTypeLike) -> Job | None:
    number, of_places = number_of(x, NUMBERS), NUMBERS.get(dtypes.dtype_name(index_dtype))
    if number is None or of_places not in PLACES or not is_known(x) or prod(x.shape) < MANY:
        return None
    _, size, columns = places = around(x.shape, axes[0])
    if not size < 1 << 31 or (columns == 1 and size < STRETCH):
        return None
    return Job("best", (number, of_places, *places, int(is_least)))


def _truth(is_all: bool, x: ShapedArray, *, axes: tuple[int, ...]) -> Job | None:
    if x.dtype != bool or not axes or not is_known(x) or prod(x.shape) < MANY:
        return None
    first, last = min(axes), max(axes)
    if last - first >= len(axes):  # others are between them
        return None
    sizes = [prod(x.shape[:first]), prod(x.shape[first : last + 1]), prod(x.shape[last + 1 :])]
    return Job("truth", (*sizes, int(is_all)))


# What XLA finds one element after the other.
ONE_BY_ONE: dict[Primitive, Describe] = {
    argmax_p: partial(_best, False),
    argmin_p: partial(_best, True),
    reduce_or_p: partial(_truth, False),
    reduce_and_p: partial(_truth, True),
}


SMALL = 64  # rows and columns, as in native/lu.cc
SEVERAL, ENOUGH = 4, 1 << 10  # matrices, and elements in all: below, LAPACK is as fast


def _lu(x: ShapedArray) -> Job | None:
    number = number_of(x, ("float32", "float64"))
    if number is None or not is_known(x):
        return None
    count, (rows, columns) = prod(x.shape[:-2]), x.shape[-2:]
    if count < SEVERAL or prod(x.shape) < ENOUGH or max(rows, columns) > SMALL:
        return None
    return Job("lu", (number, count, rows, columns))


FACTORS: dict[Primitive, Describe] = {lu_p: _lu}


# Of arrays (images, height, width, features): how a convolution of each feature by itself has its dimensions, and how
# the gradient of its kernel has them, for which a feature is a group of images, and an image a feature.
LAST, GRADIENT = ((0, 3, 1, 2), (0, 3, 1, 2)), ((3, 0, 1, 2), (2, 3, 0, 1))
FEATURES, TAPS, MOST_TAPS = 8, 4, 256  # fewer features and numbers of a kernel are the backends'
PRODUCTS = 1 << 16  # in all


def _convolution(
    x: ShapedArray,
    y: ShapedArray,
    *,
    dimension_numbers: ConvDimensionNumbers,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    **params: Any,
) -> Job | None:
    number = number_of(x, ("float32", "float64"))
    if number is None or y.dtype != x.dtype or not (is_known(x) and is_known(y)) or x.ndim != 4:
        return None
    if params["preferred_element_type"] not in (None, x.dtype) or set(params["lhs_dilation"]) != {1}:
        return None
    x_spec, y_spec, out_spec = dimension_numbers
    groups, features = (params["feature_group_count"], params["batch_group_count"]), x.shape[3]
    ends = (y_spec[0], y_spec[1])
    if (x_spec, out_spec) == LAST and groups == (features, 1) and y_spec[2:] == (0, 1):
        name, inner = "depthwise", (y.shape[ends[0]], y.shape[ends[1]]) == (features, 1)
        window = y.shape[:2]
    elif (x_spec, out_spec) == GRADIENT and groups == (1, features) and y_spec == x_spec:
        name, inner = "depthwise_gradient", y.shape[0] == x.shape[0] and y.shape[3] == features
        window = y.shape[1:3]
    else:
        return None
    dilations = params["rhs_dilation"]
    outs = tuple(
        [
            (size + sum(around) - step * (taps - 1) - 1) // stride + 1
            for size, around, taps, step, stride in zip(x.shape[1:3], padding, window, dilations, window_strides)
        ]
    )
    taps = prod(window if name == "depthwise" else outs)
    if not inner or features < FEATURES or not TAPS <= taps <= MOST_TAPS or min(*outs, *x.shape, *y.shape) < 1:
        return None
    before = [around[0] for around in padding]
    if x.shape[0] * prod(outs) * prod(window) * features < PRODUCTS:
        return None
    return Job(name, (number, *x.shape, *outs, *window, *before, *window_strides, *dilations))


WINDOWS: dict[Primitive, Describe] = {conv_general_dilated_p: _convolution}


# Functions of each element, with their numbers in native/chain.cc, and the dtypes that have it: what XLA computes one
# element at a time, and what may follow it in the same call.
ANGLES = {sin_p: 0, cos_p: 1}
FOLLOWING = {exp_p: 2, tanh_p: 3}
OF_ANGLES, OF_FOLLOWING = ("float32", "float64", "bfloat16"), ("float32", "bfloat16")


def _angle(function: int, x: ShapedArray) -> Job | None:
    number = number_of(x, OF_ANGLES)
    if number is None or not is_known(x) or prod(x.shape) < MANY:
        return None
    return Job("chain", (number, prod(x.shape), 1, function), on_numpy=False)


FUNCTIONS: dict[Primitive, Describe] = {primitive: partial(_angle, function) for primitive, function in ANGLES.items()}


def softmax(x: ShapedArray, *, axes: tuple[int, ...]) -> Job | None:
    """Over the last axes."""
    number = number_of(x, ("float32", "bfloat16"))
    if number is None or not is_known(x) or prod(x.shape) < MANY:
        return None
    first = x.ndim - len(axes)
    if sorted(axes) != list(range(first, x.ndim)) or (size := prod(x.shape[first:])) < SHORT:
        return None
    return Job("softmax", (number, prod(x.shape[:first]), size))


SHORT = 16  # elements of a row: shorter ones are the backends'


OF_PLACES = ("int32", "int64", "uint32")


def are_places(indices: ShapedArray) -> bool:
    """Whether they are many places along one axis."""
    if isinstance(indices.dtype, dtypes.ExtendedDType) or not is_known(indices):
        return False
    return indices.dtype.name in OF_PLACES and indices.shape[-1:] == (1,) and prod(indices.shape) >= MANY


def counts(operand: ShapedArray, indices: ShapedArray, params: Params) -> bool:
    """Whether a scatter that adds one number everywhere is done by counting how often each place comes."""
    if operand.ndim != 1 or not (isinstance(operand.dtype, np.dtype) and operand.dtype.kind in "iuf"):
        return False
    if not (is_known(operand) and are_places(indices) and operand.dtype.isbuiltin == 1):
        return False
    few = 0 < operand.shape[0] <= prod(indices.shape) < 1 << 31
    return few and not params["dimension_numbers"].update_window_dims and params["mode"] is not GatherScatterMode.CLIP


def count(indices: ShapedArray, size: int, wrap: int = 0) -> Job:
    """How often each of `size` places comes, in `int32`; `wrap`: the size, where those below 0 count."""
    return Job("count", (NUMBERS[indices.dtype.name], prod(indices.shape), size, wrap))


# --- programs over rows, see row_programs.py: what is an instruction in native/rows.cc, and what pays ---

# How arrays are seen: all elements, one for each row, one for each column, one.
ALL, OF_ROW, OF_COLUMN, ONE = range(4)
OPERATIONS = {
    "elementwise.add": 0,
    "autodiff.add_any": 0,
    "elementwise.sub": 1,
    "elementwise.mul": 2,
    "elementwise.square": 2,
    "elementwise.integer_pow": 2,
    "elementwise.div": 3,
    "elementwise.max": 4,
    "elementwise.min": 5,
    "elementwise.neg": 6,
    "elementwise.sqrt": 7,
    "elementwise.exp": 8,
    "elementwise.tanh": 9,
    "elementwise.log": 13,
    "elementwise.rsqrt": 14,
}
ADD, MULTIPLY, DIVIDE, NEGATE, EXP, TANH, LOG = 0, 2, 3, 6, 8, 9, 13
ROW_SUM, ROW_MAXIMUM, COLUMN_SUM, SOFTMAX = 10, 11, 12, 15
# Of what is multiplied, sums, and sums with something else.
ROW_PRODUCT, COLUMN_PRODUCT, MULTIPLY_ADD = 16, 17, 18
SELECT = 19  # by a mask of bytes, what it has where that is one, and where not
PLACE = 20  # of a row: zeros, and a number at one place, or at none
REDUCTIONS = {"reductions.reduce_sum": ROW_SUM, "reductions.reduce_max": ROW_MAXIMUM}


class Limits(NamedTuple):
    """Which groups of equations over rows pay on a backend.

    Attributes:
        elements, columns: arrays of fewer are left alone.
        passes: so are groups of fewer instructions over all elements.
        around: whether a group has to go on with what it finds of its rows (or have softmax): else it is left alone,
            and so are the parts of it that are not connected with such.
        reductions: groups with fewer are left alone; softmax, and what places numbers, has two. more: the same where
            there are `many` rows.
        in_blocks: whether groups become loops over blocks of rows instead of calls of the kernel.
        column_sums: groups with fewer of these are left alone.
        processors: on more of them no group pays, and else those of so many `elements` for each; 0: on any.
    """

    elements: int
    columns: int
    passes: int
    around: bool
    reductions: int = 0
    more: int = 0
    many: int = 0
    in_blocks: bool = False
    column_sums: int = 0
    processors: int = 0

    def allow(self, rows: int, passes: int, reductions: int, column_sums: int) -> bool:
        """Whether a group pays."""
        least = self.more if rows >= self.many else self.reductions
        return passes >= self.passes and reductions >= least and column_sums >= self.column_sums

    def on(self, processors: int) -> Limits | None:
        """The limits on a machine of so many processors; None where no group pays."""
        if self.processors == 0:
            return self
        return None if processors > self.processors else self._replace(elements=self.elements * processors)


# NumPy goes through memory for each operation. XLA makes good loops of all but several sums of rows, one of which needs
# the other: see docs/kernels-for-cpus.md. From 4,096 rows on it makes one of them, too, but not with sums of columns:
# what these add up is written to memory. A loop over blocks of rows has that in the cache, but is on one processor.
LIMITS = {
    "numpy": Limits(1 << 15, 2, 3, False),
    "xla": Limits(1 << 12, 64, 3, True, reductions=2, more=3, many=1 << 12),
    "xla without kernels": Limits(
        1 << 19, 64, 6, True, reductions=3, more=3, in_blocks=True, column_sums=1, processors=4
    ),
}


Instruction = tuple[Any, ...]  # operation, result, and three operands


class RowPlan:
    """The instructions of a group.

    Attributes:
        instructions: in order. kinds: how each of their results is seen.
        operands: what holds the elements of each, with how they are seen -> its number.
        results: those that the kernel gives.
    """

    def __init__(
        self,
        instructions: Sequence[Instruction],
        kinds: Mapping[Any, int],
        operands: Mapping[tuple[Any, int], int],
        results: Sequence[Any],
    ) -> None:
        self.kinds, self.operands, self.results = dict(kinds), operands, results
        self.instructions = self._join_products(instructions)

    def plan(self, dtype: int, rows: int, columns: int) -> tuple[int, ...]:
        """The plan, as native/rows.cc reads it, of arrays of these sizes."""
        places, kinds = self._temporaries()
        count = len(self.operands)
        numbers: dict[Any, int] = {**self.operands, **{key: count + place for key, place in places.items()}}
        numbers |= {var: count + len(kinds) + place for place, var in enumerate(self.results)}
        code = []
        for operation, *keys in self.instructions:
            code += [operation, *[numbers[key] for key in keys]]
        sizes = [dtype, rows, columns, count, len(kinds), len(self.results), len(self.instructions)]
        seen = [*[kind for _, kind in self.operands], *kinds, *[self.kinds[var] for var in self.results]]
        return (*sizes, *seen, *code)

    def _join_products(self, instructions: Sequence[Instruction]) -> list[Instruction]:
        """Products, and negative numbers, that one sum alone reads become part of it: one pass less over the rows."""
        uses = Counter([key for _, _, *keys in instructions for key in set(keys)])
        alone = {made[1]: made for made in instructions if uses[made[1]] == 1 and self.kinds[made[1]] == ALL}
        for var in self.results:
            alone.pop(var, None)
        joined: list[Instruction] = []
        gone: set[Any] = set()
        for made in instructions:
            operation, result, first, second, _ = made
            inner = alone.get(first, made)
            if operation == ROW_SUM and inner[0] == NEGATE:
                gone.add(first)
                total = result, "sum"
                self.kinds[total] = OF_ROW
                joined += [self._summed(operation, total, inner[2], alone, gone), (NEGATE, result, total, total, total)]
            elif operation in (ROW_SUM, COLUMN_SUM):
                joined.append(self._summed(operation, result, first, alone, gone))
            elif operation == ADD and first != second:
                joined.append(self._added(made, alone, gone))
            else:
                joined.append(made)
        return [made for made in joined if made[1] not in gone]

    def _summed(
        self, operation: int, result: object, key: object, alone: dict[Any, Instruction], gone: set[Any]
    ) -> Instruction:
        product = alone.get(key)
        if product is None or product[0] != MULTIPLY or not all([self._has_columns(part) for part in product[2:4]]):
            return operation, result, key, key, key
        gone.add(key)
        return ROW_PRODUCT if operation == ROW_SUM else COLUMN_PRODUCT, result, *product[2:]

    def _added(self, made: Instruction, alone: dict[Any, Instruction], gone: set[Any]) -> Instruction:
        _, result, *keys, _ = made
        for key, other in (keys, keys[::-1]):
            product = alone.get(key)
            if product is not None and product[0] == MULTIPLY:
                gone.add(key)
                return MULTIPLY_ADD, result, *sorted(product[2:4], key=self._has_columns, reverse=True), other
        return made

    def _has_columns(self, key: Any) -> bool:
        """Whether there is a number for each column."""
        return (self.kinds[key] if key in self.kinds else key[1]) in (ALL, OF_COLUMN)

    def _temporaries(self) -> tuple[dict[Any, int], list[int]]:
        """The temporary array of each result that is not one of the group, and their kinds: used again once dead."""
        last = {key: place for place, (_, *keys) in enumerate(self.instructions) for key in keys}
        kept = set(self.results)
        free: dict[int, list[int]] = {ALL: [], OF_ROW: [], OF_COLUMN: []}
        places: dict[Any, int] = {}
        kinds: list[int] = []
        for place, (_, result, *keys) in enumerate(self.instructions):
            kind = self.kinds[result]
            if result not in kept:
                if not free[kind]:
                    kinds.append(kind)
                    free[kind].append(len(kinds) - 1)
                places[result] = free[kind].pop()
            for key in dict.fromkeys([*keys, result]):  # in order: equal groups have equal plans
                if key in places and last[key] == place:
                    free[self.kinds[key]].append(places[key])
        return places, kinds


JOBS: dict[str, Mapping[Primitive, Describe]] = {
    "decompositions": FACTORS,
    "reductions": RUNNING,
    "sorting": SORTING,
    "windows": WINDOWS,
}
