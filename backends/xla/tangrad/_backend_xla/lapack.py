"""The functions of LAPACK and BLAS that jaxlib wraps and SciPy brings, by name.

They work in place, on matrices in Fortran's order: XLA transposes around them where it must.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_xla import jaxlib_calls
from tangrad.core import dtypes

if TYPE_CHECKING:
    from tangrad.typing import DType

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def lapack_name(function: str, dtype: DType) -> str | None:
    """The name under which a function of LAPACK can be called, for a dtype; None where it has none for that.

    Registers the functions at the first use: that loads SciPy.
    """
    prefix = _PREFIXES.get(dtypes.dtype_name(dtype))
    if prefix is None:
        return None
    jaxlib_calls.register_lapack()
    return f"lapack_{prefix}{function}_ffi"


def character(text: str) -> np.uint8:
    """A letter as LAPACK's functions take it."""
    return np.uint8(ord(text))
