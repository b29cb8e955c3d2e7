"""The conformance kit, over every primitive that is installed: rules, and what is derived where there are none."""

import pytest

import tangrad
from tangrad import lax
from tangrad.conformance import primitives_of, sweep
from tangrad.core import RuleSet, backend_names, find_primitive, register
from tangrad.extend.lax import sin_p


def test_conformance():
    with tangrad.use_backend("numpy"):
        report = sweep(primitives_of(), ["taylor"])
    assert not report.failures, report.text()
    assert len({cell.primitive for cell in report.cells}) > 140


def test_the_check_finds_a_wrong_rule():
    wrong = RuleSet("taylor", api=1, override=True)
    wrong.add(sin_p, lambda series: (lax.sin(series[0][0]), *series[0][1:]))
    with register(wrong), tangrad.use_backend("numpy"):
        assert sweep([sin_p], ["taylor"]).failures


def test_the_check_runs_on_the_backend_of_the_sample():
    """Whatever the default is: the mesh of a sample is one of NumPy's device, operands of another are refused there."""
    others = [name for name in backend_names() if name != "numpy"]
    if not others:
        pytest.skip("NumPy is the only backend")
    with tangrad.use_backend(others[0]):
        report = sweep([find_primitive("shard_map.shard_map")], ["taylor"], number=0)
    assert report.cells and not report.failures, report.text()
