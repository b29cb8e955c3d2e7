"""Samples of the decompositions, for the conformance kit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._lax.decompositions.algebra import dominated
from tangrad._lax.decompositions.primitives import decompositions
from tangrad._lax.elementwise.functions import abs as absolute
from tangrad._lax.elementwise.functions import square
from tangrad._lax.linalg.primitives import symmetrized
from tangrad._lax.structure.functions import rev
from tangrad.conformance import Sample, draw
from tangrad.core import Array, Literal, as_operand
from tangrad.typing import Value

P = decompositions.primitives
NEAR = 1e-3
SINGULAR = {"points": "at 0, 1 and -1 the matrix is singular: there is nothing to differentiate"}
NOT_FINITE = {
    "special": "how far NaN and infinities spread, and the signs of zeros, differ between reflections and blocks"
}
REPEATED = {
    "sizes": "of repeated rows and columns only the first few are independent: rounding makes the rest of the factors"
}


def samples() -> list[Sample]:
    """All of them."""
    return [*_lu(), *_qr(), *_svd(), *_eigen(), *_reduced()]


def _lu() -> list[Sample]:
    shapes: list[tuple[int, ...]] = [(3, 3), (2, 4), (4, 2), (2, 3, 3), (0, 2), (2, 0, 0)]
    operands = [draw(*shape) for shape in shapes] + [draw(3, 3, dtype="complex64")]
    found = [Sample(P["lu"], (x,), tolerance=NEAR, without={**SINGULAR, **REPEATED}) for x in operands]
    # Made larger it stays regular, and its rows are exchanged, across blocks too.
    found += [
        Sample(P["lu"], (draw(3, 3, dtype=kind),), enter=_dominated_upside_down, tolerance=NEAR, without=NOT_FINITE)
        for kind in ("float32", "complex64")
    ]
    pivots = np.array([[2, 3, 2], [0, 1, 3]], np.int32)
    for one in (pivots, pivots[0], pivots[:, :0]):
        found.append(Sample(P["lu_pivots_to_permutation"], (one,), {"permutation_size": 4}))
    return found


def _qr() -> list[Sample]:
    found = []
    for shape, full, pivoting, kind in (
        ((3, 3), True, False, "float32"),
        ((4, 2), False, False, "float32"),
        ((2, 4), False, False, "float32"),
        ((2, 4, 2), False, True, "float32"),
        ((3, 3), True, False, "complex64"),
        ((4, 2), False, False, "complex64"),
        ((2, 3), True, True, "complex64"),
        ((0, 2), False, False, "float32"),
    ):
        params = {"pivoting": pivoting, "full_matrices": full}
        found.append(
            Sample(
                P["qr"],
                (draw(*shape, dtype=kind),),
                params,
                tolerance=NEAR,
                without={**SINGULAR, **NOT_FINITE, **REPEATED},
            )
        )
    # The bases are completed arbitrarily: there is no derivative.
    params = {"pivoting": False, "full_matrices": True}
    found.append(
        Sample(P["qr"], (draw(4, 2),), params, derivatives=0, tolerance=NEAR, without={**NOT_FINITE, **REPEATED})
    )
    for kind in ("float32", "complex64"):
        for shape in ((4, 2), (2, 3, 3), (2, 4), (0, 2)):
            x = draw(*shape, dtype=kind)
            found += [
                Sample(P[name], (x,), derivatives=0, tolerance=NEAR, without=REPEATED) for name in ("geqrf", "geqp3")
            ]
        # Made larger it stays regular: its factors in blocks are the same ones.
        found.append(Sample(P["geqrf"], (draw(5, 5, dtype=kind),), enter=_dominated, derivatives=0, tolerance=NEAR))
        vectors, taus = draw(4, 3, dtype=kind), draw(2, dtype=kind, seed=1)
        found.append(Sample(P["householder_product"], (vectors, taus), tolerance=NEAR, without=NOT_FINITE))
    taus = np.array([[0.5, 0, 1.5], [1, 1, 1]], np.float32)
    options: dict[str, Any] = {"derivatives": 0, "tolerance": NEAR, "without": NOT_FINITE}
    found.append(Sample(P["householder_product"], (draw(2, 3, 3), taus), **options))
    return found


def _dominated(x: object) -> tuple[Array]:
    return (dominated(as_operand(x)),)


def _dominated_upside_down(x: object) -> tuple[Array]:
    return (rev(dominated(as_operand(x)), (0,)),)


def _svd() -> list[Sample]:
    """Singular vectors are determined up to a phase: their sizes are compared."""
    found = []
    for shape, full, vectors, kind in (
        ((3, 3), True, True, "float32"),
        ((4, 2), False, True, "float32"),
        ((2, 2, 3), False, True, "float32"),
        ((3, 2), False, True, "complex64"),
        ((2, 3), False, True, "complex64"),
        ((4, 3), True, False, "float32"),
    ):
        params = {"full_matrices": full, "compute_uv": vectors}
        options: dict[str, Any] = {"leave": absolute, "tolerance": NEAR, "without": SINGULAR}
        found.append(Sample(P["svd"], (draw(*shape, dtype=kind),), params, **options))
    # One row more than columns: what completes the basis is determined up to a phase, too.
    params = {"full_matrices": True, "compute_uv": True}
    for shape in ((3, 2), (0, 2)):
        found.append(Sample(P["svd"], (draw(*shape),), params, derivatives=0, leave=absolute, tolerance=NEAR))
    return found


def _hermitian(x: object) -> tuple[Array]:
    return (symmetrized(as_operand(x)),)


def _eigen() -> list[Sample]:
    found = []
    for shape, lower, kind in (
        ((3, 3), True, "float32"),
        ((2, 2, 2), False, "float32"),
        ((3, 3), True, "complex64"),
        ((0, 0), True, "float32"),
    ):
        x = draw(*shape, dtype=kind)
        options: dict[str, Any] = {"enter": _hermitian, "leave": absolute, "tolerance": NEAR, "without": SINGULAR}
        found.append(Sample(P["eigh"], (x,), {"lower": lower}, **options))
    for left, right, kind in (
        (False, False, "float32"),
        (True, True, "float32"),
        (False, True, "complex64"),
        (True, False, "complex64"),
    ):
        params = {"compute_left_eigenvectors": left, "compute_right_eigenvectors": right}
        params["enable_eigvec_derivs"] = True
        options = {"leave": _up_to_sign, "tolerance": NEAR, "without": SINGULAR}
        found.append(Sample(P["eig"], (draw(3, 3, dtype=kind),), params, **options))
    params = {"compute_left_eigenvectors": True, "compute_right_eigenvectors": True, "enable_eigvec_derivs": False}
    found.append(Sample(P["eig"], (draw(2, 2, 2),), params, derivatives=0, tolerance=NEAR, leave=_up_to_sign))
    return found


def _up_to_sign(x: Value) -> Array | Literal:
    """The squares of vectors, the values as they are: of one matrix, so that they can be distinguished."""
    return x if x.aval.ndim == 1 else square(x)


def _reduced() -> list[Sample]:
    found = []
    options: dict[str, Any] = {"derivatives": 0, "tolerance": NEAR, "without": REPEATED}
    for kind in ("float32", "complex64"):
        for shape in ((4, 4), (2, 3, 3), (1, 1), (0, 0)):
            x = draw(*shape, dtype=kind)
            found += [Sample(P["schur"], (x,), {"compute_schur_vectors": full}, **options) for full in (True, False)]
            found.append(Sample(P["hessenberg"], (x,), **options))
            for lower in (True, False):
                params = {"lower": lower}
                mirrored = {**options, "enter": _hermitian, "without": {**NOT_FINITE, **REPEATED}}
                found.append(Sample(P["tridiagonal"], (x,), params, **mirrored))
    return found
