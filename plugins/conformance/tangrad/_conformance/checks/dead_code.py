"""Dead code: each result alone, when what only the others need has been taken out of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tangrad import use_backend
from tangrad._conformance.checks.execution import staged
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import as_numpy, check_same
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import as_array, dce_jaxpr, eval_jaxpr
from tangrad.core.tools import check_jaxpr

Cells = Iterator[tuple[str, Callable[[], None]]]


def check_dce(sample: Sample) -> Cells:
    """Each result alone, and all together, of a thinned program against those of the primitive."""
    if not sample.primitive.multiple_results and not carries_program(sample):
        return
    with use_backend(reference_backend()):
        count = len(sample.apply(*sample.args))
    for position in range(count):
        wanted = tuple([place == position for place in range(count)])
        yield f"result {position} alone", partial(_check_thinned, sample, wanted)
    if count > 1:
        yield "all but the first", partial(_check_thinned, sample, (False, *[True] * (count - 1)))
        yield "all", partial(_check_thinned, sample, (True,) * count)


def _check_thinned(sample: Sample, wanted: tuple[bool, ...]) -> None:
    def thinned(*args: Any) -> tuple[Any, ...]:
        operands = tuple([as_array(value) for value in sample.operands(*args)])
        closed = staged(sample, operands)
        jaxpr, used = dce_jaxpr(closed.jaxpr, wanted)
        check_jaxpr(jaxpr)
        outs = eval_jaxpr(jaxpr, closed.consts, *[x for x, is_used in zip(operands, used, strict=True) if is_used])
        return tuple([sample.leave(out) for out in outs])

    with use_backend(reference_backend()):
        expected = [x for x, w in zip(as_numpy(sample.apply(*sample.args)), wanted, strict=True) if w]
        check_same(sample.around(thinned)(*sample.args), expected, sample.tolerance, "without dead code, whole")
