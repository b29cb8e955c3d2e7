"""How results are compared: shapes and dtypes exactly, numbers within the tolerance of their dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

TOLERANCES = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 3e-5,
    "complex64": 3e-5,
    "float64": 1e-9,
    "complex128": 1e-9,
}


class Mismatch(AssertionError):
    """What a check found."""


def as_numpy(values: Sequence[Any]) -> list[Any]:
    """Concrete arrays as NumPy's."""
    return [np.asarray(value) for value in values]


def check_same(
    found: Sequence[Any], expected: Sequence[Any], tolerance: float | None = None, names: str = "found, expected"
) -> None:
    """Raise Mismatch unless two lists of arrays are the same."""
    found, expected = as_numpy(found), as_numpy(expected)
    if len(found) != len(expected):
        raise Mismatch(f"{names}: {len(found)} results and {len(expected)}")
    for position, (x, y) in enumerate(zip(found, expected)):
        what = f"result {position} ({names})"
        if x.shape != y.shape or x.dtype != y.dtype:
            raise Mismatch(f"{what}: {x.dtype.name}{list(x.shape)} and {y.dtype.name}{list(y.shape)}")
        near = TOLERANCES.get(x.dtype.name, 0.0)
        check_near(x, y, near if tolerance is None or near == 0.0 else max(tolerance, near), what)


def check_near(x: Any, y: Any, tolerance: float, what: str) -> None:
    """Raise Mismatch unless numbers agree."""
    if x.dtype.kind not in "biufc":  # ml_dtypes'
        x, y = x.astype(np.float32), y.astype(np.float32)
    try:
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    except AssertionError as error:
        raise Mismatch(f"{what}: {' '.join(str(error).split())}") from None
