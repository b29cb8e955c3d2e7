"""`scatter_apply`: windows of an array are replaced by a function of them, again for each index that names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tangrad._lax.control_flow.scans import scan
from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._lax.indexing.functions import gather, scatter
from tangrad._lax.indexing.primitives import GatherScatterMode, ScatterDimensionNumbers, gather_of, window_sizes
from tangrad._lax.operands import operand as as_named_operand
from tangrad._lax.structure.functions.shapes import reshape, transpose
from tangrad.core import Array, api_boundary, as_operand
from tangrad.core.arguments import is_symbolic, product
from tangrad.typing import ArrayLike, Value

# More rounds than this become a loop over all indices: each round is a few operations of the program.
MOST_ROUNDS = 16

Update = Callable[[Value, Value], Array]


@api_boundary
def scatter_apply(
    operand: Array,
    scatter_indices: ArrayLike,
    func: Callable[[Array], Array],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: GatherScatterMode | str | None = None,
) -> Array:
    """A copy of `operand` with `func` applied to windows, again for each index that names an element.

    Args:
        operand: the array to start from; it is not changed.
        scatter_indices: integers; the last dimension holds the components of each index.
        func: an elementwise function that keeps the dtype.
        dimension_numbers: what the dimensions mean, as of `scatter`.
        update_shape: the shape that the updates of a `scatter` would have.
        indices_are_sorted, unique_indices: what the caller promises, to make it faster.
        mode: for windows out of bounds: "drop" (the default), "clip" or "promise_in_bounds".

    Returns:
        An array of the shape and dtype of `operand`. It has derivatives of both modes.

    Raises:
        TypeError: for dtypes, and a `func` that is no function. ValueError: for shapes and numbers that do not fit.

    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_apply(np.array([1.0, 2.0, 3.0]), np.array([[2], [0], [2]]), np.square, numbers, update_shape=(3,))
    Array([ 1.,  2., 81.], dtype=float32)
    """
    if not callable(func):
        raise TypeError(f"scatter_apply: func must be a function, got {func!r} of type {type(func).__name__}")
    x = as_named_operand("scatter_apply", operand, "operand")
    indices = as_named_operand("scatter_apply", scatter_indices, "scatter_indices")
    sizes = window_sizes(dimension_numbers, x.aval.shape, tuple(update_shape))

    def once(numbers: ScatterDimensionNumbers, **promises: bool) -> Update:
        def changed(x: Value, indices: Value) -> Array:
            old = gather(x, indices, gather_of(numbers), sizes, **promises, mode="clip")
            return scatter(x, indices, as_operand(func(old)), numbers, **promises, mode=mode)

        return changed

    if unique_indices or product(_listed_shape(indices.aval.shape, dimension_numbers)) == 1:
        return once(dimension_numbers, indices_are_sorted=indices_are_sorted, unique_indices=True)(x, indices)
    rows = _known_rows(scatter_indices, dimension_numbers, x.aval.shape, sizes)
    if rows is None:
        return _one_by_one(x, _listed(indices, dimension_numbers), once(_of_windows(dimension_numbers, 0)))
    clipped = GatherScatterMode.from_any(mode) is GatherScatterMode.CLIP
    ranks = ranks_of(rows.clip(0, _last_places(dimension_numbers, x.aval.shape)) if clipped else rows)
    last = int(ranks.max(initial=0))
    if last == 0:
        return once(dimension_numbers, indices_are_sorted=indices_are_sorted)(x, indices)
    if last >= MOST_ROUNDS:
        return _one_by_one(x, as_operand(rows), once(_of_windows(dimension_numbers, 0)))
    update = once(_of_windows(dimension_numbers, 1))
    for rank in range(last + 1):
        x = update(x, as_operand(rows[ranks == rank]))
    return x


def _listed_shape(shape: Sequence[int], numbers: ScatterDimensionNumbers) -> list[int]:
    """The sizes of the dimensions of indices that may name one element twice."""
    return [size for dim, size in enumerate(shape[:-1]) if dim not in numbers.scatter_indices_batching_dims]


def _listed(indices: Value, numbers: ScatterDimensionNumbers) -> Array:
    """The indices in one list; those that run in parallel with the operand stay together."""
    shape, batching = indices.aval.shape, numbers.scatter_indices_batching_dims
    listed = [dim for dim in range(len(shape) - 1) if dim not in batching]
    ordered = transpose(indices, (*listed, *batching, len(shape) - 1))
    count = product(_listed_shape(shape, numbers))
    return reshape(ordered, (count, *[shape[dim] for dim in batching], shape[-1]))


def _of_windows(numbers: ScatterDimensionNumbers, lists: int) -> ScatterDimensionNumbers:
    """The same windows, where indices have `lists` dimensions and then those that run in parallel with the operand."""
    windows, inserted, components, batching, _ = numbers.astuple()
    before = lists + len(batching)
    parallel = range(lists, before)
    return ScatterDimensionNumbers(range(before, before + len(windows)), inserted, components, batching, parallel)


def _known_rows(
    indices: object, numbers: ScatterDimensionNumbers, shape: Sequence[object], sizes: Sequence[object]
) -> np.ndarray | None:
    """The indices as rows of numbers; None where they are not known, or different ones name one element."""
    overlap = any([sizes[dim] != 1 for dim in numbers.scatter_dims_to_operand_dims])
    if overlap or numbers.operand_batching_dims or any(map(is_symbolic, shape)):
        return None
    if hasattr(indices, "concrete"):
        indices = indices.concrete()
    if indices is None:
        return None
    known = indices.to_numpy() if isinstance(indices, Array) else np.asarray(indices)
    return known.reshape(-1, known.shape[-1])


def _last_places(numbers: ScatterDimensionNumbers, shape: Sequence[int]) -> list[int]:
    return [max(shape[dim] - 1, 0) for dim in numbers.scatter_dims_to_operand_dims]


def _one_by_one(x: object, rows: object, update: Update) -> Array:
    """A loop over the indices."""

    def step(carry: Array, index: Array) -> tuple[Array, None]:
        changed, aval = update(carry, index), carry.aval
        if changed.aval.weak_type != aval.weak_type:
            changed = convert_element_type_p.bind(changed, new_dtype=aval.dtype, weak_type=aval.weak_type)
        return changed, None

    return scan(step, x, rows)[0]


def ranks_of(rows: np.ndarray) -> np.ndarray:
    """How often each row has occurred before."""
    numbers = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    ranks = np.empty(len(numbers), int)
    ranks[order] = np.arange(len(numbers)) - np.searchsorted(ordered, ordered)
    return ranks
