"""`tangrad.lax.sort`, `sort_key_val`, `top_k`, and `approx_max_k` and `approx_min_k`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

import numpy as np

from tangrad._lax.checks import canonical_axis, check_int
from tangrad._lax.operands import operand as as_lax_operand
from tangrad._lax.sorting.primitives import approx_top_k_p, result_size, sort_p, top_k_p
from tangrad.core import Array
from tangrad.core.arguments import is_symbolic
from tangrad.typing import ArrayLike


@overload
def sort(operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Array: ...
@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> tuple[Array, ...]: ...
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Array | tuple[Array, ...]:
    """An array sorted along a dimension; or several, all by the order of the first ones.

    NaN come last, -0.0 and 0.0 are equal; complex numbers go by their real, then their imaginary parts.

    Args:
        operand: an array, or a sequence of arrays of one shape.
        dimension: the dimension to sort along; negative ones count from the end.
        is_stable: whether equal elements keep their order.
        num_keys: how many of the arrays are keys: the first decides, the next one among equals, and so on. All others
            are permuted alike.

    Returns:
        An array, or for a sequence a tuple of arrays, of the types of the operands.

    Raises:
        TypeError: without operands, or for parameters that are not integers.
        ValueError: for shapes that differ, a dimension that does not exist, or `num_keys` below 1 or above the number
            of arrays.

    >>> import numpy as np
    >>> import tangrad
    >>> keys, values = tangrad.lax.sort((np.array([3, 1, 2]), np.array([0.3, 0.1, 0.2])))
    >>> values
    Array([0.1, 0.2, 0.3], dtype=float32)
    """
    if not isinstance(operand, (list, tuple)):
        made = operand if isinstance(operand, Array) else as_lax_operand("sort", operand, "operand")
        if num_keys != 1:
            raise ValueError(f"sort: num_keys must be 1 for a single operand, got {num_keys}")
        axis = canonical_axis("sort", dimension, made.aval.ndim, "dimension")
        return sort_p.bind(made, dimension=axis, is_stable=bool(is_stable), num_keys=1)[0]
    if not operand:
        raise TypeError("sort requires at least one operand, got none")
    operands = [x if isinstance(x, Array) else as_lax_operand("sort", x, f"operand {i}") for i, x in enumerate(operand)]
    axis = canonical_axis("sort", dimension, operands[0].aval.ndim, "dimension")
    keys = check_int("sort", num_keys, "num_keys")
    return sort_p.bind(*operands, dimension=axis, is_stable=bool(is_stable), num_keys=keys)


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Keys sorted along a dimension, and values permuted alike.

    Args:
        keys: an array.
        values: an array of the same shape.
        dimension: the dimension to sort along; negative ones count from the end.
        is_stable: whether the values of equal keys keep their order.

    Returns:
        The sorted keys and the values in their order.

    Raises:
        ValueError: for shapes that differ, or a dimension that does not exist.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.sort_key_val(np.array([3, 1, 2]), np.array([30, 10, 20]))
    (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """
    made = keys if isinstance(keys, Array) else as_lax_operand("sort_key_val", keys, "keys")
    others = values if isinstance(values, Array) else as_lax_operand("sort_key_val", values, "values")
    axis = canonical_axis("sort_key_val", dimension, made.aval.ndim, "dimension")
    ordered, moved = sort_p.bind(made, others, dimension=axis, is_stable=bool(is_stable), num_keys=1)
    return ordered, moved


def top_k(operand: ArrayLike, k: SupportsIndex, *, axis: int = -1) -> tuple[Array, Array]:
    """The greatest elements along an axis in descending order, and where they were.

    Args:
        operand: an array, boolean, integer or floating. Floats are ordered by their bits: -0.0 is below 0.0, and NaN is
            above infinity, or below -infinity if its sign is set.
        k: how many, at most the size of the axis.
        axis: the axis to look along; negative ones count from the end.

    Returns:
        The elements, and their positions along the axis as int32; of equal elements the first one comes first.

    Raises:
        TypeError: for complex dtypes, or a `k` that is not an integer.
        ValueError: for a `k` that is negative or too large, or an axis that does not exist.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.top_k(np.array([9.0, 3.0, 6.0, 4.0, 10.0]), 3)
    (Array([10.,  9.,  6.], dtype=float32), Array([4, 0, 2], dtype=int32))
    """
    made = operand if isinstance(operand, Array) else as_lax_operand("top_k", operand, "operand")
    count = k if is_symbolic(k) else check_int("top_k", k, "k")
    return top_k_p.bind(made, k=count, axis=canonical_axis("top_k", axis, made.aval.ndim))


