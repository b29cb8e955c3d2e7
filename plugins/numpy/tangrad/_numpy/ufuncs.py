"""Universal functions: those that can also be reduced, accumulated, and applied to pairs; and `frompyfunc`.

The functions of two arrays here are the plain ones, which are called a thousand times for each time that they are
reduced: they get their methods as attributes, and calls of them do not go through an object.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy import arithmetic, cumulative, logic, reductions, transcendental
from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import full_like
from tangrad._numpy.joining import concatenate
from tangrad._numpy.operands import canonical_axes, canonical_axis, check_array_like, index_argument, refuse_out
from tangrad._numpy.ranges import arange
from tangrad._numpy.selection import where as choose
from tangrad._numpy.shapes import broadcast_to, expand_dims
from tangrad._numpy.vectorization import vectorize
from tangrad.core import Array, class_boundary, dtypes
from tangrad.extend.lax import cumlogsumexp_p, fori_loop, scan

if TYPE_CHECKING:
    from tangrad._numpy.makers import BinaryUfunc, UnaryUfunc
    from tangrad.typing import ArrayLike, Axis, DTypeLike


class _Kind(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or type(getattr(instance, "methods_of", None)) is cls


@class_boundary
class ufunc(metaclass=_Kind):  # noqa: N801 - a class named as the field knows it
    """A function of numbers applied to each element of arrays; `frompyfunc` makes one.

    `isinstance(f, ufunc)` also holds for `tangrad.numpy.add` and the like, which have its methods.

    Attributes:
        nin: the number of arguments.
        nout: the number of results.
        nargs: both together.
        identity: what changes nothing, None where there is no such number.

    >>> import tangrad.numpy as np
    >>> isinstance(np.add, np.ufunc)
    True
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        identity: ArrayLike | None = None,
        reduce: Callable[..., Array] | None = None,
        accumulate: Callable[..., Array] | None = None,
    ) -> None:
        self.__name__ = str(name or getattr(func, "__name__", "ufunc"))
        self.__doc__ = getattr(func, "__doc__", None) or type(self).__doc__
        self._function, self._reduce, self._accumulate = func, reduce, accumulate
        self.nin, self.nout, self.nargs, self.identity = nin, nout, nin + nout, identity

    def __repr__(self) -> str:
        return f"<tangrad.numpy.ufunc {self.__name__!r}>"

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        """Apply the function to each element of the arguments, broadcast against each other."""
        refuse_out(self.__name__, out)
        if where is not None:
            raise NotImplementedError(f"{self.__name__}: the argument where is not supported; see tangrad.numpy.where")
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} arguments, got {len(args)}")
        return self._function(*args)

    def _binary(self, method: str) -> None:
        if (self.nin, self.nout) != (2, 1):
            raise TypeError(f"{self.__name__}.{method} is for functions of two arguments with one result")

    def _array(self, method: str, a: ArrayLike, dtype: DTypeLike | None) -> Array:
        """The operand, of the dtype in which results stay."""
        self._binary(method)
        check_array_like(f"{self.__name__}.{method}", a)
        x = asarray(a, dtype)
        if dtype is not None:
            return x
        zero = full_like(x, 0, shape=())
        return x.astype(self._function(zero, zero).dtype)

    def reduce(
        self,
        a: ArrayLike,
        axis: Axis = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """Put the elements along an axis together, from the first to the last.

        Args:
            a: an array.
            axis: the axis, several of them, or None for all.
            dtype: in which to compute; None: that of the results.
            out: must be None: arrays are not written to.
            keepdims: whether the axis stays, with size 1.
            initial: what to begin with; None: the identity, or the first element.
            where: a boolean array: which elements count. It needs something to begin with.

        Raises:
            ValueError: no elements, or those of `where`, without an identity; an axis that is not there.
        """
        name = f"{self.__name__}.reduce"
        refuse_out(name, out)
        if self._reduce is not None:
            self._binary("reduce")
            return self._reduce(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
        x = self._array("reduce", a, dtype)
        axes = canonical_axes(name, axis, x.ndim)
        mask = None if where is None else broadcast_to(asarray(where), x.shape)
        rows = _in_front(x, axes)
        chosen = None if mask is None else _in_front(mask, axes)
        first = self.identity if initial is None else initial
        if first is None:
            if not rows.shape[0] or mask is not None:
                what = "no elements" if mask is None else "elements chosen by where"
                raise ValueError(f"{name}: there is no identity to begin with, for {what}; give initial")
            start, rows = rows[0], rows[1:]
        else:
            if initial is None:  # -1 stands for all bits, in unsigned integers too
                first = np.asarray(first).astype(x.dtype)
            start = broadcast_to(asarray(first, x.dtype), rows.shape[1:])

        def step(total: Array, row: tuple[Array, Array | None]) -> tuple[Array, None]:
            value, kept = row
            result = self._function(total, value).astype(x.dtype)
            return (result if kept is None else choose(kept, result, total)), None

        result = scan(step, start, (rows, chosen))[0]
        return expand_dims(result, axes) if keepdims else result

    def accumulate(self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None) -> Array:
        """All results on the way of `reduce` along one axis.

        Args:
            a: an array.
            axis: the axis.
            dtype: in which to compute; None: that of the results.
            out: must be None: arrays are not written to.

        Raises:
            ValueError: for an axis that is not there.
        """
        name = f"{self.__name__}.accumulate"
        refuse_out(name, out)
        if self._accumulate is not None:
            self._binary("accumulate")
            return self._accumulate(a, axis=axis, dtype=dtype)
        x = self._array("accumulate", a, dtype)
        place = canonical_axis(name, axis, x.ndim)
        rows = moveaxis(x, place, 0)
        if not rows.shape[0]:
            return x

        def step(total: object, row: object) -> tuple[Array, Array]:
            result = self._function(total, row).astype(x.dtype)
            return result, result

        rest = scan(step, rows[0], rows[1:])[1]
        return moveaxis(concatenate([rows[:1], rest]), 0, place)

    def reduceat(
        self, a: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """Reduce stretches of an axis: from each index to the next, the last one to the end.

        Args:
            a: an array.
            indices: integers, an array (n,). Where the next one is not greater there is one element; beyond the axis
                NaN, or the least integer.
            axis: the axis, which has n elements in the result.
            dtype: in which to compute; None: that of the results.
            out: must be None: arrays are not written to.

        Raises:
            TypeError: the indices are no integers.
            ValueError: they have not one dimension; an axis that is not there.
        """
        name = f"{self.__name__}.reduceat"
        refuse_out(name, out)
        x = self._array("reduceat", a, dtype)
        starts = asarray(indices)
        if not dtypes.issubdtype(starts.dtype, np.integer):
            raise TypeError(f"{name}: indices must be integers, got {starts.aval.str_short()}")
        if starts.ndim != 1:
            raise ValueError(f"{name}: indices must have one dimension, got shape {starts.shape}")
        place = canonical_axis(name, axis, x.ndim)
        rows = moveaxis(x, place, 0)
        size = rows.shape[0]
        ends = concatenate([starts[1:], full_like(starts[:1], size)])
        shape = (-1,) + (1,) * (rows.ndim - 1)

        def step(j: Array, totals: Array) -> Array:
            inside = ((j > starts) & (j < ends)).reshape(shape)
            return choose(inside, self._function(totals, rows[j][None]).astype(x.dtype), totals)

        return moveaxis(fori_loop(0, size, step, rows.at[starts].get(mode="fill")), 0, place)

    def at(self, a: ArrayLike, indices: object, b: ArrayLike | None = None, /, *, inplace: bool = True) -> Array:
        """A copy of an array in which some elements are replaced by results; one named twice, twice.

        Args:
            a: an array.
            indices: which elements, as in `a[indices]`.
            b: the second operands, broadcast to these elements; for functions of two arguments.
            inplace: must be False: arrays are not written to.

        Raises:
            NotImplementedError: for `inplace=True`.
            TypeError: `b` is missing, or too much.
        """
        name = f"{self.__name__}.at"
        if inplace:
            raise NotImplementedError(f"{name}: arrays are immutable; pass inplace=False, and use what is returned")
        if self.nout != 1 or self.nin not in (1, 2) or (b is None) is not (self.nin == 1):
            raise TypeError(f"{name} takes {self.nin - 1} operands besides the array and the indices")
        check_array_like(name, a)
        x = asarray(a)
        operands = (x,) if b is None else (x, asarray(b))
        # Of no elements: the type of what the function gives, which the array must hold.
        x = x.astype(self._function(*[one.ravel()[:0] for one in operands]).dtype)
        # An index beyond the array stands for its size, where nothing is written.
        places = arange(x.size).reshape(x.shape).at[indices].get(mode="fill", fill_value=x.size)
        others = () if b is None else (broadcast_to(asarray(b), places.shape).ravel(),)
        flat = places.ravel()

        def step(k: object, values: Array) -> Array:
            result = self._function(values[flat[k]], *[other[k] for other in others])
            return values.at[flat[k]].set(result.astype(x.dtype))

        return fori_loop(0, flat.size, step, x.ravel()).reshape(x.shape)

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """The function of each element of one array with each of another: an array of shape A.shape + B.shape."""
        self._binary("outer")
        check_array_like(f"{self.__name__}.outer", A, B)
        first, second = asarray(A), asarray(B)
        return self._function(
            first.reshape(first.shape + (1,) * second.ndim), second.reshape((1,) * first.ndim + second.shape)
        )


def _in_front(x: Array, axes: tuple[int, ...]) -> Array:
    """Some axes as one, which is the first."""
    rest = [size for axis, size in enumerate(x.shape) if axis not in axes]
    return moveaxis(x, axes, tuple(range(len(axes)))).reshape((-1, *rest))


def frompyfunc(func: Callable[..., object], /, nin: int, nout: int, *, identity: ArrayLike | None = None) -> ufunc:
    """Make a function of numbers a universal function of arrays, with `reduce`, `outer` and the like.

    Args:
        func: a function of `nin` numbers.
        nin: the number of its arguments.
        nout: the number of its results.
        identity: what changes nothing, with which reductions begin; None: there is no such number.

    Returns:
        A `ufunc`.

    Raises:
        TypeError: `func` is no function, or a number no integer.

    >>> import tangrad.numpy as np
    >>> np.frompyfunc(lambda x, y: x * y + 1, 2, 1).reduce(np.array([1.0, 2.0, 3.0]))
    Array(10., dtype=float32)
    """
    if not callable(func):
        raise TypeError(f"frompyfunc: func must be a function, got {func!r}")
    counts = [index_argument("frompyfunc", count, what) for count, what in ((nin, "nin"), (nout, "nout"))]

    def checked(*args: object) -> Any:
        result = func(*args)
        if (len(result) if isinstance(result, (tuple, list)) else 1) != counts[1]:
            raise TypeError(f"frompyfunc: nout is {counts[1]}, the function returned {result!r}")
        return result

    return ufunc(vectorize(checked), *counts, name=getattr(func, "__name__", None), identity=identity)


# --- the functions of tangrad.numpy ---

_METHODS = ("reduce", "accumulate", "reduceat", "at", "outer", "nin", "nout", "nargs", "identity")


def _with_methods(function: Any, nin: int = 2, **options: Any) -> Any:
    methods = ufunc(function, nin, 1, name=function.__name__, **options)
    function.methods_of = methods
    for name in _METHODS:
        setattr(function, name, getattr(methods, name))
    return function


def _extreme(reduction: Callable[..., Array]) -> Callable[..., Array]:
    """`max` or `min`, which take no dtype."""

    def reduce(a: object, axis: object, dtype: np.dtype, keepdims: bool, initial: object, where: object) -> Array:
        x = asarray(a, dtype)
        return reduction(x, axis=axis, keepdims=keepdims, initial=initial, where=where)

    return reduce


def _logical(reduction: Callable[..., Array], combine: Callable[..., Array]) -> Callable[..., Array]:
    """`all` or `any`, whose result is boolean whatever the dtype."""

    def reduce(a: object, axis: object, dtype: np.dtype, keepdims: bool, initial: object, where: object) -> Array:
        result = reduction(asarray(a, dtype), axis=axis, keepdims=keepdims, where=where)
        return result if initial is None else combine(result, initial)

    return reduce


def _log_sums(function: Callable[..., object], unit: float) -> dict[str, Any]:
    """The methods of `logaddexp` in units of log 2 or 1, by a primitive that rounds each sum a few times only."""

    def accumulate(a: object, axis: int, dtype: DTypeLike | None) -> Array:
        x = _floats(a, dtype)
        place = canonical_axis(f"{function.__name__}.accumulate", axis, x.ndim)
        return cumlogsumexp_p.bind(x * unit, axis=place, reverse=False) / unit

    def reduce(
        a: object, axis: object, dtype: DTypeLike | None, keepdims: bool, initial: object, where: ArrayLike | None
    ) -> Array:
        x = _floats(a, dtype)
        axes = canonical_axes(f"{function.__name__}.reduce", axis, x.ndim)
        if where is not None:
            x = choose(where, x, -np.inf).astype(x.dtype)
        rows = _in_front(x, axes)
        start = broadcast_to(asarray(-np.inf if initial is None else initial, x.dtype), (1, *rows.shape[1:]))
        result = accumulate(concatenate([start, rows]), 0, None)[-1]
        return expand_dims(result, axes) if keepdims else result

    return {"reduce": reduce, "accumulate": accumulate}


def _floats(a: object, dtype: DTypeLike | None) -> Array:
    x = asarray(a, dtype)
    return x if dtypes.issubdtype(x.dtype, np.inexact) else x.astype(dtypes.to_inexact_dtype(x.dtype))


add: BinaryUfunc = _with_methods(arithmetic.add, identity=0, reduce=reductions.sum, accumulate=cumulative.cumsum)
multiply: BinaryUfunc = _with_methods(
    arithmetic.multiply, identity=1, reduce=reductions.prod, accumulate=cumulative.cumprod
)
subtract: BinaryUfunc = _with_methods(arithmetic.subtract)
negative: UnaryUfunc = _with_methods(arithmetic.negative, 1)
maximum: BinaryUfunc = _with_methods(arithmetic.maximum, reduce=_extreme(reductions.amax))
minimum: BinaryUfunc = _with_methods(arithmetic.minimum, reduce=_extreme(reductions.amin))
logaddexp: BinaryUfunc = _with_methods(
    transcendental.logaddexp, identity=-np.inf, **_log_sums(transcendental.logaddexp, 1.0)
)
logaddexp2: BinaryUfunc = _with_methods(
    transcendental.logaddexp2, identity=-np.inf, **_log_sums(transcendental.logaddexp2, math.log(2))
)
logical_and: BinaryUfunc = _with_methods(
    logic.logical_and, identity=True, reduce=_logical(reductions.all, logic.logical_and)
)
logical_or: BinaryUfunc = _with_methods(
    logic.logical_or, identity=False, reduce=_logical(reductions.any, logic.logical_or)
)
logical_xor: BinaryUfunc = _with_methods(logic.logical_xor, identity=False)
bitwise_and: BinaryUfunc = _with_methods(logic.bitwise_and, identity=-1)
bitwise_or: BinaryUfunc = _with_methods(logic.bitwise_or, identity=0)
bitwise_xor: BinaryUfunc = _with_methods(logic.bitwise_xor, identity=0)
