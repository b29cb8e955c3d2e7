"""Samples of checks, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad._checkify.failures import FailedCheckError
from tangrad._checkify.functions import check_p
from tangrad._checkify.state import Layout
from tangrad.conformance import Sample, draw
from tangrad.tree import structure

UNSEEN = "a check for debugging takes place where its error is taken, which is beside the program"


def samples() -> list[Sample]:
    """All of them: for debugging, since others cannot be compiled, nor run where they fail."""
    x = draw(3)
    return [_sample(), _sample(x), _sample(x, draw(2, dtype="int32"))]


def _sample(*values: np.ndarray) -> Sample:
    kinds = tuple([(value.shape, value.dtype) for value in values])
    failure = FailedCheckError("{}" * len(values), structure((values, {})), kinds)
    params = {"layout": Layout([failure]), "debug": True}
    return Sample(check_p, (np.int32(1), *values), params, derivatives=0, without={"effects": UNSEEN})
