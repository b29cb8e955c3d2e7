"""Choosing between values: `tangrad.numpy.where`, `select`, `clip`, `nonzero`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from tangrad._numpy.arithmetic import maximum, minimum
from tangrad._numpy.fusing import Fused, fusable
from tangrad._numpy.index_parsing import wrapped
from tangrad._numpy.indexing import getitem, take_index
from tangrad._numpy.joining import stack
from tangrad._numpy.logic import truth
from tangrad._numpy.new_arrays import array_of
from tangrad._numpy.operands import (
    BOOL,
    INT32,
    array_operand,
    broadcast,
    broadcast_shape,
    broadcast_to_shape,
    canonical_axis,
    check_array_like,
    convert,
    floating_dtypes,
    index_argument,
    integer_dtypes,
    is_complex,
    number_beside,
    operand,
    promote,
    refuse_out,
)
from tangrad._numpy.operands import select as choose_between
from tangrad._numpy.settings import check_promotion
from tangrad._numpy.shapes import broadcast_arrays, ravel, reshaped
from tangrad.core import (
    EVAL_TRACE,
    Array,
    ShapedArray,
    concrete_or_error,
    dtypes,
    is_concrete,
    literal,
    put,
    thread,
    transfers,
)
from tangrad.core.arguments import product
from tangrad.extend.lax import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    broadcast_in_dim_p,
    clamp_p,
    cumsum_p,
    div_p,
    ge_p,
    iota_p,
    rem_p,
    scatter_p,
    select_n_p,
    size_operand,
    sub_p,
)
from tangrad.typing import ArrayLike, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = {
    **dict.fromkeys(["argwhere", "choose", "compress", "extract", "flatnonzero", "nonzero", "select"], True),
    "where": lambda given: given.get("x") is None or transfers.is_from_host(list(given.values())),
}

# --- where ---


@overload
def where(
    condition: ArrayLike, x: ArrayLike, y: ArrayLike, /, *, size: None = None, fill_value: None = None
) -> Array: ...
@overload
def where(condition: ArrayLike, /, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]: ...
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: Any = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, ...]:
    """Choose the elements of one array where a condition holds, those of another elsewhere.

    Args:
        condition: an array; what is not zero counts as true.
        x, y: arrays or numbers, broadcast with it. Without both: where the condition holds, see `nonzero`.
        size, fill_value: of `nonzero`.

    Returns:
        An array of the shape of all three, in the dtype in which `x` and `y` meet.

    Raises:
        TypeError: for what is no array.
        ValueError: for shapes that do not fit, or only one of `x` and `y`.

    >>> import tangrad
    >>> tangrad.numpy.where(tangrad.numpy.array([True, False]), 1.0, tangrad.numpy.zeros(2))
    Array([1., 0.], dtype=float32)
    """
    aval = x.aval if isinstance(x, Array) else None
    if isinstance(y, Array) and aval is y.aval and size is None and fill_value is None:
        mask = condition.aval if isinstance(condition, Array) else None
        if mask is not None and mask.dtype is BOOL and mask.shape == aval.shape:
            return select_n_p.bind(condition, y, x)
    if x is None and y is None:
        check_array_like("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where takes both x and y, or neither")
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value are for the form without x and y")
    return _where(condition, x, y)


def _where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    mask, on_true, on_false = fusable(condition), fusable(x), fusable(y)
    if mask is None or on_true is None or on_false is None:
        check_array_like("where", condition, x, y)
        return _choose(condition, x, y)
    return _fused_where(mask, on_true, on_false)


def _choose(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    mask = truth(operand("where", condition))
    on_true, on_false = promote("where", x, y)
    operands = broadcast("where", [mask, on_true, on_false])
    return select_n_p.bind(operands[0], operands[2], operands[1])


_fused_where = Fused("where", _choose)


def select(condlist: Sequence[Any], choicelist: Sequence[object], default: ArrayLike = 0) -> Array:
    """Choose, for each element, from the array that belongs to the first condition that holds.

    Args:
        condlist: boolean arrays.
        choicelist: as many arrays.
        default: what is chosen where no condition holds.

    Returns:
        An array of the shape and dtype in which all meet.

    Raises:
        ValueError: for lists of different lengths, or none, and shapes that do not fit.
        TypeError: for what is no array.

    >>> import tangrad
    >>> x = tangrad.numpy.arange(4)
    >>> tangrad.numpy.select([x < 1, x < 3], [x, 10 * x], -1)
    Array([ 0, 10, 20, -1], dtype=int32)
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(f"select takes as many conditions as choices, got {len(condlist)} and {len(choicelist)}")
    check_array_like("select", *choicelist, default)
    masks = [truth(operand("select", condition, position)) for position, condition in enumerate(condlist)]
    *choices, result = promote("select", *choicelist, default)
    shape = broadcast_shape("select", [value.aval.shape for value in [*masks, *choices, result]])
    result = broadcast_to_shape(result, shape)
    for mask, choice in zip(reversed(masks), reversed(choices)):
        result = choose_between(broadcast_to_shape(mask, shape), broadcast_to_shape(choice, shape), result)
    return array_operand("select", result)


