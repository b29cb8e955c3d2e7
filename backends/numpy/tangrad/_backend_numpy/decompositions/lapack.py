"""LAPACK's functions of SciPy, where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray

_PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}


@cache
def function(name: str, dtype: np.dtype) -> Callable[..., Any] | None:
    """A function of LAPACK for a dtype; None where SciPy is not installed."""
    try:
        from scipy.linalg import lapack
    except ImportError:
        return None
    return getattr(lapack, _PREFIXES[dtype.char] + name)


def each(
    x: Array, function: Callable[[Array], Sequence[Array]], shapes: Sequence[tuple[int, ...]]
) -> tuple[Array, ...]:
    """The results of a function of one matrix for each of a batch; shapes are those of the results for one."""
    batch = x.shape[:-2]
    found = [function(matrix) for matrix in x.reshape(-1, *x.shape[-2:])]
    return tuple(
        [np.stack([outs[position] for outs in found]).reshape(*batch, *shape) for position, shape in enumerate(shapes)]
    )


def nan_like(dtype: np.dtype) -> np.ndarray:
    """NaN of a dtype; in both parts where it is complex."""
    return dtype.type(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan)


def or_nan(x: Array, function: Callable[[Array], Any]) -> tuple[np.ndarray, ...]:
    """`function(x)` of a batch of matrices; where it fails for one, NaN for that one alone.

    NumPy reports failures for the whole batch.
    """
    try:
        return function(x)
    except np.linalg.LinAlgError:
        pass
    batch = x.shape[:-2]
    matrices = x.reshape(-1, *x.shape[-2:])
    found = [_one_or_nan(matrix, function) for matrix in matrices]
    return tuple([np.stack(parts).reshape(*batch, *parts[0].shape) for parts in zip(*found)])


def _one_or_nan(matrix: Array, function: Callable[[Array], Any]) -> tuple[np.ndarray, ...]:
    try:
        return function(matrix)
    except np.linalg.LinAlgError:
        blank = function(np.eye(*matrix.shape, dtype=matrix.dtype))
        return tuple([np.full(part.shape, nan_like(part.dtype), part.dtype) for part in blank])
