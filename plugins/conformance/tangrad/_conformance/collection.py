"""Where primitives and their samples come from: the registry, and Hypothesis strategies, a few examples of each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tangrad import enable_x64, use_backend
from tangrad._conformance.checks import CHECKS
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import Primitive, composition
from tangrad.extend.console import normal_name

if TYPE_CHECKING:
    from types import ModuleType


EXAMPLES = 5
SHRINKING_STEPS = 200


def is_strategy(samples: object) -> bool:
    """Whether something is a strategy, rather than samples."""
    return hasattr(samples, "example") and hasattr(samples, "map")


def examples_of(strategy: object, count: int = EXAMPLES) -> list[Sample]:
    """Samples drawn from a strategy, which they remember. Raises TypeError for what is no sample."""
    drawn: list[Any] = []
    hypothesis: ModuleType = sys.modules["hypothesis"]

    @_settings(hypothesis, count)
    @hypothesis.given(strategy)
    def collect(sample: object) -> None:
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


def smallest_failing(strategy: object, fails: Callable[[Sample], object]) -> Sample | None:
    """The simplest sample of a strategy that fails, as far as Hypothesis finds it; None if it finds none at all.

    `fails` is asked many times: what it does should be short.
    """
    hypothesis: ModuleType = sys.modules["hypothesis"]
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


PRIMITIVES_GROUP = "tangrad.primitives"
SAMPLES_GROUP = "tangrad.samples"
CHECKS_GROUP = "tangrad.conformance_checks"
RULES_GROUPS = "tangrad.rules."


def primitives_of(*distributions: str) -> list[Primitive]:
    """All primitives of some distributions, or all there are (with none named, or "*").

    Those of a distribution are the ones that it registers, and the ones of others that it has rules for.

    Raises LookupError for a distribution that has neither.

    >>> from tangrad.conformance import primitives_of
    >>> [primitive.name for primitive in primitives_of("tangrad-jit")]
    ['jit', 'hinted', 'tagged', 'region']
    """
    wanted = {normal_name(name) for name in distributions if "*" not in distributions}
    found: dict[Primitive, None] = {}
    seen = set()
    for plugin in composition().entries(PRIMITIVES_GROUP):
        if not wanted or plugin.distribution in wanted:
            seen.add(plugin.distribution)
            found.update(dict.fromkeys(plugin.load().primitives.values()))
    for plugin in _rule_sets(wanted):
        seen.add(plugin.distribution)
        found.update(dict.fromkeys(plugin.load().rules))
    absent = wanted - seen
    if absent:
        raise LookupError(f"neither primitives nor rules are registered by: {', '.join(sorted(absent))}")
    return list(found)


def _rule_sets(wanted: set[str]) -> list[Any]:
    """The rule sets of distributions that would be used: those without an owner are dormant."""
    kinds = {group for group in composition().groups() if group.startswith(RULES_GROUPS)} if wanted else ()
    return [
        plugin
        for group in sorted(kinds)
        for plugin in composition().entries(group)
        if plugin.distribution in wanted and plugin.status not in ("dormant", "denied")
    ]


def own_checks() -> dict[str, Any]:
    """The checks that distributions ship, by name.

    The entry point of group `tangrad.conformance_checks` has the check's name; its value is a function like those of
    the kit: of a sample, yielding a subject and a function that raises if something is wrong, for each cell.

    Raises ValueError for a name that one of the kit's has.

    >>> from tangrad.conformance import own_checks
    >>> sorted(own_checks())
    ['key_reuse']
    """
    found = {}
    for plugin in composition().entries(CHECKS_GROUP):
        if plugin.name in CHECKS:
            raise ValueError(f"{plugin.distribution} ships a check named {plugin.name!r}, which is one of the kit's")
        found[plugin.name] = plugin.load()
    return found


def find_samples(families: Iterable[str] | None = None) -> dict[Primitive, list[Sample]]:
    """The samples that distributions ship, by primitive: of some families, or of all.

    The entry point of group `tangrad.samples` is named after the family, or `<family>.<suffix>`; its value is
    a function that returns a list of samples and of Hypothesis strategies for them.

    >>> from tangrad.conformance import find_samples
    >>> from tangrad.core import find_primitive
    >>> find_primitive("elementwise.sin") in find_samples(["elementwise"])
    True
    """
    wanted = None if families is None else set(families)
    found: dict[Primitive, list[Sample]] = {}
    for plugin in composition().entries(SAMPLES_GROUP):
        if wanted is not None and plugin.name.partition(".")[0] not in wanted:
            continue
        with enable_x64(True), use_backend(reference_backend()):
            samples = expanded(plugin.load()())
        for sample in samples:
            found.setdefault(sample.primitive, []).append(sample)
    return found
