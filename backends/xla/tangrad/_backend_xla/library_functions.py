"""The functions of LAPACK and BLAS that jaxlib wraps and SciPy brings, by name.

They work in place, on matrices in Fortran's order: XLA transposes around them where it must.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_xla import jaxlib_calls
from tangrad.core import RuleSet, dtypes

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad.core import Primitive
    from tangrad.core.protocols import LoweringRule
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


_VENDORS = {"cuda": "cu", "rocm": "hip"}


def library_name(ctx: FunctionContext, function: str) -> str:
    """The name of a function on the platform at hand: `solver_getrf_ffi` is `cusolver_getrf_ffi` or `hipsolver_…`."""
    return _VENDORS[ctx.module.platform] + function


def rules_for_gpus(
    table: dict[Primitive, LoweringRule], unsupported: dict[str, tuple[Primitive, ...]] | None = None
) -> list[RuleSet]:
    """The same rules for the GPUs of NVIDIA and of AMD, in this order.

    `unsupported`: reason -> the primitives that cannot be lowered for them.
    """
    found = [RuleSet(f"lower.xla.{platform}", api=1) for platform in _VENDORS]
    for rules in found:
        rules.table(table)
        for reason, primitives in (unsupported or {}).items():
            rules.not_applicable(reason, *primitives)
    return found
