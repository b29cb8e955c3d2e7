"""Functions that are exact where the result is a number of few digits: log10(1000) is 3, the cubic root of 27, too.

NumPy's own are off by a rounding or two there. In single precision their results end in zeros then, or nearly so; these
few are computed again, in double precision, which for all of them would take five times as long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SMALL = 1024  # elements: so few are computed in double precision at once
BLOCK = 1 << 16  # elements, which stay in the cache
GROUP = 8  # elements that are computed again if one of them ends in zeros
ROUNDINGS = 3  # by how many NumPy's results may be off
DOUBLE, PATTERN = np.dtype("float64"), np.dtype("int32")


def exact_if_whole(ufunc: np.ufunc) -> Callable[[np.ndarray], np.ndarray | np.generic]:
    """The ufunc for arrays of float32, right to the last bit where the result has 8 binary digits at most."""

    def function(x: np.ndarray) -> np.ndarray | np.generic:
        if x.size <= SMALL:
            return ufunc(x, dtype=DOUBLE).astype(x.dtype)
        x = x if x.flags.forc else np.ascontiguousarray(x)
        out = np.empty_like(x)
        _compute(ufunc, x.ravel("K"), out.ravel("K"))
        return out

    function.__name__ = ufunc.__name__
    return function


def exp2(x: np.ndarray) -> np.ndarray:
    """2^x of float32: NumPy's function is exact up to 2^126."""
    if x.size <= SMALL or not x.max() <= 126:
        return np.exp2(x, dtype=DOUBLE).astype(x.dtype)
    return np.exp2(x)


def cube_root(x: np.ndarray) -> np.ndarray | np.generic:
    """Of double precision, in which NumPy's is that of the C library where the processor has no AVX-512.

    Its first 26 binary digits (Dekker's splitting, Numer. Math. 1971) are the root, if their cube is the number.
    """
    root = np.cbrt(x)
    scaled = root * (2.0**27 + 1)
    leading = scaled - (scaled - root)
    return np.where(leading * leading * leading == x, leading, root)[()]


def _compute(ufunc: np.ufunc, x: np.ndarray, out: np.ndarray) -> None:
    endings, short = np.empty(BLOCK, np.uint16), np.empty(BLOCK, bool)
    whole = len(x) // GROUP * GROUP
    for start in range(0, whole, BLOCK):
        stop = min(start + BLOCK, whole)
        numbers, results = x[start:stop], out[start:stop]
        ending, found = endings[: stop - start], short[: stop - start]
        ufunc(numbers, results)
        np.copyto(ending, results.view(PATTERN), "unsafe")
        np.add(ending, ROUNDINGS, ending)
        np.less_equal(ending, 2 * ROUNDINGS, found)
        groups = (found.view(np.uint64) != 0).nonzero()[0]
        if len(groups):
            results.reshape(-1, GROUP)[groups] = ufunc(numbers.reshape(-1, GROUP)[groups], dtype=DOUBLE)
    out[whole:] = ufunc(x[whole:], dtype=DOUBLE)
