"""The conformance kit over every primitive: what is there is right, and what is not there is known."""

import pytest

from tangrad.conformance import primitives_of, sweep

FAMILIES = sorted({primitive.family for primitive in primitives_of()})

# What torch, or this backend, has not: whole primitives, or those of their parameters and dtypes that are named.
NOT_THERE = {
    "decompositions.eig": "left eigenvectors",
    "decompositions.geqp3": "",
    "decompositions.hessenberg": "",
    "decompositions.qr": "with pivoting",
    "decompositions.schur": "",
    "decompositions.tridiagonal": "",
    "exporting.call_exported": "",
    "foreign.ffi_call": "",
    "linalg.cholesky_update": "",
    "special.igamma_grad_a": "",
    "special.random_gamma_grad": "",
    "special.regularized_incomplete_beta": "",
    "systems.tridiagonal_solve": "",
}

# Where torch's LAPACK is as right as NumPy's backend, and another: checks by primitive.
SPREAD = "how far NaN and infinities spread within a matrix is up to the blocks that a library works in"
SINGULAR = "of repeated rows few are independent: rounding makes the pivots, or the last sign, of the rest"
OTHERWISE = {
    ("decompositions.eigh", "special"): SPREAD,
    ("decompositions.geqrf", "special"): SPREAD,
    ("decompositions.geqrf", "sizes"): SINGULAR,
    ("decompositions.lu", "special"): SPREAD,
    ("decompositions.lu", "sizes"): SINGULAR,
    ("linalg.cholesky", "special"): SPREAD,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_cells(family):
    report = sweep([primitive for primitive in primitives_of() if primitive.family == family], backends=["torch"])
    failures = [cell for cell in report.failures if (cell.primitive, cell.check) not in OTHERWISE]
    assert report.cells
    assert not failures, report.text()
    assert {cell.primitive for cell in report.absent} == {name for name in NOT_THERE if name.startswith(f"{family}.")}


@pytest.mark.parametrize("family", FAMILIES)
def test_against_numpy(family):
    primitives = [primitive for primitive in primitives_of() if primitive.family == family]
    report = sweep(primitives, ["backends"], backends=["numpy", "torch"])
    assert not report.failures, report.text()
