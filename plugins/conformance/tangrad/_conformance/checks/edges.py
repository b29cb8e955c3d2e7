"""Edges of the dtypes, on each backend against the reference: signs of zeros, tiny and huge numbers, overflow, ties.

What works element by element meets every combination of edges; of anything else one operand at a time has a theme, such
as zeros of both signs. The sample's `reference` computes what is right, where it has one, in higher precision; backends
are also held against the reference backend. What may differ has a reason in `differences`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tangrad import use_backend
from tangrad._conformance.blame import DECOMPOSITION, blaming, lowering_of
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import as_numpy, check_edges
from tangrad._conformance.differences import FINITE, differences
from tangrad._conformance.edge_values import grid, themes
from tangrad._conformance.samples import Sample, reference_backend
from tangrad._conformance.truth import truth_of

Cells = Iterator[tuple[str, Callable[[], None]]]

EVERYWHERE = "all combinations"


def check_edges_of(sample: Sample) -> Cells:
    """Each backend against the sample's reference, and against the reference backend."""
    if not sample.args or sample.axes or carries_program(sample) or sample.leave.__name__ != "_unchanged":
        return
    others = [name for name in sample.tried_on() if name != reference_backend() and _is_lowered(sample, name)]
    names = sample.tried_on() if sample.reference is not None else others
    if not names:
        return
    for theme, other in _cases(sample):
        for name in names:
            allowed = differences(sample.primitive.identity, theme)
            if allowed is not None:
                yield f"{name}, {theme}", partial(_check, other, name, theme, allowed)


def _is_lowered(sample: Sample, name: str) -> bool:
    """Whether a backend, or the reference, has a rule of its own: decomposed by both, its parts are what differs."""
    kinds = [lowering_of(sample.primitive, one) for one in (name, reference_backend())]
    return any([kind != DECOMPOSITION for kind in kinds])


def _cases(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """The sample with other operands, and what these are."""
    everything = pointwise(sample)
    if everything is not None:
        yield f"{EVERYWHERE} of {', '.join([arg.dtype.name for arg in everything.args])}", everything
        return
    for position, arg in enumerate(sample.args):
        for theme, changed in themes(np.asarray(arg)):
            args = (*sample.args[:position], changed, *sample.args[position + 1 :])
            yield f"{theme} in operand {position}", replace(sample, args=args)


def pointwise(sample: Sample) -> Sample | None:
    """All combinations of edges as one sample, where the primitive works element by element; None where it does not."""
    kinds = [np.asarray(arg).dtype for arg in sample.args]
    if len({np.shape(arg) for arg in sample.args} - {()}) > 1 or not any([np.shape(arg) for arg in sample.args]):
        return None
    args = grid(kinds)
    every, length = replace(sample, args=args), len(args[0])
    try:
        results = every.inferred()
    except (TypeError, ValueError, NotImplementedError):
        return None
    if any([one.shape != (length,) for one in results]):
        return None
    return every if _is_local(every, length) else None


def _is_local(every: Sample, length: int) -> bool:
    """Whether some of the elements, in another order, give the same as they do among all of them."""
    some = np.random.default_rng(3).permutation(length)[: length // 2]
    whole = _run(every, reference_backend())
    part = _run(replace(every, args=tuple([arg[some] for arg in every.args])), reference_backend())
    return all([x[some].tobytes() == y.tobytes() or _equal(x[some], y) for x, y in zip(whole, part, strict=True)])


def _equal(x: Any, y: Any) -> bool:
    return x.dtype.kind in "fc" and np.array_equal(x, y, equal_nan=True)


def _run(sample: Sample, name: str) -> list[Any]:
    with use_backend(name):
        return as_numpy(sample.apply(*sample.args))


def _check(sample: Sample, name: str, theme: str, allowed: frozenset[str]) -> None:
    found = _run(sample, name)
    expected = truth_of(sample, found)
    with blaming(lowering_of(sample.primitive, name)):
        if expected is not None:
            _compare(sample, found, expected, allowed, f"{theme}: {name}, the sample's reference")
            return
    if name != reference_backend():
        with blaming(lowering_of(sample.primitive, name), lowering_of(sample.primitive, reference_backend())):
            other = _run(sample, reference_backend())
            _compare(sample, found, other, allowed, f"{theme}: {name}, {reference_backend()}")


def _compare(sample: Sample, found: Any, expected: Any, allowed: frozenset[str], names: str) -> None:
    if EVERYWHERE not in names:
        check_edges(found, expected, sample.tolerance, names, allowed)
        return
    kept = ~np.any([_is_odd(arg) for arg in sample.args], 0) if FINITE in allowed else slice(None)
    rows = [[array[kept] for array in arrays] for arrays in (found, expected, sample.args)]
    check_edges(rows[0], rows[1], sample.tolerance, names, allowed, rows[2])


def _is_odd(array: Any) -> Any:
    """Where a complex number is not finite, or a part of it minus zero."""
    if array.dtype.kind != "c":
        return np.zeros(array.shape, bool)
    minus = [(part == 0) & np.signbit(part) for part in (array.real, array.imag)]
    return ~np.isfinite(array) | minus[0] | minus[1]
