"""The conformance kit, over every primitive that is installed: rules, and what is derived where there are none."""

import tangrad
from tangrad import lax
from tangrad.conformance import primitives_of, sweep
from tangrad.core import RuleSet, register
from tangrad.lax.elementwise.primitives import sin_p


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
