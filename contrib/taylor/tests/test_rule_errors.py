"""What is wrong with a rule of kind `taylor`: the error says which rule it is, whose, and what was expected."""

import traceback

import numpy
import pytest
from tangrad_taylor import jet

from tangrad import lax
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, register

X = numpy.array([1.0, 2.0], "float32")


def _raises(*args, **params):
    raise KeyError("what a library says")


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
