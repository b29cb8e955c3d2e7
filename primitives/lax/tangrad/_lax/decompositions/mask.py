"""Decompositions and systems of padded arrays of matrices: each matrix by itself; its own size must not be masked."""

from __future__ import annotations

from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions.systems import tridiagonal_solve_p
from tangrad.core import RuleSet
from tangrad.extend.masking import stacked

decompositions = RuleSet("mask", api=1)
systems = RuleSet("mask", api=1)

_OF_ONE_MATRIX = (p.lu_p, p.geqrf_p, p.geqp3_p, p.svd_p, p.eigh_p, p.eig_p, p.schur_p, p.hessenberg_p, p.tridiagonal_p)
stacked(decompositions, {**dict.fromkeys(_OF_ONE_MATRIX, 2), p.lu_pivots_to_permutation_p: 1})
stacked(systems, {tridiagonal_solve_p: (1, 1, 1, 2)})
