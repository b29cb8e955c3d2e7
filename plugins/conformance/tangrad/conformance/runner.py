"""Runs checks over samples and collects the cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tangrad import enable_x64
from tangrad.conformance.checks import CHECKS, Check
from tangrad.conformance.collection import find_samples
from tangrad.conformance.report import Cell, Report
from tangrad.conformance.samples import Sample, reference_backend
from tangrad.conformance.strategies import EXAMPLES, expanded, smallest_failing
from tangrad.core import SETTINGS, Primitive

NO_SAMPLES = "the primitive has no samples: an entry point of group tangrad.samples must provide some"


Checks = Iterable[str] | Mapping[str, Check] | None


def check(
    primitive: Primitive,
    samples: Any,
    checks: Checks = None,
    *,
    number: int | None = None,
    examples: int = EXAMPLES,
    everywhere: int | None = None,
    backends: Sequence[str] | None = None,
) -> Report:
    """Check a primitive with samples.

    Args:
        primitive: the primitive.
        samples: a sequence of `Sample`, a Hypothesis strategy for them, or a sequence of both.
        checks: names of checks, or checks of your own by name: functions of a sample that yield cells, a subject and a
            function that raises if something is wrong. None: all of the kit's.
        number: of the only sample to take; None: all.
        examples: how many samples a strategy is asked for.
        everywhere: how many samples are tried on all backends, the others on one: compilers take time; None: all.
        backends: names of the backends to try; None: all that are installed.

    Returns:
        A report. Without samples it holds one failure. Where an example of a strategy fails, it also holds the simplest
        one that does.

    Raises:
        LookupError: for a check that does not exist.

    >>> import tangrad
    >>> from tangrad.conformance import Sample, check, draw
    >>> from tangrad.core import find_primitive
    >>> sin = find_primitive("elementwise.sin")
    >>> check(sin, [Sample(sin, (draw(3),))], ["jvp", "transpose"]).failures
    []
    """
    chosen, report = _chosen_checks(checks), Report()
    found = expanded(samples, examples)
    if not found:
        report.cells.append(Cell(primitive.identity, "samples", "", "", 0, 0, NO_SAMPLES))
    with enable_x64(True), SETTINGS["check_jaxprs"](True):
        for position, sample in enumerate(found):
            if number is None or number == position:
                few = everywhere is not None and position >= everywhere
                _check_sample(report, _restricted(sample, backends, few), position, chosen)
        for sample in {id(sample.strategy): sample for sample in found if sample.strategy is not None}.values():
            _add_smallest(report, sample.strategy, backends, chosen)
    return report


def _chosen_checks(checks: Checks) -> Mapping[str, Check]:
    if checks is None or isinstance(checks, Mapping):
        return CHECKS if checks is None else checks
    names = list(checks)
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise LookupError(f"there is no check {unknown[0]!r}; there are: {', '.join(CHECKS)}")
    return {name: CHECKS[name] for name in names}


def _restricted(sample: Sample, backends: Sequence[str] | None, few: bool) -> Sample:
    """The sample on the backends that are asked for, or on one of them alone."""
    wanted = sample.backends if backends is None else tuple([n for n in backends if n in sample.tried_on()])
    if few:
        wanted = wanted[:1] if wanted else (reference_backend(),)
    return replace(sample, backends=wanted)


def _check_sample(report: Report, sample: Sample, position: int | None, checks: Mapping[str, Check]) -> None:
    identity, text, size = sample.primitive.identity, sample.describe(), sample.size()

    def run(name: str, subject: str, thunk: Callable[[], None]) -> None:
        problem = None
        try:
            thunk()
        except Exception as error:  # whatever a rule raises is what the report is for
            problem = f"{type(error).__name__}: {error}"
        report.cells.append(Cell(identity, name, subject, text, position, size, problem))

    position = None if sample.strategy is not None else position  # another run may draw others
    for name, make in checks.items():
        if name in sample.without:
            report.left_out[identity, name] = sample.without[name]
            continue
        cells: list[tuple[str, Callable[[], None]]] = []
        try:
            cells = list(make(sample))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            report.cells.append(Cell(identity, name, "preparation", text, position, size, problem))
        for subject, thunk in cells:
            run(name, subject, thunk)


def _add_smallest(report: Report, strategy: Any, backends: Sequence[str] | None, checks: Mapping[str, Check]) -> None:
    """For each check that fails, the simplest example that fails it."""
    for name in dict.fromkeys([cell.check for cell in report.failures if cell.number is None]):
        failures = partial(_failures, backends=backends, checks={name: checks[name]})
        sample = smallest_failing(strategy, failures)
        if sample is not None:
            values = ", ".join([" ".join(repr(arg).split()) for arg in sample.args])
            report.cells += [replace(cell, sample=f"{cell.sample} of {values}") for cell in failures(sample)[:1]]


def _failures(sample: Sample, backends: Sequence[str] | None, checks: Mapping[str, Check]) -> list[Cell]:
    report = Report()
    _check_sample(report, _restricted(sample, backends, False), None, checks)
    return report.failures


def sweep(
    primitives: Sequence[Primitive],
    checks: Checks = None,
    progress: Callable[[int, Primitive, Report], None] | None = None,
    *,
    number: int | None = None,
    everywhere: int | None = None,
    backends: Sequence[str] | None = None,
) -> Report:
    """Check primitives with the samples that their distributions ship.

    `progress(position, primitive, report so far)` is called before each; the rest as for `check`.

    >>> from tangrad.conformance import primitives_of, sweep
    >>> sweep(primitives_of("tangrad-jit"), ["effects"]).failures
    []
    """
    chosen = _chosen_checks(checks)
    samples = find_samples({primitive.family for primitive in primitives})
    report = Report()
    for position, primitive in enumerate(primitives):
        if progress is not None:
            progress(position, primitive, report)
        own = samples.get(primitive, ())
        report.extend(check(primitive, own, chosen, number=number, everywhere=everywhere, backends=backends))
    return report
