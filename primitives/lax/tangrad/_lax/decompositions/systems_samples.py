"""Samples of linear systems, inverses and determinants, for the conformance kit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._lax.decompositions.algebra import dominated
from tangrad._lax.decompositions.systems import systems
from tangrad._lax.linalg.primitives import symmetrized
from tangrad.conformance import Sample, draw
from tangrad.core import Array, as_operand

if TYPE_CHECKING:
    pass

P = systems.primitives
NEAR = 1e-3
SINGULAR = {"points": "at 0, 1 and -1 the matrix is singular: derivatives of its adjugate are not known there"}
NOT_FINITE = {"special": "whether what is zero hides NaN and infinities that it is multiplied by, solvers differ in"}
TINY = {"special": "a pivot that is denormal some LAPACKs leave in its row: the product of the others is another"}
SIGNS = {"special": "the signs of zeros differ between products of singular vectors"}
REPEATED = {"sizes": "of repeated rows only the first few are independent: rounding makes the other singular values"}
PERTURBED = {
    "points": "at 0, 1 and -1 the matrix is singular: what its pivots are moved by is rounding",
    "special": "how far NaN spreads differs between orders of elimination",
}


def samples() -> list[Sample]:
    """All of them."""
    found = []
    for kind in ("float32", "complex64"):
        a, batch = _regular(3, 3, dtype=kind), _regular(2, 3, 3, dtype=kind)
        found += [
            Sample(P["solve"], (a, draw(3, 2, dtype=kind, seed=1)), **_solving()),
            Sample(P["solve"], (batch, draw(2, 3, 1, dtype=kind, seed=1)), **_solving()),
            *[Sample(P["determinant"], (x,), tolerance=NEAR, without=TINY) for x in (a, batch)],
            *[Sample(P["log_determinant"], (x,), tolerance=NEAR, without=SINGULAR | TINY) for x in (a, batch)],
            *[Sample(P["adjugate"], (x,), tolerance=NEAR, without=SINGULAR) for x in (a, batch)],
            _pseudoinverse(draw(3, 2, dtype=kind)),
            _pseudoinverse(draw(2, 2, 3, dtype=kind)),
            _pseudoinverse(a, hermitian=True, enter=_hermitian),
            _tridiagonal((4,), 2, kind),
            _tridiagonal((2, 3), 1, kind),
            _tridiagonal((4,), 1, kind, perturb_singular=True, without=PERTURBED),
        ]
    found.append(Sample(P["determinant"], (np.zeros((2, 0, 0), np.float32),)))
    # The derivative of a determinant where the matrix has no inverse.
    found.append(
        Sample(P["determinant"], (np.outer(draw(2), draw(2, seed=1)),), derivatives=1, tolerance=NEAR, without=TINY)
    )
    return found


def _regular(*shape: int, dtype: str) -> np.ndarray:
    return draw(*shape, dtype=dtype) + 2 * np.eye(shape[-1], dtype=dtype)


def _solving() -> dict[str, Any]:
    return {"enter": _dominated, "tolerance": NEAR, "without": NOT_FINITE}


def _dominated(a: object, b: object) -> tuple[Array, object]:
    return dominated(as_operand(a)), b


def _hermitian(x: object, rtol: object) -> tuple[Array, object]:
    return symmetrized(as_operand(x)), rtol


def _pseudoinverse(x: np.ndarray, hermitian: bool = False, **options: Any) -> Sample:
    rtol = np.full(x.shape[:-2], 1e-4, x.real.dtype)
    options = {"tolerance": NEAR, "without": {**SIGNS, **REPEATED}, **options}
    return Sample(P["pseudoinverse"], (x, rtol), {"hermitian": hermitian}, **options)


def _tridiagonal(
    lead: tuple[int, ...], columns: int, kind: str, *, perturb_singular: bool = False, **options: Any
) -> Sample:
    dl, d, du = [draw(*lead, dtype=kind, seed=seed) for seed in (1, 2, 3)]
    right = draw(*lead, columns, dtype=kind, seed=4)
    params = {"perturb_singular": perturb_singular}
    return Sample(P["tridiagonal_solve"], (dl, d + 3, du, right), params, tolerance=NEAR, **options)
