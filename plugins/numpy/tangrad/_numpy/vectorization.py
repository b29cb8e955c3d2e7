"""Functions made functions of arrays, and those that differ from element to element: `vectorize`, `piecewise`, …"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, overload

from tangrad._numpy.conversion import asarray
from tangrad._numpy.grids import indices
from tangrad._numpy.indexing import getitem
from tangrad._numpy.logic import truth
from tangrad._numpy.operands import (
    array_operand,
    broadcast_shape,
    broadcast_to_shape,
    canonical_axis,
    canonical_shape,
    convert,
    floating_dtypes,
    is_complex,
    operand,
    select,
)
from tangrad._numpy.settings import check_rank_promotion
from tangrad._numpy.shapes import expand_dims, reshaped
from tangrad.batching import vmap
from tangrad.core import Array, class_boundary
from tangrad.core.programs import without_value_checks
from tangrad.extend.lax import and_p, not_p, or_p, stop_gradient_p
from tangrad.typing import ArrayLike, Axis, DTypeLike, Shape, Value

# ----------------------------------------------------------------------------------------------------------------------
# Functions of vectors and scalars made functions of arrays: `tangrad.numpy.vectorize`, `apply_along_axis`, …


Signature = tuple[list[tuple[str, ...]], list[tuple[str, ...]]]

_NAMES = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
_ARGUMENTS = rf"{_NAMES}(?:\s*,\s*{_NAMES})*"
_SIGNATURE = re.compile(rf"^\s*(?P<inputs>{_ARGUMENTS})?\s*->\s*(?P<outputs>{_ARGUMENTS})\s*$")


def _parsed(signature: str) -> Signature:
    found = _SIGNATURE.match(signature)
    if found is None:
        raise ValueError(f"vectorize: {signature!r} is no signature; expected one such as '(n,m),(m)->(n)'")
    return _terms(found["inputs"] or ""), _terms(found["outputs"])


def _terms(text: str) -> list[tuple[str, ...]]:
    return [tuple(re.findall(r"\w+", term)) for term in re.findall(_NAMES, text)]


@class_boundary
class _Vectorized:
    """A function applied to each element, or each sub-array, of its arguments broadcast against each other."""

    def __init__(self, function: Callable[..., Any], excluded: frozenset[object], signature: str | None) -> None:
        self.function = function
        self.excluded = excluded
        self.signature = None if signature is None else _parsed(signature)
        self.__name__ = getattr(function, "__name__", "vectorized")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<vectorized {self.__name__}>"

    def __call__(self, *args: object, **kwargs: object) -> Value:
        fixed = {name: value for name, value in kwargs.items() if name in self.excluded}
        named = {name: value for name, value in kwargs.items() if name not in self.excluded}
        if named:
            raise TypeError(
                f"{self.__name__}: vectorized arguments are passed by position, got {', '.join(named)} by name; "
                "excluded= names those that are passed on as they are"
            )
        taken = [place for place in range(len(args)) if place not in self.excluded]
        mapped = [place for place in taken if args[place] is not None]
        cores = [()] * len(taken) if self.signature is None else self.signature[0]
        if len(cores) != len(taken):
            raise TypeError(f"{self.__name__}: the signature is for {len(cores)} arguments, got {len(taken)}")
        for place, core in zip(taken, cores):
            if args[place] is None and core:
                raise ValueError(f"{self.__name__}: argument {place} is None, the signature has {tuple(core)}")
        kept = [core for place, core in zip(taken, cores) if args[place] is not None]

        def function(*values: Value) -> Value:
            chosen = dict(zip(mapped, values))
            return self.function(*[chosen.get(place, value) for place, value in enumerate(args)], **fixed)

        return self._mapped(function, [asarray(args[place]) for place in mapped], kept)

    def _mapped(
        self, function: Callable[..., object], arrays: Sequence[Value], cores: Sequence[tuple[str, ...]]
    ) -> Any:
        sizes: dict[str, object] = {}
        for position, (x, core) in enumerate(zip(arrays, cores)):
            _note_sizes(self.__name__, position, x.shape, core, sizes)
        batches = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, cores)]
        check_rank_promotion(self.__name__, [batch for x, batch in zip(arrays, batches) if x.ndim])
        shape = broadcast_shape(self.__name__, batches)
        checked = function if self.signature is None else self._checked(function, sizes)
        # Each dimension is mapped for the arguments that have it with more than one element.
        for place in reversed(range(len(shape))):
            axes = []
            for batch in batches:
                own = place - (len(shape) - len(batch))
                axes.append(0 if own >= 0 and batch[own] != 1 else None)
            if any(axis is not None for axis in axes):
                checked = vmap(checked, in_axes=tuple(axes))
        squeezed = [_without_ones(x, batch) for x, batch in zip(arrays, batches)]
        return _with_ones(checked(*squeezed), shape)

    def _checked(self, function: Callable[..., object], sizes: dict[str, object]) -> Callable[..., object]:
        outputs = self.signature[1] if self.signature is not None else []
        name = self.__name__

        def run(*args: object) -> object:
            result = function(*args)
            results = result if isinstance(result, (tuple, list)) else (result,)
            if len(results) != len(outputs):
                raise TypeError(
                    f"{name}: the signature has {len(outputs)} results, the function returned {len(results)}"
                )
            for position, (value, core) in enumerate(zip(results, outputs)):
                _check_result(name, position, asarray(value).shape, core, sizes)
            return result

        return run


def _note_sizes(
    name: str, position: int, shape: Sequence[object], core: Sequence[str], sizes: dict[str, object]
) -> None:
    if len(shape) < len(core):
        raise ValueError(f"{name}: argument {position} of shape {tuple(shape)} lacks the dimensions {tuple(core)}")
    for label, size in zip(core, shape[len(shape) - len(core) :]):
        wanted = int(label) if label.isdigit() else sizes.setdefault(label, size)
        if size != wanted:
            raise ValueError(f"{name}: dimension {label} has size {wanted}, but {size} in argument {position}")


def _check_result(
    name: str, position: int, shape: Sequence[object], core: Sequence[str], sizes: dict[str, object]
) -> None:
    if len(shape) != len(core):
        raise ValueError(f"{name}: result {position} has shape {tuple(shape)}, the signature has {tuple(core)}")
    _note_sizes(name, position, shape, core, sizes)


def _without_ones(x: Value, batch: tuple[int, ...]) -> Value:
    kept = tuple([size for size in batch if size != 1])
    return reshaped(x, (*kept, *x.shape[len(batch) :]))


def _with_ones(result: object, shape: Sequence[object]) -> object:
    """The dimensions of size 1, which were not mapped, put back."""
    if isinstance(result, (tuple, list)):
        return type(result)([_with_ones(value, shape) for value in result])
    axes = tuple([place for place, size in enumerate(shape) if size == 1])
    return expand_dims(asarray(result), axes) if axes else result


@overload
def vectorize(
    pyfunc: Callable[..., ArrayLike], *, excluded: Collection[int | str] = ..., signature: str | None = None
) -> Callable[..., Array]: ...
@overload
def vectorize(
    pyfunc: Callable[..., tuple[ArrayLike, ...]],
    *,
    excluded: Collection[int | str] = ...,
    signature: str | None = None,
) -> Callable[..., tuple[Array, ...]]: ...
def vectorize(
    pyfunc: Callable[..., object], *, excluded: Collection[int | str] = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """Make a function of numbers, or of small arrays, a function of arrays of them.

    Args:
        pyfunc: the function.
        excluded: positions and names of arguments that are passed on as they are.
        signature: the dimensions that the function works on, such as "(n,m),(m)->(n)"; None: numbers to numbers.

    Returns:
        A function whose arguments are broadcast against each other in the other dimensions.

    Raises:
        TypeError: `excluded` holds other things than integers and strings.
        ValueError: `signature` is none.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.vectorize(np.dot, signature="(n),(n)->()")(np.ones((2, 3)), np.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    if any(not isinstance(item, (int, str)) for item in excluded):
        raise TypeError(f"vectorize: excluded must hold positions and names, got {excluded!r}")
    if any(isinstance(item, int) and item < 0 for item in excluded):
        raise ValueError(f"vectorize: excluded positions must not be negative, got {excluded!r}")
    return _Vectorized(pyfunc, frozenset(excluded), signature)


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: object, **kwargs: object) -> Array:
    """Apply a function of vectors along an axis.

    Args:
        func1d: takes a vector, and the further arguments.
        axis: the axis.
        arr: an array.
        args, kwargs: further arguments.

    Returns:
        An array with the dimensions of the results in the place of the axis.

    Raises:
        TypeError: `arr` is no array.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.apply_along_axis(tangrad.numpy.sum, 0, tangrad.numpy.ones((2, 3)))
    Array([2., 2., 2.], dtype=float32)
    """
    x = array_operand("apply_along_axis", arr, 2)
    dimension = canonical_axis("apply_along_axis", axis, x.ndim)

    def function(vector: Value) -> Array:
        return func1d(vector, *args, **kwargs)

    # From the inside out: the dimensions after the axis are mapped as the last of what is left, then those before it.
    for _ in range(x.ndim - dimension - 1):
        function = vmap(function, in_axes=-1, out_axes=-1)
    for _ in range(dimension):
        function = vmap(function, in_axes=0, out_axes=0)
    return function(x)


