"""Which dimension of a convolution's operands and result means what."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from tangrad._lax.checks import check_int
from tangrad.core.caches import exact_equality


@exact_equality
class ConvDimensionNumbers(NamedTuple):
    """The dimensions of a convolution: for each array a tuple of integers that names all of them once.

    Attributes:
        lhs_spec: of the input: (batch, feature, *spatial).
        rhs_spec: of the kernel: (output feature, input feature, *spatial).
        out_spec: of the result: (batch, feature, *spatial).

    >>> import tangrad
    >>> tangrad.lax.ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 2, 1)).lhs_spec
    (0, 2, 1)
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


# What users may write for dimension numbers.
ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None

_SIDES = ("lhs", "rhs", "out")
_LETTERS = (("N", "C"), ("O", "I"), ("N", "C"))


def conv_dimension_numbers(
    lhs_shape: Sequence[Any], rhs_shape: Sequence[Any], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """The dimension numbers of a convolution as integers.

    Args:
        lhs_shape, rhs_shape: the shapes of its operands, of equal length.
        dimension_numbers: None for (batch, feature, *spatial) and (output feature, input feature, *spatial); three
            strings such as `("NHWC", "HWIO", "NHWC")`, with N, C, O and I for these and any other letters for spatial
            dimensions; or `ConvDimensionNumbers`.

    Returns:
        `ConvDimensionNumbers`; spatial dimensions are in the order of the second string.

    Raises:
        TypeError: for something else.
        ValueError: for ranks, letters or dimensions that do not fit.

    >>> import tangrad
    >>> tangrad.lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    rank = len(lhs_shape)
    if rank != len(rhs_shape) or rank < 2:
        raise ValueError(
            "a convolution requires lhs and rhs of equal rank, at least 2, "
            f"got shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}"
        )
    if dimension_numbers is None:
        every = tuple(range(rank))
        return ConvDimensionNumbers(every, every, every)
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return _checked(dimension_numbers, rank)
    _check_strings(dimension_numbers)
    return _parsed(tuple(dimension_numbers), rank)


@lru_cache(256)
def _parsed(dimension_numbers: tuple[str, str, str], rank: int) -> ConvDimensionNumbers:
    for side, text in zip(_SIDES, dimension_numbers):
        if len(text) != rank:
            raise ValueError(
                f"dimension_numbers: {text!r}, for {side}, must have a letter for each of the {rank} dimensions "
                "of lhs and rhs"
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The permutations that bring a convolution's arrays into the order (batch, feature, *spatial).

    Args:
        dimension_numbers: three strings; see `conv_dimension_numbers`.

    Returns:
        Three tuples of integers, for the input, the kernel and the result.

    Raises:
        TypeError: for something else than three strings.
        ValueError: for letters that repeat, are missing, or differ.

    >>> import tangrad
    >>> tangrad.lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    _check_strings(dimension_numbers)
    for side, text, letters in zip(_SIDES, dimension_numbers, _LETTERS):
        if len(set(text)) != len(text) or not set(letters) <= set(text):
            raise ValueError(
                f"dimension_numbers: {text!r}, for {side}, must have the letters {letters[0]} and {letters[1]} "
                "and one for each spatial dimension, all different"
            )
    spatial = [letter for letter in dimension_numbers[1] if letter not in "OI"]
    permutations = []
    for text, letters in zip(dimension_numbers, _LETTERS):
        if set(text) - set(letters) != set(spatial):
            raise ValueError(
                f"dimension_numbers: the three strings must have the same spatial letters, got {dimension_numbers!r}"
            )
        permutations.append(tuple([text.index(letter) for letter in (*letters, *spatial)]))
    return tuple(permutations)


def _check_strings(dimension_numbers: Sequence[str]) -> None:
    if (
        not isinstance(dimension_numbers, (tuple, list))
        or len(dimension_numbers) != 3
        or not all([isinstance(text, str) for text in dimension_numbers])
    ):
        raise TypeError(
            "dimension_numbers of a convolution must be None, three strings such as ('NCHW', 'OIHW', 'NCHW'), or "
            f"ConvDimensionNumbers, got {dimension_numbers!r}"
        )


def _checked(numbers: ConvDimensionNumbers, rank: int) -> ConvDimensionNumbers:
    """The same with tuples of integers. Raises ValueError where one is no permutation of all dimensions."""
    found = []
    for side, spec in zip(_SIDES, numbers):
        dimensions = tuple([check_int("dimension_numbers", d, f"a dimension in {side}_spec") for d in spec])
        if sorted(dimensions) != list(range(rank)):
            raise ValueError(
                f"dimension_numbers: {side}_spec must name each of the {rank} dimensions once, got {tuple(spec)}"
            )
        found.append(dimensions)
    return ConvDimensionNumbers(*found)
