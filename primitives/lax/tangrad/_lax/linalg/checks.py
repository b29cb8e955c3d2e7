"""What primitives of linear algebra check alike: matrices in the last two dimensions, of dtypes that LAPACK has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.checks import INEXACT, check_dtype
from tangrad.core import ShapedArray, dtypes


def check_wide(name: str, aval: ShapedArray, argument: str) -> None:
    """Raise TypeError for what LAPACK has no functions for."""
    check_dtype(name, aval, INEXACT, argument)
    if dtypes.bit_width(aval.dtype) < 32:
        found = dtypes.dtype_name(aval.dtype)
        expected = "float32, float64, complex64 or complex128"
        raise TypeError(f"{name} does not accept dtype {found} for {argument}; expected {expected}")


def check_ranks(name: str, operands: Sequence[tuple[str, Any, int]]) -> None:
    """Raise ValueError unless each operand has its rank or more, and all have one batch shape."""
    for argument, aval, rank in operands:
        if aval.ndim < rank:
            raise ValueError(f"{name}: {argument} must have at least {rank} dimensions, got shape {aval.shape}")
    batches = [aval.shape[: aval.ndim - rank] for _, aval, rank in operands]
    if any([batch != batches[0] for batch in batches]):
        found = " and ".join([str(aval.shape) for _, aval, _ in operands])
        raise ValueError(f"{name}: the dimensions before those of the matrices must agree, got shapes {found}")


def check_square(name: str, aval: ShapedArray, argument: str) -> None:
    """Raise ValueError unless the matrices have as many rows as columns."""
    if aval.shape[-1] != aval.shape[-2]:
        raise ValueError(f"{name}: {argument} must be a square matrix, or a batch of them, got shape {aval.shape}")
