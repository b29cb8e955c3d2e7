"""Non-uniform fast Fourier transforms by FINUFFT.

Barnett, Magland and af Klinteberg, A parallel nonuniform fast Fourier transform library based on an "exponential of
semicircle" kernel, SIAM J. Sci. Comput. 41, 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from tangrad.core import api_boundary, as_operand
from tangrad_finufft.primitives import TABLE

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import ArrayLike

__all__ = ["nufft1", "nufft2", "nufft3"]


def _checked(name: str, what: str, arrays: Sequence[ArrayLike]) -> tuple[ArrayLike, ...]:
    """A tuple of coordinates. Raises TypeError for anything else."""
    if not isinstance(arrays, (tuple, list)) or not 1 <= len(arrays) <= 3:
        raise TypeError(f"{name}: {what} is a tuple of one, two or three arrays of coordinates, got {arrays!r}")
    return tuple(arrays)


def _bound(
    kind: int,
    points: tuple[ArrayLike, ...],
    more: tuple[ArrayLike, ...],
    data: ArrayLike,
    sign: int,
    eps: float,
    **params: object,
) -> Array:
    name = f"nufft{kind}"
    if sign not in (-1, 1):
        raise ValueError(f"{name}: sign is 1 or -1, got {sign!r}")
    if not isinstance(eps, (int, float)) or not 0 < eps < 1:
        raise ValueError(f"{name}: eps is a relative error between 0 and 1, got {eps!r}")
    operands = [as_operand(one) for one in (*points, *more, data)]
    return TABLE[kind, len(points)].bind(*operands, sign=int(sign), eps=float(eps), **params)


@api_boundary
def nufft1(
    points: Sequence[ArrayLike],
    strengths: ArrayLike,
    modes: Sequence[SupportsIndex],
    *,
    sign: int = 1,
    eps: float = 1e-6,
) -> Array:
    """Fourier coefficients of point sources: type 1, `f[k] = sum over j of c[j] exp(i sign k·x[j])`.

    Args:
        points: a tuple of one, two or three arrays (n,): coordinates in radians, any real numbers.
        strengths: complex array (..., n).
        modes: how many coefficients there are along each dimension; n of them run from -(n // 2).
        sign: of the exponent, 1 or -1.
        eps: the relative error asked for.

    Returns:
        a complex array (..., *modes).

    Raises:
        TypeError, ValueError: for operands that do not go together, with their types.
    """
    points = _checked("nufft1", "points", points)
    if not isinstance(modes, (tuple, list)):
        raise TypeError(f"nufft1: modes is a tuple of sizes, one for each dimension, got {modes!r}")
    sizes = tuple(index(size) for size in modes)
    if len(sizes) != len(points) or min(sizes) < 0:
        raise ValueError(f"nufft1: modes {sizes} do not say sizes for points in {len(points)} dimensions")
    return _bound(1, points, (), strengths, sign, eps, modes=sizes)


@api_boundary
def nufft2(points: Sequence[ArrayLike], coefficients: ArrayLike, *, sign: int = 1, eps: float = 1e-6) -> Array:
    """A Fourier series at points: type 2, `c[j] = sum over k of f[k] exp(i sign k·x[j])`.

    Args:
        points: a tuple of one, two or three arrays (n,).
        coefficients: complex array (..., *modes), a dimension for each coordinate.
        sign, eps: as of `nufft1`.

    Returns:
        a complex array (..., n).
    """
    return _bound(2, _checked("nufft2", "points", points), (), coefficients, sign, eps)


@api_boundary
def nufft3(
    points: Sequence[ArrayLike],
    strengths: ArrayLike,
    frequencies: Sequence[ArrayLike],
    *,
    sign: int = 1,
    eps: float = 1e-6,
) -> Array:
    """From points to any frequencies: type 3, `f[k] = sum over j of c[j] exp(i sign s[k]·x[j])`.

    Args:
        points: a tuple of one, two or three arrays (n,).
        strengths: complex array (..., n).
        frequencies: a tuple of as many arrays (m,).
        sign, eps: as of `nufft1`.

    Returns:
        a complex array (..., m).
    """
    points = _checked("nufft3", "points", points)
    frequencies = _checked("nufft3", "frequencies", frequencies)
    if len(frequencies) != len(points):
        raise ValueError(f"nufft3: {len(points)} coordinates of points and {len(frequencies)} of frequencies")
    return _bound(3, points, frequencies, strengths, sign, eps)
