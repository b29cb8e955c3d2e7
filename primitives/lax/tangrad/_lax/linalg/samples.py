"""Samples of the primitives of linear algebra, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad._lax.elementwise.primitives import add_p, mul_p
from tangrad._lax.linalg.primitives import linalg
from tangrad._lax.structure.primitives import transpose_p
from tangrad.conformance import Sample, draw
from tangrad.core import Array, as_operand, literal
from tangrad.typing import Value

P = linalg.primitives
SINGULAR = {"points": "at 0, 1 and -1 the matrix is singular: there is nothing to differentiate"}
NOT_FINITE = {"special": "whether what is zero hides NaN and infinities that it is multiplied by, solvers differ in"}


def samples() -> list[Sample]:
    """All of them."""
    found = [
        # The primitive reads the lower triangle: its derivative is taken of a function of a symmetric matrix.
        Sample(P["cholesky"], (_positive(3),), enter=_symmetric, tolerance=1e-4, without=SINGULAR),
        Sample(
            P["cholesky"],
            (np.stack([_positive(2), 2 * _positive(2)]),),
            enter=_symmetric,
            tolerance=1e-4,
            without=SINGULAR,
        ),
        Sample(P["cholesky_update"], (_triangle(3).T.copy(), draw(3)), derivatives=0, tolerance=1e-4),
        _solve(draw(3, 2, seed=1)),
        _solve(draw(2, 3, seed=1), left_side=False),
        _solve(draw(3, 2, seed=1), lower=False),
        _solve(draw(3, 2, seed=1), transpose_a=True),
        _solve(draw(3, 2, seed=1), unit_diagonal=True),
        _solve(draw(3, 2, dtype="complex64", seed=1), transpose_a=True, conjugate_a=True),
        _solve(draw(2, 3, dtype="complex64", seed=1), left_side=False),
    ]
    found += [
        Sample(P["cholesky"], (draw(2, 3),), raises=ValueError),
        Sample(P["cholesky"], (draw(2, 2, dtype="int32"),), raises=TypeError),
    ]
    return found


def _positive(size: int) -> np.ndarray:
    x = draw(size, size)
    return x @ x.T + 2 * np.eye(size, dtype=x.dtype)


def _symmetric(x: Value) -> tuple[Array]:
    order = tuple(range(len(np.shape(x)) - 2))
    x = as_operand(x)
    mirrored = transpose_p.bind(x, permutation=(*order, len(order) + 1, len(order)))
    return (mul_p.bind(add_p.bind(x, mirrored), literal(0.5, x.aval.dtype)),)


def _triangle(size: int, kind: str = "float32") -> np.ndarray:
    return np.tril(draw(size, size, dtype=kind)) + 2 * np.eye(size, dtype=kind)


def _solve(b: np.ndarray, **changed: bool) -> Sample:
    params = {
        "left_side": True,
        "lower": True,
        "transpose_a": False,
        "conjugate_a": False,
        "unit_diagonal": False,
        **changed,
    }
    a = _triangle(3, b.dtype.name)
    without = {**NOT_FINITE, **({} if params["unit_diagonal"] else SINGULAR)}
    matrix = a if params["lower"] else a.T.copy()
    return Sample(P["triangular_solve"], (matrix, b), params, tolerance=1e-4, without=without)
