"""Samples of reading and writing references, for the conformance kit: the references are made where they are used."""

from __future__ import annotations

import numpy as np

from tangrad._references.functions import new_ref
from tangrad._references.primitives import addupdate_p, get_p, swap_p
from tangrad.conformance import Sample, draw
from tangrad.core import Primitive

ROW = ((("int", 1),),)  # x[1]
PICKED = ((("array",), ("rest",)), (("slice", None, None, 2),))  # x[indices, ...][::2]
UNSEEN = "what is written is in the reference, which the results do not show"


def samples() -> list[Sample]:
    """All of them, over an array of two dimensions."""
    indices = np.array([2, 0, 0], np.int32)
    found = []
    for indexers, arrays, part in (((), (), (3, 4)), (ROW, (), (4,)), (PICKED, (indices,), (2, 4))):
        value = draw(*part, dtype="float64", seed=1)
        found.append(_sample(get_p, indexers, *arrays))
        found.append(_sample(swap_p, indexers, *arrays, value))
        found.append(_sample(addupdate_p, indexers, *arrays, value))
    return found


def _sample(primitive: Primitive, indexers: object, *operands: object) -> Sample:
    args = (draw(3, 4, dtype="float64"), *operands)
    without = {} if primitive is get_p else {"effects": UNSEEN}
    enter = lambda x, *others: (new_ref(x), *others)
    return Sample(primitive, args, {"indexers": indexers}, enter=enter, without=without)
