"""`one_hot`."""

from __future__ import annotations

import operator
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad
import tangrad.numpy as tnp
from tangrad.core import Array, concrete_or_error, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.extend import lax
from tangrad.extend.lax import broadcasted_iota, constrained, expand_dims
from tangrad.extend.numpy import as_one, index_argument
from tangrad.typing import ArrayLike, DTypeLike, ShardingLike, Value

if TYPE_CHECKING:
    from types import ModuleType

_lax: ModuleType = tangrad.lax  # for what is of distributions of their own


def one_hot(
    x: ArrayLike,
    num_classes: object,
    *,
    dtype: DTypeLike | None = None,
    axis: object = -1,
    out_sharding: ShardingLike = None,
) -> Array:
    """Vectors that are 1 at the positions that `x` names, and 0 elsewhere; all 0 where there is no such position.

    Args:
        x: integers: an array or number.
        num_classes: the length of the vectors.
        dtype: of the result; None: the default float.
        axis: the axis of the result along which the vectors are: an integer, or the name of a mapped axis (or a tuple
            of names) of the size `num_classes`, along which each vector then is spread.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array with one dimension more than `x`; of its shape along a named axis.

    Raises:
        TypeError: `num_classes` is not known, or no integer.
        ValueError: there is no such axis, or a named one has another size or is given with `out_sharding`; a negative
            number of classes; a sharding that the result cannot have.
        NameError: no axis of that name is mapped.

    >>> import tangrad
    >>> tangrad.nn.one_hot(tangrad.numpy.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    made = tnp.asarray(x)
    if not dtypes.issubdtype(made.aval.dtype, np.integer):
        message = f"one_hot takes integers, got {made.aval.str_short()}"
        warnings.warn(message, DeprecationWarning, stacklevel=dtypes.user_stack_level())
    count: Any = num_classes
    if not is_symbolic(num_classes):
        known = concrete_or_error(num_classes, "num_classes of one_hot, the size of the result")
        try:
            count = operator.index(known)
        except TypeError:
            raise TypeError(f"one_hot: num_classes must be an integer, got {known!r}") from None
        if count < 0:
            raise ValueError(f"one_hot: num_classes must not be negative, got {count}")
    kind = dtypes.default_float_dtype() if dtype is None else dtypes.check_user_dtype_supported(dtype, "one_hot")
    rank = made.aval.ndim + 1
    if isinstance(axis, (str, tuple)):
        if out_sharding is not None:
            raise ValueError(
                f"one_hot: out_sharding is for results with the vectors, which named axis {axis!r} spreads"
            )
        return _along_named(made, count, kind, axis)
    axis = index_argument("one_hot", axis, "axis")
    if not -rank <= axis < rank:
        raise ValueError(f"one_hot: axis {axis} is out of bounds for a result of {rank} dimensions")
    position = axis % rank
    return constrained(_hits(made, count=count, kind=kind, position=position), out_sharding)


def _along_named(made: Array, count: object, kind: object, axis: object) -> Array:
    """The elements of the vectors that are at this place of a mapped axis."""
    size = _lax.axis_size(axis)
    if size != count:
        raise ValueError(f"one_hot: num_classes must be the size of the axis {axis!r}, {size}, got {count}")
    return (made == _lax.axis_index(axis)).astype(kind)


@as_one("count", "kind", "position")
def _hits(made: Value, count: object, kind: np.dtype, position: int) -> Array:
    """Where the integers are the places along a new dimension."""
    rank = made.aval.ndim + 1
    shape = (*made.aval.shape[:position], count, *made.aval.shape[position:])
    kind_of_x = made.aval.dtype
    narrow = not is_symbolic(count) and dtypes.issubdtype(kind_of_x, np.integer) and count > dtypes.iinfo(kind_of_x).max
    if kind_of_x == np.bool_ or narrow:  # the number of a class must not wrap around to that of another
        made = lax.convert_element_type(made, np.int32)
    numbers = broadcasted_iota(made.aval.dtype, [count if d == position else 1 for d in range(rank)], position)
    hits = tnp.equal(expand_dims(made, (position,)), numbers)
    return lax.convert_element_type(tnp.broadcast_to(hits, shape), kind)
