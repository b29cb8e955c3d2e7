"""Runs checks over samples and collects the cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tangrad import enable_x64, use_backend
from tangrad._conformance.blame import place_of, suspects
from tangrad._conformance.checks import CHECKS, REFUSALS, Check
from tangrad._conformance.collection import EXAMPLES, expanded, find_samples, own_checks, smallest_failing
from tangrad._conformance.report import Cell, Report
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import Primitive, backend_names, find_primitive, rule_table
from tangrad.core.settings import SETTINGS
from tangrad.errors import MissingRuleError

NO_SAMPLES = "the primitive has no samples: an entry point of group tangrad.samples must provide some"
LOWERINGS = "lower."  # of this and a backend's name are the kinds of lowerings

Checks = Iterable[str] | Mapping[str, Check] | None


def check(
    primitive: Primitive,
    samples: object,
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
            function that raises if something is wrong. None: all of the kit's, and those that distributions ship.
        number: of the only sample to take; None: all.
        examples: how many samples a strategy is asked for.
        everywhere: how many samples are tried on all backends, the others on one: compilers take time; None: all.
        backends: names of the backends to try; None: all that are installed.

    Returns:
        A report. Without samples it holds one failure. What a backend has no lowering for is not there: such cells are
        counted apart, and fail only where no backend has one. Where an example of a strategy fails, it also holds the
        simplest one that does.

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
    settings = enable_x64(True), SETTINGS["check_jaxprs"](True), SETTINGS["traceback_filtering"]("off")
    # What the kit computes with special values on its own side is no matter of NumPy's warnings.
    with settings[0], settings[1], settings[2], np.errstate(all="ignore"):
        for position, sample in enumerate(found):
            if number is None or number == position:
                few = everywhere is not None and position >= everywhere
                _check_sample(report, _restricted(sample, backends, few), position, chosen)
        for sample in {id(sample.strategy): sample for sample in found if sample.strategy is not None}.values():
            _add_smallest(report, sample.strategy, backends, chosen)
    if backends is None:
        _require_a_backend(report, primitive)
    return report


def _chosen_checks(checks: Checks) -> Mapping[str, Check]:
    if isinstance(checks, Mapping):
        return checks
    known = {**CHECKS, **own_checks()}
    if checks is None:
        return known
    names = list(checks)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise LookupError(f"there is no check {unknown[0]!r}; there are: {', '.join(known)}")
    return {name: known[name] for name in names}


def _require_a_backend(report: Report, primitive: Primitive) -> None:
    """A primitive that runs nowhere is not the fault of an incomplete backend."""
    nowhere = {cell.subject for cell in report.absent if cell.check == "abstract"}
    if nowhere and nowhere >= set(backend_names()):
        cell = next(cell for cell in report.absent if cell.check == "abstract")
        problem = f"no installed backend can run it: {cell.absent}"
        report.cells.append(replace(cell, subject="anywhere", problem=problem, absent=None))


def _restricted(sample: Sample, backends: Sequence[str] | None, few: bool) -> Sample:
    """The sample on the backends that are asked for, or on one of them alone."""
    wanted = sample.backends if backends is None else tuple([n for n in backends if n in sample.tried_on()])
    if few:
        wanted = wanted[:1] if wanted else (reference_backend(),)
    return replace(sample, backends=wanted)


def _check_sample(report: Report, sample: Sample, position: int | None, checks: Mapping[str, Check]) -> None:
    identity, text, size = sample.primitive.identity, sample.describe(), sample.size()

    def run(name: str, subject: str, thunk: Callable[[], None]) -> None:
        cell = Cell(identity, name, subject, text, position, size)
        try:
            thunk()
        except MissingRuleError as error:
            if _is_of_the_backend(error):
                report.absent.append(replace(cell, absent=_first_line(error)))
            else:
                report.cells.append(_failing(cell, sample, error))
        except Exception as error:  # whatever a rule raises is what the report is for
            report.cells.append(_failing(cell, sample, error))
        else:
            report.cells.append(cell)

    def prepare(name: str, make: Check) -> list[tuple[str, Callable[[], None]]]:
        try:
            return list(make(sample))
        except Exception as error:
            return [("preparation", partial(_again, error))]

    position = None if sample.strategy is not None else position  # another run may draw others
    with use_backend(reference_backend()):  # the one that samples are made on; a check that needs another chooses it
        for name, make in checks.items():
            if (sample.raises is None) is (name == REFUSALS):
                continue
            if name in sample.without:
                report.left_out[identity, name] = sample.without[name]
                continue
            for subject, thunk in prepare(name, make):
                run(name, subject, thunk)


def _is_of_the_backend(error: MissingRuleError) -> bool:
    """Whether a backend lacks something: it has no rule, or its rule refuses some dtypes and parameters.

    What it computes by a decomposition, and is not given as it must, is another rule's fault: a collective outside of a
    map, say, which backends run where its axes are mapped, but of whose names a batch rule has lost one.
    """
    kind = error.kind or ""
    if not kind.startswith(LOWERINGS):
        return False
    if error.primitive is None:
        return True
    cell = rule_table(kind).cell(find_primitive(error.primitive))
    return cell.rule is None or cell.status != "derived"


def _again(error: Exception) -> None:
    raise error


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _failing(cell: Cell, sample: Sample, error: Exception) -> Cell:
    about = getattr(error, "about", ()) or suspects(sample, cell.check)
    place = place_of(sample.primitive, cell.check, error, about)
    return replace(cell, problem=f"{type(error).__name__}: {error}", place=place)


def _add_smallest(
    report: Report, strategy: object, backends: Sequence[str] | None, checks: Mapping[str, Check]
) -> None:
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