def apply_over_axes(func: Callable[[Array, int], Array], a: ArrayLike, axes: Axis) -> Array:
    """Apply a function to one axis after the other; axes that it removes are put back with size 1.

    Args:
        func: takes an array and an axis.
        a: an array.
        axes: an axis or a sequence of axes.

    Returns:
        An array of as many dimensions as `a`.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds, or the function removes others.

    >>> import tangrad
    >>> tangrad.numpy.apply_over_axes(tangrad.numpy.sum, tangrad.numpy.ones((2, 3)), [0, 1])
    Array([[6.]], dtype=float32)
    """
    x = array_operand("apply_over_axes", a, 1)
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        dimension = canonical_axis("apply_over_axes", axis, x.ndim)
        result = func(x, dimension)
        if result.ndim == x.ndim - 1:
            result = expand_dims(result, dimension)
        if result.ndim != x.ndim:
            raise ValueError(f"apply_over_axes: the function made {result.ndim} dimensions of {x.ndim}")
        x = result
    return x


def fromfunction(function: Callable[..., object], shape: Shape, *, dtype: DTypeLike = float, **kwargs: object) -> Array:
    """Make an array by applying a function to the positions of its elements.

    Args:
        function: takes a number for each dimension.
        shape: the shape.
        dtype: the dtype of the positions.
        kwargs: further arguments of the function.

    Returns:
        An array of that shape, with the dimensions of the function's results behind.

    Raises:
        TypeError: for what is no shape.

    >>> import tangrad
    >>> tangrad.numpy.fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
    Array([[0, 1],
           [1, 2]], dtype=int32)
    """
    sizes = canonical_shape("fromfunction", shape)
    mapped: Callable[..., Any] = lambda *positions: function(*positions, **kwargs)
    for place in reversed(range(len(sizes))):
        mapped = vmap(mapped, in_axes=tuple([0 if axis == place else None for axis in range(len(sizes))]))
    return mapped(*[x.ravel() for x in indices(sizes, dtype=dtype, sparse=True)])


