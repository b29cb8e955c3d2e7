"""`jax._src.public_test_util`: values held against each other, for the tests of packages."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad import tree
from tangrad.core import dtypes, get_aval
from tangrad.test_util import check_grads, check_jvp, check_vjp

__all__ = ["check_close", "check_grads", "check_jvp", "check_vjp", "default_tolerance", "tolerance"]

# By how much values that were computed in different ways may differ; what is not here must be equal.
_TOLERANCES = {"bfloat16": 1e-2, "float16": 1e-3, "float32": 1e-6, "float64": 1e-15, "complex64": 1e-6}
_TOLERANCES["complex128"] = 1e-15


def default_tolerance() -> dict[Any, float]:
    """The tolerances by dtype."""
    return {dtypes.as_dtype(name): value for name, value in _TOLERANCES.items()}


def tolerance(dtype: Any, tol: Any = None) -> float:
    """`tol` itself, what it says of the dtype if it is a dict by dtypes, or the default of the dtype."""
    wanted = dtypes.as_dtype(dtype)
    if isinstance(tol, dict):
        stated = {dtypes.as_dtype(key): value for key, value in tol.items()}
        return stated.get(wanted, _TOLERANCES.get(str(wanted), 0.0))  # type: ignore[no-any-return]
    return _TOLERANCES.get(str(wanted), 0.0) if tol is None else tol


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Raise AssertionError where two trees of arrays differ by more than the coarser of their dtypes tolerates."""

    def check(x: Any, y: Any) -> None:
        found = [get_aval(value).dtype for value in (x, y)]
        absolute, relative = (max([tolerance(dtype, tol) for dtype in found]) for tol in (atol, rtol))
        wide = [np.asarray(value) for value in (x, y)]
        exact = [value.astype("float32") if value.dtype.kind not in "biufc" else value for value in wide]
        np.testing.assert_allclose(*exact, atol=absolute, rtol=relative, err_msg=err_msg)

    tree.map(check, xs, ys)
