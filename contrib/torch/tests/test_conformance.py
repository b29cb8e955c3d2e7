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
    "exporting.push_forward": "",
    "foreign.ffi_call": "",
    "special.igamma_grad_a": "",
    "special.random_gamma_grad": "",
    "special.regularized_incomplete_beta": "",
}

# Where torch's LAPACK is as right as NumPy's, and another, of matrices with NaN and infinities: checks by primitive.
PIVOTS = "OpenBLAS divides no column by a pivot that is NaN, and multiplies by the 0 that is 1 / infinity to 0"
REFLECTIONS = "the norm of a column with NaN or infinities is NaN, or the largest element, as a library scales it"
ITERATION = "OpenBLAS finds some eigenvalues of matrices with infinities; torch refuses these, so all are NaN"
SERIES = "torch's own function: at its poles, and of subnormal numbers and zeros, it decides as it does"
OTHERWISE = {
    ("contractions.dot_general", "edges"): "of complex infinities torch multiplies the parts in another order",
    ("elementwise.neg", "edges"): "torch's negation of complex numbers loses the sign of zero",
    ("elementwise.rem", "edges"): "torch's fmod is NaN where the quotient overflows",
    ("special.bessel_i1e", "edges"): SERIES,
    ("special.digamma", "edges"): SERIES,
    ("special.erf", "edges"): SERIES,
    ("decompositions.eigh", "special"): ITERATION,
    ("decompositions.geqrf", "special"): REFLECTIONS,
    ("decompositions.lu", "special"): PIVOTS,
    ("systems.tridiagonal_solve", "special"): "LAPACK exchanges rows of NaN in its own way",
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
