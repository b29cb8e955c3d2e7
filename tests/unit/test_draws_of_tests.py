"""What tests draw does not hang on those that ran before them (`tests/conftest.py`)."""

import numpy
import pytest

DRAW = numpy.random.default_rng(0)
FIRST = numpy.random.default_rng(0).random()


@pytest.mark.parametrize("turn", range(2))
def test_each_draws_the_first_number(turn: int) -> None:
    assert DRAW.random() == FIRST
