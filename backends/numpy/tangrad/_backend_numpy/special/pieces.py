"""What the special functions share: different methods for different elements, polynomials, Chebyshev series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Piece = tuple[Any, ...]


def piecewise(arguments: Sequence[np.ndarray], *pieces: Piece) -> np.ndarray:
    """Each element by the function whose mask holds for it.

    Args:
        arguments: arrays of one dimension and size.
        pieces: `(mask, function)`; the function gets the arguments' elements where its mask holds. The masks cover all
            elements; where they overlap the last wins. What follows the function is for other backends.
    """
    out = np.empty_like(arguments[0])
    if not out.size:  # of no elements every mask holds for all, and methods that call each other would never end
        return out
    for mask, function, *_ in pieces:
        if mask.all():
            out[...] = function(*arguments)
        elif mask.any():
            out[mask] = function(*[argument[mask] for argument in arguments])
    return out


def constant(value: float) -> Callable[..., Any]:
    """The function that is the same everywhere."""
    return lambda *_: value


def polynomial(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    """The polynomial with these coefficients, the highest power first."""
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= x
        total += coefficient
    return total


def chebyshev(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    """The sum of `coefficients[k]` Tₖ(x), by Clenshaw's recurrence."""
    twice = 2 * x
    later = latest = np.zeros_like(x)
    for coefficient in reversed(coefficients[1:]):
        later, latest = latest, twice * latest - later + coefficient
    return x * latest - later + coefficients[0]


def converge(
    step: Callable[..., tuple[tuple[Any, ...], Any]], state: tuple[Any, ...], limit: int
) -> tuple[np.ndarray, ...]:
    """Iterate on many elements at once, each until it has converged.

    Args:
        step: `(n, *state) -> (state, finished)` for n = 1, 2, …; elements that are finished may go through more steps.
        state: arrays of one dimension and size.
        limit: the most steps.

    Returns:
        the state of each element when it was finished, or at the limit.
    """
    finals = tuple([array.copy() for array in state])
    places = np.arange(state[0].size)
    for n in range(1, limit + 1):
        state, finished = step(n, *state)
        if n % 8 == 0 or n == limit:  # looking costs as much as a step
            for final, array in zip(finals, state):
                final[places] = array
            going = ~finished
            if not going.any():
                break
            places = places[going]
            state = tuple([array[going] for array in state])
    return finals