# --- Functions that differ from element to element: `tangrad.numpy.piecewise` ---


def piecewise(x: ArrayLike, condlist: object, funclist: Sequence[object], *args: object, **kw: object) -> Array:
    """Apply, to each element, the function that belongs to the last condition that holds.

    Args:
        x: an array or number.
        condlist: boolean arrays of the shape of `x`, or one of them.
        funclist: as many functions or numbers, and one more for where no condition holds (default 0).
        args, kw: further arguments of the functions.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: for lists of lengths that do not fit.
        TypeError: for what is no array.

    >>> import tangrad
    >>> x = tangrad.numpy.arange(-2.0, 3.0)
    >>> tangrad.numpy.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: 10 * v])
    Array([ 2.,  1.,  0., 10., 20.], dtype=float32)
    """
    made = array_operand("piecewise", x)
    conditions = _conditions(made, condlist)
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(
            f"piecewise takes as many functions as conditions, or one more, got {len(functions)} and {len(conditions)}"
        )
    masks = [broadcast_to_shape(truth(condition), made.aval.shape) for condition in conditions]
    result: Any = None
    taken = None
    for mask, function in zip([*reversed(masks), None], [*reversed(functions[:-1]), functions[-1]]):
        chosen = _first_of(mask, taken)
        value = _piece(_held_fixed_unless(chosen, made), function, args, kw)
        result = value if result is None else select(taken, result, value)
        taken = mask if taken is None or mask is None else or_p.bind(taken, mask)
    return result


def _first_of(mask: Value | None, taken: Value | None) -> Any:
    """Where a mask holds that none before it does; a mask of None holds everywhere."""
    if taken is None:
        return mask
    return not_p.bind(taken) if mask is None else and_p.bind(mask, not_p.bind(taken))


def _held_fixed_unless(chosen: Value, x: Value) -> Value:
    """`x`, with a derivative only where the function of it is chosen: elsewhere it may be NaN."""
    if chosen is None or (x.aval.dtype not in floating_dtypes and not is_complex(x)):
        return x
    return select(chosen, x, stop_gradient_p.bind(x))


def _conditions(x: Value, condlist: object) -> list[Value]:
    if isinstance(condlist, (list, tuple)):
        if x.ndim == 0 or (condlist and not isinstance(condlist[0], bool)):
            return [operand("piecewise", condition, 1) for condition in condlist]
        return [asarray(condlist)]
    conditions = array_operand("piecewise", condlist, 1)
    return [conditions] if conditions.ndim == x.ndim else [getitem(conditions, i) for i in range(conditions.shape[0])]


def _piece(x: Value, function: Any, args: tuple[object, ...], kw: dict[str, object]) -> Value:
    if not isinstance(function, Callable):  # type: ignore[arg-type]
        value = function
    else:
        with without_value_checks():  # each function gets all elements, and counts where its condition holds
            value = function(x, *args, **kw)
    return broadcast_to_shape(convert(asarray(value), x.aval.dtype), x.aval.shape)
