"""Where functions are tried: around zero, around whole numbers and halves, and out to where numbers end."""

from __future__ import annotations

import numpy as np

import tangrad
from tangrad.core import dtypes

DTYPES = ("float16", "bfloat16", "float32", "float64")
ORDINARY = (
    0.1,
    0.3,
    0.5,
    0.7,
    0.9,
    1.0,
    1.3,
    1.5,
    2.0,
    2.5,
    3.0,
    3.7,
    4.0,
    5.5,
    7.0,
    10.0,
    13.5,
    16.0,
    20.0,
    30.5,
    50.0,
)
LARGE = (88.0, 100.0, 300.0, 800.0, 1e4, 6e4, 1e6, 1e10, 1e15, 1e20, 1e30, 3e38)
SMALL = (1e-37, 1e-30, 1e-20, 1e-12, 1e-8, 1e-5, 1e-4, 1e-3, 1e-2)


def real_points(dtype: str) -> tuple[float, ...]:
    """Floats that `dtype` has: of both signs, with zeros, infinities and NaN."""
    info = tangrad.numpy.finfo(dtype)
    greatest, least, epsilon = float(info.max), float(info.smallest_normal), float(info.eps)
    sizes = [least, epsilon, 1 - epsilon / 2, 1 + epsilon, greatest / 4, greatest, *SMALL, *ORDINARY, *LARGE]
    kept = [rounded(x, dtype) for x in sizes if least <= x <= greatest]
    positive = sorted(set(kept))
    return (*[-x for x in reversed(positive)], -0.0, 0.0, *positive, -np.inf, np.inf, np.nan)


def rounded(x: float, dtype: str) -> float:
    """The nearest float of a dtype."""
    with np.errstate(over="ignore"):
        return float(np.asarray(x, "float64").astype(dtypes.as_dtype(dtype)))
