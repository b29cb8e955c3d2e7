"""Samples of linear systems, inverses and determinants, for the conformance kit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.conformance import Sample, draw
from tangrad.core import as_operand
from tangrad.lax.linalg.matrices import symmetrized
from tangrad.linalg.systems import systems

P = systems.primitives
NEAR = 1e-3
SINGULAR = {"points": "at 0, 1 and -1 the matrix is singular: derivatives of its adjugate are not known there"}


def samples() -> list[Sample]:
    """All of them."""
    found = []
    for kind in ("float32", "complex64"):
        a, batch = _regular(3, 3, dtype=kind), _regular(2, 3, 3, dtype=kind)
        found += [
            Sample(P["solve"], (a, draw(3, 2, dtype=kind, seed=1)), tolerance=NEAR),
            Sample(P["solve"], (batch, draw(2, 3, 1, dtype=kind, seed=1)), tolerance=NEAR),
            *[Sample(P["determinant"], (x,), tolerance=NEAR) for x in (a, batch)],
            *[Sample(P["adjugate"], (x,), tolerance=NEAR, without=SINGULAR) for x in (a, batch)],
            _pseudoinverse(draw(3, 2, dtype=kind)),
            _pseudoinverse(draw(2, 2, 3, dtype=kind)),
            _pseudoinverse(a, hermitian=True, enter=_hermitian),
            _tridiagonal((4,), 2, kind),
            _tridiagonal((2, 3), 1, kind),
        ]
    found.append(Sample(P["determinant"], (np.zeros((2, 0, 0), np.float32),)))
    # The derivative of a determinant where the matrix has no inverse.
    found.append(Sample(P["determinant"], (np.outer(draw(2), draw(2, seed=1)),), derivatives=1, tolerance=NEAR))
    return found


def _regular(*shape: int, dtype: str) -> Any:
    return draw(*shape, dtype=dtype) + 2 * np.eye(shape[-1], dtype=dtype)


def _hermitian(x: Any, rtol: Any) -> tuple[Any, Any]:
    return symmetrized(as_operand(x)), rtol


def _pseudoinverse(x: Any, hermitian: bool = False, **options: Any) -> Sample:
    rtol = np.full(x.shape[:-2], 1e-4, x.real.dtype)
    return Sample(P["pseudoinverse"], (x, rtol), {"hermitian": hermitian}, tolerance=NEAR, **options)


def _tridiagonal(lead: tuple[int, ...], columns: int, kind: str) -> Sample:
    dl, d, du = [draw(*lead, dtype=kind, seed=seed) for seed in (1, 2, 3)]
    return Sample(P["tridiagonal_solve"], (dl, d + 3, du, draw(*lead, columns, dtype=kind, seed=4)), tolerance=NEAR)
