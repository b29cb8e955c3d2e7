"""The conformance kit over every primitive: what is there is right, and what is not there is known."""

import pytest

from tangrad.conformance import primitives_of, sweep

FAMILIES = sorted({primitive.family for primitive in primitives_of()})


@pytest.mark.parametrize("family", FAMILIES)
def test_cells(family):
    report = sweep([primitive for primitive in primitives_of() if primitive.family == family], backends=["torch"])
    assert report.cells or report.absent
    assert not report.failures, report.text()


@pytest.mark.parametrize("family", FAMILIES)
def test_against_numpy(family):
    primitives = [primitive for primitive in primitives_of() if primitive.family == family]
    report = sweep(primitives, ["backends"], backends=["numpy", "torch"])
    assert not report.failures, report.text()
