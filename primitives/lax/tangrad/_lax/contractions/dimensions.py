"""The dimension numbers of contractions that rules make of contractions. Each is worked out once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tangrad._lax.contractions.primitives import DotDimensionNumbers, free_axes


@lru_cache(1024)
def transposed(
    numbers: DotDimensionNumbers, lhs_rank: int, rhs_rank: int, rhs_is_linear: bool
) -> tuple[DotDimensionNumbers, bool, tuple[int, ...] | None]:
    """The contraction of a cotangent with the other operand that gives the cotangent of the linear one.

    Returns its dimension numbers, whether the cotangent comes first in it, and how its result must be permuted; None:
    not at all. It comes last where that spares a permutation of matrices; elsewhere XLA would make another program of
    it, and not a better one.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    sides = [(lhs_rank, lhs_contract, lhs_batch), (rhs_rank, rhs_contract, rhs_batch)]
    if rhs_is_linear:
        sides.reverse()
    (rank, contract, batch), (other_rank, other_contract, other_batch) = sides
    free, other_free = free_axes(rank, contract, batch), free_axes(other_rank, other_contract, other_batch)
    # In the cotangent the batch dimensions come first, then those of lhs.
    start = len(batch) if rhs_is_linear else len(batch) + len(free)
    ct_other = tuple(range(start, start + len(other_free)))
    ct_batch = tuple(range(len(batch)))
    # What is left of the other operand are its contracted dimensions, in its own order.
    by_other = [contract[i] for i in sorted(range(len(contract)), key=other_contract.__getitem__)]
    every = list(range(rank))
    if [*batch, *by_other, *free] == every and len(by_other) == len(free) == len(other_free) == 1:
        return DotDimensionNumbers(((other_free, ct_other), (other_batch, ct_batch))), False, None
    found = [*batch, *free, *by_other]
    permutation = None if found == every else tuple(sorted(every, key=found.__getitem__))
    return DotDimensionNumbers(((ct_other, other_free), (ct_batch, other_batch))), True, permutation


@lru_cache(1024)
def batched(
    numbers: DotDimensionNumbers, lhs_rank: int, rhs_rank: int, lhs_dim: int | None, rhs_dim: int | None
) -> tuple[DotDimensionNumbers, int]:
    """The contraction of operands with mapped axes, of which at least one is there; and the result's mapped axis.

    Two mapped axes become one more batch dimension; a single one is like any other dimension of its operand. The ranks
    are those with the mapped axes.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    if lhs_dim is not None:
        lhs_contract, lhs_batch = _around(lhs_dim, lhs_contract), _around(lhs_dim, lhs_batch)
    if rhs_dim is not None:
        rhs_contract, rhs_batch = _around(rhs_dim, rhs_contract), _around(rhs_dim, rhs_batch)
    if lhs_dim is not None and rhs_dim is not None:
        batch = (lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch)
        return DotDimensionNumbers(((lhs_contract, rhs_contract), batch)), 0
    made = DotDimensionNumbers(((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)))
    lhs_free = free_axes(lhs_rank, lhs_contract, lhs_batch)
    if lhs_dim is not None:
        return made, len(lhs_batch) + lhs_free.index(lhs_dim)
    rhs_free = free_axes(rhs_rank, rhs_contract, rhs_batch)
    assert rhs_dim is not None
    return made, len(lhs_batch) + len(lhs_free) + rhs_free.index(rhs_dim)


def _around(dim: int, axes: Sequence[int]) -> tuple[int, ...]:
    """Axes counted without a mapped one, counted with it."""
    return tuple([axis + (axis >= dim) for axis in axes])