def clip(arr: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Move elements that are beyond bounds to the bounds.

    Args:
        arr: an array or number, not complex.
        min, max: the bounds, broadcast against it; None: no bound. Where they cross `max` counts.

    Returns:
        An array of the shape and dtype in which all meet.

    Raises:
        TypeError: for what is no array.
        ValueError: for complex numbers, and shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.clip(tangrad.numpy.arange(4), 1, 2)
    Array([1, 1, 2, 2], dtype=int32)
    """
    aval = arr.aval if isinstance(arr, Array) else None
    ordered = aval is not None and (aval.dtype in floating_dtypes or aval.dtype in integer_dtypes)
    if ordered and aval is not None and thread.trace is EVAL_TRACE:
        lower, upper = number_beside(aval, min), number_beside(aval, max)
        if lower is not None and upper is not None:  # one operation, where programs keep the two
            return clamp_p.bind(lower, arr, upper)
    bounds = [bound for bound in (min, max) if bound is not None]
    check_array_like("clip", arr, *bounds)
    check_promotion("clip", arr, *bounds)
    for value in (arr, *bounds):
        if is_complex(operand("clip", value)):
            raise ValueError("clip does not accept complex numbers, which have no order to clip by")
    result = array_operand("clip", arr)
    if min is not None:
        result = maximum(min, result)
    return result if max is None else minimum(max, result)


# --- positions of what is not zero ---


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> tuple[Any, ...]:
    """Find the positions of the elements that are not zero.

    Args:
        a: an array of at least one dimension.
        size: how many positions to return: the first ones, or fewer filled up. Needed while a function is traced.
        fill_value: what fills up: a number, or one for each dimension; default 0. What is no integer widens the result.

    Returns:
        An integer array for each dimension; of the dtype in which integers and the filling meet, with `fill_value`.

    Raises:
        TypeError: `a` is no array; ConcretizationTypeError where it is traced and `size` is not given.
        ValueError: it has no dimensions, or `fill_value` does not fit.

    >>> import tangrad
    >>> tangrad.numpy.nonzero(tangrad.numpy.array([0, 5, 0, 7]))
    (Array([1, 3], dtype=int32),)
    """
    x = array_operand("nonzero", a)
    if not x.ndim:
        raise ValueError("nonzero requires an array with dimensions; use atleast_1d")
    if size is None:
        if fill_value is not None:
            _fill_values(fill_value, x.ndim)  # raises
        return tuple([array_of(place) for place in _places("nonzero", x)])
    fills = _fill_values(fill_value, x.ndim)
    count = index_argument("nonzero", size, "size")
    shape = x.aval.shape
    if not x.aval.size or not count:
        nothing = _filled_places(count, literal(0, INT32))
        return tuple([_filled_up(literal(True, np.dtype(bool)), fill, nothing) for fill in fills])
    flat = _flat_positions(truth(reshaped(x, (x.aval.size,))), count)
    beyond = ge_p.bind(flat, size_operand(x.aval.size, INT32))
    places = []
    for axis, extent in enumerate(shape):
        stride = size_operand(product(shape[axis + 1 :]), INT32)
        place = rem_p.bind(div_p.bind(flat, stride), size_operand(extent, INT32))
        places.append(_filled_up(beyond, fills[axis], place))
    return tuple(places)


def _places(name: str, x: Value) -> Sequence[np.ndarray]:
    """NumPy's positions of the elements that are not zero."""
    kind = dtypes.default_int_dtype()
    return [place.astype(kind, copy=False) for place in np.nonzero(_concrete(name, x))]


def _concrete(name: str, x: Value) -> np.ndarray:
    """The contents. Raises ConcretizationTypeError for a traced array, whose results have no known number."""
    return concrete_or_error(x, f"the number of results of {name}, which size= would fix").to_numpy()


def _fill_values(fill_value: object, rank: int) -> list[Array]:
    if isinstance(fill_value, (tuple, list)):
        if len(fill_value) != rank:
            raise ValueError(f"nonzero: fill_value must have a number for each of {rank} dimensions, got {fill_value}")
        values = list(fill_value)
    else:
        values = [0 if fill_value is None else fill_value] * rank
    made = [operand("nonzero", value) for value in values]
    if any([value.aval.ndim for value in made]):
        raise ValueError("nonzero: fill_value must be a number, or one for each dimension")
    return made


def _filled_up(beyond: Value, fill: Value, place: Value) -> Array:
    """Positions, and the filling where there are none: integers, unless the filling is of another kind."""
    if fill.aval.dtype.kind in "biu":
        chosen = where(beyond, convert(fill, INT32), place)
        return convert(chosen, dtypes.default_int_dtype())
    return where(beyond, fill, convert(place, dtypes.default_int_dtype()))


def _filled_places(count: int, fill: Value) -> Value:
    return broadcast_in_dim_p.bind(fill, shape=(count,), broadcast_dimensions=())


def _flat_positions(mask: Value, count: int) -> Value:
    """The positions of the first `count` true elements of a vector; its size where there are fewer."""
    size = mask.aval.shape[0]
    numbered = cumsum_p.bind(convert(mask, INT32), axis=0, reverse=False)
    # The i-th true element writes its position to place i; all others write beyond the end, where nothing is kept.
    target = choose_between(mask, sub_p.bind(numbered, literal(1, INT32)), size_operand(count, INT32))
    return scatter_p.bind(
        _filled_places(count, size_operand(size, INT32)),
        broadcast_in_dim_p.bind(target, shape=(size, 1), broadcast_dimensions=(0,)),
        iota_p.bind(dtype=INT32, shape=(size,), dimension=0),
        dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.FILL_OR_DROP,
    )


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """Find the positions of the elements that are not zero, in the array as one dimension.

    Args:
        a: an array or number.
        size, fill_value: as of `nonzero`.

    Returns:
        An integer array of one dimension.

    Raises:
        TypeError: `a` is no array; ConcretizationTypeError where it is traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.flatnonzero(tangrad.numpy.array([[0, 5], [0, 7]]))
    Array([1, 3], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """Find the positions of the elements that are not zero, a row for each.

    Args:
        a: an array or number.
        size, fill_value: as of `nonzero`.

    Returns:
        An integer array of shape (number of positions, dimensions of `a`).

    Raises:
        TypeError: `a` is no array; ConcretizationTypeError where it is traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.argwhere(tangrad.numpy.array([[0, 5], [7, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    x = array_operand("argwhere", a)
    if x.ndim and size is None and fill_value is None:
        return array_of(np.stack(_places("argwhere", x), axis=-1))
    if x.ndim:
        return stack(nonzero(x, size=size, fill_value=fill_value), axis=-1)
    count = int(bool(_concrete("argwhere", x))) if size is None else size
    kind = dtypes.default_int_dtype()
    return put(np.zeros((count, 0), kind), ShapedArray((count, 0), kind))


# --- parts of arrays ---


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Array:
    """Take the elements where a condition holds.

    Args:
        condition: an array; what is not zero counts as true.
        arr: an array of its shape.
        size: how many elements to return; needed while a function is traced.
        fill_value: what fills up where there are fewer.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> x = tangrad.numpy.arange(4)
    >>> tangrad.numpy.extract(x % 2 == 1, x)
    Array([1, 3], dtype=int32)
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """Take the slices along an axis where a condition holds.

    Args:
        condition: an array of one dimension; shorter ones leave out the rest.
        a: an array.
        axis: the axis; None: of the array as one dimension.
        size: how many slices to return; needed while a function is traced.
        fill_value: what fills up where there are fewer.
        out: must be None.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: `condition` has another number of dimensions or holds beyond the axis, or that is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.compress(tangrad.numpy.array([True, False, True]), tangrad.numpy.arange(3))
    Array([0, 2], dtype=int32)
    """
    refuse_out("compress", out)
    mask = truth(array_operand("compress", condition))
    if mask.aval.ndim != 1:
        raise ValueError(f"compress: condition must have one dimension, got shape {mask.aval.shape}")
    x = ravel(a) if axis is None else array_operand("compress", a)
    dimension = 0 if axis is None else canonical_axis("compress", axis, x.ndim)
    mask = _first("compress", mask, x.aval.shape[dimension])
    (places,) = nonzero(mask, size=size, fill_value=x.aval.shape[dimension])
    index = (slice(None),) * dimension + (places,)
    if size is None:
        return getitem(x, index)
    return take_index(x, index, GatherScatterMode.FILL_OR_DROP, fill_value)


def _first(name: str, mask: Array, length: int) -> Array:
    """A mask without what is beyond `length`, where nothing may be chosen: a traced mask is trusted in that."""
    if mask.aval.shape[0] <= length:
        return mask
    beyond = getitem(mask, slice(length, None))
    if is_concrete(beyond) and np.asarray(beyond).any():
        raise ValueError(f"{name}: condition holds beyond the axis, which has length {length}")
    return getitem(mask, slice(0, length))


def choose(a: ArrayLike, choices: ArrayLike | Sequence[ArrayLike], out: None = None, mode: str = "raise") -> Array:
    """Choose, for each element, from the array that it numbers.

    Args:
        a: an integer array.
        choices: arrays, broadcast against `a`; or one whose first dimension is that of the choices.
        out: must be None.
        mode: what numbers beyond the choices do: "raise" an error, "wrap", or "clip".

    Returns:
        An array.

    Raises:
        TypeError: `a` is not of integers; with "raise" ConcretizationTypeError where it is traced.
        ValueError: a number is beyond the choices, or `mode` is unknown.

    >>> import tangrad
    >>> tangrad.numpy.choose(tangrad.numpy.array([0, 1, 0]), [10, 20])
    Array([10, 20, 10], dtype=int32)
    """
    refuse_out("choose", out)
    numbers = array_operand("choose", a)
    if not dtypes.issubdtype(numbers.dtype, np.integer):
        raise TypeError(f"choose: a must be an integer array, got dtype {dtypes.dtype_name(numbers.dtype)}")
    if not isinstance(choices, (list, tuple)):
        whole = array_operand("choose", choices, 1)
        choices = [getitem(whole, i) for i in range(whole.shape[0])]
    made = promote("choose", *choices)
    numbers = _in_range(convert(numbers, INT32), len(made), mode)
    numbers, *cases = broadcast_arrays(numbers, *made)
    rank = numbers.ndim
    positions = [iota_p.bind(dtype=INT32, shape=numbers.shape, dimension=axis) for axis in range(rank)]
    chosen = getitem(stack(cases), (numbers, *positions))
    return convert(chosen, chosen.aval.dtype)


def _in_range(numbers: Array, count: int, mode: str) -> Array:
    if mode == "raise":
        values = _concrete("choose", numbers)
        if np.any(values < 0) or np.any(values >= count):
            raise ValueError(f"choose: numbers must be from 0 to {count - 1}; mode='wrap' or 'clip' brings them there")
        return numbers
    if mode == "wrap":
        return wrapped(numbers, count)
    if mode == "clip":
        return clip(numbers, 0, count - 1)
    raise ValueError(f"choose: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
