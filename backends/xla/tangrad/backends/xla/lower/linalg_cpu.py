"""Factorisations and solutions on CPUs: LAPACK and BLAS, whose functions jaxlib wraps and SciPy brings.

They work in place, on matrices in Fortran's order: XLA transposes around them where it must.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.backends.xla import jaxlib_api
from tangrad.backends.xla.matrices import call_matrices, conjugate, factor_or_nan, triangular_solve
from tangrad.core import RuleSet, dtypes
from tangrad.lax.linalg import primitives as p

lower = RuleSet("lower.xla.cpu", api=1)

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def lapack_name(function: str, dtype: Any) -> str | None:
    """The name under which a function of LAPACK can be called, for a dtype; None where it has none for that.

    Registers the functions at the first use: that loads SciPy.
    """
    prefix = _PREFIXES.get(dtypes.dtype_name(dtype))
    if prefix is None:
        return None
    jaxlib_api.register_lapack()
    return f"lapack_{prefix}{function}_ffi"


def character(text: str) -> np.uint8:
    """A letter as LAPACK's functions take it."""
    return np.uint8(ord(text))


@lower.rule(p.cholesky_p)
def _cholesky(ctx: Any, x: Any) -> Any:
    aval = ctx.out_aval
    name = lapack_name("potrf", aval.dtype)
    assert name is not None, "the primitive takes no other dtypes"
    return factor_or_nan(ctx, name, x, uplo=character("L"))


@lower.rule(p.triangular_solve_p)
def _triangular_solve(
    ctx: Any, a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Any:
    name = lapack_name("trsm", ctx.out_aval.dtype)
    if name is None:  # narrow floats
        return triangular_solve(
            ctx,
            a,
            b,
            left_side=left_side,
            lower=lower,
            transpose_a=transpose_a,
            conjugate_a=conjugate_a,
            unit_diagonal=unit_diagonal,
        )
    if conjugate_a and not transpose_a:
        a, conjugate_a = conjugate(ctx, a, ctx.in_avals[0]), False
    (out,) = call_matrices(
        ctx,
        name,
        [ctx.out_aval],
        [a, b],
        1,
        side=character("L" if left_side else "R"),
        uplo=character("L" if lower else "U"),
        trans_x=character(("C" if conjugate_a else "T") if transpose_a else "N"),
        diag=character("U" if unit_diagonal else "N"),
    )
    return out
