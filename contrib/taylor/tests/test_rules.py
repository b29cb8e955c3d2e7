"""The rules: by the conformance kit, and the errors for wrong ones."""

import traceback

import numpy
import pytest
from tangrad_taylor import jet

import tangrad
from tangrad import lax
from tangrad.conformance import primitives_of, sweep
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, backend_names, find_primitive, register
from tangrad.extend.lax import sin_p

# --- The conformance kit, over every primitive that is installed ---


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


# --- What is wrong with a rule of kind `taylor` ---


X = numpy.array([1.0, 2.0], "float32")


def _raises(*args, **params):
    raise KeyError("an error of a library")


WRONG = {
    "no argument": lambda: 1,
    "None": lambda *args, **params: None,
    "a number": lambda *args, **params: 1.0,
    "a string": lambda *args, **params: "nothing",
    "an empty tuple": lambda *args, **params: (),
    "three numbers": lambda *args, **params: (1.0, 2.0, 3.0),
    "an array": lambda *args, **params: X,
    "an error": _raises,
}


@pytest.mark.parametrize("way", WRONG)
def test_the_rule_names_itself(way):
    family = PrimitiveSet("going_wrong", api=1)
    doubled = family.primitive(
        lambda x: ShapedArray(x.shape, x.dtype), name="doubled", decompose=lambda x: lax.mul(x, 2.0)
    )
    rules = RuleSet("taylor", api=1)
    rules.add(doubled, WRONG[way])
    with register(family), register(rules), pytest.raises(Exception) as caught:
        jet(doubled, (X,), ([X, None],))
    text = "".join(traceback.format_exception_only(type(caught.value), caught.value))
    assert "taylor rule of 'going_wrong.doubled'" in text and "(by hand)" in text and __file__ in text, text
    assert ("(series, **params)" in text) is (way != "an error"), text
