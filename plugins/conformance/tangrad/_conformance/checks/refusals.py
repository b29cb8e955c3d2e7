"""Arguments that a primitive has to refuse (`Sample(raises=...)`): of a wrong dtype, rank, axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tangrad import use_backend
from tangrad._conformance.checks.execution import operands_of, staged
from tangrad._conformance.comparison import Mismatch
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import get_aval

Cells = Iterator[tuple[str, Callable[[], None]]]


def check_refusals(sample: Sample) -> Cells:
    """The abstract evaluation refuses what the sample says, with that error: asked alone, applied, and staged."""
    if sample.raises is not None:
        yield "inferred", partial(_check_refused, sample, lambda: _infer(sample))
        yield "applied", partial(_check_refused, sample, lambda: sample.apply(*sample.args))
        yield "staged", partial(_check_refused, sample, lambda: staged(sample, operands_of(sample)))


def _infer(sample: Sample) -> Any:
    return sample.primitive.infer(tuple([get_aval(value) for value in operands_of(sample)]), dict(sample.params))


def _check_refused(sample: Sample, function: Callable[[], Any]) -> None:
    expected = sample.raises if isinstance(sample.raises, tuple) else (sample.raises,)
    names = " or ".join([one.__name__ for one in expected if one is not None])
    with use_backend(reference_backend()):
        try:
            found = function()
        except Exception as error:
            if isinstance(error, tuple([one for one in expected if one is not None])):
                return
            raise Mismatch(f"refused with {type(error).__name__}: {error}; expected {names}") from error
    raise Mismatch(f"accepted, with the result {found!r}; expected {names}")
