"""Samples from Hypothesis strategies: a few examples of each, and the simplest that fails.

Hypothesis is no dependency of the kit: code that makes a strategy has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tangrad._conformance.samples import Sample

EXAMPLES = 5
SHRINKING_STEPS = 200


def is_strategy(samples: Any) -> bool:
    """Whether something is a strategy, rather than samples."""
    return hasattr(samples, "example") and hasattr(samples, "map")


def examples_of(strategy: Any, count: int = EXAMPLES) -> list[Sample]:
    """Samples drawn from a strategy, which they remember. Raises TypeError for what is no sample."""
    drawn: list[Any] = []
    hypothesis: Any = sys.modules["hypothesis"]

    @_settings(hypothesis, count)
    @hypothesis.given(strategy)
    def collect(sample: Any) -> None:
        drawn.append(sample)

    collect()
    for sample in drawn:
        if not isinstance(sample, Sample):
            raise TypeError(f"a strategy for samples gave {sample!r} of type {type(sample).__name__}: {strategy!r}")
    return [replace(sample, strategy=strategy) for sample in drawn]


def expanded(samples: Any, count: int = EXAMPLES) -> list[Sample]:
    """A strategy, or a list of samples and strategies, as a list of samples."""
    if is_strategy(samples):
        return examples_of(samples, count)
    found: list[Sample] = []
    for item in samples:
        found += examples_of(item, count) if is_strategy(item) else [item]
    return found


def smallest_failing(strategy: Any, fails: Callable[[Sample], Any]) -> Sample | None:
    """The simplest sample of a strategy that fails, as far as Hypothesis finds it; None if it finds none at all.

    `fails` is asked many times: what it does should be short.
    """
    hypothesis: Any = sys.modules["hypothesis"]
    try:
        settings = _settings(hypothesis, SHRINKING_STEPS)
        found: Sample = hypothesis.find(strategy, lambda sample: bool(fails(sample)), settings=settings)
    except hypothesis.errors.NoSuchExample:
        return None
    return found


def _settings(hypothesis: Any, count: int) -> Any:
    return hypothesis.settings(
        max_examples=count,
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