def approx_max_k(
    operand: ArrayLike,
    k: SupportsIndex,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The greatest elements along a dimension, of which some may be missed where that is faster.

    CPUs and GPUs miss none.

    Args:
        operand: an array of floats.
        k: how many, at most the size of the dimension.
        reduction_dimension: the dimension to look along; negative ones count from the end.
        recall_target: which part of the true results must be found on average, above 0 and at most 1.
        reduction_input_size_override: among how many elements, where `operand` is only a part of them; -1: its own.
        aggregate_to_topk: whether results are brought down to `k` in descending order; else there may be more, in any
            order.

    Returns:
        The elements, and their positions along the dimension as int32.

    Raises:
        TypeError: for other dtypes, or parameters of the wrong kind.
        ValueError: for a `k` that is negative or too large, a dimension that does not exist, or a recall out of range.

    Source: Chern et al., TPU-KNN: K Nearest Neighbor Search at Peak FLOP/s, 2022, https://arxiv.org/abs/2206.14286.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.approx_max_k(np.array([9.0, 3.0, 6.0, 4.0, 10.0], np.float32), 2)
    (Array([10.,  9.], dtype=float32), Array([4, 0], dtype=int32))
    """
    what = "approx_max_k", True
    return _approximate(
        what, operand, k, reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk
    )


def approx_min_k(
    operand: ArrayLike,
    k: SupportsIndex,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The least elements along a dimension, of which some may be missed where that is faster.

    CPUs and GPUs miss none.

    Args:
        operand: an array of floats.
        k: how many, at most the size of the dimension.
        reduction_dimension: the dimension to look along; negative ones count from the end.
        recall_target: which part of the true results must be found on average, above 0 and at most 1.
        reduction_input_size_override: among how many elements, where `operand` is only a part of them; -1: its own.
        aggregate_to_topk: whether results are brought down to `k` in ascending order; else there may be more, in any
            order.

    Returns:
        The elements, and their positions along the dimension as int32.

    Raises:
        TypeError: for other dtypes, or parameters of the wrong kind.
        ValueError: for a `k` that is negative or too large, a dimension that does not exist, or a recall out of range.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.approx_min_k(np.array([9.0, 3.0, 6.0, 4.0, 10.0], np.float32), 2)
    (Array([3., 4.], dtype=float32), Array([1, 3], dtype=int32))
    """
    what = "approx_min_k", False
    return _approximate(
        what, operand, k, reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk
    )


def _approximate(
    what: tuple[str, bool],
    operand: ArrayLike,
    k: Any,
    dimension: int,
    recall: object,
    input_size: SupportsIndex,
    aggregate: bool,
) -> tuple[Array, Array]:
    name, is_max_k = what
    made = operand if isinstance(operand, Array) else as_lax_operand(name, operand, "operand")
    shape = made.aval.shape
    axis = canonical_axis(name, dimension, len(shape), "reduction_dimension")
    count = k if is_symbolic(k) else check_int(name, k, "k")
    if not isinstance(recall, (int, float, np.floating, np.integer)):
        raise TypeError(f"{name}: recall_target must be a number, got {recall!r}")
    among = check_int(name, input_size, "reduction_input_size_override")
    if 0 <= among < shape[axis]:
        raise ValueError(
            f"{name}: reduction_input_size_override must be at least the size of dimension {axis} of shape {shape}, "
            f"got {among}"
        )
    results = count
    if not aggregate:
        if is_symbolic(shape[axis]) or is_symbolic(count):
            raise NotImplementedError(f"{name}: aggregate_to_topk=False over a dimension of symbolic size {shape}")
        results = result_size(shape[axis], len(shape), count, float(recall), among)
    params = {"k": count, "axis": axis, "recall_target": float(recall), "is_max_k": is_max_k, "results": results}
    return approx_top_k_p.bind(made, **params)
