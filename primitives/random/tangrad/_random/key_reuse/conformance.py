"""The kit's check of rules of kind `key_reuse`: what they say is of the primitive's operands and results, and true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from tangrad._random.key_reuse.uses import KeyUse, places_of
from tangrad.core import as_operand, rule_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad.conformance import Sample
    from tangrad.core import ShapedArray
    from tangrad.typing import Value


def check_rule(sample: Sample) -> Iterator[tuple[str, Callable[[], None]]]:
    """Positions are in range, masks have the operands' shapes; what is moved is where the primitive moves numbers."""
    if rule_table("key_reuse").cell(sample.primitive).status != "rule" or sample.raises is not None or sample.axes:
        return

    def look() -> None:
        operands = sample.operands(*sample.args)
        avals = tuple([operand.aval for operand in operands])
        use = rule_table("key_reuse")[sample.primitive](avals, **sample.params)
        outs = sample.primitive.infer(avals, dict(sample.params))
        outs = outs if sample.primitive.multiple_results else (outs,)
        _check_positions(use, avals, outs)
        for result, (operand, places) in use.moved.items():
            if places is not None:
                _check_places(sample, operands, result, operand, places)

    yield "key_reuse", look


def _check_positions(use: KeyUse, avals: Sequence[ShapedArray], outs: Sequence[object]) -> None:
    named = [*use.fresh, *use.moved, *use.some]
    assert len(named) == len({*named}), f"a result is named twice: {use}"
    assert all([0 <= result < len(outs) for result in named]), f"results that are not there: {use}"
    operands = [*use.consumes, *[operand for operand, _ in use.moved.values()], *use.some.values()]
    assert all([0 <= operand < len(avals) for operand in operands]), f"operands that are not there: {use}"
    for operand, which in use.consumes.items():
        assert which is True or np.shape(which) == avals[operand].shape, f"a mask of another shape: {use}"


def _check_places(sample: Sample, operands: Sequence[Value], result: int, operand: int, places: object) -> None:
    given = list(operands)
    given[operand] = as_operand(np.asarray(places_of(operands[operand].aval), np.int32))
    outs = sample.primitive.bind(*given, **sample.params)
    outs = outs if sample.primitive.multiple_results else (outs,)
    np.testing.assert_array_equal(np.asarray(outs[result]), places, err_msg="the keys are elsewhere")
