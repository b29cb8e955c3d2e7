"""What the checks found: the matrix of primitives and checks, as text and as a page."""

from __future__ import annotations

from dataclasses import dataclass, field

from tangrad.extend import console
from tangrad.extend.console import BAD, GOOD, QUIET, WARNING, to_html

SHOWN = 5  # failures that a square of the page lists


@dataclass(frozen=True)
class Cell:
    """One thing that was checked.

    Attributes:
        primitive: its identity, `family.name`.
        check: the name of the check.
        subject: which case of it, such as the backend or the mapped axes.
        sample: what it was tried with.
        number: the sample's position among those of the primitive; None where a strategy drew it.
        size: how many elements the sample has.
        problem: None, or what is wrong.
        place: of what is wrong, where to look: files and lines.
        absent: None, or what a backend lacks that would be needed to check it.
    """

    primitive: str
    check: str
    subject: str
    sample: str
    number: int | None
    size: int
    problem: str | None = None
    place: str = ""
    absent: str | None = None

    def reproduce(self) -> str:
        """A command that checks this cell alone."""
        sample = "" if self.number is None else f" --sample {self.number}"
        return f"python -m tangrad.conformance {self.primitive} --check {self.check}{sample}"


@dataclass
class Report:
    """The cells that were checked, those that are not there, and why others were not: (primitive, check) -> reason."""

    cells: list[Cell] = field(default_factory=list)
    absent: list[Cell] = field(default_factory=list)
    left_out: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def failures(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.problem is not None]

    def smallest(self) -> list[Cell]:
        """The failing cell with the smallest sample, for each primitive and check."""
        least: dict[tuple[str, str], Cell] = {}
        for cell in self.failures:
            key = (cell.primitive, cell.check)
            if key not in least or cell.size < least[key].size:
                least[key] = cell
        return list(least.values())

    def extend(self, other: Report) -> None:
        """Take in another report's cells."""
        self.cells.extend(other.cells)
        self.absent.extend(other.absent)
        self.left_out.update(other.left_out)

    def text(self) -> str:
        """The failures, the smallest of each kind with a line that reproduces it, and how much was checked."""
        lines = []
        for cell in self.smallest():
            same = sum([(c.primitive, c.check) == (cell.primitive, cell.check) for c in self.failures])
            lines += [
                f"{cell.primitive}: {cell.check} fails ({same} of its cells), smallest: {cell.subject}",
                f"  {cell.sample}",
                f"  {cell.problem}",
                *([f"  {cell.place}"] if cell.place else []),
                f"  {cell.reproduce()}",
            ]
        return "\n".join([*lines, *self.lacking(), self.summary()])

    def lacking(self) -> list[str]:
        """What backends lack, each with the number of cells that are not there for want of it."""
        reasons = [cell.absent or "" for cell in self.absent]
        return [f"not there ({reasons.count(reason)} cells): {reason}" for reason in dict.fromkeys(reasons)]

    def summary(self) -> str:
        """How much was checked, in one line."""
        primitives = {cell.primitive for cell in self.cells}
        absent = f", {len(self.absent)} not there" if self.absent else ""
        failed = f"{len(self.failures)} failed"
        return f"{len(self.cells)} cells checked, of {len(primitives)} primitives: {failed}{absent}"

    def html(self) -> str:
        """The matrix as a page that needs nothing else."""
        return to_html(matrix_of(self), footer="Written by tangrad-conformance.")


PASSED, FAILED, PARTLY, NOTHING = "✓", "✗", "◐", "–"
_LOOKS = {
    PASSED: ("all of its cells pass", GOOD),
    FAILED: ("some fail", BAD),
    PARTLY: ("what there is passes; some are not there: a backend lacks what they need", WARNING),
    NOTHING: ("nothing to check", QUIET),
}


def matrix_of(report: Report) -> console.Report:
    """The report as the matrix of primitives and checks, a table for each family."""
    checks = list(
        dict.fromkeys(
            [*[cell.check for cell in [*report.cells, *report.absent]], *[check for _, check in report.left_out]]
        )
    )
    rows: dict[str, dict[str, list[Cell]]] = {}
    for cell in report.cells:
        rows.setdefault(cell.primitive, {}).setdefault(cell.check, []).append(cell)
    missing: dict[tuple[str, str], list[Cell]] = {}
    for cell in report.absent:
        rows.setdefault(cell.primitive, {})
        missing.setdefault((cell.primitive, cell.check), []).append(cell)
    families: dict[str, list[list[console.Entry]]] = {}
    for identity, row in rows.items():
        family, _, name = identity.rpartition(".")
        squares = [
            _square(report, identity, check, row.get(check, []), missing.get((identity, check), [])) for check in checks
        ]
        families.setdefault(family, []).append([console.Entry(name), *squares])
    signs = [entry.signs[0] for table in families.values() for row in table for entry in row[1:]]
    keys = [console.Key("Cells", [console.Sign(sign, *_LOOKS[sign], signs.count(sign)) for sign in _LOOKS])]
    columns = ["primitive", *checks]
    tables = [console.Table(f"family {name}", columns, table, matrix=True) for name, table in families.items()]
    verdict = f"{len(report.failures)} of {len(report.cells)} cells fail." if report.failures else "Everything passes."
    failing = [f"{cell.primitive}: {cell.check}: {cell.reproduce()}" for cell in report.smallest()]
    return console.Report("Conformance", [report.summary(), *failing], tables, {}, not report.failures, keys, verdict)


def _square(report: Report, identity: str, check: str, cells: list[Cell], absent: list[Cell]) -> console.Entry:
    if not cells and not absent:
        reason = report.left_out.get((identity, check), "")
        return console.Entry(NOTHING, QUIET, f"{check}: {reason}" if reason else "", (NOTHING,))
    wrong = [cell for cell in cells if cell.problem is not None]
    text = f"{len(cells) - len(wrong)}/{len(cells)}"
    lacking = [f"not there: {reason}" for reason in dict.fromkeys([cell.absent or "" for cell in absent])]
    if not wrong:
        subjects = ", ".join(dict.fromkeys([cell.subject for cell in cells if cell.subject]))
        about = [f"{check} of {identity}: {subjects}", *lacking]
        sign = PARTLY if absent else PASSED
        return console.Entry(f"{text} ({len(absent)})" if absent else text, _LOOKS[sign][1], "\n".join(about), (sign,))
    shown = [
        "\n".join(filter(None, [f"{c.subject}: {c.sample}", c.problem, c.place, c.reproduce()])) for c in wrong[:SHOWN]
    ]
    more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    return console.Entry(text, BAD, "\n\n".join([*shown, *more, *lacking]), (FAILED,))
