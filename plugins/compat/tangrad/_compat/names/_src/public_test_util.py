"""`jax._src.public_test_util`: values held against each other, for the tests of packages."""

from __future__ import annotations

from typing import Any

import numpy as np

import tangrad
from tangrad import tree
from tangrad.core import dtypes, get_aval

# By how much values that were computed in different ways may differ; what is not here must be equal.
_TOLERANCES = {"bfloat16": 1e-2, "float16": 1e-3, "float32": 1e-6, "float64": 1e-15, "complex64": 1e-6}
_TOLERANCES["complex128"] = 1e-15


def __getattr__(name: str) -> Any:
    """`check_grads`, `check_jvp` and `check_vjp`, of a distribution of their own."""
    return getattr(tangrad.test_util, name)


def default_tolerance() -> dict[Any, float]:
    """The tolerances by dtype."""
    return {dtypes.as_dtype(name): value for name, value in _TOLERANCES.items()}


def tolerance(dtype: Any, tol: Any = None) -> float:
    """`tol` itself, what it says of the dtype if it is a dict by dtypes, or the default of the dtype."""
    wanted = dtypes.as_dtype(dtype)
    if isinstance(tol, dict):
        stated = {dtypes.as_dtype(key): value for key, value in tol.items()}
        return stated.get(wanted, _TOLERANCES.get(str(wanted), 0.0))
    return _TOLERANCES.get(str(wanted), 0.0) if tol is None else tol


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Raise AssertionError where two trees of arrays differ by more than the coarser of their dtypes tolerates."""

    def check(x: Any, y: Any) -> None:
        found = [get_aval(value).dtype for value in (x, y)]
        absolute, relative = (max([tolerance(dtype, tol) for dtype in found]) for tol in (atol, rtol))
        actual, desired = (_comparable(value) for value in (x, y))
        np.testing.assert_allclose(actual, desired, atol=absolute, rtol=relative, err_msg=err_msg)

    tree.map(check, xs, ys)


def _comparable(value: Any) -> Any:
    array = np.asarray(value)
    return array if array.dtype.kind in "biufc" else array.astype(np.float32)  # of a dtype of ml_dtypes
